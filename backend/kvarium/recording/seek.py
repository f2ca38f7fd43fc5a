"""The seek: everything that is needed to show one step, and not much more.

    seek(step 812)   keyframe k ─ frames k+1 … r ─ (r: the record of step 812, and its text) ─ some frames ahead
                     └ the last one stored before r; or, where more than a few megabytes lie between, one made here

States that were made on the way are kept in memory (up to a bound), so that who drags a slider over a recording of a
million blocks waits once; and the first seek that has far to go begins the session's :class:`~kvarium.recording.trail.Trail`,
with which none has. Who opens a long session begins it already: nobody opens one only to see its beginning.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.heads import stored_head
from kvarium.recording.fast_forward import FastState
from kvarium.recording.reader import Frame, Reader
from kvarium.recording.trail import Trail
from kvarium_ledger import codec
from kvarium_ledger.records import Keyframe

_FAST_FORWARD_BYTES = 4 << 20
"""With more than this between keyframe and target, a keyframe nearer to the target is made."""

_LEG_BYTES = 16 << 20
"""On the way a state is kept each so many bytes of frames."""

_PREPARED_BYTES = 32 << 20
"""A session with more frames than this is long."""

_WAIT_BYTES = 512 << 20
"""A seek waits for the trail where that has no more than this to go (some seconds)."""

_TRAIL_SHARE = 4
"""Of the memory for states, the trail may take all but one part in so many."""

_TRAILS = 1
"""How many sessions of a recording have a trail at once; of more the one goes that was not used for longest."""


class Sought(NamedTuple):
    """The answer to a seek: a keyframe, in pieces, the last ``step`` of its state (-1: none yet), and the frames after it."""

    step: int
    keyframe: list[bytes | memoryview]
    frames: list[bytes]


class _Begin(NamedTuple):
    """Where an answer begins: a keyframe's record and step, and its frame in pieces."""

    record: int
    step: int
    pieces: list[bytes | memoryview]


class Seeker:
    """Seeks in the recordings of a reader. ``cache_bytes`` bounds the states that are kept, those of trails among them."""

    def __init__(self, reader: Reader, cache_bytes: int = 768 << 20) -> None:
        self.reader = reader
        self._cache_bytes = cache_bytes // _TRAIL_SHARE
        self._trail_bytes = (cache_bytes - self._cache_bytes) // _TRAILS
        self._trails: OrderedDict[int, Trail] = OrderedDict()
        self._states: OrderedDict[tuple[int, int], FastState] = OrderedDict()
        self._lock = threading.Lock()

    def seek(self, session: int, record: int, last: int, ahead_bytes: int) -> list[bytes]:
        """A keyframe before ``record``, every frame after it through ``last``, and about ``ahead_bytes`` more."""
        found = self.sought(session, record, last, ahead_bytes)
        return [b"".join(found.keyframe), *found.frames]

    def sought(
        self,
        session: int,
        record: int,
        last: int,
        ahead_bytes: int,
        with_contents: bool = True,
        since: int | None = None,
    ) -> Sought:
        """What :meth:`seek` gives, its keyframe in pieces as they lie in memory.

        Without contents those that the keyframe tells are left out where it is made here: finding them takes a while. With ``since``
        it may be one that tells of the blocks only what changed after that record (and no contents).
        """
        row = self.reader.session(session)
        first_record, last_record = row["first_record"], row["last_record"]
        if last_record is None or not first_record <= record <= last_record:
            held = "holds no records yet" if last_record is None else f"holds {first_record} to {last_record}"
            raise OutOfRangeError(f"record {record} is not in the recording, which {held}")
        keyframe = None
        if since is not None and not with_contents:
            keyframe = self._difference(session, row["num_blocks"], record, since)
        if keyframe is None:
            keyframe = self._keyframe(session, row["num_blocks"], record, ahead_bytes, with_contents)
        frames: list[bytes] = []
        ahead = 0
        previous = keyframe.record
        for frame in self._frames(session, keyframe.record, last):
            number = frame.head.record
            assert number is not None
            if number != previous + 1 and frame.head.type != "gap":
                if previous >= last:
                    break
                raise OutOfRangeError(
                    f"record {record} can't be reached: records {previous + 1} to {number - 1} were not stored"
                )
            previous = number
            if number > last:
                if ahead >= ahead_bytes:
                    break
                ahead += len(frame.bytes)
            frames.append(frame.bytes)
        return Sought(keyframe.step, keyframe.pieces, frames)

    def _frames(self, session: int, after: int, last: int) -> Iterator[Frame]:
        """The frames after a record, to the end of the chunk that holds one after ``last``: no other is opened for that."""
        for row in self.reader.chunk_rows(session, after):
            for frame in self.reader.open_chunk(row):
                assert frame.head.record is not None
                if frame.head.record > after:
                    yield frame
            if row["last"] > last:
                return

    def _keyframe(
        self, session: int, num_blocks: int, record: int, near_bytes: int, with_contents: bool
    ) -> _Begin:
        state = self._state_of_trail(session, num_blocks, record, near_bytes)
        if state is not None and self.reader.bytes_between(session, state.record, record) <= near_bytes:
            return _Begin(state.record, state.step, state.sealed(with_contents))
        stored = self.reader.keyframe_before(session, record)
        if self._is_near(session, stored.record, record, near_bytes):
            step = stored_head(stored.frame).step
            if step is None:
                raise DamagedRecordingError(f"the keyframe at record {stored.record} is none")
            return _Begin(stored.record, step, [stored.frame])
        cached = self._cached_before(session, record, stored.record if state is None else state.record)
        state = state if cached is None else cached
        try:
            if state is None:
                decoded = codec.open_frame(stored.frame)
                if not isinstance(decoded, Keyframe):
                    raise DamagedRecordingError(f"the keyframe at record {stored.record} is none")
                state = FastState(decoded, num_blocks)
            state = self._fast_forward(session, state, record, near_bytes)
            return _Begin(state.record, state.step, state.sealed(with_contents))
        except (ValueError, IndexError, OverflowError) as error:
            # Nothing is checked on the way: a record that no engine writes shows by what can't be done with it.
            raise DamagedRecordingError(
                f"between the records {stored.record} and {record} there is one that can't be applied: {error}"
            ) from None

    def _is_near(self, session: int, keyframe: int, record: int, near_bytes: int) -> bool:
        return self.reader.bytes_between(session, keyframe, record) <= _FAST_FORWARD_BYTES + near_bytes

    def _state_of_trail(
        self, session: int, num_blocks: int, record: int, near_bytes: int
    ) -> FastState | None:
        """The state at the last stop of the trail behind the last stored keyframe; None: there is none, or none is needed."""
        least = self.reader.keyframe_record_before(session, record)
        if least is None or self._is_near(session, least, record, near_bytes):
            return None
        return self._reached(session, num_blocks, record).before(record, least)

    def _difference(self, session: int, num_blocks: int, record: int, since: int) -> _Begin | None:
        """What changed since a record, where the trail knows it; it is not begun for that."""
        if session not in self._trails:
            return None
        found = self._reached(session, num_blocks, record).difference(record, since)
        if found is None or self.reader.bytes_between(session, found.record, record):
            return None
        return _Begin(found.record, found.step, found.sealed())

    def _reached(self, session: int, num_blocks: int, record: int) -> Trail:
        """The trail of a session, which has come to a record, or is on its way to one that is far."""
        trail = self._trail(session, num_blocks)
        if trail.walked < record:
            if self.reader.bytes_between(session, trail.walked, record) <= _WAIT_BYTES:
                trail.reach(record)
            else:
                trail.follow()
        return trail

    def _fast_forward(self, session: int, state: FastState, record: int, near_bytes: int) -> FastState:
        """Go on to about ``near_bytes`` of frames before ``record``: so much can be stepped back from there."""
        window: deque[Frame] = deque()
        size = 0
        expected = state.record + 1
        for frame in self.reader.frames(session, state.record, record - 1):
            if frame.head.type == "gap" or frame.head.record != expected:
                # Behind lost records the engine's keyframe is needed, which stands among the frames.
                break
            expected += 1
            window.append(frame)
            size += len(frame.bytes)
            if size >= _LEG_BYTES + near_bytes:
                size = self._leg(session, state, window, size, near_bytes)
                state = state.copy()
        self._leg(session, state, window, size, near_bytes)
        return state

    def _leg(self, session: int, state: FastState, window: deque[Frame], size: int, near_bytes: int) -> int:
        """Advance over all of ``window`` but its last ``near_bytes``, and keep the state; what is left of ``size``."""
        passed: list[tuple[str, int, bytes]] = []
        while window and size - len(window[0].bytes) >= near_bytes:
            frame = window.popleft()
            size -= len(frame.bytes)
            assert frame.head.record is not None
            passed.append((frame.head.type, frame.head.record, frame.bytes))
        if passed:
            state.advance(passed)
            self._keep(session, state)
        return size

    # -- states in memory -------------------------------------------------------------------------------------------

    def _trail(self, session: int, num_blocks: int) -> Trail:
        with self._lock:
            trail = self._trails.get(session)
            if trail is None:
                trail = self._trails[session] = Trail(self.reader, session, num_blocks, self._trail_bytes)
                if len(self._trails) > _TRAILS:
                    self._trails.popitem(last=False)[1].close()
            self._trails.move_to_end(session)
            return trail

    def prepare(self, session: int) -> None:
        """Somebody opens a session: begin its trail, where seeks will have far to go. Of a live one, only its first such seek does."""
        row = self.reader.session(session)
        last = row["last_record"]
        if row["state"] == "live" or last is None:
            return
        if self.reader.bytes_between(session, -1, last) > _PREPARED_BYTES:
            self._trail(session, row["num_blocks"]).follow()

    def settle(self, session: int, timeout: float) -> bool:
        """Wait until the trail of a session is laid, should one be under way; False: it took longer."""
        trail = self._trails.get(session)
        return trail is None or trail.wait(timeout)

    def close(self) -> None:
        """End the threads that lay trails."""
        with self._lock:
            while self._trails:
                self._trails.popitem()[1].close()

    def _cached_before(self, session: int, record: int, least: int) -> FastState | None:
        """A copy of the last state kept between the records ``least`` and ``record``."""
        with self._lock:
            found = [at for number, at in self._states if number == session and least < at < record]
            if not found:
                return None
            key = (session, max(found))
            self._states.move_to_end(key)
            state = self._states[key]
        return state.copy()

    def forget(self, session: int) -> None:
        """A session is gone: another may get its number."""
        with self._lock:
            for key in [key for key in self._states if key[0] == session]:
                del self._states[key]
            trail = self._trails.pop(session, None)
        if trail is not None:
            trail.close()

    def _keep(self, session: int, state: FastState) -> None:
        """Keep a state, which is not changed from now on; the ones not used for longest go."""
        with self._lock:
            self._states[session, state.record] = state
            self._states.move_to_end((session, state.record))
            while (
                len(self._states) > 1 and sum(kept.size for kept in self._states.values()) > self._cache_bytes
            ):
                self._states.popitem(last=False)
