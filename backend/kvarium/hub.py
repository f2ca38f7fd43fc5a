"""The hub: live sessions by id, and what the server knows of all sessions."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from kvarium.errors import ConflictError, DamagedRecordingError, KvariumError, UnknownSessionError
from kvarium.follower import Follower
from kvarium.housekeeper import Housekeeper, tell
from kvarium.live_session import LiveSession
from kvarium.recording.database import Database
from kvarium.recording.index_rows import Row
from kvarium.recording.jobs import RecordingFault
from kvarium.recording.retention import KEEP_ALL, Retention
from kvarium.recording.shelf import Shelf
from kvarium.recording.tables import MAX_BLOCK_SIZE, SESSION_ID
from kvarium.recording.writer import Writer
from kvarium_ledger import codec
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION

EngineState = Literal["none", "starting", "linked", "ended"]
"""What is known of an engine: none was started and none is linked; or how far the one that was started here is."""

MAX_VIEWERS = 1000
MAX_EXPORTS = 2
MAX_IMPORT_BYTES = 4 << 30


def what_to_do(reason: str) -> str:
    """What helps a recording that can't be written for this reason."""
    if "full" in reason:
        return "make room on its disk"
    if "locked" in reason:
        return "end the program that holds it"
    if "gone" in reason or "another file" in reason:
        return "put the file back, or start the server anew"
    return "see to it that the file can be written"


class Outage(NamedTuple):
    """The recording can't be written for a session: the first record that waits, and how many were lost before."""

    since: int
    lost_before: int


class Hub:
    """Engines come, viewers watch, sessions end. With a read-only database there are no live sessions.

    An engine whose link breaks has ``grace_seconds`` to come back; then its session is interrupted, until it does.
    """

    def __init__(
        self,
        database: Database,
        grace_seconds: float = 10.0,
        ring_bytes: int = 32 << 20,
        retention: Retention = KEEP_ALL,
    ) -> None:
        self.database = database
        self.shelf = Shelf(database)
        self.reader = self.shelf.reader
        self.live: dict[str, LiveSession] = {}
        self.linked = asyncio.Event()
        self.writer: Writer | None = None
        self.housekeeper: Housekeeper | None = None
        self.drain_seconds = 3.0
        self.import_bytes = MAX_IMPORT_BYTES
        self.started_engine: EngineState = "none"
        """How far the engine that this server started is, if it started one."""
        self._retention = retention
        self._grace_seconds = grace_seconds
        self._ring_bytes = ring_bytes
        self._by_number: dict[int, LiveSession] = {}
        self.opening = asyncio.Lock()
        """Held while a session is opened or removed."""
        self._catching_up: dict[int, Follower] = {}
        self._ending: list[Follower] = []
        self._stopping: list[Follower] = []
        self._ticker: asyncio.Task[None] | None = None
        self._faults: dict[int, RecordingFault] = {}
        self._outage: dict[int, Outage] = {}
        """Since the recording can't be written, by the number of each session that it concerns."""
        self._ends = False
        self._exports: set[threading.Event] = set()
        self._import: threading.Event | None = None

    # -- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the writer, and bring the index of sessions whose server died to their end."""
        if self.database.read_only:
            return
        loop = asyncio.get_running_loop()

        def from_writer(name: str, *args: object) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(getattr(self, name), *args)

        self.writer = Writer(
            self.database,
            on_commit=partial(from_writer, "_committed"),
            on_fault=partial(from_writer, "_recording_changed"),
        )
        self.writer.start()
        await asyncio.to_thread(self.shelf.imports.sweep)
        try:
            rows = self.reader.sessions()
        except DamagedRecordingError as error:
            # Who wants to see what is there is told; what comes is recorded.
            tell(f"the recording is damaged: {error}")
            rows = []
        for row in rows:
            if row["last_record"] is not None and row["indexed_record"] != row["last_record"]:
                try:
                    hello, _ = self.reader.hello(row["number"])
                except DamagedRecordingError:
                    # Who wants to see this session is told; the others are served.
                    continue
                follower = Follower(row["number"], hello, self.reader, self.writer)
                self._catching_up[row["number"]] = follower
                follower.start()
        self.housekeeper = Housekeeper(self, self.writer, self._retention)
        self.housekeeper.start()
        self._ticker = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Let the mirrors finish (for ``drain_seconds``), write all that is waiting, and close the recording.

        An index that is not finished by then is finished by the next server of this recording.
        """
        if self._ticker is not None:
            self._ticker.cancel()
        await asyncio.to_thread(self.shelf.close)
        if self.writer is None:
            return
        if self.housekeeper is not None:
            await self.housekeeper.stop()
        followers = [session.follower for session in self.live.values()]
        followers += [*self._catching_up.values(), *self._ending]
        for session in self.live.values():
            if session.link is not None:
                session.link.close(1012, "the server ends")
            session.interrupt("the server ended")
        self._stopping = followers
        for follower in followers:
            follower.stop(self.drain_seconds)
        await asyncio.to_thread(self._join, followers, self.drain_seconds + 5.0)
        if not await asyncio.to_thread(self.writer.stop):
            tell(f"the recording {self.database.where} was not written to its end: it takes too long")
        elif self.lost_records:
            told = ", ".join(map(str, self.writer.lost.values()))
            tell(f"{told} could not be written to {self.database.where}: they are lost")

    @contextlib.contextmanager
    def exporting(self) -> Iterator[threading.Event | None]:
        """A place for an export, and the event that cancels it; None when there are as many as may be."""
        if len(self._exports) >= MAX_EXPORTS or self._ends:
            yield None
            return
        cancelled = threading.Event()
        self._exports.add(cancelled)
        try:
            yield cancelled
        finally:
            cancelled.set()
            self._exports.discard(cancelled)

    @contextlib.contextmanager
    def importing(self) -> Iterator[threading.Event | None]:
        """A place for an import, and the event that cancels it; None while there is another."""
        if self._import is not None or self._ends:
            yield None
            return
        self._import = threading.Event()
        try:
            yield self._import
        finally:
            self._import = None

    def cancel_exports(self) -> None:
        """The server is to end: nobody waits for a download, nor for an import."""
        self._ends = True
        for cancelled in (*self._exports, *([self._import] if self._import is not None else [])):
            cancelled.set()

    def hurry(self) -> None:
        """Somebody waits for the end: let mirrors go on for three more seconds at most."""
        self.drain_seconds = 3.0
        for follower in self._stopping:
            follower.stop(self.drain_seconds)

    @staticmethod
    def _join(followers: list[Follower], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        for follower in followers:
            follower.join(max(0.0, deadline - time.monotonic()))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            for session in list(self.live.values()):
                session.refresh_status()
                self._look_after(session)
            self._ending = [follower for follower in self._ending if follower.running]

    def _look_after(self, session: LiveSession) -> None:
        gone = time.monotonic() - session.unlinked_since
        if session.link is None and session.state == "live" and gone > self._grace_seconds:
            session.interrupt("the engine's link broke and it did not come back")
        if session.link is None and session.viewers == 0 and session.state != "live":
            self._forget(session)

    def engine_ended(self, pid: int | None, status: int) -> None:
        """The engine that this server started has ended: nobody needs to wait for it to come back to its session."""
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        for session in self.live.values():
            if session.hello.pid == pid:
                session.give_up_engine(f"the engine {how}")

    def _forget(self, session: LiveSession) -> None:
        session.close(drain_seconds=3600.0)
        self._ending.append(session.follower)
        self.live.pop(session.id, None)
        self._by_number.pop(session.number, None)
        if self.housekeeper is not None:
            self.housekeeper.look()

    async def let_go(self, session_id: str) -> int:
        """End everything that this server does for a recorded session; its number. The caller holds :attr:`opening`.

        Raises :class:`ConflictError` for a live one.
        """
        number = await asyncio.to_thread(self.number, session_id)
        live = self.live.get(session_id)
        if live is not None:
            if live.state == "live":
                raise ConflictError(f"session {session_id} is being recorded: end its engine first")
            live.say_bye("the session was removed")
            self._forget(live)
        await asyncio.to_thread(self._end_mirrors_of, session_id)
        if self.writer is not None:
            self.writer.forget(number)
        self.shelf.seeker.forget(number)
        return number

    def _committed(self, number: int, record: int) -> None:
        session = self._by_number.get(number)
        if session is not None:
            session.commit(record)

    def _recording_changed(self, number: int, fault: RecordingFault | None) -> None:
        session = self._by_number.get(number)
        if session is not None:
            session.recording_changed(fault)
        faults = self._faults
        before = bool(faults)
        if fault is None:
            faults.pop(number, None)
        else:
            faults[number] = fault
            # What the recording misses begins there, if it is not written in the end.
            self._outage.setdefault(number, Outage(fault.since, self._lost_of(number) - fault.lost))
        if faults and not before:
            assert fault is not None
            tell(
                f"can't write the recording {self.database.where}: {fault.reason}; what comes is kept in memory for now, "
                f"and lost when that is full: {what_to_do(fault.reason)}"
            )
        elif before and not faults:
            assert self.writer is not None
            lost = [
                str(replace(self.writer.lost[each], first=outage.since, records=records))
                for each, outage in self._outage.items()
                if (records := self._lost_of(each) - outage.lost_before)
            ]
            self._outage.clear()
            how = f"{', '.join(lost)} are lost to it" if lost else "nothing was lost"
            tell(f"the recording {self.database.where} can be written again: {how}")

    def _lost_of(self, number: int) -> int:
        """Records of a session that are lost to the recording since the start."""
        lost = None if self.writer is None else self.writer.lost.get(number)
        return 0 if lost is None else lost.records

    @property
    def recording_error(self) -> str | None:
        """Why the recording can't be written now, if it can't."""
        return next((str(fault) for fault in self._faults.values()), None)

    @property
    def lost_records(self) -> int:
        """How many records were received and are not stored, for all sessions since the start."""
        return 0 if self.writer is None else self.writer.lost_records

    @property
    def engine_state(self) -> EngineState:
        """Is an engine linked, or does one start, or has it ended?"""
        linked = any(session.link is not None for session in self.live.values())
        return "linked" if linked else self.started_engine

    # -- engines ----------------------------------------------------------------------------------------------------

    async def open_session(self, frame: bytes) -> LiveSession:
        """An engine's first frame: its session, new or continued. Raises :class:`KvariumError` when it can't be."""
        try:
            hello = codec.open_frame(frame)
        except codec.FrameError as error:
            raise KvariumError(f"an engine begins with a hello: {error}") from None
        if not isinstance(hello, Hello):
            raise KvariumError(f"an engine begins with a hello, not with a {type(hello).__name__.lower()}")
        if hello.version > VERSION:
            raise KvariumError(
                f"this engine writes version {hello.version} of the ledger, this server reads up to {VERSION}: "
                "the server needs a newer kvarium"
            )
        if not (0 < hello.num_blocks <= codec.MOST_BLOCKS and 0 < hello.block_size <= MAX_BLOCK_SIZE):
            raise KvariumError(
                f"a pool of {hello.num_blocks} blocks of {hello.block_size} slots is none: it has 1 to {codec.MOST_BLOCKS} "
                f"blocks, of which one frame holds the state, of 1 to {MAX_BLOCK_SIZE} slots"
            )
        if not SESSION_ID.fullmatch(hello.session):
            raise KvariumError(f"a session's id is a UUID, not {hello.session[:80]!r}")
        if self.writer is None:
            raise KvariumError(f"this server only reads: {self.database.where} was opened read-only")
        async with self.opening:
            return await self._open(hello, frame, self.writer)

    async def _open(self, hello: Hello, frame: bytes, writer: Writer) -> LiveSession:
        known = self.live.get(hello.session)
        if known is not None and known.bye_frame is None:
            if (known.hello.num_blocks, known.hello.block_size) != (hello.num_blocks, hello.block_size):
                raise KvariumError(f"session {hello.session} has a pool of another size")
            known.hello, known.hello_frame = hello, frame
            if known.state != "live":
                writer.set_state(known.number, "live")
            return known
        if known is not None:
            self._forget(known)
        await asyncio.to_thread(self._end_mirrors_of, hello.session)
        opened = await asyncio.wrap_future(writer.open_session(hello, frame))
        session = LiveSession(hello, frame, opened, self.reader, writer, self._ring_bytes)
        self.live[session.id] = session
        self._by_number[session.number] = session
        session.follower.start()
        return session

    def _end_mirrors_of(self, session_id: str) -> None:
        """A session has at most one mirror that writes its index."""
        followers = [*self._catching_up.values(), *self._ending]
        if not followers:
            return
        try:
            number = self.reader.number(session_id)
        except UnknownSessionError:
            return
        for follower in followers:
            if follower.session == number and follower.running:
                follower.stop(0.0)
                follower.join(30.0)

    # -- sessions ---------------------------------------------------------------------------------------------------

    def describe(self, row: Row) -> Row:
        """A session as the API tells it, from its row and, while it is live, from memory."""
        live = self.live.get(row["id"])
        told = dict(row)
        told.pop("hello")
        told["linked"] = False
        lost = row["lost"]
        told["recording_error"] = (
            f"{lost} records could not be stored: they are lost (`kvarium verify` tells which)"
            if lost
            else None
        )
        if live is not None:
            told |= live.describe()
        return told

    def sessions(self) -> list[Row]:
        """All sessions, the newest first, those of imported files among them."""
        return [self.describe(row) for row in self.shelf.rows()]

    def number(self, session_id: str) -> int:
        """A session's number by its full id."""
        live = self.live.get(session_id)
        if live is not None:
            return live.number
        return self.reader.number(session_id)

    async def settle(self, session_id: str, record: int | None = None) -> None:
        """Commit what a live session holds only in memory, when ``record`` (None: anything) is of it."""
        live = self.live.get(session_id)
        if live is None or self.writer is None or live.last_record <= live.committed:
            return
        if record is None or record > live.committed:
            await asyncio.wrap_future(self.writer.flush())
