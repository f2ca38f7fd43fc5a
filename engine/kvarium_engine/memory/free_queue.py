"""The free queue: which block is taken next.

    head                                                                  tail
    ┌────┐ next ┌────┐ next ┌────┐ next ┌────┐
    │ 14 │─────▶│ 31 │─────▶│ 22 │─────▶│  5 │        a ring through the sentinel, block number ``num_blocks``,
    │-1.0│◀─────│ 7.0│◀─────│ 8.0│◀─────│12.0│        whose next is the head and whose previous is the tail
    └────┘ prev └────┘ prev └────┘ prev └────┘
      ▲ allocation takes here                ▲ a freed block comes here, a sequence's blocks tail first

Why not a deque? A prefix hit takes a block out of the *middle*: in a deque that is O(n), and at a million blocks
a hit would cost milliseconds. The links live in two flat arrays, not in a million objects, so that the garbage
collector has nothing to walk and a pool of any size starts at once.

The order of eviction is the order of the queue: least recently freed first, and within one sequence its last block
first, as a block is of no use once an earlier one of its prefix is gone.

Each queued block has a **ticket**, its place as a number: it grows at the tail, shrinks at the head, and is NaN for
a block that is not queued. Tickets ascend from head to tail, so a mirror needs them and no links.
"""

from array import array
from collections.abc import Sequence

import numpy as np

NO_TICKET = float("nan")


class BrokenQueueError(Exception):
    """The links of the queue are not what its tickets and its length say."""


class FreeQueue:
    """A doubly linked list over block numbers; O(1) at both ends and in the middle.

    ``entered`` counts the blocks that ever came back to it. ``tickets`` is the pool's column of tickets (f64, a value a block), which the queue keeps. At the start all blocks
    are queued in the order of their numbers, with their numbers as tickets.
    """

    __slots__ = ("_head_ticket", "_next", "_previous", "_tail_ticket", "_ticket", "entered", "size")

    def __init__(self, tickets: "array[float]") -> None:
        blocks = len(tickets)
        self._next = array("I", np.roll(np.arange(blocks + 1, dtype="<u4"), -1).tobytes())
        self._previous = array("I", np.roll(np.arange(blocks + 1, dtype="<u4"), 1).tobytes())
        self._ticket = tickets
        self._head_ticket = -1.0
        self._tail_ticket = float(blocks)
        self.size = blocks
        self.entered = 0

    def __len__(self) -> int:
        return self.size

    def popleft_n(self, n: int) -> tuple[list[int], list[float]]:
        """Take ``n`` blocks from the head: the blocks and the tickets that they had.

        The caller has checked that so many are queued: asserted here, and nothing is changed when not.
        """
        assert 0 <= n <= self.size, f"{n} blocks asked of a free queue of {self.size}"
        following, ticket = self._next, self._ticket
        end = len(following) - 1
        block = following[end]
        blocks: list[int] = []
        tickets: list[float] = []
        for _ in range(n):
            blocks.append(block)
            tickets.append(ticket[block])
            ticket[block] = NO_TICKET
            block = following[block]
        following[end] = block
        self._previous[block] = end
        self.size -= n
        return blocks, tickets

    def remove(self, block: int) -> float:
        """Take one block out of the middle (a prefix hit): the ticket that it had."""
        ticket = self._ticket[block]
        assert ticket == ticket, f"block {block} is not in the free queue"
        before, after = self._previous[block], self._next[block]
        self._next[before] = after
        self._previous[after] = before
        self._ticket[block] = NO_TICKET
        self.size -= 1
        return ticket

    def append_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks behind the tail, the first of them first: their tickets."""
        end = len(self._next) - 1
        tickets = self._insert(blocks, self._previous[end], end, self._tail_ticket)
        self._tail_ticket += len(tickets)
        return tickets

    def prepend_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks before the head, so that the first of them is the next to go: their tickets."""
        end = len(self._next) - 1
        tickets = self._insert(blocks, end, self._next[end], self._head_ticket - len(blocks) + 1.0)
        self._head_ticket -= len(tickets)
        return tickets

    def _insert(self, blocks: Sequence[int], last: int, after: int, place: float) -> list[float]:
        """Link blocks, in order, between the neighbours ``last`` and ``after``, with tickets from ``place`` on."""
        following, previous, ticket = self._next, self._previous, self._ticket
        tickets: list[float] = []
        for block in blocks:
            assert ticket[block] != ticket[block], f"block {block} is in the free queue already"
            following[last] = block
            previous[block] = last
            ticket[block] = place
            tickets.append(place)
            place += 1.0
            last = block
        following[last] = after
        previous[after] = last
        self.size += len(tickets)
        self.entered += len(tickets)
        return tickets

    def walk(self) -> list[int]:
        """All queued blocks from head to tail, following the links.

        Raises :class:`BrokenQueueError` where a link does not lead back, a ticket does not ascend, or the length
        differs; its ``args[1]`` holds the blocks that were reached.
        """
        following, previous, ticket = self._next, self._previous, self._ticket
        end = len(following) - 1
        reached: list[int] = []
        before, block = end, following[end]
        place = float("-inf")
        while block != end:
            if previous[block] != before:
                raise BrokenQueueError(f"block {block} is linked from {before}, not back to it", reached)
            if not ticket[block] > place:
                raise BrokenQueueError(f"block {block} stands behind a block with a later ticket", reached)
            place = ticket[block]
            reached.append(block)
            before, block = block, following[block]
        if previous[end] != before or len(reached) != self.size:
            raise BrokenQueueError(f"{len(reached)} blocks are linked, {self.size} are counted", reached[:-1])
        return reached
