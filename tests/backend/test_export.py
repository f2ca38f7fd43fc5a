"""A session's download: one file, with nothing beside it, that opens anywhere."""

import sqlite3
from pathlib import Path

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from tests.backend.hand_engine import HandEngine, hand_frames, record_of
from tests.backend.running_server import RunningServer, running, wait_for


def fetch(server: RunningServer, session: str, folder: Path) -> Path:
    response = server.http.get(f"/api/sessions/{session}/download")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/vnd.sqlite3"
    folder.mkdir()
    path = folder / "copy.db"
    path.write_bytes(response.content)
    return path


def test_a_download_holds_its_one_session_and_opens_read_only(
    server: RunningServer, frames: list[bytes], tmp_path: Path
) -> None:
    sessions = []
    for seed in (1, 2):
        engine = server.engine()
        own = hand_frames(60, seed)
        engine.send(own)
        engine.wait_acked(record_of(own[-1]))
        engine.bye()
        server.wait_indexed(engine.hello.session, record_of(own[-1]))
        sessions.append((engine.hello.session, own))
    session, own = sessions[1]
    path = fetch(server, session, tmp_path / "copy")
    path.chmod(0o444)
    path.parent.chmod(0o555)
    with running(path, read_only=True) as copy:
        rows = copy.get("/sessions")["sessions"]
        assert [(row["id"], row["state"]) for row in rows] == [(session, "ended")]
        assert copy.bytes(f"/sessions/{session}/frames", after=-1, limit_bytes=1 << 26) == own
        for name in ("steps", "landmarks", "requests"):
            assert copy.get(f"/sessions/{session}/{name}") == server.get(f"/sessions/{session}/{name}")
        at = f"/sessions/{session}/seek"
        assert copy.bytes(at, step=30) == server.bytes(at, step=30)
    assert [found.name for found in path.parent.iterdir()] == ["copy.db"]
    path.parent.chmod(0o755)


def test_a_download_of_a_live_session_is_a_snapshot_with_a_full_index(
    server: RunningServer, engine: HandEngine, frames: list[bytes], tmp_path: Path
) -> None:
    engine.send(frames[:-10])
    session = engine.hello.session
    with server.watch(session) as watch:
        watch.until(lambda found: getattr(found, "record", None) == record_of(frames[-11]))
    path = fetch(server, session, tmp_path / "copy")
    engine.send(frames[-10:])
    database = open_for_reading(str(path))
    reader = Reader(database)
    row = reader.session(1)
    assert (row["state"], row["last_record"]) == ("interrupted", record_of(frames[-11]))
    assert row["indexed_record"] == row["last_record"]
    assert "copy" in row["reason"]
    assert [frame.bytes for frame in reader.frames(row["number"])] == frames[:-10]
    database.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_nothing_is_left_behind_in_the_temporary_folder(
    server: RunningServer, engine: HandEngine, tmp_path: Path, monkeypatch: object
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))  # type: ignore[attr-defined]
    (tmp_path / "tmp").mkdir()
    own = hand_frames(5)
    engine.send(own)
    engine.wait_acked(record_of(own[-1]))
    fetch(server, engine.hello.session, tmp_path / "copy")
    wait_for(lambda: list((tmp_path / "tmp").iterdir()) == [])
