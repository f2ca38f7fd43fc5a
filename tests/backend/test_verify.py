"""Verifying: what is recorded right now, what is damaged, what was lost, and the index."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.verify import Findings, verify
from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.recorder import Recorder
from tests.backend.running_server import running
from tests.backend.server_process import kvarium, serving
from tests.backend.test_faults import damage


def verified(path: Path) -> Findings:
    database = open_for_reading(str(path))
    try:
        return verify(Reader(database), 1)
    finally:
        database.close()


@pytest.fixture
def copy(tmp_path: Path, recorded: tuple[Path, str]) -> Path:
    path = tmp_path / "copy.db"
    shutil.copy(recorded[0], path)
    return path


def test_what_is_being_recorded_is_verified_as_far_as_its_row_goes(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = hand_frames(120)
    with running(db) as server, server.engine() as engine:
        engine.send(frames[:100])
        engine.wait_acked(99)
        server.wait_indexed(engine.hello.session, 99)
        opened = Reader.open_chunk

        def grow_meanwhile(reader: Reader, row: Any) -> Any:
            engine.send(frames[100:])
            engine.wait_acked(record_of(frames[-1]))
            return opened(reader, row)

        monkeypatch.setattr(Reader, "open_chunk", grow_meanwhile)
        findings = verified(db)
        monkeypatch.undo()
        assert (findings.messages, findings.records, findings.live) == ([], 100, True)
        done = kvarium("verify", "--db", str(db))
        assert (done.returncode, done.stderr) == (0, "so far: still being recorded\n")
        assert done.stdout.startswith("verified: ")


def test_a_session_whose_server_was_killed_is_interrupted_for_readers(db: Path) -> None:
    frames = hand_frames(30)
    with serving(db) as server:
        engine = server.engine()
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
        assert row["state"] == "live"
        server.kill()
        engine.close()
    before = db.read_bytes()
    row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
    assert (row["state"], row["reason"]) == ("interrupted", "the server ended while the session was live")
    assert "interrupted" in kvarium("sessions", "ls", "--db", str(db)).stdout
    with running(db, read_only=True) as viewing:
        assert viewing.get("/sessions")["sessions"][0]["state"] == "interrupted"
    assert kvarium("verify", "--db", str(db)).stderr == ""
    assert db.read_bytes() == before


@pytest.mark.parametrize("value", ["x'00'", "substr(hello, 1, 20)", "zeroblob(40)"])
def test_a_damaged_hello_is_said_to_be_so(copy: Path, value: str) -> None:
    damage(copy, f"UPDATE session SET hello = {value}")
    done = kvarium("verify", "--db", str(copy), "--json")
    assert done.returncode == 1
    assert done.stderr.startswith("kvarium: damaged recording: the session's hello: ")
    # It keeps no server of other sessions from starting.
    damage(copy, "UPDATE session SET indexed_record = 10")
    with running(copy) as server:
        assert len(server.get("/sessions")["sessions"]) == 1


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("UPDATE step SET active = active + 1 WHERE step = 7", "the index of step 7: active is "),
        ("UPDATE step SET preempted = 99 WHERE step = 280", "the index of step 280: preempted is 99, not "),
        ("DELETE FROM step WHERE step = 9", "the index of step 9 is missing"),
        ("UPDATE request SET output_tokens = 12345 WHERE request = 2", "request 2: output_tokens is 12345"),
        ("DELETE FROM request WHERE request = 2", "the index of request 2 is missing"),
        ("INSERT INTO landmark VALUES (1, 5, 'note', 6, 1, 'x')", "landmark 5 note 6 is there, but"),
        ("UPDATE landmark SET count = 77 WHERE kind = 'evict'", "count is 77, not "),
        ("UPDATE session SET num_blocks = 25", "the session's num_blocks is 25, its hello says 24"),
        ("UPDATE session SET last_record = last_record - 5", "past the session's last"),
    ],
)
def test_an_index_that_is_not_what_the_records_give_is_found(copy: Path, sql: str, what: str) -> None:
    if "last_record" in sql:
        connection = sqlite3.connect(copy)
        last = connection.execute("SELECT max(first) FROM chunk").fetchone()[0]
        connection.close()
        sql = f"UPDATE session SET last_record = {last - 1}"
    damage(copy, sql)
    findings = verified(copy)
    assert findings.violations >= 1
    assert any(what in message for message in findings.messages), findings.messages


def test_an_index_that_is_short_and_keyframes_that_are_missing_are_fine(copy: Path) -> None:
    assert verified(copy).good
    damage(copy, "DELETE FROM keyframe")
    assert verified(copy).good
    damage(copy, "DELETE FROM step")
    damage(copy, "DELETE FROM request")
    damage(copy, "DELETE FROM landmark")
    damage(copy, "UPDATE session SET indexed_record = NULL")
    assert verified(copy).good


def test_what_sqlite_finds_wrong_is_counted(copy: Path) -> None:
    connection = sqlite3.connect(copy)
    connection.execute("PRAGMA writable_schema = 1")
    connection.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'chunk_time'")
    connection.commit()
    connection.close()
    findings = verified(copy)
    assert findings.violations >= 1
    assert findings.messages[0].startswith("SQLite finds in the file: ")


def test_a_session_without_a_record_is_incomplete(db: Path) -> None:
    recorder = Recorder(db)
    recorder.close()
    findings = verified(db)
    assert (findings.verdict, findings.good, findings.messages) == (
        "INCOMPLETE",
        False,
        ["the session holds no record"],
    )
