"""A server that is killed loses nothing that it acknowledged, and says what happened."""

import asyncio
import json
import random
import sqlite3
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from kvarium.api.engine import WebsocketLink, serve_engine
from kvarium.recording import writer
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium_ledger.messages import Welcome
from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.recorder import Recorder
from tests.backend.running_server import running, wait_for
from tests.backend.server_process import kvarium, serving
from tests.own_loop import run_alone


def stored(db: Path) -> list[bytes]:
    database = open_for_reading(str(db))
    try:
        return [frame.bytes for frame in Reader(database).frames(1)]
    finally:
        database.close()


def test_nothing_that_was_acknowledged_is_missing_after_a_kill(db: Path, rng: random.Random) -> None:
    frames = hand_frames(300)
    session: str | None = None
    sent_from = 0
    for _ in range(3):
        with serving(db) as server:
            engine = server.engine(session)
            session = engine.hello.session
            assert isinstance(engine.welcome, Welcome)
            assert engine.welcome.ack == (sent_from - 1 if sent_from else None)
            upto = sent_from + rng.randint(80, 150)
            engine.send(frames[sent_from:upto])
            engine.wait_acked(sent_from + 40)
            server.kill()
            acked = engine.acked
            engine.close()
        held = stored(db)
        assert held == frames[: len(held)]
        assert len(held) > acked
        sent_from = len(held)
        rows = json.loads(kvarium("sessions", "ls", "--db", str(db), "--json").stdout)["sessions"]
        assert [row["id"] for row in rows] == [session]
    # Reopened, the session is labelled as what it is, and its index is brought to the end.
    with serving(db) as server, server.http() as http:
        row = http.get(f"/api/sessions/{session}").json()
        assert (row["state"], row["linked"]) == ("interrupted", False)
        assert "the server ended" in row["reason"]
        wait_for(
            lambda: (
                http.get(f"/api/sessions/{session}").json()["indexed_record"]
                == record_of(frames[sent_from - 1])
            )
        )
        # The engine comes back once more: the session is live again and goes on.
        engine = server.engine(session)
        engine.send(frames[sent_from:])
        engine.wait_acked(record_of(frames[-1]))
        engine.bye()
    assert stored(db) == frames
    checked = kvarium("verify", "latest", "--db", str(db), "--json")
    assert (checked.returncode, checked.stderr) == (0, "")
    told = json.loads(checked.stdout)
    assert (told["records"], told["violations"], told["digest_mismatches"]) == (len(frames), 0, 0)


def test_the_index_after_a_kill_is_what_it_would_have_been(db: Path, tmp_path: Path) -> None:
    frames = hand_frames(200)

    def index_of(path: Path) -> list[object]:
        connection = sqlite3.connect(path)
        try:
            return [
                connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
                for table in ("step", "landmark", "request")
            ]
        finally:
            connection.close()

    with running(tmp_path / "whole.db") as server:
        engine = server.engine()
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        engine.bye()
        server.wait_indexed(engine.hello.session, record_of(frames[-1]))
    with serving(db) as process:
        engine = process.engine()
        engine.send(frames[:200])
        engine.wait_acked(150)
        process.kill()
        engine.close()
    with running(db) as server:
        engine = server.engine(engine.hello)
        engine.send(frames[engine.acked + 1 :])
        engine.wait_acked(record_of(frames[-1]))
        engine.bye()
        server.wait_indexed(engine.hello.session, record_of(frames[-1]))
    assert index_of(db) == index_of(tmp_path / "whole.db")


def test_an_interrupted_server_ends_in_order(db: Path) -> None:
    frames = hand_frames(60)
    with serving(db) as server:
        engine = server.engine()
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        server.interrupt()
        assert server.wait() == 0
        engine.close()
        assert server.errors == []
    assert stored(db) == frames
    row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
    assert row["state"] == "interrupted"
    assert not db.with_name(db.name + "-wal").exists()
    assert not db.with_name(db.name + ".lock").exists()


def test_a_record_that_came_while_others_were_written_waits_no_longer_for_it(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = 0.0
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + later))
    recorder = Recorder(db, batch_seconds=100.0)
    came = threading.Event()

    def write_for_long(connection: Any) -> None:
        nonlocal later
        assert came.wait(60)
        later = 101.0

    busy = recorder.writer.change(write_for_long)
    recorder.append(hand_frames(5)[:1])
    came.set()
    busy.result(60)
    # It is due as soon as the writer has time, not a hundred seconds later.
    wait_for(lambda: recorder.committed == [0])
    recorder.close()


class DeadEngine:
    """A connection whose engine died: what it sent before is still to be read, and nothing can be sent to it."""

    def __init__(self, frames: list[bytes]) -> None:
        self.messages: list[dict[str, Any]] = [
            {"type": "websocket.receive", "bytes": each} for each in frames
        ]

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return self.messages.pop(0) if self.messages else {"type": "websocket.disconnect", "code": 1006}

    async def send_bytes(self, data: bytes) -> None:
        raise WebSocketDisconnect(1006)


class Taker:
    """A session that acknowledges at once what it takes."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.pending_bytes = 0
        self.link: WebsocketLink | None = None

    def attach(self, link: WebsocketLink) -> None:
        self.link = link

    def receive(self, frame: bytes) -> None:
        assert self.link is not None
        self.taken.append(frame)
        self.link.acknowledge(len(self.taken))

    def detach(self, link: WebsocketLink) -> None:
        assert link is self.link
        self.link = None


def test_what_a_dead_engine_had_sent_is_taken_though_no_acknowledgement_reaches_it() -> None:
    frames = hand_frames(30)
    taker: Any = Taker()
    dead: Any = DeadEngine(frames)
    run_alone(serve_engine(dead, taker, taker, asyncio.Event()))
    assert taker.taken == frames
    assert taker.link is None
