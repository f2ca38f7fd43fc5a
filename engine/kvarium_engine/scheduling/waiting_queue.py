"""The waiting queue: who is admitted next.

By ``precedence``, the smallest first, and of equals by place. First come, first served: all are equal. By priority it is
the priority, or with aging the priority and the step of arrival, so that nobody starves::

    priority_aging = 100        arrives     precedence     an urgent one that comes at step 600 or later goes behind
    urgent, priority 0          step  40            40     the patient one, though that one is still waiting: from then
    patient, priority 5         step  99           599     on nobody can overtake it
    urgent, priority 0          step 600           600

A place is a ticket that grows at the tail (a new request) and shrinks at the head (a preempted one). A request that
leaves from the middle (an abort) stays in the heap until it comes to the top, where its changed place gives it away.
"""

import heapq

from kvarium_engine.scheduling.request import Request


class WaitingQueue:
    """Requests that wait, in the order of their precedence and their places."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, int, Request]] = []
        self._tail = 0.0
        self._head = -1.0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def _push(self, request: Request, place: float) -> None:
        heapq.heappush(self._heap, (request.precedence, place, request.id, request))
        self._size += 1

    def append(self, request: Request) -> float:
        """Put a new request at the tail; returns its place."""
        place = self._tail
        self._tail += 1.0
        self._push(request, place)
        return place

    def prepend(self, request: Request) -> float:
        """Put a preempted request at the head (of its precedence); returns its place."""
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
