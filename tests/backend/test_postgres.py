"""The same recording in PostgreSQL, where one is installed."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from kvarium.errors import KvariumError
from kvarium.recording import migration, tables
from kvarium.recording.database import open_for_reading, open_for_server
from kvarium.recording.keeper import Keeper
from kvarium.recording.reader import Reader
from kvarium.recording.removal import direct, read_removed
from kvarium.recording.retention import Retention
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Keyframe
from tests.backend.hand_engine import BLOCKS, SIZE, decoded, hello, record_of
from tests.backend.running_server import RunningServer, running, wait_for
from tests.backend.server_process import kvarium, serving
from tests.vectors.recording import SESSION, stored

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
        pytest.skip("no PostgreSQL is installed (Debian: apt-get install postgresql)")
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
        asked = {"sql": "SELECT kind, count(*) FROM block_event GROUP BY ALL ORDER BY ALL"}
        told = server.http.post(f"/api/sessions/{session}/sql", json=asked).json()
    assert kvarium("verify", session[:8], "--db", cluster).returncode == 0
    assert kvarium("verify", session[:8], "--db", str(copy)).returncode == 0
    for place in ([session[:8], asked["sql"], "--db", cluster], [str(copy), asked["sql"]]):
        assert json.loads(kvarium("sql", *place, "--json").stdout)["rows"] == told["rows"]
    assert sum(count for _, count in told["rows"]) > 1000
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


def recorded_twice(url: str, frames: list[bytes], **options: Any) -> tuple[RunningServer, list[str]]:
    """A server with two sessions that have ended, the older one first."""
    server = RunningServer(url, **options)
    ids = []
    for day in (1, 2):
        greeting = hello(utc_us=1_764_000_000_000_000 + day * 86_400_000_000)
        engine = server.engine(greeting)
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        engine.bye()
        server.wait_indexed(greeting.session, record_of(frames[-1]))
        ids.append(greeting.session)
    return server, ids


def test_sessions_are_renamed_annotated_and_removed_by_the_server(
    database_url: str, frames: list[bytes]
) -> None:
    server, (older, newer) = recorded_twice(database_url, frames)
    try:
        at = f"/api/sessions/{older}"
        assert server.http.patch(at, json={"name": "é\u0301🐟"}).json()["name"] == "é\u0301🐟"
        made = server.http.post(f"{at}/notes", json={"text": "here", "step": 7, "mark": "A"}).json()
        moved = server.http.post(f"{at}/notes", json={"text": "there", "mark": "A"}).json()
        assert server.http.patch(f"{at}/notes/{moved['number']}", json={"text": "now"}).status_code == 200
        assert server.http.delete(f"{at}/notes/{made['number']}").status_code == 404
        assert [note["text"] for note in server.get(f"/sessions/{older}/notes")["notes"]] == ["now"]
        done = kvarium("sessions", "rm", newer, "--db", database_url)
        assert done.returncode == 1
        assert "a PostgreSQL server's address is not known here" in done.stderr
        told = server.http.delete(f"/api/sessions/{newer}").json()
        assert told["removed"] == [newer]
        assert [row["id"] for row in server.get("/sessions")["sessions"]] == [older]
    finally:
        server.stop()
    engine = sa.create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        for table in (tables.chunk, *tables.INDEX_TABLES):
            assert set(connection.execute(sa.select(table.c.session)).scalars()) <= {1}
    engine.dispose()


def test_sessions_are_managed_where_no_server_records(
    database_url: str, frames: list[bytes], tmp_path: Path
) -> None:
    server, (older, newer) = recorded_twice(database_url, frames)
    server.stop()
    at = ("--db", database_url)
    assert kvarium("sessions", "rename", older, "the older one", *at).returncode == 0
    assert kvarium("sessions", "note", older, "seen", "--step", "3", *at).returncode == 0
    told = json.loads(kvarium("sessions", "show", older, "--json", *at).stdout)
    assert (told["name"], told["notes"][0]["text"]) == ("the older one", "seen")
    file = tmp_path / "one.db"
    assert kvarium("sessions", "export", older, str(file), *at).returncode == 0
    assert (
        json.loads(kvarium("sessions", "show", "--json", "--db", str(file)).stdout)["notes"] == told["notes"]
    )
    assert json.loads(kvarium("sessions", "rm", newer, "--json", *at).stdout)["removed"] == [newer]
    listed = kvarium("sessions", "ls", *at).stdout
    assert newer not in listed
    assert f"removed before: 1, the last one {newer[:8]}" in listed
    assert kvarium("verify", older, *at).returncode == 0
    # Files that are brought lie in the user's data folder.
    data = {"XDG_DATA_HOME": str(tmp_path / "data")}
    brought = stored(2, tmp_path)
    assert kvarium("sessions", "import", str(brought), *at, **data).returncode == 0
    assert len(list((tmp_path / "data" / "kvarium").glob("imported-*/*.db"))) == 1
    assert kvarium("verify", SESSION, *at, **data).returncode == 0
    assert SESSION not in kvarium("sessions", "ls", *at).stdout
    assert kvarium("sessions", "rm", SESSION, *at, **data).returncode == 0


def test_the_oldest_sessions_go(database_url: str, frames: list[bytes]) -> None:
    server, (older, newer) = recorded_twice(database_url, frames)
    server.stop()
    with running(database_url, retention=Retention(sessions=1)) as again:
        wait_for(lambda: [row["id"] for row in again.get("/sessions")["sessions"]] == [newer])
        wait_for(lambda: [row["id"] for row in read_removed(again.database)] == [older])
    with running(database_url, retention=Retention(bytes=100)) as again:
        wait_for(lambda: again.get("/sessions")["sessions"] == [])


def test_a_removal_that_broke_off_is_ended_by_the_next_server(database_url: str, frames: list[bytes]) -> None:
    server, (older, newer) = recorded_twice(database_url, frames)
    server.stop()
    database = open_for_server(database_url)
    Keeper(database, direct(database), alone=True).mark([Reader(database).find(older)], "a test")
    database.close()
    with serving(database_url) as process:
        process.wait_line(f"removed session {older}, as was begun before")
    database = open_for_reading(database_url)
    assert [row["id"] for row in Reader(database).sessions()] == [newer]
    database.close()
