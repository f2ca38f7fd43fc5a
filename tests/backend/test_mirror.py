"""The server's mirror is a process: when it dies another takes its place, and nobody else notices."""

import contextlib
import os
import shutil
import signal
import sqlite3
from pathlib import Path

import msgspec
import pytest

from kvarium import follower as follower_module
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader
from kvarium_ledger import codec
from kvarium_ledger.records import Keyframe, Operations, Step
from tests.backend.hand_engine import HandEngine, decoded, hand_frames, record_of
from tests.backend.running_server import RunningServer, running, wait_for


def test_a_mirror_that_is_killed_is_followed_by_another(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session = engine.hello.session
    follower = server.hub.live[session].follower
    engine.send(frames[:200])
    server.wait_indexed(session, 199)
    first = follower.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: follower.pid != first)
    engine.send(frames[200:])
    server.wait_indexed(session, record_of(frames[-1]))
    row = server.get(f"/sessions/{session}")
    assert (row["violations"], row["violation"]) == (0, None)
    steps = server.get(f"/sessions/{session}/steps")["step"]
    assert steps == list(range(300))
    with server.watch(session) as watch:
        found = watch.until(lambda found: isinstance(found, Keyframe))[-1]
        assert isinstance(found, Keyframe)
        assert found.record == record_of(frames[-1])


def test_what_a_mirror_finds_wrong_is_told_with_its_record(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(20)
    place = next(i for i, frame in enumerate(frames) if i > 10 and codec.peek(frame)[0] == "step")
    step = decoded(frames[place])
    assert isinstance(step, Step)
    # The engine's state is another than its records say.
    wrong = bytearray(step.digest.blocks)
    wrong[0] ^= 1
    digest = msgspec.structs.replace(step.digest, blocks=bytes(wrong))
    frames[place] = codec.seal(msgspec.structs.replace(step, digest=digest))
    engine.send(frames)
    session = engine.hello.session
    server.wait_indexed(session, record_of(frames[-1]))
    row = server.get(f"/sessions/{session}")
    assert row["violations"] == 1
    assert row["violation"] == f"digest at record {step.record}: this mirror differs in blocks"
    marks = server.get(f"/sessions/{session}/landmarks")["landmarks"]
    assert [(mark["record"], mark["step"]) for mark in marks if mark["kind"] == "violation"] == [
        (step.record, step.step)
    ]


def test_an_operation_that_needs_a_newer_version_stops_the_mirror_and_not_the_recording(
    server: RunningServer, engine: HandEngine
) -> None:
    frames = hand_frames(10)
    last = decoded(frames[-2])
    assert isinstance(last, Step)
    zero = (0).to_bytes(4, "little")
    strange = Operations(kind=b"\x63", block=zero, cause=b"\0", sequence=zero)
    record = record_of(frames[-1]) + 1
    step = msgspec.structs.replace(last, record=record, step=last.step + 1, operations=strange, decisions=[])
    engine.send([*frames, codec.seal(step)])
    engine.wait_acked(record)
    session = engine.hello.session
    wait_for(lambda: bool(server.get(f"/sessions/{session}")["violation"]))
    violation = server.get(f"/sessions/{session}")["violation"]
    assert "operation 99 is not known" in violation
    assert "newer kvarium" in violation
    assert server.get(f"/sessions/{session}")["records"] == record + 1


def test_a_mirror_that_is_far_behind_opens_each_chunk_once(
    tmp_path: Path, recorded: tuple[Path, str], frames: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "behind.db"
    shutil.copy(recorded[0], path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for table in ("step", "landmark", "keyframe", "request", "content", "piece"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE session SET indexed_record = NULL")
        chunks = [first for (first,) in connection.execute("SELECT first FROM chunk ORDER BY first")]
    assert len(chunks) > 2
    opened: list[int] = []
    open_chunk = Reader.open_chunk

    def counted(reader: Reader, row: Row, with_text: bool = True) -> list[Frame]:
        opened.append(row["first"])
        return open_chunk(reader, row, with_text)

    monkeypatch.setattr(Reader, "open_chunk", counted)
    monkeypatch.setattr(follower_module, "_BATCH_BYTES", 20_000)
    with running(path) as server:
        server.wait_indexed(recorded[1], record_of(frames[-1]))
        assert server.get(f"/sessions/{recorded[1]}/steps")["step"] == list(range(300))
    assert opened == chunks
