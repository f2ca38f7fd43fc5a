"""A database that can't be written: the live view goes on, the status says since when, and nothing is lost for a while."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvarium.recording.reader import Reader
from kvarium.verify import verify
from kvarium_ledger.messages import Status
from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.recorder import Recorder, locked
from tests.backend.running_server import running, wait_for
from tests.backend.server_process import kvarium


@pytest.mark.usefixtures("impatient")
def test_while_the_database_is_locked_viewers_go_on_and_the_status_says_so(db: Path) -> None:
    frames = hand_frames(60)
    with running(db) as server, server.engine() as engine:
        engine.send(frames[:20])
        engine.wait_acked(19)
        with server.watch(engine.hello.session) as watch:
            with locked(db):
                engine.send(frames[20:])
                watch.until(lambda found: getattr(found, "record", None) == record_of(frames[-1]))
                status = watch.until(lambda found: isinstance(found, Status) and bool(found.recording_error))[
                    -1
                ]
                assert isinstance(status, Status)
                assert status.recording_error is not None
                assert "from record 20 on" in status.recording_error
                assert "database is locked" in status.recording_error
                assert engine.acked == 19
            # The lock is gone: what waited is stored, and nothing is wrong any more.
            engine.wait_acked(record_of(frames[-1]))
            watch.until(lambda found: isinstance(found, Status) and found.recording_error is None)
        assert (
            server.bytes(f"/sessions/{engine.hello.session}/frames", after=-1, limit_bytes=1 << 26) == frames
        )


@pytest.fixture
def recorder(db: Path) -> Iterator[Recorder]:
    found = Recorder(db, memory_bytes=50_000)
    yield found
    found.close()


def test_a_full_disk_is_told_and_what_waited_is_stored_when_there_is_room(recorder: Recorder) -> None:
    frames = recorder.fill_the_disk()
    recorder.append(frames[30:33])
    wait_for(lambda: bool(recorder.faults))
    fault = recorder.faults[0]
    assert fault is not None
    assert fault.reason == "database or disk is full"
    assert (fault.since, fault.lost) == (30, 0)
    recorder.limit_pages(None)
    wait_for(lambda: 32 in recorder.committed)
    wait_for(lambda: recorder.faults[-1] is None)
    recorder.append(frames[33:])
    wait_for(lambda: 60 in recorder.committed)
    stored = [frame.bytes for frame in Reader(recorder.database).frames(recorder.session)]
    assert stored == frames


def test_past_its_memory_the_oldest_is_given_up_and_counted_and_recording_goes_on(recorder: Recorder) -> None:
    frames = recorder.overfill()
    fault = recorder.faults[-1]
    assert fault is not None
    first = fault.since
    assert 30 <= first <= 33
    assert 10 <= fault.lost <= 20
    # What is given up is acknowledged all the same: the engine must not fill up for the recorder's sake.
    assert max(recorder.committed) == first - 1 + fault.lost
    assert recorder.writer.pending_bytes <= 60_000
    recorder.limit_pages(None)
    wait_for(lambda: recorder.faults[-1] is None)
    recorder.append(frames[50:])
    wait_for(lambda: 60 in recorder.committed)
    reader = Reader(recorder.database)
    stored = [frame.head.record for frame in reader.frames(recorder.session)]
    assert stored == [*range(first), *range(first + fault.lost, 61)]
    assert reader.session(recorder.session)["lost"] == fault.lost
    findings = verify(reader, recorder.session)
    assert not findings.good
    assert (
        findings.messages[0]
        == f"records {first} to {first - 1 + fault.lost} are missing: they could not be written when they came"
    )


def test_stopping_writes_all_that_is_waiting(db: Path) -> None:
    frames = hand_frames(50)
    recorder = Recorder(db)
    recorder.append(frames)
    assert recorder.writer.stop()
    assert [frame.bytes for frame in Reader(recorder.database).frames(recorder.session)] == frames
    recorder.database.close()


def damage(path: Path, sql: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql, values)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DELETE FROM chunk WHERE first = (SELECT max(first) FROM chunk)", "are missing at the end"),
        (
            "DELETE FROM chunk WHERE first = (SELECT first FROM chunk ORDER BY first LIMIT 1 OFFSET 1)",
            "are missing",
        ),
        ("UPDATE chunk SET data = substr(data, 1, 100) WHERE first = 0", "the chunk of records 0 to"),
        ("UPDATE chunk SET bytes = 10, checksum = 0 WHERE first = 0", "its checksum is"),
        ("UPDATE chunk SET records = records + 1 WHERE first = 0", "it holds"),
        ("UPDATE keyframe SET data = substr(data, 2) WHERE record = 0", "the keyframe at record 0"),
        ("UPDATE session SET operations = operations + 1", "the session tells of"),
    ],
)
def test_verify_finds_what_was_changed_and_says_where(
    tmp_path: Path, recorded: tuple[Path, str], sql: str, what: str
) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(recorded[0].read_bytes())
    damage(path, sql)
    done = kvarium("verify", "--db", str(path), "--json")
    assert done.returncode == 1
    assert what in done.stderr
    assert json.loads(done.stdout)["violations"] >= 1


def test_verify_finds_a_keyframe_that_is_not_the_state(tmp_path: Path, recorded: tuple[Path, str]) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(recorded[0].read_bytes())
    connection = sqlite3.connect(path)
    records = [row[0] for row in connection.execute("SELECT record FROM keyframe ORDER BY record")]
    connection.close()
    # Another moment's keyframe, whole in itself, in this one's place.
    damage(
        path,
        "UPDATE keyframe SET (bytes, checksum, data) = (SELECT bytes, checksum, data FROM keyframe WHERE record = ?) "
        "WHERE record = ?",
        records[0],
        records[-1],
    )
    done = kvarium("verify", "--db", str(path), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["digest_mismatches"] == 1
    assert f"the keyframe at record {records[-1]} is not the state there" in done.stderr


def test_a_truncated_file_is_said_to_be_so(tmp_path: Path, recorded: tuple[Path, str]) -> None:
    path = tmp_path / "cut.db"
    data = recorded[0].read_bytes()
    path.write_bytes(data[: len(data) // 2])
    done = kvarium("verify", "--db", str(path), "--json")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(path) in done.stderr or "can't be read" in done.stderr
