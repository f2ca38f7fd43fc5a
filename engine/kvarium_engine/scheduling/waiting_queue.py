"""The waiting queue: who is admitted next.

First come, first served: by place alone. By priority: a lower ``priority`` goes first, and by place within one.
A place is a ticket that grows at the tail (a new request) and shrinks at the head (a preempted one). A request that
leaves from the middle (an abort) stays in the heap until it comes to the top, where its changed place gives it away.
"""

import heapq

from kvarium_engine.scheduling.request import Request

POLICIES = ("fcfs", "priority")


class WaitingQueue:
    """Requests that wait, in the order of ``policy`` (one of :data:`POLICIES`)."""

    def __init__(self, policy: str = "fcfs") -> None:
        if policy not in POLICIES:
            raise ValueError(f"the scheduling policy is one of {', '.join(POLICIES)}, not {policy!r}")
        self.policy = policy
        self._heap: list[tuple[int, float, int, Request]] = []
        self._tail = 0.0
        self._head = -1.0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def _push(self, request: Request, place: float) -> None:
        priority = request.priority if self.policy == "priority" else 0
        heapq.heappush(self._heap, (priority, place, request.id, request))
        self._size += 1

    def append(self, request: Request) -> float:
        """Put a new request at the tail; returns its place."""
        place = self._tail
        self._tail += 1.0
        self._push(request, place)
        return place

    def prepend(self, request: Request) -> float:
        """Put a preempted request at the head (of its priority); returns its place."""
        place = self._head
        self._head -= 1.0
        self._push(request, place)
        return place

    def leave(self) -> None:
        """A request, whose state or place has been changed before, left the queue."""
        self._size -= 1

    def head(self) -> Request | None:
        """Who is admitted next."""
        heap = self._heap
        while heap:
            request = heap[0][3]
            if request.place == heap[0][1] and request.state in ("waiting", "preempted"):
                return request
            heapq.heappop(heap)
        return None

    def requests(self) -> list[Request]:
        """All, in order."""
        return [
            entry[3]
            for entry in sorted(self._heap)
            if entry[3].place == entry[1] and entry[3].state in ("waiting", "preempted")
        ]
