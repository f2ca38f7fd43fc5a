"""The same recording in PostgreSQL, where one is installed."""

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from kvarium.errors import KvariumError
from kvarium.recording import migration, tables
from kvarium.recording.database import open_for_reading, open_for_server
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Keyframe
from tests.backend.hand_engine import BLOCKS, SIZE, decoded, record_of
from tests.backend.running_server import RunningServer, running
from tests.backend.server_process import kvarium

USER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def programs() -> Path | None:
    """The folder of PostgreSQL's own programs."""
    for folder in [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found is not None else None


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'kvarium[postgres]'")
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL is installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(tempfile.mkdtemp(prefix="kvarium-pg-"))
    if USER:
        shutil.chown(home, "postgres")
    data = home / "data"

    def run(*command: str) -> None:
        done = subprocess.run(
            [*USER, *command], capture_output=True, text=True, cwd=home, timeout=60, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[-200:]}")

    run(str(folder / "initdb"), "-D", str(data), "-A", "trust", "-U", "kvarium", "-N", "-E", "UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
    log = str(home / "log")
    run(str(folder / "pg_ctl"), "-D", str(data), "-o", options, "-l", log, "-w", "-t", "30", "start")
    try:
        yield f"postgresql://kvarium@127.0.0.1:{port}/postgres"
    finally:
        stop = [str(folder / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"]
        subprocess.run([*USER, *stop], capture_output=True, cwd=home, timeout=60, check=False)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def database_url(cluster: str) -> Iterator[str]:
    """A database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(
        cluster.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield cluster.replace("/postgres", f"/{name}")
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


def test_a_session_is_recorded_sought_exported_and_verified(
    cluster: str, frames: list[bytes], tmp_path: Path
) -> None:
    with running(cluster) as server:
        engine = server.engine()
        session = engine.hello.session
        engine.send(frames[:200])
        engine.wait_acked(record_of(frames[199]))
        engine.break_off()
        with server.engine(engine.hello) as again:
            again.send(frames[150:])
            again.wait_acked(record_of(frames[-1]))
            again.bye()
        server.wait_indexed(session, record_of(frames[-1]))
        assert server.bytes(f"/sessions/{session}/frames", after=-1, limit_bytes=1 << 26) == frames
        found = server.bytes(f"/sessions/{session}/seek", step=120, ahead_bytes=0)
        fold = Fold(BLOCKS, SIZE)
        keyframe = decoded(found[0])
        assert isinstance(keyframe, Keyframe)
        fold.load(keyframe)
        for frame in found[1:]:
            assert fold.apply(decoded(frame)) == []
        assert len(server.get(f"/sessions/{session}/steps")["step"]) == 300
        assert server.get(f"/sessions/{session}/requests")["requests"]
        check_second_server_is_refused(cluster)
        copy = tmp_path / "copy.db"
        copy.write_bytes(server.http.get(f"/api/sessions/{session}/download").content)
    assert kvarium("verify", session[:8], "--db", cluster).returncode == 0
    assert kvarium("verify", session[:8], "--db", str(copy)).returncode == 0
    database = open_for_reading(cluster)
    database.close()


def check_second_server_is_refused(cluster: str) -> None:
    with pytest.raises(KvariumError, match="another kvarium server"):
        open_for_server(cluster)


def test_a_database_that_kvarium_did_not_write_is_refused_for_reading(cluster: str) -> None:
    done = kvarium("sessions", "ls", "--db", cluster.replace("/postgres", "/template1"))
    assert done.returncode == 1
    assert "has no table 'kvarium'" in done.stderr


def test_a_database_that_is_not_there_is_named(cluster: str) -> None:
    done = kvarium("sessions", "ls", "--db", cluster.replace("/postgres", "/nothing"))
    assert done.returncode == 1
    assert '"nothing" does not exist' in done.stderr


def test_its_frames_are_the_same_bytes(cluster: str) -> None:
    server: RunningServer
    with running(cluster) as server:
        for row in server.get("/sessions")["sessions"]:
            stored = server.bytes(f"/sessions/{row['id']}/frames", after=-1, limit_bytes=1 << 26)
            assert [codec.peek(frame)[1] for frame in stored] == list(range(row["records"]))


def test_a_recording_of_the_first_format_is_upgraded(database_url: str, frames: list[bytes]) -> None:
    engine = sa.create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        migration.migrate(connection, "1")
        connection.execute(sa.insert(tables.kvarium), [{"key": "format", "value": "1"}])
        # Alembic was not there when such recordings were made.
        connection.exec_driver_sql("DROP TABLE alembic_version")
    read = open_for_reading(database_url)
    assert read.format == 1
    read.close()
    database = open_for_server(database_url)
    assert (database.upgraded_from, database.format) == (1, tables.FORMAT)
    database.close()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
        assert connection.execute(sa.select(tables.alembic_version)).all() == [(str(tables.FORMAT),)]
    engine.dispose()
    with running(database_url) as server, server.engine() as again:
        again.send(frames)
        again.wait_acked(record_of(frames[-1]))
