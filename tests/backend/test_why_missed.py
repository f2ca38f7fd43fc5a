"""Why a prefix missed: of recordings of the real engine in which the true answer is known, and twins in which it is another one."""

import json
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from kvarium.errors import OutOfRangeError
from kvarium.why.missed.answer import Miss
from kvarium.why.missed.telling import lines
from kvarium.why.questions import Evicted, MissedAt
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.model.seeded_tokens import FIRST_TOKEN
from kvarium_engine.steering import Steering
from kvarium_ledger import codec
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.messages import Command
from kvarium_ledger.operations import Cause
from kvarium_ledger.records import Gap, Keyframe
from tests.backend.asking import ask, record
from tests.backend.hand_engine import hello
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored, ScriptedRunner, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


def said(text: str) -> "array[int]":
    """Tokens that read as ``text``, one a letter."""
    return array("I", [byte + FIRST_TOKEN for byte in text.encode()])


def turn(engine: Mirrored, prompt: "array[int] | int", name: str, **more: Any) -> None:
    """A request that computes its prompt, samples one token and ends; then a step without work."""
    engine.submit(prompt, max_tokens=1, name=name, **more)
    engine.run()
    engine.engine.step_without_work()
    assert engine.mirror() == []


def small(**more: Any) -> Mirrored:
    """Six blocks of four."""
    return Mirrored(num_blocks=6, block_size=4, **more)


def asked(
    server: RunningServer, engine: Mirrored, request: str, step: int | None = None, **more: Any
) -> Miss:
    found = ask(server, record(server, engine, **more), MissedAt(request=request, step=step))
    assert isinstance(found, Miss)
    assert lines(found)
    return found


PROMPT = said("Once upon")
"""Two full blocks, and a token behind them."""


def test_what_was_never_seen_is_said_to_be_so(server: RunningServer) -> None:
    engine = small()
    turn(engine, said("wholly other"), "other")
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.hit, found.block, found.first, found.end) == ("never_seen", 0, 0, 0, 4)
    assert (found.nearest, found.other_key, found.not_recorded) == (None, None, [])
    assert found.missed == engine.decisions(Admitted)[1].missed.hex()


def test_nothing_had_followed_what_was_hit(server: RunningServer) -> None:
    engine = small()
    turn(engine, said("Onyx goes on"), "differs before it")
    turn(engine, said("Once"), "short")
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.hit, found.block, found.nearest) == ("never_seen", 4, 1, None)


def test_what_was_evicted_is_told_with_who_took_it_and_leads_to_that_answer(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "asks")
    session = record(server, engine)
    found = ask(server, session, MissedAt(request="asks"))
    assert (found.reason, found.hit, found.block, found.behind) == ("evicted", 0, 0, 0)
    loss = found.evicted
    assert loss is not None and loss.asked is not None and loss.labelled is not None
    assert (str(loss.life), loss.cause, loss.asked.name) == ("0#1", "allocate", "taker")
    assert (loss.labelled.step, loss.at.step) == (0, 2)
    why = ask(server, session, Evicted(op=loss.at.op))
    assert (why.life, why.at) == (loss.life, loss.at)
    assert [(want.how, want.who.name) for want in why.wanted] == [("missed", "asks")]


def test_of_blocks_of_equal_content_the_last_one_that_was_lost_counts(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT[:8], "first")
    # A hit leaves one token to compute, so the second block is computed again, into another block.
    turn(engine, PROMPT[:8], "twin")
    assert engine.pool.state.content[1] == engine.pool.state.content[2]
    assert engine.pool.queue.walk() == [3, 4, 5, 1, 2, 0]
    turn(engine, tokens(2, 16), "takes one")
    turn(engine, PROMPT, "hits the other")
    turn(engine, tokens(3, 24), "takes the other")
    turn(engine, PROMPT[:8] + said("!"), "asks")
    found = asked(server, engine, "hits the other")
    assert (found.reason, found.hit) == ("short", 8), "the content was evicted once, and cached still"
    found = asked(server, engine, "asks")
    assert (found.reason, found.block) == ("evicted", 0)
    assert found.evicted is not None and found.evicted.asked is not None
    assert found.evicted.asked.name == "takes the other"


def test_what_was_evicted_and_cached_again_was_lost_the_second_time(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "again")
    turn(engine, tokens(3, 24), "second taker")
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks")
    assert found.evicted is not None and found.evicted.asked is not None
    assert (found.reason, found.evicted.asked.name) == ("evicted", "second taker")
    assert [(each.hit, each.resumed) for each in found.others] == []


def test_blocks_behind_the_one_that_was_lost_can_not_be_hit(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    turn(engine, said("Once upon a time, "), "first")
    assert engine.pool.queue.walk() == [5, 4, 3, 2, 1, 0]
    # It hits the first two blocks, which so go behind the others; then the first of all is lost.
    engine.engine.pool.evict([0], Cause.reset)
    engine.engine.step_without_work()
    turn(engine, said("Once upon a time, "), "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.block, found.hit, found.behind) == ("evicted", 0, 0, 3)
    assert found.evicted is not None
    assert (found.evicted.cause, found.evicted.asked) == ("reset", None)


def test_a_reset_takes_the_cache_away(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    Steering(engine.engine, False).carry_out(
        Command(id="c", name="reset_prefix_cache", args={}, asked_by="me")
    )
    engine.engine.step_without_work()
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks")
    assert found.evicted is not None
    assert (found.reason, found.evicted.cause) == ("evicted", "reset")


@pytest.mark.parametrize(("length", "hit"), [(3, 0), (11, 8)])
def test_what_is_shorter_than_a_block_is_not_cached(server: RunningServer, length: int, hit: int) -> None:
    engine = small()
    turn(engine, said("Once upon a "[:length]), "first")
    turn(engine, said("Once upon a "[:length]), "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.tokens, found.hit, found.missed) == ("short", length, hit, None)


def test_the_last_token_is_always_computed(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT[:8], "first")
    turn(engine, PROMPT[:8], "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.tokens, found.hit, found.missed, found.capped) == ("cap", 8, 4, None, False)


def test_a_last_block_that_was_evicted_would_not_have_been_hit_either(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT[:8], "first")
    turn(engine, tokens(2, 20), "taker")
    turn(engine, PROMPT[:8], "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.block, found.hit, found.capped) == ("evicted", 1, 4, True)


def test_a_text_that_differs_inside_a_block_loses_what_agrees_of_it(server: RunningServer) -> None:
    engine = small()
    turn(engine, said("Once upon a time"), "cached")
    turn(engine, said("Once upgrade it!"), "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.hit, found.block) == ("diverges", 4, 1)
    nearest = found.nearest
    assert nearest is not None and nearest.held.who is not None
    assert (nearest.agree, nearest.first) == (7, 0)
    assert (nearest.own_text, nearest.cached_text) == ("Once upg", "Once upo")
    assert (nearest.held.who.name, str(nearest.held.life), nearest.held.lost) == ("cached", "1#1", None)
    assert (
        "it differs from the nearest cached text at token 7, inside a block: the 3 tokens of it that agree are of no use"
        in lines(found)
    )


def test_a_text_that_differs_where_a_block_begins_loses_nothing(server: RunningServer) -> None:
    engine = small()
    turn(engine, said("Once upon a time"), "cached")
    turn(engine, said("Onceover it goes"), "asks")
    found = asked(server, engine, "asks")
    assert found.nearest is not None
    assert (found.reason, found.hit, found.block, found.nearest.agree) == ("diverges", 4, 1, 4)
    assert "it differs from the nearest cached text at token 4, where a block begins" in lines(found)


def test_the_nearest_text_is_the_one_that_agrees_longest_whether_it_is_held_or_was(
    server: RunningServer,
) -> None:
    engine = small()
    turn(engine, said("Once upo"), "nearest, and lost")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, said("Once u!!"), "nearer by less")
    turn(engine, said("Once up_ "), "asks")
    found = asked(server, engine, "asks")
    assert found.nearest is not None and found.nearest.held.who is not None
    assert (found.nearest.agree, found.nearest.held.who.name) == (7, "nearest, and lost")
    assert found.nearest.held.life is None and found.nearest.held.lost is not None
    assert found.nearest.held.lost.step == 2


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (ExtraKeys(cache_salt="pepper"), [["cache_salt", "pepper"]]),
        (ExtraKeys(lora_name="sql"), [["lora", "sql", "sql"]]),
        (
            ExtraKeys(lora_name="sql", cache_salt="pepper"),
            [["lora", "sql", "sql"], ["cache_salt", "pepper"]],
        ),
    ],
)
@pytest.mark.parametrize("asks_with_keys", [True, False])
def test_equal_tokens_with_other_keys_are_another_prefix(
    server: RunningServer, keys: ExtraKeys, told: list[list[str]], asks_with_keys: bool
) -> None:
    engine = small()
    first, second = (ExtraKeys(), keys) if asks_with_keys else (keys, ExtraKeys())
    turn(engine, PROMPT, "first", keys=first)
    turn(engine, PROMPT, "asks", keys=second)
    found = asked(server, engine, "asks")
    assert (found.reason, found.block, found.nearest) == ("other_key", 0, None)
    other = found.other_key
    assert other is not None and other.held.who is not None
    assert (found.keys, other.keys) == ((told, None) if asks_with_keys else (None, told))
    assert (other.held.who.name, str(other.held.life)) == ("first", "0#1")


def test_what_was_evicted_is_not_what_another_salt_holds_still(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "own")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "salted", keys=ExtraKeys(cache_salt="pepper"))
    turn(engine, PROMPT, "asks")
    turn(engine, PROMPT, "asks too", keys=ExtraKeys(cache_salt="dill"))
    session = record(server, engine)
    found = ask(server, session, MissedAt(request="asks"))
    assert (found.reason, found.evicted.asked.name) == ("evicted", "taker")
    found = ask(server, session, MissedAt(request="asks too"))
    assert found.reason == "other_key", "with its own salt it was never there"


def test_a_salt_that_was_cached_and_evicted_was_never_this_one(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "salted", keys=ExtraKeys(cache_salt="pepper"))
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks")
    assert (found.reason, found.evicted) == ("other_key", None)
    assert found.other_key is not None and found.other_key.held.life is None
    assert found.other_key.held.lost is not None and found.other_key.held.lost.step == 2


@pytest.mark.parametrize(("goes_on", "reason"), [("o abc", "unlabelled"), ("o abX", "never_seen")])
def test_a_block_that_is_being_filled_is_told_where_it_became_what_was_missed(
    server: RunningServer, goes_on: str, reason: str
) -> None:
    script = {(0, 7 + place): token for place, token in enumerate(said(goes_on))}
    engine = Mirrored(num_blocks=12, block_size=4, runner=ScriptedRunner(script))
    engine.submit(said("Once up"), max_tokens=9, name="grows")
    engine.step(3)
    engine.submit(said("Once upo abc!"), max_tokens=1, name="asks")
    engine.run()
    found = asked(server, engine, "asks")
    assert (found.hit, found.block, found.reason) == (8, 2, reason)
    if found.unlabelled is None:
        assert reason == "never_seen"
        return
    pending = found.unlabelled
    assert pending.who is not None
    # It has the blank and the letter a, the one of this very step: b and c come in the next two.
    assert (pending.who.name, pending.filled, pending.labelled.step - found.at.step) == ("grows", 2, 2)


def test_what_two_samples_of_one_step_are_computing_is_not_labelled_yet(server: RunningServer) -> None:
    # Both write behind seven tokens, in one block: the first copies it, the other waits for the copy, and labels last.
    script = {(0, 7): said("o")[0], (1, 7): said("g")[0]}
    engine = Mirrored(num_blocks=12, block_size=4, runner=ScriptedRunner(script))
    engine.submit(said("Once up"), max_tokens=8, n=2, name="samples")
    engine.step()
    for name, text in (("as the first", "Once upo!"), ("as the second", "Once upg!")):
        engine.submit(said(text), max_tokens=1, name=name)
    engine.step()
    engine.run()
    session = record(server, engine)
    first = ask(server, session, MissedAt(request="as the first"))
    assert (first.reason, first.hit) == ("short", 8), "its block was labelled before, in this very step"
    found = ask(server, session, MissedAt(request="as the second"))
    assert (found.reason, found.hit, found.block) == ("unlabelled", 4, 1)
    pending = found.unlabelled
    assert pending is not None and pending.who is not None
    assert (pending.who.name, pending.who.index, pending.filled) == ("samples", 1, 3)
    assert pending.labelled.step == found.at.step and pending.labelled.op > found.at.op
    # The nearest text that was labelled then is another one.
    assert found.nearest is not None and found.nearest.cached_text == "Once upo"


def test_a_prefix_cache_that_is_off_is_named(server: RunningServer) -> None:
    engine = small(caching=False)
    turn(engine, PROMPT, "first")
    turn(engine, PROMPT, "asks")
    found = asked(server, engine, "asks", config={"enable_prefix_caching": False})
    assert (found.reason, found.hit, found.missed, found.not_recorded) == ("off", 0, None, [])
    found = asked(server, engine, "asks")
    assert found.reason == "not_recorded"


def test_of_a_request_that_came_back_either_admission_can_be_asked_about(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    for name in ("first", "second", "third"):
        engine.submit(30, max_tokens=40, name=name)
    engine.run()
    session = record(server, engine)
    first = ask(server, session, MissedAt(request="third"))
    last = ask(server, session, MissedAt(request="third", step=engine.last.step))
    assert (first.resumed, last.resumed) == (False, True)
    assert last.reason in ("evicted", "short", "cap", "never_seen")
    told = [each for each in engine.decisions(Admitted) if each.request == 2]
    assert [(each.tokens, each.hit) for each in (first, last)] == [
        (each.tokens, each.hit) for each in (told[0], told[-1])
    ]
    assert len(first.others) == len(told) - 1


@pytest.mark.parametrize("record_text", ["hash", "none"])
def test_without_text_hashes_tell_what_was_evicted_and_what_was_never_there(
    server: RunningServer, record_text: str
) -> None:
    engine = small(record_text=record_text)
    turn(engine, PROMPT, "first")
    turn(engine, said("Once else"), "differs")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "asks")
    turn(engine, said("wholly other"), "never")
    session = record(server, engine, record_text=record_text)
    found = ask(server, session, MissedAt(request="asks"))
    assert (found.reason, found.evicted.asked.name) == ("evicted", "taker")
    found = ask(server, session, MissedAt(request="differs"))
    assert (found.reason, found.hit, found.block) == ("diverges", 4, 1)
    assert (found.nearest.agree, found.nearest.own, found.nearest.held.who.name) == (None, None, "first")
    found = ask(server, session, MissedAt(request="never"))
    assert found.reason == "never_seen"
    assert "whether equal tokens were cached under other keys: text is not recorded" in found.not_recorded


def lost(server: RunningServer, engine: Mirrored, begin: int) -> str:
    """Records before ``begin``, which is a keyframe, are lost for all."""
    link = server.engine(greeting := hello(num_blocks=6, block_size=4))
    last = engine.records[begin - 1].record
    gap = Gap(record=last, time=0, first=0, last=last - 1, reason="lost")
    assert isinstance(engine.records[begin], Keyframe)
    link.send(codec.seal(each) for each in [gap, *engine.records[begin:]])
    link.wait_acked(engine.records[-1].record)
    link.bye()
    server.wait_indexed(greeting.session, engine.records[-1].record)
    return greeting.session


def test_before_the_first_keyframe_nothing_is_known_of_what_was_cached(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    turn(engine, said("any other one"), "other")
    engine.mirror()
    begin = len(engine.records)
    engine.engine.keyframe()
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "asks")
    turn(engine, said("new"), "short")
    turn(engine, said("never before"), "new")
    session = lost(server, engine, begin)
    # It labels its block with a content that is older than the recording, whose eviction is recorded.
    found = ask(server, session, MissedAt(request="asks"))
    assert (found.reason, found.evicted.asked.name, found.evicted.labelled) == ("evicted", "taker", None)
    assert ask(server, session, MissedAt(request="short")).reason == "short"
    found = ask(server, session, MissedAt(request="new"))
    assert found.reason == "not_recorded"
    assert any(each.startswith("what was cached ") for each in found.not_recorded)
    with pytest.raises(
        OutOfRangeError, match="there is no request 'r0': this recording has the requests r2 to r5"
    ):
        ask(server, session, MissedAt(request="r0"))


def test_what_was_evicted_before_the_first_keyframe_was_lost_at_a_time_that_is_not_recorded(
    server: RunningServer,
) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    turn(engine, tokens(2, 24), "taker")
    engine.mirror()
    begin = len(engine.records)
    engine.engine.keyframe()
    turn(engine, PROMPT, "asks")
    found = ask(server, lost(server, engine, begin), MissedAt(request="asks"))
    assert (found.reason, found.evicted) == ("evicted", None)
    assert any(each.startswith("when it was evicted: ") for each in found.not_recorded)


def test_who_was_not_admitted_has_missed_nothing(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    engine.submit(tokens(1, 200), max_tokens=1, name="too long")
    engine.engine.step_without_work()
    session = record(server, engine)
    with pytest.raises(
        OutOfRangeError, match=r"r1 \(too long\) was not admitted, so that nothing was looked up"
    ):
        ask(server, session, MissedAt(request="too long"))


def test_the_api_and_the_command_give_the_same_answer(server: RunningServer) -> None:
    engine = small()
    turn(engine, PROMPT, "first")
    turn(engine, tokens(2, 24), "taker")
    turn(engine, PROMPT, "asks")
    session = record(server, engine)
    told = server.get(f"/sessions/{session}/why/missed", of="asks")
    assert (told["reason"], told["evicted"]["life"]) == ("evicted", {"block": 0, "generation": 1})
    done = kvarium("why", session, "missed", "asks", "--json", "--db", str(server.path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == told
    read = kvarium("why", session, "missed", "asks", "--db", str(server.path))
    assert "it had been cached: block 0#1, the last that held it, lost it at step 2" in read.stdout
    assert server.http.get(f"/api/sessions/{session}/why/missed").status_code == 422
    assert server.http.get(f"/api/sessions/{session}/why/missed?of=nobody").status_code == 404
