"""Why a block was evicted: of recordings of the real engine in which the true answer is known, and twins in which it is another one."""

import json
import re
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from kvarium.errors import OutOfRangeError, WrongUsageError
from kvarium.why.command import life_of
from kvarium.why.eviction import Eviction
from kvarium.why.questions import Evicted
from kvarium.why.telling import lines
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.steering import Steering
from kvarium_ledger import codec
from kvarium_ledger.messages import Command
from kvarium_ledger.records import Gap, Keyframe
from tests.backend.asking import ask, record
from tests.backend.hand_engine import hello
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored, tokens

PROMPT = tokens(1, 8)
"""Two full blocks of four."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


def turn(engine: Mirrored, prompt: "array[int] | int", name: str, **more: Any) -> None:
    """A request that computes its prompt, samples one token and ends; then a step without work."""
    engine.submit(prompt, max_tokens=1, name=name, **more)
    engine.run()
    engine.engine.step_without_work()
    assert engine.mirror() == []


def pool() -> Mirrored:
    """Six blocks; ``first`` has left its prompt in 0 and 1, which are freed tail first: the queue is 2 3 4 5 1 0."""
    engine = Mirrored(num_blocks=6, block_size=4)
    turn(engine, PROMPT, "first")
    assert engine.pool.queue.walk() == [2, 3, 4, 5, 1, 0]
    return engine


def evict(engine: Mirrored, blocks: int = 5) -> None:
    """``taker`` takes the first blocks of the queue."""
    turn(engine, tokens(2, 4 * blocks), "taker")


def asked(server: RunningServer, engine: Mirrored, block: int = 1, **more: Any) -> Eviction:
    found = ask(server, record(server, engine), Evicted(block=block, **more))
    assert isinstance(found, Eviction)
    return found


def hows(found: Eviction) -> list[tuple[str, str | None]]:
    return [(want.how, want.who.name if want.who else None) for want in found.wanted]


def test_who_asked_how_the_queue_stood_and_how_long_the_block_was_idle(server: RunningServer) -> None:
    engine = pool()
    engine.engine.step_without_work()
    evict(engine)
    found = asked(server, engine)
    assert lines(found)[0] == f"block 1#1 lost content {found.content} at step 3, op {found.at.op}"
    assert (str(found.life), found.cause, found.hits, found.copies) == ("1#1", "allocate", 0, [])
    assert found.asked is not None
    assert (found.asked.request, found.asked.name, found.needed) == (1, "taker", 5)
    queue = found.queue
    assert queue is not None
    assert (queue.length, queue.before, queue.taken, queue.passed_over) == (6, 4, 4, 0)
    assert (queue.empty, queue.empty_before, str(queue.head), queue.head_content) == (4, 4, "2#0", None)
    assert found.idle is not None
    assert (found.idle.operation, found.idle.since.step, found.at.step, found.idle.steps) == ("free", 0, 3, 3)
    assert found.idle.ns == engine.steps()[3].sealed - engine.steps()[0].sealed
    assert (found.wanted, found.not_recorded, found.through) == ([], [], engine.steps()[-1].record)


def test_who_wants_it_again_misses_it_and_computes_it_again(server: RunningServer) -> None:
    engine = pool()
    evict(engine)
    turn(engine, PROMPT + tokens(3, 4), "again")
    # The new request takes block 1 in its turn: another life of it.
    found = asked(server, engine, generation=1)
    assert hows(found) == [("missed", "again")]
    [want] = found.wanted
    assert want.computed is not None and want.computed.step == want.at.step
    assert want.life is not None and want.life.block != 0
    assert not want.resumed


def test_equal_tokens_with_another_salt_do_not_want_it(server: RunningServer) -> None:
    engine = pool()
    evict(engine)
    turn(engine, PROMPT + tokens(3, 4), "salted", keys=ExtraKeys(cache_salt="other"))
    assert hows(asked(server, engine, generation=1)) == []


def test_a_request_that_missed_a_block_before_it_computes_it_again(server: RunningServer) -> None:
    engine = pool()
    evict(engine, blocks=6)
    turn(engine, PROMPT + tokens(3, 4), "again")
    assert hows(asked(server, engine, block=0, generation=1)) == [("missed", "again")]
    assert hows(asked(server, engine, block=1, generation=1)) == [("computed", "again")]


def test_content_that_another_block_holds_is_not_lost(server: RunningServer) -> None:
    engine = pool()
    # A hit leaves one token to compute, so the second block is computed again, into block 2.
    turn(engine, PROMPT, "twin")
    assert engine.pool.queue.walk() == [3, 4, 5, 1, 2, 0]
    evict(engine, blocks=4)
    turn(engine, PROMPT + tokens(3, 4), "again")
    found = asked(server, engine, generation=1)
    assert [str(life) for life in found.copies] == ["2#1"]
    assert hows(found) == [("hit", "again")]
    assert str(found.wanted[0].life) == "2#1"
    assert any("stayed in the cache, in block 2#1" in line for line in lines(found))


def test_hits_of_the_life_that_ended_are_told_and_not_those_of_an_earlier_one(server: RunningServer) -> None:
    engine = pool()
    for name in ("one", "two"):
        turn(engine, PROMPT + tokens(3, 1), name)
    for _ in range(2):
        evict(engine, blocks=6)
        turn(engine, PROMPT + tokens(3, 1), "later")
    session = record(server, engine)
    first = ask(server, session, Evicted(block=0, generation=1))
    assert first.hits == 2
    assert [(hit.who.name, hit.operation) for hit in first.hit_by] == [("two", "reuse"), ("one", "reuse")]
    assert ask(server, session, Evicted(block=0)).hits == 0


def test_a_block_that_held_content_goes_before_empty_ones_behind_it(server: RunningServer) -> None:
    engine = pool()
    # It leaves a block behind that is not full, so without content, at the queue's end.
    turn(engine, 2, "short")
    assert engine.pool.queue.walk() == [3, 4, 5, 1, 0, 2]
    evict(engine, blocks=4)
    found = asked(server, engine)
    assert found.queue is not None
    assert (found.queue.empty, found.queue.empty_before) == (4, 3)
    assert "1 block behind it held no content: taking one would have lost nothing" in lines(found)


def test_a_reset_is_named_with_who_asked_for_it(server: RunningServer) -> None:
    engine = pool()
    steering = Steering(engine.engine, False)
    steering.carry_out(Command(id="c", name="reset_prefix_cache", args={}, asked_by="me"))
    engine.engine.step_without_work()
    found = asked(server, engine)
    assert (found.cause, found.asked, found.queue is not None) == ("reset", None, True)
    assert found.command is not None
    assert (found.command.asked_by, found.command.name) == ("me", "reset_prefix_cache")


def test_one_operation_may_be_asked_about(server: RunningServer) -> None:
    engine = pool()
    evict(engine, blocks=6)
    session = record(server, engine)
    last = ask(server, session, Evicted(block=0))
    assert ask(server, session, Evicted(op=last.at.op)) == last
    with pytest.raises(OutOfRangeError, match=r"operation 0 is no eviction: it is allocate of block 0"):
        ask(server, session, Evicted(op=0))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Evicted(block=6), "block 6 is not in the pool, which has 6: 0 to 5"),
        (Evicted(block=1, generation=7), "block 1#7 is not there up to step 3: the block's life is 1#2 then"),
        (Evicted(block=0), "block 0 was not evicted up to step 3: it holds content 0 still"),
        (Evicted(block=2), "block 2 was not evicted up to step 3: it holds content 2 still"),
        (Evicted(block=1, step=1), "block 1 was not evicted up to step 1: it holds content 1 still"),
        (Evicted(block=0, step=99), "step 99 is not in the recording, which holds steps up to 3"),
    ],
)
def test_what_was_not_evicted_is_said_to_be_so(
    server: RunningServer, question: Evicted, message: str
) -> None:
    engine = pool()
    evict(engine)
    with pytest.raises(OutOfRangeError) as raised:
        ask(server, record(server, engine), question)
    assert str(raised.value) == message


def test_what_lies_before_the_first_keyframe_is_not_recorded(server: RunningServer) -> None:
    engine = pool()
    turn(engine, PROMPT + tokens(3, 1), "hits")
    begin = len(engine.records)
    engine.engine.keyframe()
    evict(engine, blocks=6)
    link = server.engine(greeting := hello(num_blocks=6, block_size=4))
    # The records before are lost for all.
    lost = engine.records[begin - 1].record
    gap = Gap(record=lost, time=0, first=0, last=lost - 1, reason="lost")
    assert isinstance(engine.records[begin], Keyframe)
    link.send(codec.seal(each) for each in [gap, *engine.records[begin:]])
    link.wait_acked(engine.records[-1].record)
    link.bye()
    server.wait_indexed(greeting.session, engine.records[-1].record)
    found = ask(server, greeting.session, Evicted(block=0))
    assert (found.hits, found.hit_by, found.idle) == (1, [], None)
    assert "the operation on 0#1 before it" in found.not_recorded
    with pytest.raises(OutOfRangeError, match="not recorded"):
        ask(server, greeting.session, Evicted(block=0, generation=0))


def test_the_api_and_the_command_give_the_same_answer(server: RunningServer) -> None:
    engine = pool()
    evict(engine)
    session = record(server, engine)
    told = server.get(f"/sessions/{session}/why/evicted", block=1)
    assert (told["life"], told["asked"]["name"]) == ({"block": 1, "generation": 1}, "taker")
    done = kvarium("why", session, "evicted", "1#1", "--json", "--db", str(server.path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == told
    none = kvarium("why", session, "evicted", "0", "--db", str(server.path))
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.strip() == "kvarium: block 0 was not evicted up to step 3: it holds content 0 still"
    answers = [
        server.http.get(f"/api/sessions/{each}/why/evicted{query}")
        for each, query in (
            (session, "?block=0"),
            (session, ""),
            (session, "?block=1&op=2"),
            ("none", "?block=1"),
        )
    ]
    assert [answer.status_code for answer in answers] == [404, 422, 422, 404]
    assert answers[0].json()["detail"] == none.stderr.strip().removeprefix("kvarium: ")


@pytest.mark.parametrize("said", ["x", "4#", "#3", "-1", "4#2#1", "4 2", "²"])
def test_what_is_no_block_is_refused_with_the_value(said: str) -> None:
    with pytest.raises(WrongUsageError, match=f"^{re.escape(repr(said))} is no block: 42 is one, and 42#3"):
        life_of(said)


def test_a_block_is_named_with_or_without_its_life() -> None:
    assert [life_of(said) for said in ("42", "42#3", "0#0")] == [(42, None), (42, 3), (0, 0)]
