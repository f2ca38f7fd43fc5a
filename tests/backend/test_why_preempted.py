"""Why a request was preempted, and whether it thrashes: of recordings of the real engine, held against its own objects."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kvarium.errors import OutOfRangeError
from kvarium.why.preemption import Preemption
from kvarium.why.questions import PreemptedAt
from kvarium.why.telling import lines
from kvarium_engine.scheduling.request import Request
from kvarium_ledger.decisions import Admitted, Preempted
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


def asked(server: RunningServer, engine: Mirrored, request: str, **more: Any) -> Preemption:
    found = ask(server, record(server, engine, **more), PreemptedAt(request=request))
    assert isinstance(found, Preemption)
    return found


def held(found: Preemption) -> list[tuple[str | None, int, int]]:
    return [(each.who.name, each.blocks, each.alone) for each in found.running]


def three() -> Mirrored:
    """Six blocks of 16, two each: ``first`` is the first to need a third, and ``third`` the last that runs."""
    engine = Mirrored(num_blocks=6)
    for name in ("first", "second", "third"):
        engine.submit(30, max_tokens=40, name=name)
    engine.step_until_preempted()
    return engine


def test_who_needed_what_and_who_ran(server: RunningServer) -> None:
    engine = three()
    step = engine.last.step
    engine.run()
    session = record(server, engine, config={"scheduling_policy": "fcfs"})
    found = ask(server, session, PreemptedAt(request="third", step=step))
    [first, *_] = engine.decisions(Preempted)
    assert (found.who.name, found.asked.name, found.needs, found.free, found.pool) == (
        "third",
        "first",
        1,
        0,
        6,
    )
    assert held(found) == [("first", 2, 2), ("second", 2, 2), ("third", 2, 2)]
    assert (found.blocks, found.freed, found.released, found.lost) == (2, 2, 0, first.tokens)
    assert (found.earlier, found.since, found.thrashing, found.others) == ([], None, False, [])
    again = next(
        each for each in engine.decisions(Admitted) if (each.request, each.state_before) == (2, "preempted")
    )
    assert (found.after.how, found.after.tokens, found.after.hit) == ("resumed", again.tokens, again.hit)
    assert "who ran, in the order in which they began: the last one goes first:" in lines(found)


def test_blocks_that_others_share_do_not_come_back(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=7, block_size=4)
    prefix = tokens(9, 8)
    engine.submit(tokens(1, 8), max_tokens=12, name="grows")
    engine.submit(prefix + tokens(2, 1), max_tokens=20, name="asks")
    engine.submit(prefix + tokens(3, 1), max_tokens=20, name="shares")
    engine.step_until_preempted()
    [told] = engine.decisions(Preempted)
    found = asked(server, engine, "shares")
    # The decision counts the entries of its tables; only one of the blocks is free for it.
    assert (told.blocks, found.blocks, found.freed, found.released) == (3, 3, 1, 2)
    assert (found.asked.name, found.needs) == ("asks", 1)
    assert held(found) == [("grows", 3, 3), ("asks", 3, 1), ("shares", 3, 1)]
    assert (found.after.how, found.after.at) == ("waits", None)
    assert "it waits still at the recording's end" in lines(found)


def test_two_are_preempted_for_one_need_where_the_first_held_too_little_alone(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=7, block_size=4)
    prefix = tokens(9, 8)
    # Its samples copy one block in step 1, and need a new one each in step 2.
    engine.submit(tokens(1, 7), n=2, max_tokens=6, name="samples")
    engine.submit(prefix + tokens(2, 1), max_tokens=20, name="b")
    engine.submit(prefix + tokens(3, 1), max_tokens=20, name="c")
    engine.step_until_preempted()
    session = record(server, engine)
    last, other = (ask(server, session, PreemptedAt(request=name)) for name in ("c", "b"))
    assert (last.at.step, last.needs, last.free, last.freed, last.released) == (2, 2, 0, 1, 2)
    assert held(last) == [("samples", 3, 3), ("b", 3, 1), ("c", 3, 1)]
    assert (other.needs, other.free, other.freed, other.released) == (2, 1, 3, 0)
    assert held(other) == [("samples", 3, 3), ("b", 3, 3)]
    assert [[each.name for each in found.others] for found in (last, other)] == [["b"], ["c"]]


def test_what_its_own_samples_share_comes_back(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=7, block_size=4)
    engine.submit(tokens(1, 8), max_tokens=12, name="first")
    engine.submit(tokens(2, 7), n=2, max_tokens=6, name="samples")
    engine.step_until_preempted()
    found = asked(server, engine, "samples")
    # One block is in both tables: of the second sequence that lets it go it is a free, of the first a release.
    assert engine.operations(engine.last)["release", "preempted"] == 1
    assert (found.blocks, found.freed, found.released) == (4, 3, 0)
    assert held(found)[-1] == ("samples", 3, 3)


def test_who_lacks_blocks_as_the_last_one_gives_its_own_back(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=5)
    engine.submit(20, max_tokens=40, name="first")
    engine.submit(46, max_tokens=20, name="second")
    engine.step_until_preempted()
    found = asked(server, engine, "second")
    assert (found.asked, found.needs, found.free) == (found.who, None, 0)
    assert "it needed more blocks itself, and 0 of 5 were free: it was its own turn" in lines(found)


def test_by_priority_it_is_not_the_last_that_began(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6, policy="priority")
    for name, priority in (("urgent", 0), ("low", 5), ("later", 1)):
        engine.submit(30, max_tokens=30, priority=priority, name=name)
    engine.step_until_preempted()
    found = asked(server, engine, "low", config={"scheduling_policy": "priority"})
    assert found.policy == "priority"
    assert max(found.running, key=lambda each: each.precedence).who == found.who
    assert any("the least urgent one goes first" in line for line in lines(found))


class Diary:
    """What a request computed and sampled, by its own object: looked at between steps."""

    def __init__(self, engine: Mirrored, request: Request) -> None:
        self.engine, self.request = engine, request
        self.preempted: list[tuple[int, int]] = []
        """(computed, length) before the steps that preempted it."""
        self.hits: list[int] = []

    def step(self) -> None:
        live = self.request.live
        before = (live[0].computed, live[0].length) if live else (0, 0)
        self.engine.step()
        for decision in self.engine.last.decisions:
            if getattr(decision, "request", None) != self.request.id:
                continue
            if isinstance(decision, Preempted):
                self.preempted.append(before)
            elif isinstance(decision, Admitted):
                self.hits.append(decision.hit)

    def run(self) -> None:
        while not self.engine.engine.idle:
            self.step()


CASES = {
    "thrashes": (7, (3, 6, 6), (16, 12, 8), False),
    "gains": (5, (3, 3, 3), (16, 12, 8), False),
    "finds it again": (5, (3, 3, 3), (16, 12, 8), True),
}
"""Blocks of four, prompts, tokens to sample, and is there a prefix cache? The last request is preempted twice."""


@pytest.mark.parametrize("case", CASES)
def test_thrashing_is_to_compute_more_again_than_is_gained(server: RunningServer, case: str) -> None:
    blocks, prompts, most, caching = CASES[case]
    engine = Mirrored(num_blocks=blocks, block_size=4, caching=caching)
    requests = [
        engine.submit(prompt, max_tokens=sampled, name=name)
        for prompt, sampled, name in zip(prompts, most, "abc", strict=True)
    ]
    diary = Diary(engine, requests[2])
    diary.run()
    assert len(diary.preempted) > 1
    found = asked(server, engine, "r2")
    (reached, length), (computed, grown) = diary.preempted[-2:]
    hit = diary.hits[len(diary.preempted) - 1]
    assert found.since is not None
    assert found.since.again == max(0, min(computed, reached) - hit)
    assert found.since.gained == grown - length
    assert len(found.earlier) == len(diary.preempted) - 1
    assert found.thrashing == (found.since.again > found.since.gained)
    assert found.thrashing == (case == "thrashes")
    words = "it thrashes" if found.thrashing else "it does not thrash"
    assert any(line.endswith(words) for line in lines(found))


def test_a_request_that_was_not_preempted_is_said_to_be_so(server: RunningServer) -> None:
    session = record(server, three())
    with pytest.raises(OutOfRangeError, match=r"^r0 \(first\) was not preempted: it is running at"):
        ask(server, session, PreemptedAt(request="first"))
    with pytest.raises(OutOfRangeError, match=r"^r2 \(third\) was not preempted up to step 1: it is"):
        ask(server, session, PreemptedAt(request="2", step=1))
    with pytest.raises(OutOfRangeError, match=r"^there is no request 'r3': this recording has .* r0 to r2$"):
        ask(server, session, PreemptedAt(request="r3"))


def test_the_api_and_the_command_give_the_same_answer(server: RunningServer) -> None:
    session = record(server, three())
    told = server.get(f"/sessions/{session}/why/preempted", of="third")
    done = kvarium("why", session, "preempted", "r2", "--json", "--db", str(server.path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == told
    answer = server.http.get(f"/api/sessions/{session}/why/preempted", params={"of": "first"})
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("r0 (first) was not preempted")
