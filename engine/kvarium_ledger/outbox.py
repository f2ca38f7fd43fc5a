"""What an engine has written and its backend has not yet acknowledged: kept, in order, within a bound."""

import threading
from collections import deque
from typing import NamedTuple


class Frame(NamedTuple):
    """A sealed record with its number."""

    record: int
    data: bytes


class Outbox:
    """Frames between the encoder's thread (``append``), the connection's (``take``) and its reader (``acknowledge``).

    acknowledged │ sent, not acknowledged      │ to be sent
    ─────────────┼─────────────────────────────┼───────────▶ record
      forgotten  │ kept: a broken link sends   │
                 │ them again (``rewind``)     │
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.bytes = 0
        self.acknowledged = -1
        self._frames: deque[Frame] = deque()
        self._sent = 0
        self._changed = threading.Condition()

    @property
    def full(self) -> bool:
        """Is the bound reached, so that what comes next is lost (or has to wait)?"""
        return self.bytes >= self.bound

    @property
    def roomy(self) -> bool:
        """Is at least half of the bound free again?"""
        return self.bytes <= self.bound // 2

    def append(self, record: int, data: bytes) -> None:
        """Keep a frame; records come in order."""
        with self._changed:
            self._frames.append(Frame(record, data))
            self.bytes += len(data)
            self._changed.notify_all()

    def take(self, timeout: float) -> list[Frame]:
        """The frames not yet sent, in order; waits up to ``timeout`` s for one."""
        with self._changed:
            if self._sent >= len(self._frames):
                self._changed.wait(timeout)
            unsent = [self._frames[i] for i in range(self._sent, len(self._frames))]
            self._sent = len(self._frames)
            return unsent

    def wake(self) -> None:
        """Let who waits look again."""
        with self._changed:
            self._changed.notify_all()

    def acknowledge(self, record: int) -> None:
        """Forget the frames up to and with ``record``."""
        with self._changed:
            self.acknowledged = max(self.acknowledged, record)
            while self._frames and self._frames[0].record <= record:
                self.bytes -= len(self._frames.popleft().data)
                self._sent = max(0, self._sent - 1)
            self._changed.notify_all()

    def rewind(self, acknowledged: int | None) -> bool:
        """A new connection: send again what is not acknowledged.

        Returns False when records after ``acknowledged`` are not kept any more, so that a gap is needed.
        """
        with self._changed:
            self._sent = 0
        if acknowledged is not None:
            self.acknowledge(acknowledged)
        last = -1 if acknowledged is None else acknowledged
        with self._changed:
            if not self._frames:
                return self.acknowledged <= last
            return self._frames[0].record <= last + 1

    def clear(self) -> None:
        """Forget everything."""
        with self._changed:
            self._frames.clear()
            self._sent = 0
            self.bytes = 0
            self._changed.notify_all()

    def wait_empty(self, timeout: float) -> bool:
        """Wait until all is acknowledged; False when ``timeout`` s were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._frames, timeout)

    def wait_room(self, timeout: float) -> bool:
        """Wait until the bound is not reached; False when ``timeout`` s were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.full, timeout)
