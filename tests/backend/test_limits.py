"""What is out of range or out of place is refused with its reason, and is no fault of the server's."""

import re
import socket
import threading
import zlib
from pathlib import Path

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kvarium import terminal
from kvarium.api import exporting
from kvarium.recording.export import ExportCancelledError
from kvarium_ledger import codec
from kvarium_ledger.messages import Rejected
from tests.backend.hand_engine import HandEngine, decoded, hand_frames, hello, record_of
from tests.backend.recorder import Recorder, notes
from tests.backend.running_server import TOKEN, RunningServer, wait_for
from tests.backend.server_process import kvarium, process, serving


@pytest.mark.parametrize("number", [10**26, 2**63, 2**53, -2])
@pytest.mark.parametrize(
    "query",
    ["seek?step=", "seek?record=", "frames?after=", "steps?first=", "steps?last=", "contents?content="],
)
def test_a_number_that_no_recording_holds_is_422(
    server: RunningServer, engine: HandEngine, query: str, number: int
) -> None:
    found = server.http.get(f"/api/sessions/{engine.hello.session}/{query}{number}")
    assert found.status_code == 422
    told = found.json()["detail"]
    assert re.fullmatch(rf"\w+ must be a whole number from (0|-1) to {2**53 - 1}, not '{number}'", told), told


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**26])
@pytest.mark.parametrize(
    "body",
    [
        '{"name": "abort", "args": {"request": %d}}',
        '{"name": "submit", "args": {"prompt": "a", "seed": %d}}',
        '{"name": "submit", "args": {"prompt_tokens": %d}}',
        '{"name": "submit", "args": {"prompt": "a", "temperature": %d}, "more": 1}',
        '{"name": "step", "args": {"steps": %d}}',
    ],
)
def test_an_argument_that_fits_no_int64_is_422(
    server: RunningServer, engine: HandEngine, body: str, number: int
) -> None:
    found = server.http.post(f"/api/sessions/{engine.hello.session}/commands", content=body % number)
    assert found.status_code == 422, found.text


@pytest.mark.parametrize(
    "path",
    [
        "/%00.js",
        "/%00",
        "/" + "a" * 5000 + ".js",
        "/" + "a/" * 4000,
        "/docs",
        "/assets",
        "/assets/",
        "/a.b/c",
    ],
)
def test_a_path_that_is_no_file_of_the_page_is_404(server: RunningServer, path: str) -> None:
    assert server.http.get(path).status_code == 404


@pytest.mark.parametrize("after", ["-2", "x", "1e3", str(2**63), "", "9" * 200])
def test_a_wrong_place_to_begin_closes_with_its_reason(
    server: RunningServer, engine: HandEngine, after: str
) -> None:
    url = f"{server.ws}/api/sessions/{engine.hello.session}/live?after={after}"
    with connect(url, proxy=None) as viewer, pytest.raises(ConnectionClosed) as closed:
        viewer.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400
    assert "is not the number of a record" in closed.value.rcvd.reason


def test_text_as_an_engines_first_words_is_rejected_with_its_reason(db: Path) -> None:
    with serving(db) as server:
        url = server.url.replace("http://", "ws://") + "/api/engine"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with connect(url, additional_headers=headers, proxy=None) as link:
            link.send("hello")
            raw = link.recv(timeout=60)
            assert isinstance(raw, bytes)
            found = codec.open_frame(raw)
            assert isinstance(found, Rejected)
            assert "a text message" in found.reason
        server.interrupt()
        assert server.wait() == 0
        assert server.errors == []


def test_a_session_begins_with_a_keyframe(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(3)
    step = next(frame for frame in frames if codec.peek(frame)[0] == "step")
    first = codec.seal(msgspec.structs.replace(decoded(step), record=0))
    engine.send([first])
    engine.wait(lambda: engine.rejected is not None)
    assert engine.rejected == "a session begins with a keyframe, not with a step"
    row = server.get(f"/sessions/{engine.hello.session}")
    assert (row["violations"], row["violation"], row["records"]) == (1, engine.rejected, 0)


def test_a_record_of_an_unknown_type_is_refused(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(3)
    body = msgspec.msgpack.encode({"type": "dream", "record": record_of(frames[-1]) + 1})
    engine.send([*frames, body + zlib.crc32(body).to_bytes(4, "little")])
    engine.wait(lambda: engine.rejected is not None)
    assert engine.rejected is not None
    assert "of a type that this server does not know: 'dream'" in engine.rejected
    assert server.get(f"/sessions/{engine.hello.session}")["violation"] == engine.rejected


def test_at_most_two_downloads_are_made_at_once_and_abandoned_ones_are_cancelled(
    server: RunningServer, engine: HandEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = hand_frames(5)
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    under_way: list[threading.Event] = []

    def slow(reader: object, session: int, folder: Path, cancelled: threading.Event, strip: object) -> Path:
        under_way.append(cancelled)
        assert cancelled.wait(60)  # longer than anything below waits for it
        raise ExportCancelledError("given up")

    monkeypatch.setattr(exporting, "export_session", slow)
    path = f"/api/sessions/{engine.hello.session}/download"
    # One after the other, so that it is known whose is whose.
    links = [connect_raw(server, path)]
    wait_for(lambda: len(under_way) == 1)
    links.append(connect_raw(server, path))
    wait_for(lambda: len(under_way) == 2)
    refused = server.http.get(path)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    links[0].close()
    wait_for(under_way[0].is_set, 50)
    assert not under_way[1].is_set()
    server.hub.cancel_exports()
    wait_for(under_way[1].is_set, 50)
    links[1].close()


def connect_raw(server: RunningServer, path: str) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", server.port))
    link.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    return link


def test_what_an_engine_calls_itself_does_nothing_to_a_terminal(db: Path) -> None:
    name = "\x1b[2J\x1b]0;x\x07\u202e" + "n" * 200
    frames = hand_frames(3)
    with serving(db) as server:
        url = server.url.replace("http://", "ws://")
        engine = HandEngine(url, TOKEN, hello(name=name, runner="r\nr", model="m\x1b[31m"))
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        engine.bye()
    for args in (("ls",), ("show", "latest")):
        text = kvarium("sessions", *args, "--db", str(db)).stdout
        assert not any(char in text for char in "\x1b\x07\u202e")
        assert "\\x1b[2J" in text
        assert "r\\nr" in text
        assert "n" * 80 not in text
    assert terminal.shown("a" * 81) == "a" * 79 + "…"


def test_view_says_nothing_of_an_engine_when_it_stops(recorded: tuple[Path, str]) -> None:
    with process("view", str(recorded[0]), "--port", "0", "--no-open") as viewing:
        viewing.wait_ready()
        viewing.interrupt()
        assert viewing.wait() == 0
        assert viewing.lines[-1] == "stopping"


@pytest.mark.parametrize("args", [("serve", "--no-engine"), ("verify",), ("sessions", "ls")])
def test_an_empty_db_is_refused(args: tuple[str, ...]) -> None:
    done = kvarium(*args, "--db", "")
    assert (done.returncode, done.stderr) == (
        1,
        "kvarium: --db is empty: it names a file, or a PostgreSQL URL\n",
    )


def test_a_stop_does_not_wait_for_a_download_that_nobody_reads(db: Path) -> None:
    recorder = Recorder(db)
    recorder.append(hand_frames(30)[:30] + notes(30, 60, 600_000))
    recorder.close()
    with serving(db) as server, server.http() as http:
        session = http.get("/api/sessions").json()["sessions"][0]["id"]
        port = int(server.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(f"GET /api/sessions/{session}/download HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert link.recv(100).startswith(b"HTTP/1.1 200")
            # It is not read on until the server has ended.
            server.interrupt()
            assert server.wait() == 0
    # (That uvicorn leaves the transport behind is told to who asks for such warnings, as these tests do.)
    assert "Exception in ASGI application" not in server.text
    assert "CancelledError" not in server.text
