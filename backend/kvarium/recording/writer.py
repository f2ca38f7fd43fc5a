"""The one thread that writes a recording.

    append ──▶ batch (≤ 200 ms or ≤ 2 MiB) ──▶ chunk ─┐
    index  ──▶ rows, held until their records are in ──┴─▶ one transaction ──▶ on_commit(session, record) ──▶ Ack
    change ──▶ a transaction of its own, between two of those (a note, a part of a removal)

Nobody waits for it: what arrives is put on a queue, and :meth:`Writer.stop` drains it. When the database can't be
written (a full disk, a lock held by somebody else), chunks wait in memory and are tried again each second; past a
bound the oldest are given up, which :class:`RecordingFault` tells, and recording goes on when it can.
"""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.heads import Head
from kvarium.recording import tables
from kvarium.recording.chunks import BATCH_BYTES, Batch, SealedChunk
from kvarium.recording.database import Database, RecordingGoneError, explain
from kvarium.recording.index_rows import IndexRows
from kvarium.recording.jobs import (
    Append,
    Change,
    Flush,
    Job,
    Lost,
    Open,
    RecordingFault,
    SetState,
    Stop,
    Tally,
)
from kvarium.recording.statements import (
    Opened,
    insert_chunk,
    insert_index,
    mark_interrupted,
    open_session,
    session_lost,
    session_state,
)
from kvarium_ledger.messages import Hello

log = logging.getLogger(__name__)

_MAX_INDEX_ROWS = 200_000

T = TypeVar("T")


class Writer:
    """Writes a database from one thread of its own.

    A record is stored at most 250 ms after it came: 200 in a batch, which count from when its first record came (that may
    be while an earlier one is committed), and what is left for the commit.
    ``on_commit(session, record)`` and ``on_fault(session, fault or None)`` are called on that thread.
    """

    def __init__(
        self,
        database: Database,
        on_commit: Callable[[int, int], None] = lambda session, record: None,
        on_fault: Callable[[int, RecordingFault | None], None] = lambda session, fault: None,
        batch_seconds: float = 0.2,
        batch_bytes: int = BATCH_BYTES,
        memory_bytes: int = 64 << 20,
        retry_seconds: float = 1.0,
    ) -> None:
        self.database = database
        self.pending_bytes = 0
        self.lost: dict[int, Lost] = {}
        """What is not stored and will not be, by session's number."""
        self._ids: dict[int, str] = {}
        self._on_commit = on_commit
        self.stored: dict[int, int] = {}
        """Bytes that each session's committed records take, by its number; to be read from any thread."""
        self._on_fault = on_fault
        self._batch_seconds = batch_seconds
        self._batch_bytes = batch_bytes
        self._memory_bytes = memory_bytes
        self._retry_seconds = retry_seconds
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._batches: dict[int, Batch] = {}
        self._chunks: list[SealedChunk] = []
        self._index: list[IndexRows] = []
        self._index_since = 0.0
        self._states: list[SetState] = []
        self._tallies: dict[int, Tally] = {}
        self._unindexed: set[int] = set()
        self._faults: dict[int, RecordingFault] = {}
        self._retry_at = 0.0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="kvarium-writer", daemon=True)

    # -- from other threads -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Sessions that were live when their server died are interrupted ones; then start the thread."""
        try:
            with self.database.writing().begin() as connection:
                mark_interrupted(connection)
                columns = tables.session.c
                for number, last in connection.execute(sa.select(columns.number, columns.last_record)):
                    self._tallies[number] = Tally(committed=-1 if last is None else last)
        except SQLAlchemyError as error:
            raise KvariumError(f"can't write the recording {self.database.where}: {explain(error)}") from None
        self._thread.start()

    def open_session(self, hello: Hello, frame: bytes) -> "Future[Opened]":
        """Make the session's row, or find it: an engine that comes back continues its session."""
        future: Future[Opened] = Future()
        self._jobs.put(Open(hello, frame, future))
        return future

    def append(self, session: int, frame: bytes, head: Head) -> None:
        """The next record of a session."""
        with self._lock:
            self.pending_bytes += len(frame)
        self._jobs.put(Append(session, frame, head, time.monotonic()))

    def index(self, rows: IndexRows) -> None:
        """Rows of the index; they are committed once their records are."""
        self._jobs.put(rows)

    def set_state(self, session: int, state: str, reason: str = "") -> None:
        """``live``, ``ended`` or ``interrupted``, after everything that was appended before."""
        self._jobs.put(SetState(session, state, reason))

    def change(self, change: Callable[[sa.Connection], T]) -> "Future[T]":
        """Let ``change`` write, in a transaction between those of the records. It must be short: records wait."""
        future: Future[T] = Future()
        self._jobs.put(Change(change, future))
        return future

    def forget(self, session: int) -> None:
        """A session is about to be removed: what its mirror still sends is not stored."""
        self._unindexed.add(session)
        self._tallies.pop(session, None)
        self.stored.pop(session, None)

    def flush(self) -> "Future[None]":
        """Commit what was appended before this call; the future is done when it was tried."""
        future: Future[None] = Future()
        self._jobs.put(Flush(future))
        return future

    def stop(self, timeout: float = 30.0) -> bool:
        """Write all that is waiting and end the thread. False: it did not end in time."""
        if self._thread.is_alive():
            self._jobs.put(Stop())
            self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def lost_records(self) -> int:
        """How many records were received and are not stored, of all sessions since the start."""
        return sum(lost.records for lost in list(self.lost.values()))

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        stopping = False
        while not stopping:
            flushes: list[Future[None]] = []
            try:
                stopping = self._turn(flushes)
            except Exception:
                # Whatever it was, the next record must find a writer.
                log.exception("the writer met a fault of its own")
            for future in flushes:
                future.set_result(None)
        self._give_up_rest()
        for failed in self._drain_refused():
            failed.set_exception(KvariumError("the recording is closed"))

    def _turn(self, flushes: "list[Future[None]]") -> bool:
        """Take what has come and commit what is due; True: it was told to stop."""
        stopping = False
        for job in self._next_jobs():
            if isinstance(job, Append):
                self._take(job)
            elif isinstance(job, IndexRows):
                self._index_since = self._index_since if self._index else time.monotonic()
                self._index.append(job)
            elif isinstance(job, Open):
                self._open(job)
            elif isinstance(job, SetState):
                self._states.append(job)
            elif isinstance(job, Change):
                self._change(job)
            elif isinstance(job, Flush):
                flushes.append(job.future)
            else:
                stopping = True
        force = stopping or bool(flushes)
        self._seal_batches(force)
        self._commit(force)
        return stopping

    def _next_jobs(self) -> list[Job]:
        try:
            jobs: list[Job] = [self._jobs.get(timeout=self._wait_seconds())]
        except queue.Empty:
            return []
        with contextlib.suppress(queue.Empty):
            while len(jobs) < 4096:
                jobs.append(self._jobs.get_nowait())
        return jobs

    def _give_up_rest(self) -> None:
        """The end: what could not be written is lost. The recording tells of it, if so much can be written still."""
        self._give_up(self._chunks)
        lost = self._lost()
        if lost or self._states:
            with contextlib.suppress(Exception), self.database.writing().begin() as connection:
                for session, count in lost.items():
                    session_lost(connection, session, count)
                for state in self._states:
                    session_state(connection, state.session, state.state, state.reason)

    def _lost(self) -> dict[int, int]:
        """How many records are given up and not yet told of in the recording, by session."""
        return {session: tally.lost for session, tally in self._tallies.items() if tally.lost}

    def _drain_refused(self) -> list[Future[Any]]:
        refused: list[Future[Any]] = []
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if isinstance(job, (Open, Change, Flush)):
                    refused.append(job.future)
        return refused

    def _wait_seconds(self) -> float | None:
        """How long the thread may sleep: until the oldest batch is due, or the next try."""
        now = time.monotonic()
        due = [batch.started + self._batch_seconds for batch in self._batches.values()]
        if self._chunks or self._states or self._faults:
            due.append(max(self._retry_at, now))
        if self._index:
            due.append(max(self._retry_at, self._index_since + self._batch_seconds, now + 0.02))
        return max(min(due) - now, 0.0) if due else None

    def _take(self, job: Append) -> None:
        batch = self._batches.get(job.session)
        if batch is None:
            batch = self._batches[job.session] = Batch(job.session, job.came)
        batch.add(job.frame, job.head)
        if batch.bytes >= self._batch_bytes:
            del self._batches[job.session]
            self._chunks.append(SealedChunk(batch))

    def _seal_batches(self, force: bool) -> None:
        now = time.monotonic()
        for session, batch in list(self._batches.items()):
            if force or now - batch.started >= self._batch_seconds:
                del self._batches[session]
                self._chunks.append(SealedChunk(batch))

    def _open(self, job: Open) -> None:
        self._seal_batches(force=True)
        self._commit(force=True)
        try:
            with self.database.writing().begin() as connection:
                opened = open_session(connection, job.hello, job.frame)
        except (SQLAlchemyError, KvariumError) as error:
            reason = str(error) if isinstance(error, KvariumError) else explain(error)
            job.future.set_exception(KvariumError(reason))
            return
        self._tallies.setdefault(opened.number, Tally(committed=opened.last_record))
        # Its mirror begins anew, where the index ends (and a number may have been a removed session's).
        self._unindexed.discard(opened.number)
        self._ids[opened.number] = job.hello.session
        self.stored[opened.number] = int(opened.counters["stored_bytes"] or 0)
        job.future.set_result(opened)

    def _change(self, job: Change) -> None:
        try:
            self.database.check_place()
            with self.database.writing().begin() as connection:
                done = job.change(connection)
        except SQLAlchemyError as error:
            reason = f"can't write the recording {self.database.where}: {explain(error)}"
            job.future.set_exception(KvariumError(reason))
        except Exception as error:
            # The one who asked is told; the writer goes on.
            job.future.set_exception(error)
        else:
            job.future.set_result(done)

    # -- committing -------------------------------------------------------------------------------------------------

    def _commit(self, force: bool) -> None:
        index_due = self._index and time.monotonic() - self._index_since >= self._batch_seconds
        if not (self._chunks or self._states or index_due or force or self._faults):
            return
        if not force and time.monotonic() < self._retry_at:
            self._give_up_beyond_memory()
            return
        chunks, states = self._chunks, self._states
        through = {session: tally.committed for session, tally in self._tallies.items()}
        through |= {chunk.session: chunk.last for chunk in chunks}
        index = [rows for rows in self._index if rows.through <= through.get(rows.session, -1)]
        lost = self._lost()
        if not (chunks or states or index or lost):
            return
        try:
            self.database.check_place()
            with self.database.writing().begin() as connection:
                for chunk in chunks:
                    insert_chunk(connection, chunk)
                for session, count in lost.items():
                    session_lost(connection, session, count)
                for rows in index:
                    if rows.session not in self._unindexed:
                        insert_index(connection, rows)
                for state in states:
                    session_state(connection, state.session, state.state, state.reason)
        except RecordingGoneError as error:
            self._failed(str(error))
            return
        except (OperationalError, InterfaceError) as error:
            self._failed(explain(error))
            return
        except Exception as error:
            self._refused(error, index)
            return
        self._chunks, self._states = [], []
        done = {id(rows) for rows in index}
        self._index = [rows for rows in self._index if id(rows) not in done]
        for session in lost:
            self._tallies[session] = Tally(committed=self._tallies[session].committed)
        self._committed(through, chunks)

    def _committed(self, through: dict[int, int], chunks: list[SealedChunk]) -> None:
        with self._lock:
            self.pending_bytes -= sum(chunk.bytes for chunk in chunks)
        for chunk in chunks:
            self.stored[chunk.session] = self.stored.get(chunk.session, 0) + chunk.stored_bytes
        for session in {chunk.session for chunk in chunks}:
            self._tallies[session] = Tally(committed=through[session])
            self._on_commit(session, through[session])
        self._retry_at = 0.0
        for session in list(self._faults):
            del self._faults[session]
            self._on_fault(session, None)

    def _refused(self, error: Exception, index: list[IndexRows]) -> None:
        """The database does not take what it was given, and will not a second time either."""
        if index:
            # An index that does not fit must not keep records from being stored; it can be made again.
            self._unindexed |= {rows.session for rows in index}
            self._index = []
        else:
            self._give_up(self._chunks)
            self._states = []
            self._failed(explain(error))
        self._commit(force=True)

    def _failed(self, reason: str) -> None:
        self._retry_at = time.monotonic() + self._retry_seconds
        self._give_up_beyond_memory()
        waiting = {chunk.session for chunk in self._chunks} | {state.session for state in self._states}
        waiting |= set(self._lost())
        for session in waiting | set(self._faults):
            tally = self._tallies.setdefault(session, Tally())
            first = min(
                (chunk.first for chunk in self._chunks if chunk.session == session),
                default=tally.committed + 1,
            )
            since = tally.lost_since if tally.lost_since is not None else first
            fault = RecordingFault(since, tally.lost, reason)
            if self._faults.get(session) != fault:
                self._faults[session] = fault
                self._on_fault(session, fault)

    def _give_up_beyond_memory(self) -> None:
        """Drop the oldest chunks, and the index that would depend on them: it can be made again from what is stored."""
        held = sum(chunk.bytes for chunk in self._chunks)
        beyond: list[SealedChunk] = []
        while held > self._memory_bytes and len(beyond) < len(self._chunks):
            beyond.append(self._chunks[len(beyond)])
            held -= beyond[-1].bytes
        self._give_up(beyond)
        if sum(len(rows) for rows in self._index) > _MAX_INDEX_ROWS:
            self._unindexed |= {rows.session for rows in self._index}
            self._index = []

    def _give_up(self, chunks: list[SealedChunk]) -> None:
        """The oldest chunks are lost to the recording. They are acknowledged: an engine that fills up loses for all."""
        self._chunks = self._chunks[len(chunks) :]
        with self._lock:
            self.pending_bytes -= sum(chunk.bytes for chunk in chunks)
        for chunk in chunks:
            tally = self._tallies.setdefault(chunk.session, Tally())
            tally.lost += chunk.records
            lost = self.lost.setdefault(
                chunk.session, Lost(self._ids.get(chunk.session, str(chunk.session)), chunk.first)
            )
            lost.records += chunk.records
            if tally.lost_since is None:
                tally.lost_since = chunk.first
            self._on_commit(chunk.session, chunk.last)
