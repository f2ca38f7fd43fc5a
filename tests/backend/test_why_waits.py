"""Why a request waits: of recordings of the real engine, each reason, and twins in which what was logged is no longer so."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kvarium.errors import OutOfRangeError
from kvarium.why.questions import WaitsAt
from kvarium.why.telling import lines
from kvarium.why.waiting import Wait
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


def asked(
    server: RunningServer, engine: Mirrored, request: str, step: int | None = None, **more: Any
) -> Wait:
    found = ask(server, record(server, engine, **more), WaitsAt(request=request, step=step))
    assert isinstance(found, Wait)
    return found


def names(found: Wait) -> list[str | None]:
    return [each.name for each in found.ahead]


def test_it_needs_more_blocks_than_are_free(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(60, max_tokens=20, name="runs")
    engine.submit(40, max_tokens=5, name="waits")
    engine.step(3)
    found = asked(server, engine, "waits")
    assert found.reason is not None
    assert (found.reason.reason, found.reason.needs, found.reason.free, found.reason.at.step) == (
        "blocks",
        3,
        2,
        0,
    )
    assert (found.state, found.since and found.since.step, found.steps, found.ahead) == ("waiting", 0, 2, [])
    assert (found.free, found.pool, found.head) == (2, 6, found.who)
    assert [(each.who.name, each.blocks) for each in found.running] == [("runs", 4)]
    assert "logged of it: it needs 3 blocks and 2 were free" in "\n".join(lines(found))


def test_what_was_logged_is_told_beside_how_it_is_now(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(60, max_tokens=20, name="runs")
    engine.submit(40, max_tokens=5, name="waits")
    engine.step(6)
    # The engine logs a reason only once: meanwhile ``runs`` has taken one of the two blocks.
    found = asked(server, engine, "waits")
    assert found.reason is not None
    assert (found.reason.free, found.free) == (2, 1)


def test_who_was_logged_as_before_it_may_run_by_now(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(60, max_tokens=3, name="runs")
    for name in ("next", "large", "last"):
        engine.submit(40 if name == "next" else 60, max_tokens=20, name=name)
    engine.step(5)
    found = asked(server, engine, "last")
    assert found.reason is not None and found.reason.behind is not None
    assert (found.reason.reason, found.reason.behind.name) == ("behind", "next")
    assert [each.who.name for each in found.running] == ["next"]
    assert (names(found), found.head.name) == (["large"], "large")
    assert found.head_reason is not None
    assert (found.head_reason.reason, found.head_reason.needs) == ("blocks", 4)
    assert names(asked(server, engine, "last", step=0)) == ["next", "large"]


def test_the_budget_of_a_step_is_used_up(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=32, budget=32)
    engine.submit(32, max_tokens=5, name="first")
    engine.submit(8, max_tokens=5, name="second")
    engine.step()
    found = asked(server, engine, "second")
    assert found.reason is not None
    assert (found.reason.reason, found.tokens, found.budget) == ("budget", 32, 32)


def test_as_many_sequences_run_as_may(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=32, seqs=3)
    engine.submit(8, max_tokens=9, n=3, name="samples")
    engine.submit(8, max_tokens=5, name="second")
    engine.step(2)
    found = asked(server, engine, "second", config={"max_num_seqs": 3})
    assert found.reason is not None
    assert (found.reason.reason, found.sequences, found.max_num_seqs) == ("max_num_seqs", 3, 3)
    assert len(found.running) == 1


def test_a_preempted_request_waits_before_those_that_came_earlier(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    for name in ("first", "second", "third", "late"):
        engine.submit(30, max_tokens=40, name=name)
    engine.step_until_preempted()
    found = asked(server, engine, "late")
    assert names(found) == ["third"]
    assert [each.name for each in found.preempted] == ["third"]
    own = asked(server, engine, "third")
    assert (own.state, own.reason, own.steps) == ("preempted", None, 0)
    assert any("nobody is admitted in such a step" in line for line in lines(own))


def test_a_request_that_does_not_wait_is_said_to_do_what_it_does(server: RunningServer) -> None:
    engine = Mirrored()
    engine.submit(8, max_tokens=3, name="runs")
    engine.step(2)
    engine.submit(8, max_tokens=30, name="later")
    engine.step(4)
    session = record(server, engine)
    said = {
        ("runs", 1): r"r0 \(runs\) does not wait after step 1: it runs",
        ("runs", None): r"r0 \(runs\) does not wait after step 5: it is finished at the recording's end",
        ("later", 0): r"r1 \(later\) does not wait after step 0: it comes in step 2 only",
        ("later", 6): r"step 6 is not in the recording, which holds steps up to 5",
    }
    for (request, step), message in said.items():
        with pytest.raises(OutOfRangeError, match=f"^{message}$"):
            ask(server, session, WaitsAt(request=request, step=step))


def test_the_api_and_the_command_give_the_same_answer(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(60, max_tokens=20, name="runs")
    engine.submit(40, max_tokens=5, name="waits")
    engine.step(3)
    session = record(server, engine)
    told = server.get(f"/sessions/{session}/why/waits", of="waits", step=1)
    done = kvarium("why", session, "waits", "waits", "--step", "1", "--json", "--db", str(server.path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == told
    forgotten = kvarium("why", "waits", "r1", "--db", str(server.path))
    assert (forgotten.returncode, forgotten.stdout) == (2, "")
    assert forgotten.stderr.strip() == (
        "kvarium: 'waits' is a question, and the session comes before it: kvarium why latest waits …"
    )
