"""The last frames of a live session, held once for all who follow it."""

import threading
from bisect import bisect_right
from typing import NamedTuple


class RingFrame(NamedTuple):
    """A frame and the number of its record; ``sealed`` is its last moment (ns since the session's start), if it has one."""

    record: int
    frame: bytes
    is_text: bool = False
    sealed: int | None = None


_DROPPED = RingFrame(-1, b"")


class Ring:
    """Frames in order, up to ``capacity`` bytes; the oldest go first.

    Followers (viewers, the server's fold) hold no frames, only the number of the last record that they have seen, so a
    slow one costs nothing: it finds that the ring no longer :meth:`covers` it. One thread appends, any may read.
    """

    def __init__(self, after: int, capacity: int = 32 << 20) -> None:
        self.capacity = capacity
        self.last = after
        self.total = 0
        self._before = after
        self._records: list[int] = []
        self._frames: list[RingFrame] = []
        self._ends: list[int] = []
        self._head = 0
        self._dropped_bytes = 0
        self._changed = threading.Condition()

    def append(self, record: int, frame: bytes, is_text: bool = False, sealed: int | None = None) -> None:
        """The next frame."""
        with self._changed:
            self.total += len(frame)
            self.last = record
            self._records.append(record)
            self._frames.append(RingFrame(record, frame, is_text, sealed))
            self._ends.append(self.total)
            while self.total - self._dropped_bytes > self.capacity and self._head < len(self._records) - 1:
                self._before = self._records[self._head]
                self._dropped_bytes = self._ends[self._head]
                self._frames[self._head] = _DROPPED
                self._head += 1
            if self._head > 1024 and self._head * 2 > len(self._records):
                del self._records[: self._head], self._frames[: self._head], self._ends[: self._head]
                self._head = 0
            self._changed.notify_all()

    def covers(self, record: int) -> bool:
        """Are all frames after ``record`` here?"""
        return self._before <= record <= self.last

    def lag(self, record: int) -> int:
        """How many bytes follow ``record``, as far as they are here."""
        with self._changed:
            index = bisect_right(self._records, record, lo=self._head)
            seen = self._ends[index - 1] if index > self._head else self._dropped_bytes
            return self.total - seen

    def after(self, record: int, limit_bytes: int) -> list[RingFrame]:
        """The frames after ``record``, at least one if there is any, until they have ``limit_bytes``."""
        with self._changed:
            return self._after(record, limit_bytes)

    def _after(self, record: int, limit_bytes: int) -> list[RingFrame]:
        index = bisect_right(self._records, record, lo=self._head)
        found: list[RingFrame] = []
        size = 0
        while index < len(self._records) and (not found or size < limit_bytes):
            found.append(self._frames[index])
            size += len(found[-1].frame)
            index += 1
        return found

    def wait(self, record: int, timeout: float) -> bool:
        """Wait until something follows ``record``, or until :meth:`wake`; False when the time ran out."""
        with self._changed:
            if self.last > record:
                return True
            return self._changed.wait(timeout)

    def wake(self) -> None:
        """Let waiting threads look around."""
        with self._changed:
            self._changed.notify_all()
