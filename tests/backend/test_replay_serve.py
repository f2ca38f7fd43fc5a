"""`kvarium replay --serve`: a recording as if its engine ran: the same bytes, at its own pace or any other, to any server."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kvarium.cli import app
from kvarium.errors import KvariumError, OutOfRangeError
from kvarium.heads import read_head
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Frame, Reader
from kvarium.replaying.frames import replayed, span
from kvarium.verify import verify
from kvarium_ledger import codec
from kvarium_ledger.messages import Bye
from kvarium_ledger.records import Gap, Keyframe
from tests.backend.hand_engine import decoded, record_of
from tests.backend.running_server import RunningServer, running, wait_for
from tests.backend.server_process import kvarium, process
from tests.vectors.recording import stored

Recorded = tuple[Path, str]


def replay(server: RunningServer, path: Path, *more: str) -> dict[str, object]:
    done = kvarium("replay", str(path), "--connect", f"{server.ws}/api/engine", "--json", *more)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def stored_frames(path: Path) -> list[bytes]:
    database = open_for_reading(str(path))
    try:
        reader = Reader(database)
        return [frame.bytes for frame in reader.frames(reader.find("latest"))]
    finally:
        database.close()


def findings(path: Path, session: str) -> tuple[str, dict[str, int]]:
    database = open_for_reading(str(path))
    try:
        reader = Reader(database)
        found = verify(reader, reader.find(session), lambda done, total: None)
        return found.verdict, found.summary()
    finally:
        database.close()


def test_it_is_a_session_of_its_own_with_the_same_bytes(
    server: RunningServer, db: Path, recorded: Recorded, frames: list[bytes]
) -> None:
    path, session = recorded
    told = replay(server, path, "--speed", "0")
    assert told["records"] == len(frames) and told["session"] != session and told["stopped"] is None
    row = server.get(f"/sessions/{told['session']}")
    assert (row["state"], row["name"]) == ("ended", f"replay of {session[:8]}: by hand")
    server.wait_indexed(str(told["session"]), record_of(frames[-1]))
    assert server.bytes(f"/sessions/{told['session']}/frames", after=-1) == frames
    assert stored_frames(db) == frames
    assert findings(db, str(told["session"]))[0] == "verified"


def test_it_takes_as_long_as_the_records_say(
    server: RunningServer, recorded: Recorded, frames: list[bytes]
) -> None:
    times = [head.time for head in map(read_head, frames) if head.time is not None]
    lasted = (times[-1] - times[0]) / 1e9
    for speed in (lasted / 0.2, lasted / 0.7):
        told = replay(server, recorded[0], "--speed", str(speed))
        assert told["seconds"] >= 0.999 * lasted / speed  # type: ignore[operator]


def test_a_viewer_sees_it_live_and_whoever_asks_is_told_that_it_is_a_recording(
    server: RunningServer, recorded: Recorded, frames: list[bytes]
) -> None:
    path, session = recorded
    lasted = (read_head(frames[-1]).time or 0) / 1e9
    arguments = ("--connect", f"{server.ws}/api/engine", "--speed", str(lasted / 3))
    with process("replay", str(path), *arguments):
        wait_for(lambda: bool(server.hub.live))
        live = next(iter(server.hub.live))
        assert server.hub.live[live].hello.replay_of == session
        answer = server.http.post(f"/api/sessions/{live}/commands", json={"name": "keyframe", "args": {}})
        assert answer.status_code == 409
        assert (
            answer.json()["detail"]
            == f"session {live} replays a recording: nothing can be asked of its engine"
        )
        with server.watch(live) as watch:
            watch.until(lambda found: isinstance(found, Bye))
    sent = [frame for frame in watch.frames if codec.peek(frame)[1] is not None]
    assert sent[1:] == frames[-len(sent) + 1 :] and len(sent) > 50


def test_a_session_that_was_interrupted_is_replayed_to_where_it_ends(
    server: RunningServer, tmp_path: Path, frames: list[bytes]
) -> None:
    path = tmp_path / "interrupted.db"
    with running(path) as other, other.engine() as engine:
        engine.send(frames[:200])
        engine.wait_acked(record_of(frames[199]))
    told = replay(server, path, "--speed", "0")
    assert server.bytes(f"/sessions/{told['session']}/frames", after=-1) == frames[:200]


@pytest.mark.parametrize("format", [1, 2])
def test_recordings_of_every_format_are_replayed(
    server: RunningServer, tmp_path: Path, db: Path, format: int
) -> None:
    path = stored(format, tmp_path)
    told = replay(server, path, "--speed", "0")
    assert stored_frames(db) == stored_frames(path)
    assert server.get(f"/sessions/{told['session']}")["violations"] == 0


# -- what is not all there ----------------------------------------------------------------------------------------------


def without_chunks(path: Path, copy: Path, where: str) -> Path:
    shutil.copy(path, copy)
    with sqlite3.connect(copy) as connection:
        assert connection.execute(f"DELETE FROM chunk WHERE {where}").rowcount > 0
    connection.close()
    return copy


def followed(found: list[Frame]) -> None:
    """No hole that a gap does not tell of, and a keyframe after each gap."""
    last = -1
    for position, frame in enumerate(found):
        record = decoded(frame.bytes)
        if isinstance(record, Gap):
            assert (record.first, record.last) == (
                last + 1,
                record.record - 1,
            ) and record.first <= record.last
            assert position + 1 == len(found) or isinstance(decoded(found[position + 1].bytes), Keyframe)
        else:
            assert record.record == last + 1
        last = record.record


def test_what_could_not_be_stored_is_a_gap_to_the_next_keyframe(
    server: RunningServer, tmp_path: Path, recorded: Recorded, frames: list[bytes]
) -> None:
    path = without_chunks(recorded[0], tmp_path / "hole.db", "first = 150")
    database = open_for_reading(str(path))
    reader = Reader(database)
    number = reader.find("latest")
    keyframes = [row["record"] for row in reader.keyframe_rows(number) if row["record"] > 152]
    found = list(replayed(reader, number, span(reader, number, None, None)))
    database.close()
    followed(found)
    gap = next(decoded(frame.bytes) for frame in found if frame.head.type == "gap")
    assert isinstance(gap, Gap) and gap.first == 150
    assert gap.record == (keyframes[0] - 1 if keyframes else record_of(frames[-1]))
    told = replay(server, path, "--speed", "0")
    row = server.get(f"/sessions/{told['session']}")
    assert (row["gaps"], row["violations"], row["last_record"]) == (1, 0, record_of(frames[-1]))


def test_holes_anywhere_are_gaps(tmp_path: Path, recorded: Recorded) -> None:
    for where in ("first = 0", "first > 0", "first IN (150, 450)", "first = (SELECT max(first) FROM chunk)"):
        path = without_chunks(recorded[0], tmp_path / "hole.db", where)
        database = open_for_reading(str(path))
        reader = Reader(database)
        number = reader.find("latest")
        followed(list(replayed(reader, number, span(reader, number, None, None))))
        database.close()


def test_a_part_begins_with_the_keyframe_before_it_and_is_verified(
    server: RunningServer, db: Path, mixed: Path, mixed_reader: Reader
) -> None:
    told = replay(server, mixed, "--speed", "0", "--from", "200", "--to", "250")
    sent = stored_frames(db)
    followed([Frame(read_head(frame), frame) for frame in sent])
    steps = [head.step for head in map(read_head, sent) if head.type == "step"]
    assert steps[0] is not None and steps[0] <= 200 and steps[-1] == 250
    assert sent[2:] == [
        frame.bytes
        for frame in mixed_reader.frames(mixed_reader.find("latest"), record_of(sent[1]), record_of(sent[-1]))
    ]
    server.wait_indexed(str(told["session"]), record_of(sent[-1]))
    assert server.get(f"/sessions/{told['session']}")["violations"] == 0


def test_steps_that_are_not_there_are_refused(mixed_reader: Reader) -> None:
    number = mixed_reader.find("latest")
    with pytest.raises(OutOfRangeError, match="step 5000 is not in the recording, which holds steps up to"):
        span(mixed_reader, number, 5000, None)


# -- the command ----------------------------------------------------------------------------------------------------------


def test_serve_shows_it_and_removes_what_it_recorded(recorded: Recorded, frames: list[bytes]) -> None:
    with process(
        "replay", str(recorded[0]), "--serve", "--port", "0", "--no-browser", "--speed", "0"
    ) as server:
        server.wait_line("the replay ended", 30)
        server.wait_line("the server stays: Ctrl-C ends it")
        place = Path(server.text.partition("recording to ")[2].partition("\n")[0])
        assert "a file that is removed at the end" in server.text and place.exists()
        with server.http() as http:
            (row,) = http.get("/api/sessions").json()["sessions"]
        assert (row["state"], row["last_record"]) == ("ended", record_of(frames[-1]))
        server.interrupt()
        assert server.wait() == 0
        assert not place.parent.exists()


def test_ctrl_c_in_the_middle_ends_all_of_it_and_the_recording_is_kept_where_asked(
    tmp_path: Path, recorded: Recorded
) -> None:
    kept = tmp_path / "kept.db"
    arguments = ("--serve", "--port", "0", "--no-browser", "--speed", "0.5", "--record-to", str(kept))
    with process("replay", str(recorded[0]), *arguments) as server:
        server.wait_line("replay linked after")
        server.interrupt()
        assert server.wait() == 0, server.text
    database = open_for_reading(str(kept))
    (row,) = Reader(database).sessions()
    database.close()
    assert (row["state"], row["reason"]) == ("ended", "the replay was stopped (SIGTERM)")


def test_one_that_is_interrupted_says_goodbye(server: RunningServer, recorded: Recorded) -> None:
    arguments = ("--connect", f"{server.ws}/api/engine", "--speed", "0.5")
    with process("replay", str(recorded[0]), *arguments) as sender:
        wait_for(lambda: any(session.last_record > 0 for session in server.hub.live.values()))
        sender.interrupt()
        assert sender.wait() == 0
        assert "the replay was stopped (SIGINT)" in sender.text
    wait_for(lambda: server.get("/sessions")["sessions"][0]["state"] == "ended")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of --serve (at a server of its own) and --connect URL"),
        (("--serve", "--connect", "ws://127.0.0.1:1/api/engine"), "one of --serve"),
        (("--serve", "--speed", "-1"), "--speed must be a number from 0 on, not -1.0"),
        (("--serve", "--speed", "nan"), "--speed must be a number from 0 on, not nan"),
        (("--serve", "--from", "9", "--to", "3"), "--from 9 is after --to 3"),
        (("--serve", "--to", "99999"), "step 99999 is not in the recording, which holds steps up to"),
        (("--serve", "--from", str(1 << 70)), f"step {1 << 70} is not in the recording, which holds"),
        (("--serve", "--record-to", ""), "--record-to is empty: it names a file, or a PostgreSQL URL"),
        (("--serve", "--token", "x"), "--token is for --connect: leave it out"),
        (
            ("--connect", "ws://127.0.0.1:1/api/engine", "--exit-at-end"),
            "--exit-at-end is for --serve: leave it out",
        ),
        (
            ("--connect", "http://there"),
            "--connect 'http://there' is no address: it is ws://HOST:PORT/api/engine",
        ),
        (("--connect", "ws://h:x/"), "--connect 'ws://h:x/' is no address"),
    ],
)
def test_what_can_not_be_is_refused_in_one_line(
    recorded: Recorded, arguments: tuple[str, ...], message: str
) -> None:
    done = CliRunner().invoke(app, ["replay", str(recorded[0]), *arguments])
    assert isinstance(done.exception, KvariumError) and done.stdout == ""
    assert message in str(done.exception) and "\n" not in str(done.exception)


def test_a_wrong_token_and_a_missing_one_are_told(server: RunningServer, recorded: Recorded) -> None:
    at = ("replay", str(recorded[0]), "--connect", f"{server.ws}/api/engine")
    wrong = kvarium(*at, "--token", "not it")
    assert wrong.returncode == 1 and "HTTP 401" in wrong.stderr and wrong.stderr.count("\n") == 1
    missing = kvarium(*at, KVARIUM_ENGINE_TOKEN="")
    assert missing.returncode == 1 and "give it with --token or $KVARIUM_ENGINE_TOKEN" in missing.stderr
