"""Imports: files lie beside the recording, are read like any session, never merged in, and go as files."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from kvarium.recording.imports import Imports
from kvarium.workplace import Workplace
from tests.backend.hand_engine import HandEngine
from tests.backend.running_server import RunningServer, running, wait_for
from tests.backend.server_process import serving
from tests.backend.test_cli import Run, one_line, run
from tests.vectors.recording import SESSION, STEPS, digest_of, digests, record, stored

__all__ = ["run"]


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    """A file of somebody else's, with notes."""
    (tmp_path / "downloads").mkdir()
    path = stored(2, tmp_path / "downloads")
    path.rename(path.with_name("holiday.db"))
    return path.with_name("holiday.db")


def post(server: RunningServer, data: bytes, name: str = "holiday.db") -> tuple[int, str]:
    answer = server.http.post("/api/import", params={"name": name}, content=data)
    told = answer.json()
    return answer.status_code, told.get("session") or told["detail"]


def beside(db: Path) -> list[str]:
    folder = db.with_name(db.name + ".imported")
    return sorted(found.name for found in folder.iterdir()) if folder.exists() else []


def test_an_imported_session_is_read_like_any_other(
    server: RunningServer, engine: HandEngine, db: Path, brought: Path, tmp_path: Path
) -> None:
    assert post(server, brought.read_bytes()) == (201, SESSION)
    assert beside(db) == [f"{SESSION}.db"]
    rows = {row["id"]: row for row in server.get("/sessions")["sessions"]}
    assert {name: row["imported"] for name, row in rows.items()} == {
        SESSION: True,
        engine.hello.session: False,
    }
    at = f"/sessions/{SESSION}"
    assert server.get(at)["imported"] is True
    assert server.get(at)["hello"]["session"] == SESSION
    frames = server.bytes(f"{at}/frames", after=-1, limit_bytes=1 << 26)
    assert digest_of(frames) == digests()["2"]
    assert server.bytes(f"{at}/seek", step=30)
    assert server.get(f"{at}/steps")["step"] == list(range(STEPS))
    assert [note["text"] for note in server.get(f"{at}/notes")["notes"]] == ["a note", ""]
    assert len([row for row in server.get(f"{at}/landmarks")["landmarks"] if row["kind"] == "note"]) == 2
    for path in ("requests", "pieces", "hello", "requests/0/tokens", "contents?content=0"):
        assert server.http.get(f"/api{at}/{path}").status_code == 200
    copy = tmp_path / "copy.db"
    copy.write_bytes(server.http.get(f"/api{at}/download").content)
    with running(copy, read_only=True) as again:
        assert again.bytes(f"{at}/frames", after=-1, limit_bytes=1 << 26) == frames
    # Nothing of it is in the recording, and nothing in it is changed.
    connection = sqlite3.connect(db)
    assert connection.execute("SELECT id FROM session").fetchall() == [(engine.hello.session,)]
    connection.close()
    for answer in (
        server.http.patch(f"/api{at}", json={"name": "x"}),
        server.http.post(f"/api{at}/notes", json={"text": "x"}),
        server.http.delete(f"/api{at}/notes/1"),
    ):
        assert (answer.status_code, "is only read" in answer.json()["detail"]) == (409, True)
    assert (db.with_name(db.name + ".imported") / f"{SESSION}.db").read_bytes() == brought.read_bytes()


def test_an_import_outlives_its_server_and_goes_as_a_file(db: Path, brought: Path) -> None:
    size = brought.stat().st_size
    with running(db) as server:
        assert post(server, brought.read_bytes())[0] == 201
        assert post(server, brought.read_bytes()) == (409, f"session {SESSION} was imported before")
    with running(db) as server:
        assert [row["id"] for row in server.get("/sessions")["sessions"]] == [SESSION]
        told = server.http.delete(f"/api/sessions/{SESSION}").json()
        assert told == {"removed": [SESSION], "freed_bytes": size, "reusable_bytes": 0}
        assert server.get("/sessions")["sessions"] == []
        assert server.http.get(f"/api/sessions/{SESSION}/steps").status_code == 404
    assert not db.with_name(db.name + ".imported").exists()


def test_a_session_that_is_there_already_is_not_imported(tmp_path: Path, db: Path, brought: Path) -> None:
    record(db)
    with running(db) as server:
        status, told = post(server, brought.read_bytes())
        assert (status, told) == (409, f"session {SESSION} is in {db} itself")
    assert beside(db) == []


def test_what_is_not_let_in_leaves_nothing_behind(server: RunningServer, db: Path, brought: Path) -> None:
    data = brought.read_bytes()
    flipped = bytearray(data)
    flipped[data.index(b"\x28\xb5\x2f\xfd") + 30] ^= 1
    for wrong, what in (
        (b"", "it is empty"),
        (b"hello", "it is no SQLite file"),
        (data[:-1], "is cut off"),
        (bytes(flipped), "its checksum is"),
    ):
        status, told = post(server, wrong, "../../a <b>\nc.db")
        assert (status, what in told) == (422, True), told
        assert told.startswith("..-..-a -b-c.db ")
        assert "\n" not in told
        assert str(db.parent) not in told
    server.hub.import_bytes = 1000
    status, told = post(server, data)
    assert (status, told) == (413, "holiday.db has more than 1000 bytes, the most that this server takes")
    answer = server.http.post("/api/import", content=iter([data]))
    assert answer.status_code == 413
    assert beside(db) == []
    assert not db.with_name(db.name + ".imported").exists()


def test_one_file_at_a_time_and_only_where_changes_are_allowed(db: Path, brought: Path) -> None:
    data = brought.read_bytes()
    with running(db) as server:
        with server.hub.importing():
            assert post(server, data) == (503, "another file is being imported: try again in a moment")
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            assert server.http.post("/api/import", content=data, headers=headers).status_code == 403
    with running(db, allow_changes=False) as server:
        assert post(server, data)[0] == 403
    with running(db, read_only=True) as server:
        assert post(server, data)[0] == 409
    assert beside(db) == []


def test_an_upload_that_breaks_off_leaves_nothing_behind(
    server: RunningServer, db: Path, brought: Path
) -> None:
    import socket

    data = brought.read_bytes()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /api/import HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data[:50_000])
        wait_for(lambda: beside(db) != [])
    wait_for(lambda: beside(db) == [])
    assert post(server, data)[0] == 201


def test_the_command_line_imports_lists_shows_exports_and_removes(run: Run, db: Path, brought: Path) -> None:
    record(db, "0wn00000-0000-4000-8000-000000000000")
    at = ["--db", str(db)]
    done = run("sessions", "import", str(brought), *at)
    assert done.stdout == f"imported session {SESSION}\n"
    assert "imported" in run("sessions", "ls", *at).stdout
    listed = json.loads(run("sessions", "ls", "--json", *at).stdout)["sessions"]
    assert {row["id"][:4]: row["imported"] for row in listed} == {"0wn0": False, "5e55": True}
    assert json.loads(run("sessions", "show", "5e55", "--json", *at).stdout)["notes"]
    assert run("verify", "5e55", *at).stdout.startswith("verified: ")
    assert "is only read" in one_line(run("sessions", "rename", "5e55", "x", *at).stderr)
    assert "was imported before" in one_line(run("sessions", "import", str(brought), *at).stderr)
    assert run("sessions", "export", "5e55", str(brought.with_name("again.db")), *at).returncode == 0
    with serving(db) as server, server.http() as http:
        assert len(http.get("/api/sessions").json()["sessions"]) == 2
        done = run("sessions", "rm", "5e55", "0wn0", *at, "--json")
        assert sorted(json.loads(done.stdout)["removed"]) == [
            "0wn00000-0000-4000-8000-000000000000",
            SESSION,
        ]
        assert http.get("/api/sessions").json()["sessions"] == []
        assert run("sessions", "import", str(brought.with_name("again.db")), *at).returncode == 0
        assert [row["imported"] for row in http.get("/api/sessions").json()["sessions"]] == [True]


def test_the_command_line_refuses_in_one_line(run: Run, db: Path, brought: Path) -> None:
    record(db)
    at = ["--db", str(db)]
    nothing = brought.with_name("nothing.db")
    assert f"there is no file {nothing}" in one_line(run("sessions", "import", str(nothing), *at).stderr)
    brought.write_bytes(brought.read_bytes()[:5000])
    told = one_line(run("sessions", "import", str(brought), *at).stderr)
    assert told.startswith(f"kvarium: {brought} is cut off")
    own = one_line(run("sessions", "import", str(db), *at).stderr)
    assert "is in" in own
    connection = sqlite3.connect(db)
    connection.execute("UPDATE session SET name = 'x'")
    connection.commit()
    assert "is being written" in one_line(run("sessions", "import", str(db), *at).stderr)
    connection.close()
    assert beside(db) == []


def test_what_lies_in_the_folder_and_is_no_import_is_left_out(
    tmp_path: Path, brought: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "imported"
    folder.mkdir()
    (folder / "text.db").write_text("no database")
    (folder / ".hidden.db").write_text("")
    shutil.copy(brought, folder / "other-name.db")
    shutil.copy(brought, folder / f"{SESSION}.db")
    left = folder / ".arriving-00000000"
    left.mkdir()
    arriving = Workplace(folder, ".arriving-")
    arriving.make()
    assert not left.exists(), "nobody brings it any more"
    left.mkdir()
    imports = Imports(folder)
    for _ in range(2):
        assert [found.row["id"] for found in imports.all()] == [SESSION]
    assert len(caplog.records) == 2
    with imports.arriving():
        assert not left.exists()
        assert arriving.path.exists()
    arriving.remove()
    (folder / f"{SESSION}.db").unlink()
    assert imports.all() == []
    imports.close()


def test_an_import_where_there_is_no_recording_makes_one(run: Run, tmp_path: Path, brought: Path) -> None:
    db = tmp_path / "new.db"
    done = run("sessions", "import", str(brought), "--db", str(db))
    assert (done.returncode, done.stdout) == (0, f"imported session {SESSION}\n")
    assert done.stderr == f"kvarium: the recording {db} was not there: it is made\n"
    listed = json.loads(run("sessions", "ls", "--db", str(db), "--json").stdout)["sessions"]
    assert [row["id"] for row in listed] == [SESSION]
    assert sorted(found.name for found in tmp_path.iterdir() if "new" in found.name) == [
        "new.db",
        "new.db.imported",
    ]


def test_a_recording_that_was_made_for_what_is_refused_goes_again(
    run: Run, tmp_path: Path, brought: Path
) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(brought.read_bytes()[:5000])
    db = tmp_path / "new.db"
    done = run("sessions", "import", str(broken), "--db", str(db))
    assert done.returncode == 1
    one_line(done.stderr)
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("new")] == []
