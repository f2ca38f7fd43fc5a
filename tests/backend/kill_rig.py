"""A server and an engine that can be killed at any moment, and a door between them that writes down what passes, and when.

    engine process ──frames──▶ Door ──▶ server process ──▶ recording
                   ◀───acks───      ◀──

Three promises are looked at after each kill (:meth:`Rig.examine`), with what the door saw as the witness:

acknowledged   every record whose ``Ack`` went back through the door is in the recording, byte for byte
the rest       where the server was killed, each record that is missing had gone through the door within the last 250 ms;
               where the engine was killed while linked, the last stored step was sealed within the last 250 ms
               (by the wall clock that the engine's keyframe tells)
no hole        the records are gapless, or a ``gap`` says why not; their digests agree; the session is interrupted

The 250 ms are kvarium's own. What the machine adds to them is measured beside it while it runs, between the moment at which a
record passed and that of the kill (:class:`~tests.backend.lateness.Lateness`): on a quiet machine it is next to nothing.
"""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.verify import verify
from kvarium_ledger import codec
from kvarium_ledger.messages import Ack, Hello
from kvarium_ledger.records import Keyframe, Step
from tests.backend.lateness import Lateness
from tests.backend.running_server import wait_for
from tests.backend.server_process import KVARIUM, ServerProcess, environment

LOSS_SECONDS = 0.25


class Passed(NamedTuple):
    """A record on its way to the server, and when it had gone through the door (monotonic s)."""

    time: float
    frame: bytes


class Clock(NamedTuple):
    """A keyframe's: the wall clock in µs, and the session's time in ns at that moment."""

    utc_us: int
    time: int

    def at(self, time: int) -> float:
        """The wall clock at a time of the session, s."""
        return self.utc_us / 1e6 + (time - self.time) / 1e9


class Door:
    """Takes an engine's connection and makes one of its own to the server at ``target`` (None: there is none)."""

    def __init__(self) -> None:
        self.target: str | None = None
        self.passed: dict[str, dict[int, Passed]] = defaultdict(dict)
        self.acked: dict[str, int] = defaultdict(lambda: -1)
        self.connections = 0
        self.on_frame: Callable[[str], None] = lambda kind: None
        self._server = serve(
            self._carry, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None, close_timeout=1
        )
        self.port: int = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def _carry(self, engine: ServerConnection) -> None:
        target = self.target
        with contextlib.suppress(OSError, ConnectionClosed, InvalidHandshake, TimeoutError):
            if target is not None:
                given = {"Authorization": engine.request.headers["Authorization"]} if engine.request else {}
                with connect(
                    target,
                    additional_headers=given,
                    compression=None,
                    max_size=None,
                    proxy=None,
                    close_timeout=1,
                ) as server:
                    self.connections += 1
                    hello = engine.recv()
                    assert isinstance(hello, bytes)
                    greeting = codec.open_frame(hello)
                    assert isinstance(greeting, Hello)
                    server.send(hello)
                    back = threading.Thread(target=self._carry_back, args=(engine, server, greeting.session))
                    back.start()
                    self._carry_on(engine, server, greeting.session)
        # As when a process dies: without a goodbye.
        with contextlib.suppress(OSError):
            engine.socket.shutdown(socket.SHUT_RDWR)

    def _carry_on(self, engine: ServerConnection, server: ClientConnection, session: str) -> None:
        for frame in engine:
            assert isinstance(frame, bytes)
            kind, record = codec.peek(frame)
            server.send(frame)
            if record is not None:
                self.passed[session].setdefault(record, Passed(time.monotonic(), frame))
                assert self.passed[session][record].frame == frame, "a record that is sent again is the same"
            self.on_frame(kind)

    def _carry_back(self, engine: ServerConnection, server: ClientConnection, session: str) -> None:
        with contextlib.suppress(OSError, ConnectionClosed):
            for frame in server:
                assert isinstance(frame, bytes)
                message = codec.open_frame(frame)
                engine.send(frame)
                if isinstance(message, Ack):
                    self.acked[session] = max(self.acked[session], message.record)
                    self.on_frame("ack")
        with contextlib.suppress(OSError):
            engine.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(60)


class Rig:
    """A recording, the server that writes it, the engine that fills it, and the door between the two."""

    def __init__(self, db: Path, *engine_options: str, server: Sequence[str] = KVARIUM) -> None:
        """``server``: the command line that ``serve …`` stands behind."""
        self.db = db
        self.door = Door()
        self.lateness = Lateness(db.with_name("probe"))
        self.lateness.watched.add(os.getpid())
        self.server: ServerProcess | None = None
        self.engine: subprocess.Popen[bytes] | None = None
        self.removing: set[str] = set()
        """Sessions whose removal was asked for: they may be there or not, but nothing between."""
        self._options = engine_options
        self._command = server
        self._server_pid = self._engine_pid = 0
        self._examined: dict[str, int] = {}

    @property
    def session(self) -> str:
        """The engine's, or the last one's."""
        return list(self.door.passed)[-1]

    # -- processes --------------------------------------------------------------------------------------------------

    def start_server(self, *options: str, wait: bool = True) -> None:
        self.server = ServerProcess(
            *("serve", "--no-engine", "--port", "0", "--db", str(self.db), *options), command=self._command
        )
        self._server_pid = self.server.pid
        self.lateness.watched.add(self._server_pid)
        if wait:
            self.open_door()

    def open_door(self) -> None:
        assert self.server is not None
        self.door.target = self.server.wait_ready().url.replace("http://", "ws://") + "/api/engine"

    def start_engine(self) -> None:
        self.engine = subprocess.Popen(
            [
                *(*KVARIUM, "engine", "--connect", f"ws://127.0.0.1:{self.door.port}/api/engine"),
                *("--runner", "null", "--no-lossless", *self._options),
            ],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._engine_pid = self.engine.pid
        self.lateness.watched.add(self._engine_pid)

    def run(self, records: int = 40, acked: int = 1) -> None:
        """Start what does not run, and wait until the engine's session got on by so much."""
        if self.server is None:
            self.start_server()
        before = len(self.door.passed)
        if self.engine is None:
            self.start_engine()
            wait_for(lambda: len(self.door.passed) > before)
        passed, had = len(self.door.passed[self.session]), self.door.acked[self.session]
        wait_for(
            lambda: (
                len(self.door.passed[self.session]) >= passed + records
                and self.door.acked[self.session] >= had + acked
                and self.seconds_behind() < 0.15
            ),
            120,
        )

    def seconds_behind(self) -> float:
        """How long ago the newest step was sealed that has gone through the door: after an outage there is much to catch up."""
        passed = self.door.passed[self.session]
        newest = codec.open_frame(passed[max(passed)].frame)
        return time.time() - self.clock.at(newest.sealed) if isinstance(newest, Step) else 1.0

    @property
    def clock(self) -> "Clock":
        first = codec.open_frame(self.door.passed[self.session][0].frame)
        assert isinstance(first, Keyframe)
        return Clock(first.utc_us, first.time)

    def kill_server(self) -> float:
        assert self.server is not None
        self.lateness.look()
        at = time.monotonic()
        self.server.kill()
        self.door.target = None
        assert "Traceback" not in self.server.text
        self.server.close()
        self.server = None
        return at

    def kill_engine(self) -> float:
        assert self.engine is not None
        self.lateness.look()
        at = time.monotonic()
        self.engine.send_signal(signal.SIGKILL)
        self.engine.wait(60)
        assert self.engine.stderr is not None
        told = self.engine.stderr.read().decode()
        self.engine.stderr.close()
        assert "Traceback" not in told and "fault" not in told, told
        self.engine = None
        return at

    # -- what is looked at ------------------------------------------------------------------------------------------

    def examine(self, every: bool = False) -> None:
        """The recording as it lies there: everything acknowledged is in it, and all that is in it agrees.

        Of sessions that can't have changed since they were looked at, only their length is looked at, unless ``every``.
        """
        told = dict(self.door.acked)
        database = open_for_reading(str(self.db))
        try:
            reader = Reader(database)
            rows = {row["id"]: row for row in reader.sessions()}
            for session, passed in list(self.door.passed.items()):
                if session in self.removing and session not in rows:
                    continue
                row = rows[session]
                acked = told.get(session, -1)
                assert (row["last_record"] if row["last_record"] is not None else -1) >= acked
                if self.server is None:
                    assert row["state"] == "interrupted"
                if self._examined.get(session) == row["last_record"] and not every:
                    continue
                self._examined[session] = row["last_record"]
                findings = verify(reader, row["number"])
                assert findings.violations == findings.digest_mismatches == findings.gaps == 0, (
                    findings.messages
                )
                stored = [frame.bytes for frame in reader.frames(row["number"])]
                assert stored == [passed[record].frame for record in range(len(stored))]
        finally:
            database.close()

    def stored(self, session: str) -> list[bytes]:
        database = open_for_reading(str(self.db))
        try:
            reader = Reader(database)
            return [frame.bytes for frame in reader.frames(reader.number(session))]
        finally:
            database.close()

    def assert_server_lost_little(self, at: float) -> None:
        """The server was killed at ``at`` while an engine was linked."""
        stored = len(self.stored(self.session))
        missing = [
            passed.time for record, passed in self.door.passed[self.session].items() if record >= stored
        ]
        if missing:
            told = f"{len(missing)} records are missing, the first of them"
            self._assert_lately(min(missing), at, [self._server_pid], told)

    def assert_engine_lost_little(self, at: float) -> None:
        """The engine was killed at ``at`` while linked; its session is interrupted."""
        session = self.session
        assert self.server is not None
        with self.server.http() as http:
            wait_for(lambda: not http.get(f"/api/sessions/{session}").json()["linked"])
            record = max(self.door.passed[session])
            deadline = time.monotonic() + 60
            while len(self.stored(session)) <= record:
                assert time.monotonic() < deadline, (
                    f"of {record + 1} records that passed {len(self.stored(session))} are stored: "
                    f"{http.get(f'/api/sessions/{session}').json()}; {self.server.text}"
                )
                time.sleep(0.02)
        frames = [codec.open_frame(frame) for frame in self.stored(session)]
        sealed = self.clock.at(max(frame.sealed for frame in frames if isinstance(frame, Step)))
        # What carried it was late, too.
        pids = [self._engine_pid, self._server_pid, os.getpid()]
        self._assert_lately(
            sealed - time.time() + time.monotonic(), at, pids, "the last stored step was sealed"
        )

    def _assert_lately(self, since: float, at: float, pids: Sequence[int], told: str) -> None:
        late = self.lateness.between(since, at, pids)
        assert at - since <= LOSS_SECONDS + late, (
            f"{told} {at - since:.3f} s before the kill, of which the machine took {late:.3f} s"
        )

    # -- life -------------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Rig":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.engine is not None:
            self.kill_engine()
        if self.server is not None:
            self.kill_server()
        self.door.close()
        self.lateness.close()
