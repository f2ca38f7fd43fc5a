"""Recordings of every format that ever was open; an older one becomes the present one when it is written to."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from kvarium.errors import KvariumError
from kvarium.recording import migration, schema, tables
from kvarium.recording.database import open_for_reading, open_for_server, writable_sqlite
from kvarium.recording.notes import read_landmarks, read_notes
from kvarium.recording.reader import Reader
from kvarium.recording.removal import read_removed
from kvarium.verify import verify
from tests.backend.server_process import kvarium
from tests.vectors.recording import SESSION, STEPS, digest_of, digests, record, stored

FORMATS = range(1, tables.FORMAT + 1)
OLDER = FORMATS[:-1]


def declared(path: Path) -> set[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        found = {(name, sql) for name, sql in connection.execute("SELECT name, sql FROM sqlite_master")}
    connection.close()
    return found


def facts(path: Path) -> dict[str, str]:
    with sqlite3.connect(path) as connection:
        found = dict(connection.execute("SELECT key, value FROM kvarium"))
        found["stamp"] = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    connection.close()
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_a_recording_of_every_format_opens_read_only_and_is_whole(tmp_path: Path, format: int) -> None:
    path = stored(format, tmp_path)
    before = path.read_bytes()
    database = open_for_reading(str(path))
    reader = Reader(database)
    number = reader.find(SESSION)
    assert database.format == format
    assert digest_of([frame.bytes for frame in reader.frames(number)]) == digests()[str(format)]
    assert verify(reader, number).messages == []
    assert reader.requests(number)
    index = reader.steps(number)
    assert index["step"] == list(range(STEPS))
    has_hits = format >= tables.HITS_SINCE
    assert {value is None for name in ("queries", "hits") for value in index[name]} == {not has_hits}
    notes = [(note["step"], note["op"], note["mark"], note["text"]) for note in read_notes(reader, number)]
    assert notes == ([(20, 100, None, "a note"), (30, None, "A", "")] if format >= tables.NOTES_SINCE else [])
    assert len(read_landmarks(reader, number)) == len(reader.landmarks(number)) + len(notes)
    assert read_removed(database) == []
    database.close()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("format", OLDER)
def test_writing_upgrades_an_older_one_and_recording_goes_on(tmp_path: Path, format: int) -> None:
    path = stored(format, tmp_path)
    database = open_for_server(str(path))
    assert (database.upgraded_from, database.format) == (format, tables.FORMAT)
    database.close()
    record(path, session="another", steps=20, seed=3)
    assert facts(path) == {"format": str(tables.FORMAT), "stamp": str(tables.FORMAT)} | {
        "writer": facts(path)["writer"]
    }
    record(tmp_path / "new.db")
    assert {name for name, _ in declared(path)} == {name for name, _ in declared(tmp_path / "new.db")}
    database = open_for_reading(str(path))
    reader = Reader(database)
    for session in (SESSION, "another"):
        assert verify(reader, reader.find(session)).good
    database.close()
    again = open_for_server(str(path))
    assert again.upgraded_from is None
    again.close()


def test_the_server_says_that_it_upgraded(tmp_path: Path) -> None:
    path = stored(1, tmp_path)
    done = kvarium("serve", "--no-engine", "--port", "0", "--db", str(path), "--host", "192.0.2.1")
    assert f"{path} had format 1 and has format {tables.FORMAT} now" in done.stderr


@pytest.mark.parametrize("format", OLDER)
def test_an_upgrade_that_fails_leaves_what_was_there(tmp_path: Path, format: int) -> None:
    path = stored(format, tmp_path)
    before = declared(path)

    def refuse(*args: object) -> None:
        if "ALTER TABLE step ADD COLUMN hits" in str(args[2]):
            raise sqlite3.OperationalError("database or disk is full")

    sa.event.listen(sa.Engine, "before_cursor_execute", refuse)
    try:
        with pytest.raises(KvariumError, match="the disk is full"):
            writable_sqlite(path)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", refuse)
    assert declared(path) == before
    database = writable_sqlite(path)
    assert verify(Reader(database), 1).good
    database.close()


def test_the_migrations_make_what_a_new_recording_is_made_with() -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        migration.migrate(connection, str(tables.FORMAT))
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        schema.check_schema(raw, tables.FORMAT, "what the migrations make")
    engine.dispose()


def test_alembic_is_imported_only_for_an_upgrade(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from kvarium.recording.database import open_for_reading, writable_sqlite
for path, wanted in ((sys.argv[1], False), (sys.argv[2], True)):
    writable_sqlite(Path(path)).close()
    open_for_reading(path).close()
    assert ("alembic" in sys.modules) is wanted, path
"""
    paths = [str(tmp_path / "new.db"), str(stored(1, tmp_path))]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("format", ["5", "99", "0", "-1", "2.0", "٢", "x" * 100, "9" * 5000])
def test_another_format_is_refused_by_name(tmp_path: Path, format: str) -> None:
    path = tmp_path / "other.db"
    writable_sqlite(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE kvarium SET value = ? WHERE key = 'format'", (format,))
    connection.close()
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    for opening in (open_for_reading, open_for_server):
        with pytest.raises(KvariumError) as refused:
            opening(str(copy))
        assert f"format {format[:20]}" in str(refused.value) or f"format is {format[:20]!r}" in str(
            refused.value
        )
        assert "\n" not in str(refused.value)
