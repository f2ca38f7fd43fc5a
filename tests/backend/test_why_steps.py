"""A step that is not in the recording is refused by every question about one, in the same words, however large it is."""

from collections.abc import Iterator

import msgspec
import pytest

from kvarium.errors import OutOfRangeError
from kvarium.why.questions import (
    Evicted,
    LeaksAt,
    MemoryAt,
    MissedAt,
    PreemptedAt,
    Question,
    WaitsAt,
)
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium
from tests.engine.mirrored import Mirrored

QUESTIONS = (
    Evicted(block=0),
    PreemptedAt(request="third"),
    WaitsAt(request="third"),
    MissedAt(request="third"),
    MemoryAt(),
    LeaksAt(),
)


@pytest.fixture(scope="module")
def engine() -> Mirrored:
    """Six blocks of 16, two each: ``first`` is the first to need a third, for which ``third`` is preempted."""
    engine = Mirrored(num_blocks=6)
    for name in ("first", "second", "third"):
        engine.submit(30, max_tokens=40, name=name)
    engine.step_until_preempted()
    return engine


@pytest.fixture(scope="module")
def recording(
    engine: Mirrored, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, str]]:
    with running(tmp_path_factory.mktemp("steps") / "recording.db") as server:
        yield server, record(server, engine)


@pytest.mark.parametrize("beyond", [1, 10**15 - 1, 10**15])
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_step_that_is_not_recorded_is_refused(
    recording: tuple[RunningServer, str], engine: Mirrored, question: Question, beyond: int
) -> None:
    server, session = recording
    step = engine.last.step + beyond
    said = f"step {step} is not in the recording, which holds steps up to {engine.last.step}"
    with pytest.raises(OutOfRangeError, match=f"^{said}$"):
        ask(server, session, msgspec.structs.replace(question, step=step))


def test_a_server_says_so_too(recording: tuple[RunningServer, str], engine: Mirrored) -> None:
    server, session = recording
    told = server.http.get(
        f"/api/sessions/{session}/why/preempted", params={"of": "third", "step": 10**15}, timeout=100
    )
    said = f"step {10**15} is not in the recording, which holds steps up to {engine.last.step}"
    assert (told.status_code, told.json()["detail"]) == (404, said)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["preempted", "third", "--step", str(1 << 70)], f"step {1 << 70} is not in the recording"),
        (["evicted", "--op", str(1 << 70)], f"operation {1 << 70} is not in the recording"),
    ],
)
def test_a_number_that_no_database_takes_is_refused_on_the_command_line(
    recording: tuple[RunningServer, str], args: list[str], what: str
) -> None:
    server, session = recording
    done = kvarium("why", session, *args, "--db", str(server.path))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith(f"kvarium: {what}")
