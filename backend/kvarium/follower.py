"""Feeding the server's mirror of a session: what follows, from where it is to be had.

    ring (the last 32 MiB) ─┐
    recording (all)        ─┴─▶ follower (thread) ──▶ mirror (process) ──▶ rows ──▶ writer

A mirror may lag and nobody waits for it. The follower holds no queue: it remembers the last record that it passed on,
and takes what follows from the session's ring, or from the recording where the ring has moved on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.mirror import MirrorSetup
from kvarium.mirror_client import MirrorClient
from kvarium.mirror_process import Ask, Frames, FromMirror, MirrorKeyframe, ToMirror
from kvarium.recording.database import explain
from kvarium.recording.reader import Frame, Reader
from kvarium.recording.writer import Writer
from kvarium.ring import Ring, RingFrame
from kvarium_ledger.messages import Hello

_BATCH_BYTES = 256 << 10
_STARTS = 3
_IDLE_SECONDS = 0.25


class Follower:
    """Mirrors the session ``session`` in a process of its own.

    With a ``ring`` it follows a live session until :meth:`stop`; without one it brings the index of a recorded session to
    its end. ``record`` is how far the mirror came, ``fault`` the first thing that it found wrong. ``on_need_keyframe`` is
    called (on another thread) when it can go on only from a new keyframe of the engine's.
    """

    def __init__(
        self,
        session: int,
        hello: Hello,
        reader: Reader,
        writer: Writer,
        ring: Ring | None = None,
        on_need_keyframe: Callable[[], None] = lambda: None,
    ) -> None:
        self.session = session
        self.record = -1
        self.fault: str | None = None
        self.violations = 0
        self._hello = hello
        self._reader = reader
        self._writer = writer
        self._ring = ring
        self._on_need_keyframe = on_need_keyframe
        self._lock = threading.Lock()
        self._waiting: list[Future[RingFrame]] = []
        self._ask = Ask()
        self._stop_at: float | None = None
        self._ended = False
        self._sent = -1
        self._stored: Iterator[Frame] | None = None
        self._violations_before = 0
        self._client: MirrorClient | None = None
        self._thread = threading.Thread(target=self._run, name=f"kvarium-mirror-{session}", daemon=True)

    # -- from other threads -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Go to where the index ends, and on. The process is started with the first record."""
        self._thread.start()

    def stop(self, drain_seconds: float) -> None:
        """Ask it to end once it has folded everything, or after ``drain_seconds``; :meth:`join` waits for that."""
        self._stop_at = time.monotonic() + drain_seconds
        self._wake()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Does it follow, or will it?"""
        return self._thread.is_alive() and not self._ended

    @property
    def pid(self) -> int | None:
        """The process id of the mirror, once there is one."""
        return None if self._client is None else self._client.pid

    def keyframe(self) -> "Future[RingFrame]":
        """A keyframe of the state where the mirror is by then; it bears the number of its last record."""
        future: Future[RingFrame] = Future()
        with self._lock:
            self._waiting.append(future)
            self._ask = Ask(send=True, store=self._ask.store)
        if not self.running:
            self._refuse_waiting()
        self._wake()
        return future

    def store_keyframe(self) -> None:
        """Store a keyframe soon: what went before it is not all in the recording."""
        with self._lock:
            self._ask = Ask(send=self._ask.send, store=True)
        self._wake()

    def _wake(self) -> None:
        if self._ring is not None:
            self._ring.wake()

    # -- the thread that sends --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            if self._wait_for_first():
                self._mirror()
        except Exception as error:
            self._fail(explain(error) if isinstance(error, SQLAlchemyError) else str(error))
        finally:
            self._ended = True
            self._refuse_waiting()

    def _mirror(self) -> None:
        """Feed a mirror to the end. One that dies (the kernel may kill it for its memory) is followed by another."""
        for _ in range(_STARTS):
            client = self._client = MirrorClient(self._setup(), self._receive, self._wake)
            try:
                self._feed(client)
                client.send(Ask(finish=True))
                self._await_last_rows(client)
            finally:
                client.close()
            if client.finished or self._stop_at is not None:
                return
            self._violations_before = self.violations
            with self._lock:
                self._ask = Ask(send=bool(self._waiting), store=self._ask.store)
            # What it gave is to be in the database before another looks where the index ends.
            self._writer.flush().result(60)
        self._fail(f"its process died {_STARTS} times")

    def _wait_for_first(self) -> bool:
        """Wait until there is something to fold; False: it is to end before."""
        if self._ring is None:
            return True
        while self._ring.last < 0:
            if self._stop_at is not None:
                return False
            self._ring.wait(-1, _IDLE_SECONDS)
        return True

    def _setup(self) -> MirrorSetup:
        hello = self._hello
        row = self._reader.session(self.session)
        indexed = row["indexed_record"]
        self._sent = -1
        self._stored = None
        if indexed is None:
            return MirrorSetup(self.session, hello.num_blocks, hello.block_size)
        keyframe = self._reader.keyframe_before(self.session, indexed)
        self._sent = keyframe.record
        active = [found for found in self._reader.requests(self.session) if found["ended_step"] is None]
        return MirrorSetup(
            self.session,
            hello.num_blocks,
            hello.block_size,
            indexed,
            keyframe.frame,
            keyframe.stored_bytes,
            active,
        )

    def _feed(self, client: MirrorClient) -> None:
        rows_wanted = False
        while not self._should_stop(client):
            self._pass_on_asked(client)
            frames = self._next_frames()
            if frames is not None:
                while not client.wait_room(_IDLE_SECONDS):
                    if client.ended.is_set() or self._out_of_time():
                        return
                    self._pass_on_asked(client)
                client.send(frames)
                rows_wanted = True
            elif self._ring is None:
                return
            elif not self._ring.wait(self._sent, _IDLE_SECONDS) and rows_wanted:
                # Nothing more comes for now: what the mirror has collected is not to wait for it.
                rows_wanted = False
                client.send(Ask(rows=True))

    def _should_stop(self, client: MirrorClient) -> bool:
        if client.ended.is_set() or self._out_of_time():
            return True
        return self._stop_at is not None and (self._ring is None or self._sent >= self._ring.last)

    def _out_of_time(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _pass_on_asked(self, client: MirrorClient) -> None:
        with self._lock:
            ask, self._ask = self._ask, Ask()
        if ask != Ask():
            client.send(ask)

    def _next_frames(self) -> ToMirror | None:
        if self._ring is not None and self._ring.covers(self._sent):
            found = self._ring.after(self._sent, _BATCH_BYTES)
            if not found:
                return None
            self._sent = found[-1].record
            self._stored = None
            return Frames([frame.frame for frame in found])
        return self._stored_frames()

    def _stored_frames(self) -> ToMirror | None:
        found: list[bytes] = []
        missed: int | None = None
        size = 0
        # Kept from batch to batch: a chunk holds many, and is opened once.
        if self._stored is None:
            self._stored = self._reader.frames(self.session, self._sent)
        for frame in self._stored:
            record = frame.head.record
            assert record is not None
            if not found and record != self._sent + 1 and frame.head.type != "gap":
                missed = record - 1
                self._on_need_keyframe()
            found.append(frame.bytes)
            self._sent = record
            size += len(frame.bytes)
            if size >= _BATCH_BYTES:
                break
        else:
            self._stored = None
        if found:
            return Frames(found, missed)
        if self._ring is not None:
            # What follows is on its way into the recording.
            time.sleep(0.02)
        return None

    # -- the thread that receives -----------------------------------------------------------------------------------

    def _receive(self, message: FromMirror) -> None:
        if isinstance(message, MirrorKeyframe):
            self._resolve(RingFrame(message.record, message.frame))
            return
        self.record = max(self.record, message.record)
        self.violations = self._violations_before + message.violations
        self.fault = self.fault or message.fault
        if message.rows is not None:
            self._writer.index(message.rows)

    def _resolve(self, frame: RingFrame) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_result(frame)

    def _refuse_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(KvariumError(self.fault or "the session's mirror has ended"))

    # -- the end ----------------------------------------------------------------------------------------------------

    def _await_last_rows(self, client: MirrorClient) -> None:
        while not client.ended.wait(_IDLE_SECONDS):
            if self._stop_at is not None and time.monotonic() >= self._stop_at + 1.0:
                return

    def _fail(self, reason: str) -> None:
        self.fault = self.fault or f"the server's mirror stopped after record {self.record}: {reason}"
