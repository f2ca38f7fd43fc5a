"""By how much a machine with too much to do made processes late: what they can't be blamed for.

    every 20 ms   a heart beats: it syncs a file and sleeps      what a beat takes beyond that, a disk or a machine stood still
                  the kernel's account of every watched thread   how long it was ready to run and no CPU took it

Both are sums that only grow, so that what a machine took between two moments is a difference of them.
"""

import contextlib
import os
import threading
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_BEAT = 0.02
_SYNC = 0.01
"""What a beat's sync may take at no fault of the machine's, s."""
_PRESENT = 3.0


def waited(pid: int) -> dict[int, int]:
    """How long each thread of a process was ready to run and did not, ns since it began. Only Linux tells it."""
    found = {}
    with contextlib.suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(OSError):
                found[int(thread.name)] = int((thread / "schedstat").read_text().split()[1])
    return found


class Seen(NamedTuple):
    """What one look found: the sums so far, s, and by how much the beat before it was late."""

    beats: float
    waited: dict[int, float]
    late: float


class Lateness:
    """A heart beside the processes in ``watched``; ``probe`` is a file that it writes to."""

    def __init__(self, probe: Path) -> None:
        self.watched: set[int] = set()
        self._lock = threading.Lock()
        self._known: dict[int, int] = {}
        self._times = [time.monotonic()]
        self._seen = [Seen(0.0, {}, 0.0)]
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(probe,))
        self._thread.start()

    def _beat(self, probe: Path) -> None:
        with probe.open("wb", buffering=0) as file:
            while not self._ends.is_set():
                began = time.monotonic()
                file.write(b"x")
                os.fsync(file.fileno())
                time.sleep(_BEAT)
                self.look(max(0.0, time.monotonic() - began - _BEAT - _SYNC))

    def look(self, late: float = 0.0) -> None:
        """Take the sums as they are now: before a process is killed, as nobody tells of it afterwards."""
        with self._lock:
            before = self._seen[-1]
            sums = defaultdict(float, before.waited)
            for pid in list(self.watched):
                for thread, ns in waited(pid).items():
                    sums[pid] += max(0, ns - self._known.get(thread, 0)) / 1e9
                    self._known[thread] = ns
            self._times.append(time.monotonic())
            self._seen.append(Seen(before.beats + late, dict(sums), late))

    def between(self, since: float, until: float, pids: Iterable[int]) -> float:
        """By how much these processes were late between two moments (monotonic s), s.

        The slowest beat of the last seconds comes on top: the kernel tells of a wait when it is over.
        """
        with self._lock:
            first = self._seen[max(0, bisect_right(self._times, since) - 1)]
            end = bisect_left(self._times, until) + 1
            last = self._seen[:end][-1]
            present = self._seen[bisect_left(self._times, until - _PRESENT) : end]
        waits = sum(last.waited.get(pid, 0.0) - first.waited.get(pid, 0.0) for pid in pids)
        return waits + last.beats - first.beats + max((seen.late for seen in present), default=0.0)

    def close(self) -> None:
        """Let the heart stop."""
        self._ends.set()
        self._thread.join(60)
