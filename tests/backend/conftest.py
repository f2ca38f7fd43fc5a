"""A server, an engine made by hand, and a recording that is there already."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvarium.errors import KvariumError
from kvarium.exchange.page import template
from kvarium.recording import sqlite_file
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from tests.backend.hand_engine import HandEngine, hand_frames, record_of
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "recording.db"


@pytest.fixture
def server(db: Path) -> Iterator[RunningServer]:
    with running(db) as found:
        yield found


@pytest.fixture
def engine(server: RunningServer) -> Iterator[HandEngine]:
    with server.engine() as found:
        yield found


@pytest.fixture(scope="session")
def frames() -> list[bytes]:
    """A few hundred steps of the hand-made pool."""
    return hand_frames(300)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, frames: list[bytes]) -> tuple[Path, str]:
    """A recording of ``frames`` that ended in order, closed; and its session's id. Copy it before changing it."""
    path = tmp_path_factory.mktemp("recorded") / "recording.db"
    with running(path) as server:
        engine = server.engine()
        # In several chunks.
        for i in range(0, len(frames), 150):
            engine.send(frames[i : i + 150])
            engine.wait_acked(record_of(frames[i : i + 150][-1]))
        engine.bye()
        server.wait_indexed(engine.hello.session, record_of(frames[-1]))
    return path, engine.hello.session


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the null runner on its seeded mix: 300 steps, 128 blocks of 16, every operation and most decisions."""
    path = tmp_path_factory.mktemp("mixed") / "recording.db"
    options = ("--num-gpu-blocks-override", "128", "--steps", "300", "--step-ms", "0")
    done = kvarium("serve", "--port", "0", "--db", str(path), "--exit-with-engine", *options)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="session")
def mixed_reader(mixed: Path) -> Iterator[Reader]:
    database = open_for_reading(str(mixed))
    yield Reader(database)
    database.close()


@pytest.fixture(scope="session")
def bench_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where small benches keep the recordings that they make: one folder for all processes of a run, as they make the same."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "benches"


@pytest.fixture
def built_page() -> None:
    """Skip where the page that an export puts a recording into is not built."""
    try:
        template()
    except KvariumError as error:
        pytest.skip(str(error))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is waited for a moment only."""
    monkeypatch.setattr(sqlite_file, "_BUSY_SECONDS", 0.05)
