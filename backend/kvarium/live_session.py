"""A live session: what one engine sends, for the recording, the server's own mirror and all who watch.

engine ──frame──▶ LiveSession.receive ─┬▶ writer (queue)  ──▶ committed ──▶ Ack to the engine
                                       ├▶ ring            ──▶ follower (thread), viewers
                                       └▶ wake viewers
"""

import asyncio
import time
import uuid
from typing import TYPE_CHECKING, Any, get_args

from kvarium.engine_link import EngineLink, LinkFaultError, NoAnswerError, NotLinkedError, RefusedCommandError
from kvarium.errors import KvariumError
from kvarium.follower import Follower
from kvarium.heads import Head, read_head
from kvarium.recording.index_rows import Row
from kvarium.recording.jobs import RecordingFault
from kvarium.recording.reader import Reader
from kvarium.recording.statements import Opened
from kvarium.recording.writer import Writer
from kvarium.ring import Ring, RingFrame
from kvarium_ledger import codec
from kvarium_ledger.messages import Answer, Argument, Bye, Command, Health, Hello, Result, Status
from kvarium_ledger.records import AnyRecord

if TYPE_CHECKING:
    from kvarium.viewer import Viewer

FRESH_KEYFRAME_BYTES = 1 << 20
"""A keyframe serves several viewers while at most this much follows it."""

ANSWER_SECONDS = 30.0
"""An engine answers between two steps, and on a loaded machine one may take long."""


RECORD_TYPES = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyRecord))


class LiveSession:
    """One engine in, many viewers out. All of it runs on the event loop; the follower and the writer have threads."""

    def __init__(
        self,
        hello: Hello,
        hello_frame: bytes,
        opened: Opened,
        reader: Reader,
        writer: Writer,
        ring_bytes: int = 32 << 20,
    ) -> None:
        row = opened.counters
        self.number = opened.number
        self.id = hello.session
        self.hello = hello
        self.hello_frame = hello_frame
        self.state = "live"
        self.reason = ""
        self.link: EngineLink | None = None
        self.unlinked_since = time.monotonic()
        self._engine_end: str | None = None
        self.committed = opened.last_record
        self.watching: set[Viewer] = set()
        self.viewers_skips = 0
        self.recording_fault: RecordingFault | None = None
        self.recording_lost: str | None = None
        self.link_fault: str | None = None
        self.health_frame: bytes | None = None
        self.bye_frame: bytes | None = None
        self.bye_said = asyncio.Event()
        self.counters: dict[str, int | None] = {
            name: row[name]
            for name in ("records", "operations", "steps", "last_step", "duration_ns", "bytes", "gaps")
        }
        self.ring = Ring(opened.last_record, ring_bytes)
        self.follower = Follower(
            opened.number, hello, reader, writer, self.ring, self._need_keyframe_from_thread
        )
        self._violations_before = int(row["violations"] or 0)
        self._violation_before: str | None = row["violation"]
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._wake_scheduled = False
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._shared_keyframe: RingFrame | None = None
        self._keyframe_task: asyncio.Task[RingFrame] | None = None
        self._engine_keyframe = -1
        self.latest_status = self.status()

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self.watching)

    @property
    def last_record(self) -> int:
        """The last record that was received (-1: none yet)."""
        return self.ring.last

    # -- the engine's end -------------------------------------------------------------------------------------------

    def attach(self, link: EngineLink) -> None:
        """An engine is there (again); one that was there before is sent away."""
        if self.link is not None:
            self.link.close(4409, "another connection of this engine took its place")
        self.link = link
        self._engine_end = None
        self.state, self.reason = "live", ""
        self.refresh_status()

    def detach(self, link: EngineLink) -> None:
        """The connection is gone; the engine may come back."""
        if self.link is not link:
            return
        self.link = None
        self.unlinked_since = time.monotonic()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(NotLinkedError("the engine's connection broke before it answered"))
        if self._engine_end is not None:
            self.interrupt(self._engine_end)
        self.refresh_status()

    def give_up_engine(self, how: str) -> None:
        """The engine's process is known to have ended: once its link is gone, it has not to be waited for."""
        self._engine_end = how
        if self.link is None:
            self.interrupt(how)

    def receive(self, frame: bytes) -> None:
        """Take what the engine sent. Raises :class:`LinkFaultError` when it is not what must follow."""
        try:
            head = read_head(frame)
        except codec.FrameError as error:
            raise self._fault(f"after record {self.last_record}: {error}") from None
        if head.record is None:
            self._message(head.type, frame)
            return
        last = self.last_record
        if head.record <= last:
            return
        if head.type not in RECORD_TYPES:
            raise self._fault(
                f"record {head.record} is of a type that this server does not know: {head.type[:40]!r}"
            )
        if last < 0 and head.type not in ("keyframe", "gap"):
            raise self._fault(f"a session begins with a keyframe, not with a {head.type}")
        if head.record != last + 1 and not self._gap_explains(head, last):
            raise self._fault(f"record {head.record} follows record {last}, and no gap says why")
        self._writer.append(self.number, frame, head)
        self.ring.append(head.record, frame, head.type == "text", head.time)
        self._count(head, frame)
        if head.type == "keyframe":
            self._engine_keyframe = head.record
        self.wake()

    @staticmethod
    def _gap_explains(head: Head, last: int) -> bool:
        return head.type == "gap" and head.first is not None and head.first <= last + 1

    def _count(self, head: Head, frame: bytes) -> None:
        counters: Any = self.counters
        counters["records"] += 1
        counters["bytes"] += len(frame)
        if head.time is not None:
            counters["duration_ns"] = head.time
        if head.type == "step":
            counters["steps"] += 1
            counters["operations"] += head.operations
            counters["last_step"] = head.step
        elif head.type == "gap":
            counters["gaps"] += 1

    def _fault(self, message: str) -> LinkFaultError:
        self.link_fault = self.link_fault or message
        self.refresh_status()
        return LinkFaultError(message)

    def _message(self, kind: str, frame: bytes) -> None:
        try:
            message = codec.open_frame(frame)
        except codec.FrameError as error:
            raise self._fault(str(error)) from None
        if isinstance(message, Answer):
            waiting = self._answers.get(message.id)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif isinstance(message, Health):
            self.health_frame = frame
        elif isinstance(message, Bye):
            self.bye_frame = frame
            self.bye_said.set()
            self._end("ended", message.reason)
        else:
            raise self._fault(f"an engine does not send a {kind}")
        self.wake()

    def say_bye(self, reason: str) -> None:
        """Send the viewers away: no engine will say goodbye to them."""
        if self.bye_frame is None:
            self.bye_frame = codec.seal(Bye(reason=reason))
            self.bye_said.set()
        self.wake()

    def interrupt(self, reason: str) -> None:
        """The engine did not come back."""
        if self.state == "live":
            self._end("interrupted", reason)

    def _end(self, state: str, reason: str) -> None:
        self.state, self.reason = state, reason
        self._writer.set_state(self.number, state, reason)
        self.refresh_status()

    def commit(self, record: int) -> None:
        """The writer committed everything up to ``record`` (or gave it up)."""
        self.committed = max(self.committed, record)
        if self.link is not None:
            self.link.acknowledge(self.committed)

    def recording_changed(self, fault: RecordingFault | None) -> None:
        """The recording can't be written, or can again."""
        before, self.recording_fault = self.recording_fault, fault
        if fault is None and before is not None and before.lost:
            self.recording_lost = (
                f"{before.lost} records from {before.since} on are lost to it: {before.reason}"
            )
            self.follower.store_keyframe()
        self.refresh_status()

    # -- commands ---------------------------------------------------------------------------------------------------

    async def command(
        self, name: str, args: dict[str, Argument], asked_by: str, timeout: float | None = None
    ) -> dict[str, Result]:
        """Ask something of the engine and wait for its answer, for :data:`ANSWER_SECONDS` if not said.

        Raises :class:`NotLinkedError`, :class:`NoAnswerError` and :class:`RefusedCommandError`.
        """
        seconds = ANSWER_SECONDS if timeout is None else timeout
        if self.link is None:
            raise NotLinkedError(f"the engine of session {self.id} is not linked")
        command = Command(id=uuid.uuid4().hex, name=name, args=args, asked_by=asked_by)
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._answers[command.id] = future
        try:
            self.link.send(codec.seal(command))
            answer = await asyncio.wait_for(future, seconds)
        except TimeoutError:
            raise NoAnswerError(
                f"the engine did not answer {name!r} within {seconds:g} s, and may still carry it out: "
                f"look first (`kvarium ctl {self.id} breaks`, or the page), before you ask again"
            ) from None
        finally:
            del self._answers[command.id]
        if answer.error is not None:
            raise RefusedCommandError(answer.error)
        return answer.result

    def _need_keyframe_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._ask_for_keyframe)

    def _ask_for_keyframe(self) -> None:
        if self.link is not None:
            command = Command(id=uuid.uuid4().hex, name="keyframe", asked_by="server")
            self.link.send(codec.seal(command))

    # -- the viewers' end -------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let viewers look: once an iteration of the loop, however much came."""
        if not self._wake_scheduled:
            self._wake_scheduled = True
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        self._wake_scheduled = False
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def changed(self) -> asyncio.Event:
        """An event that is set at the next change (a new one each time)."""
        return self._changed

    async def keyframe(self, timeout: float = 10.0) -> RingFrame:
        """A keyframe from which a viewer can begin: everything after it is in the ring."""
        shared = self._shared_keyframe
        if shared is not None and self._serves(shared.record):
            return shared
        if self._keyframe_task is None or self._keyframe_task.done():
            self._keyframe_task = asyncio.create_task(self._make_keyframe())
        return await asyncio.wait_for(asyncio.shield(self._keyframe_task), timeout)

    @property
    def keyframe_bytes(self) -> int:
        """About what a keyframe takes: what the last one took that viewers shared; 0: there was none."""
        return 0 if self._shared_keyframe is None else len(self._shared_keyframe.frame)

    async def keyframe_at_hand(self, timeout: float = 1.0) -> RingFrame | None:
        """A keyframe from which a viewer can go on, if one is to be had soon and without asking the engine for a record."""
        shared, mirror = self._shared_keyframe, self.follower
        # While less than another one follows it, a new one would be no gain.
        if (
            shared is not None
            and self._serves(shared.record)
            and self.ring.lag(shared.record) <= len(shared.frame)
        ):
            return shared
        if not mirror.running or not self._serves(mirror.record):
            return None
        try:
            found = await asyncio.wait_for(asyncio.wrap_future(mirror.keyframe()), timeout)
        except (TimeoutError, KvariumError):
            return None
        if not self.ring.covers(found.record):
            return None
        self._shared_keyframe = found
        return found

    def _serves(self, record: int) -> bool:
        return self.ring.covers(record) and self.ring.lag(record) <= FRESH_KEYFRAME_BYTES

    async def _make_keyframe(self) -> RingFrame:
        """The mirror's keyframe, or, while the mirror lags far behind, the engine's."""
        asked = False
        while True:
            found = await self._find_keyframe()
            if found is not None:
                self._shared_keyframe = found
                return found
            if not asked:
                asked = True
                self._ask_for_keyframe()
            await asyncio.sleep(0.02)

    async def _find_keyframe(self) -> RingFrame | None:
        mirror = self.follower
        if self._engine_keyframe > mirror.record and self._serves(self._engine_keyframe):
            return self.ring.after(self._engine_keyframe - 1, 1)[0]
        if mirror.running and (self._serves(mirror.record) or self.link is None):
            found = await asyncio.wrap_future(mirror.keyframe())
            return found if self.ring.covers(found.record) else None
        if self.link is None:
            raise KvariumError(mirror.fault or "the session's mirror has ended")
        return None

    def refresh_status(self) -> None:
        """Tell viewers the status as it is now."""
        self.latest_status = self.status()
        self.wake()

    def status(self) -> Status:
        """The server's view of the session."""
        return Status(
            linked=self.link is not None,
            state=self.state,
            last_record=self.last_record if self.last_record >= 0 else None,
            committed=self.committed if self.committed >= 0 else None,
            fold_record=self.follower.record if self.follower.record >= 0 else None,
            viewers=self.viewers,
            viewers_skips=self.viewers_skips,
            recording=self._reader.database.where,
            recording_bytes=self._writer.stored.get(self.number, 0),
            recording_error=self.recording_error,
            violation=self.violation,
        )

    @property
    def recording_error(self) -> str | None:
        """Why the recording can't be written, or what it lost while it could not."""
        return self.recording_lost if self.recording_fault is None else str(self.recording_fault)

    @property
    def violation(self) -> str | None:
        """The first fault of the stream, or that the mirror met."""
        return self._violation_before or self.link_fault or self.follower.fault

    def describe(self) -> Row:
        """What is newer here than in the session's row."""
        live = {
            "state": self.state,
            "reason": self.reason,
            "linked": self.link is not None,
            "last_record": self.last_record if self.last_record >= 0 else None,
            "violations": self._violations_before
            + self.follower.violations
            + (1 if self.link_fault is not None else 0),
            "violation": self.violation,
            "recording_error": self.recording_error,
        }
        return live | self.counters

    def close(self, drain_seconds: float) -> None:
        """End the mirror's thread, folding what is there for up to ``drain_seconds``."""
        self.follower.stop(drain_seconds)
