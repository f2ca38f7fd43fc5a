"""The free queue: which block is taken next.

    order     ┄  │ 14 │ 31 │  9 │ 22 │  5 │          blocks, each where it came in; what was taken is left of the head
    places    ┄  │ −1 │  7 │  8 │  9 │ 12 │          the ticket that it got there
                   ▲         ╎             ▲
                   head      stale         tail: a freed block comes here, a sequence's blocks tail first
                   allocation takes here

Why not a deque? A prefix hit takes a block out of the *middle*: in a deque that is O(n), and at a million blocks
a hit would cost milliseconds. Here nothing is moved: the block's ticket is taken away, so that its entry is **stale**, as it
tells another ticket than its block has; whoever comes to it at the head goes past it. Before there are more stale
entries than others they are cleared out, so that a call costs O(1) a block in the long run. Runs of blocks are
slices of flat lists of numbers: the interpreter moves many at once, and the garbage collector has nothing to walk.

The order of eviction is the order of the queue: least recently freed first, and within one sequence its last block
first, as a block is of no use once an earlier one of its prefix is gone.

Each queued block has a **ticket**, its place as a number: it grows at the tail, shrinks at the head, and is NaN for
a block that is not queued. Tickets ascend from head to tail, so a mirror needs them and nothing else.
"""

from collections.abc import Sequence
from itertools import compress, islice
from operator import lt

NO_TICKET = float("nan")

_SLACK = 1024
"""Entries that may be stale, or left of the head, before anything is cleared out."""


class BrokenQueueError(Exception):
    """The entries of the queue are not what its tickets and its length say."""


class FreeQueue:
    """An ordered set of block numbers: taken from the head, put at both ends, removed anywhere.

    ``tickets`` is the pool's column of tickets (a value a block), which the queue keeps; a place is a whole number.
    ``entered`` counts the blocks that ever came back to it. At the start all blocks are queued in the order of their
    numbers, with their numbers as tickets.
    """

    __slots__ = (
        "_head",
        "_head_ticket",
        "_order",
        "_places",
        "_tail_ticket",
        "_ticket",
        "entered",
        "size",
    )

    def __init__(self, tickets: list[float]) -> None:
        blocks = len(tickets)
        self._order = list(range(blocks))
        self._places: list[float] = list(self._order)
        self._head = 0
        self._ticket = tickets
        tickets[:] = self._places
        self._head_ticket = -1
        self._tail_ticket = blocks
        self.size = blocks
        self.entered = 0

    def __len__(self) -> int:
        return self.size

    # -- out of it ----------------------------------------------------------------------------------------------

    def popleft_n(self, n: int) -> tuple[list[int], list[float]]:
        """Take ``n`` blocks from the head: the blocks and the tickets that they had.

        The caller has checked that so many are queued: asserted here, and nothing is changed when not.
        """
        assert 0 <= n <= self.size, f"{n} blocks asked of a free queue of {self.size}"
        head, ticket = self._head, self._ticket
        end = head + n
        blocks, tickets = self._order[head:end], self._places[head:end]
        for taken, (block, place) in enumerate(zip(blocks, tickets)):
            if ticket[block] != place:
                more, their_tickets, end = self._past_stale(head + taken, n - taken)
                blocks[taken:], tickets[taken:] = more, their_tickets
                break
            ticket[block] = NO_TICKET
        self._head = end
        self.size -= n
        if end > _SLACK and 2 * end > len(self._order):
            self._trim()
        return blocks, tickets

    def popleft(self) -> tuple[int, float]:
        """Take one block from the head: the block and the ticket that it had."""
        head, ticket = self._head, self._ticket
        assert self.size, "1 blocks asked of a free queue of 0"
        block, place = self._order[head], self._places[head]
        if ticket[block] != place:
            (block,), (place,), head = self._past_stale(head, 1)
        else:
            ticket[block] = NO_TICKET
            head += 1
        self._head = head
        self.size -= 1
        if head > _SLACK and 2 * head > len(self._order):
            self._trim()
        return block, place

    def _past_stale(self, at: int, n: int) -> tuple[list[int], list[float], int]:
        """The first ``n`` blocks from the entry ``at`` on, with the tickets that they had, and the entry behind them."""
        order, places, ticket = self._order, self._places, self._ticket
        blocks: list[int] = []
        tickets: list[float] = []
        while len(blocks) < n:
            assert at < len(order), f"a free queue of {self.size} has {len(blocks)} blocks"
            block, place = order[at], places[at]
            if ticket[block] == place:
                blocks.append(block)
                tickets.append(place)
                ticket[block] = NO_TICKET
            at += 1
        return blocks, tickets, at

    def remove(self, block: int) -> float:
        """Take one block out of the middle (a prefix hit): the ticket that it had."""
        place = self._ticket[block]
        assert place is not NO_TICKET, f"block {block} is not in the free queue"
        self._ticket[block] = NO_TICKET
        self.size -= 1
        if len(self._order) - self._head > 2 * self.size + _SLACK:
            self._clear_out()
        return place

    def remove_n(self, blocks: Sequence[int]) -> list[float]:
        """Take blocks out of the middle: the tickets that they had."""
        ticket = self._ticket
        tickets: list[float] = []
        for block in blocks:
            place = ticket[block]
            assert place is not NO_TICKET, f"block {block} is not in the free queue"
            tickets.append(place)
            ticket[block] = NO_TICKET
        self.size -= len(tickets)
        if len(self._order) - self._head > 2 * self.size + _SLACK:
            self._clear_out()
        return tickets

    # -- into it ------------------------------------------------------------------------------------------------

    def append(self, block: int) -> float:
        """Put one block behind the tail: its ticket."""
        place, ticket = self._tail_ticket, self._ticket
        assert ticket[block] is NO_TICKET, f"block {block} is in the free queue already"
        ticket[block] = place
        self._order.append(block)
        self._places.append(place)
        self._tail_ticket = place + 1
        self.size += 1
        self.entered += 1
        return place

    def append_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks behind the tail, the first of them first: their tickets."""
        place = self._tail_ticket
        tickets = self._enter(blocks, place)
        self._order += blocks
        self._places += tickets
        self._tail_ticket = place + len(tickets)
        return tickets

    def prepend_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks before the head, so that the first of them is the next to go: their tickets."""
        count = len(blocks)
        tickets = self._enter(blocks, self._head_ticket - count + 1)
        if self._head < count:
            room = count + _SLACK + self.size // 2
            self._order[: self._head] = [0] * room
            self._places[: self._head] = [NO_TICKET] * room
            self._head = room
        head = self._head - count
        self._order[head : self._head] = blocks
        self._places[head : self._head] = tickets
        self._head = head
        self._head_ticket -= count
        return tickets

    def _enter(self, blocks: Sequence[int], place: int) -> list[float]:
        """Blocks get the tickets from ``place`` on."""
        ticket = self._ticket
        tickets: list[float] = list(range(place, place + len(blocks)))
        for block, each in zip(blocks, tickets):
            assert ticket[block] is NO_TICKET, f"block {block} is in the free queue already"
            ticket[block] = each
        self.size += len(tickets)
        self.entered += len(tickets)
        return tickets

    # -- room ---------------------------------------------------------------------------------------------------

    def _trim(self) -> None:
        """Forget what is left of the head, but for some room for blocks that come there."""
        cut = self._head - _SLACK // 2
        del self._order[:cut]
        del self._places[:cut]
        self._head -= cut

    def _clear_out(self) -> None:
        """Forget stale entries, and what is left of the head."""
        order, places = self._entries()
        self._order, self._places, self._head = order, places, 0

    def _entries(self) -> tuple[list[int], list[float]]:
        """The entries that are not stale, from head to tail: blocks and places."""
        order, places, ticket = self._order[self._head :], self._places[self._head :], self._ticket
        live = [ticket[block] == place for block, place in zip(order, places)]
        return list(compress(order, live)), list(compress(places, live))

    def walk(self) -> list[int]:
        """All queued blocks from head to tail.

        Raises :class:`BrokenQueueError` where places do not ascend, or there are more or fewer entries with their blocks'
        tickets than are counted; its ``args[1]`` holds the blocks that were reached.
        """
        reached, places = self._entries()
        ascends = list(map(lt, places, islice(places, 1, None)))
        if not all(ascends):
            last = ascends.index(False) + 1
            raise BrokenQueueError(f"block {reached[last]} stands behind a later ticket", reached[:last])
        if len(reached) != self.size:
            raise BrokenQueueError(
                f"{len(reached)} blocks are reached, {self.size} are counted", reached[:-1]
            )
        return reached
