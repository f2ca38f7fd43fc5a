"""The server's own mirror of a session: it verifies every record, stores keyframes and makes the index.

It runs on a thread of its own and may lag; nobody waits for it. It holds no queue: it remembers the last record that it
folded and takes what follows from the session's ring, or from the recording where the ring has moved on.

    ring (the last 32 MiB) ─┐
    recording (all)        ─┴─▶ Fold.apply ─▶ Indexer ─▶ writer      a keyframe each max(64 KiB, 8 × its size) of frames
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.indexer import Indexer
from kvarium.recording.database import explain
from kvarium.recording.index_rows import keyframe_row
from kvarium.recording.reader import Reader
from kvarium.recording.writer import Writer
from kvarium.ring import Ring, RingFrame
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import AnyRecord, Keyframe, Record
from kvarium_ledger.violations import Violation

KEYFRAME_BYTES = 64 << 10
KEYFRAME_FACTOR = 8
_READ_BYTES = 1 << 20
_INDEX_SECONDS = 0.25
_INDEX_ROWS = 20_000


class Follower:
    """Folds the session ``session`` on a thread of its own.

    With a ``ring`` it follows a live session until :meth:`stop`; without one it brings the index of a recorded session to
    its end. ``record`` is how far it came, ``fault`` the first thing that it found wrong. ``on_need_keyframe`` is called
    (on its thread) when it can go on only from a new keyframe of the engine's.
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
        self._fold = Fold(hello.num_blocks, hello.block_size)
        self._indexer = Indexer(session, [])
        self._reader = reader
        self._writer = writer
        self._ring = ring
        self._on_need_keyframe = on_need_keyframe
        self._wanted: queue.SimpleQueue[Future[RingFrame]] = queue.SimpleQueue()
        self._stop_at: float | None = None
        self._broken = False
        self._indexed = -1
        self._index_at = 0.0
        self._bytes_since_keyframe = 0
        self._keyframe_bytes = 0
        self._store_keyframe_now = False
        self._thread = threading.Thread(target=self._run, name=f"kvarium-fold-{session}", daemon=True)

    # -- from other threads -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Go to where the index ends, and on."""
        self._thread.start()

    def stop(self, drain_seconds: float) -> None:
        """Ask it to end once it has folded everything, or after ``drain_seconds``; :meth:`join` waits for that."""
        self._stop_at = time.monotonic() + drain_seconds
        if self._ring is not None:
            self._ring.wake()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Is the thread alive?"""
        return self._thread.is_alive()

    def keyframe(self) -> "Future[RingFrame]":
        """A keyframe of the state where the fold is by then; it bears the number of its last record."""
        future: Future[RingFrame] = Future()
        self._wanted.put(future)
        if self._ring is not None:
            self._ring.wake()
        if not self.running:
            self._refuse_wanted()
        return future

    def store_keyframe(self) -> None:
        """Store a keyframe soon: what went before it is not all in the recording."""
        self._store_keyframe_now = True

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._restore()
            self._follow()
        except Exception as error:
            reason = explain(error) if isinstance(error, SQLAlchemyError) else str(error)
            self._break(f"the server's mirror stopped after record {self.record}: {reason}")
        finally:
            self._refuse_wanted()

    def _restore(self) -> None:
        """Fold again from the last stored keyframe to where the index ends."""
        row = self._reader.session(self.session)
        indexed = row["indexed_record"]
        if indexed is None:
            return
        active = [row for row in self._reader.requests(self.session) if row["ended_step"] is None]
        self._indexer = Indexer(self.session, active)
        keyframe = self._reader.keyframe_before(self.session, indexed)
        record = codec.open_frame(keyframe.frame)
        assert isinstance(record, Keyframe)
        self._fold.load(record)
        self.record = keyframe.record
        self._keyframe_bytes = len(keyframe.frame)
        for frame in self._reader.frames(self.session, keyframe.record, indexed):
            decoded = codec.open_frame(frame.bytes)
            if isinstance(decoded, Record):
                self._fold.apply(decoded)
            self._bytes_since_keyframe += len(frame.bytes)
        self.record = self._indexed = indexed

    def _follow(self) -> None:
        while not self._should_stop():
            self._serve_wanted()
            frames = self._next_frames()
            for frame in frames:
                self._apply(frame)
                if not self._wanted.empty():
                    self._serve_wanted()
                if len(self._indexer) >= _INDEX_ROWS or self._stopped_waiting():
                    break
            self._write_index(force=False)
            if frames:
                continue
            if self._ring is None:
                break
            self._ring.wait(self.record, _INDEX_SECONDS)
        self._write_index(force=True)

    def _stopped_waiting(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _should_stop(self) -> bool:
        if self._broken or self._stopped_waiting():
            return True
        return self._stop_at is not None and (self._ring is None or self.record >= self._ring.last)

    def _next_frames(self) -> list[RingFrame]:
        if self._ring is not None and self._ring.covers(self.record):
            return self._ring.after(self.record, _READ_BYTES)
        found: list[RingFrame] = []
        size = 0
        for frame in self._reader.frames(self.session, self.record):
            assert frame.head.record is not None
            if not found and frame.head.record != self.record + 1 and frame.head.type != "gap":
                self._miss(frame.head.record)
            found.append(RingFrame(frame.head.record, frame.bytes))
            size += len(frame.bytes)
            if size >= _READ_BYTES:
                break
        if not found and self._ring is not None:
            # What follows is on its way into the recording, or was given up: then only the ring can help.
            time.sleep(0.05)
        return found

    def _miss(self, following: int) -> None:
        """Records are nowhere: neither in the ring nor in the recording."""
        if self._fold.loaded and self.record >= 0:
            self._fold.loaded = False
            self._on_need_keyframe()
        self.record = following - 1

    def _apply(self, frame: RingFrame) -> None:
        decoded = codec.open_frame(frame.frame)
        if not isinstance(decoded, Record):
            raise KvariumError(f"frame {frame.record} is no record")
        record: AnyRecord = decoded
        fold = self._fold
        if not fold.loaded and self._indexed >= 0 and not isinstance(record, Keyframe):
            self.record = fold.record = frame.record
            return
        fresh = not fold.loaded
        if isinstance(record, Keyframe) and fold.violation is not None and fold.loaded:
            found = fold.apply(record)
            fold.load(record)
        else:
            found = fold.apply(record)
        self.record = frame.record
        self._indexer.add(record, fold)
        self._note_faults(found)
        self._bytes_since_keyframe += len(frame.frame)
        self._maybe_store_keyframe(record, frame, fresh)

    def _note_faults(self, found: list[Violation]) -> None:
        if not found:
            return
        self.violations += len(found)
        self._indexer.violations(self._fold, self.record, found)
        if self.fault is None:
            self.fault = str(found[0])

    def _maybe_store_keyframe(self, record: AnyRecord, frame: RingFrame, fresh: bool) -> None:
        due = self._bytes_since_keyframe >= max(KEYFRAME_BYTES, KEYFRAME_FACTOR * self._keyframe_bytes)
        if not self._fold.loaded or not (due or fresh or self._store_keyframe_now):
            return
        fold = self._fold
        if isinstance(record, Keyframe):
            origin, data = "engine", frame.frame
        else:
            origin, data = "fold", codec.seal(fold.keyframe())
        self._indexer.keyframe(
            keyframe_row(self.session, self.record, fold.step, fold.op, fold.time, origin, data)
        )
        self._keyframe_bytes = len(data)
        self._bytes_since_keyframe = 0
        self._store_keyframe_now = False

    def _write_index(self, force: bool) -> None:
        now = time.monotonic()
        due = now - self._index_at >= _INDEX_SECONDS or len(self._indexer) >= _INDEX_ROWS
        if self.record <= self._indexed or not (due or force):
            return
        self._writer.index(self._indexer.take(self.record))
        self._indexed, self._index_at = self.record, now

    # -- keyframes for viewers --------------------------------------------------------------------------------------

    def _serve_wanted(self) -> None:
        if self._wanted.empty() or not self._fold.loaded:
            return
        frame = RingFrame(self._fold.record, codec.seal(self._fold.keyframe()))
        with contextlib.suppress(queue.Empty):
            while True:
                future = self._wanted.get_nowait()
                if future.set_running_or_notify_cancel():
                    future.set_result(frame)

    def _refuse_wanted(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                future = self._wanted.get_nowait()
                if future.set_running_or_notify_cancel():
                    future.set_exception(KvariumError(self.fault or "the session's mirror has ended"))

    def _break(self, reason: str) -> None:
        self._broken = True
        if self.fault is None:
            self.fault = reason
        with contextlib.suppress(Exception):
            self._write_index(force=True)
