"""The free queue: which block is taken next.

    front   ┄ 31 │ 14 ▶                              blocks that were put before the head: a stack, which goes first
    pieces  │ 40 │ 41 │ … │    │ 9 │  │ … │  │ 22 │ 5 │ ◀ tail: a freed block comes here, a sequence's blocks tail first
              ▲         stale ╯           1,024 tickets a piece
              head: allocation takes here when the front is empty

Why not a deque? A prefix hit takes a block out of the *middle*: in a deque that is O(n), and at a million blocks
a hit would cost milliseconds. Here nothing is moved: the block's ticket is taken away, so that its entry is **stale**, as it
tells another ticket than its block has; whoever comes to it at the head goes past it. A **piece** holds the entries
whose tickets are of one range, so a ticket tells where its entry is. Before more than half of a piece is stale it is cleared
out by itself, and one that has nothing left is dropped: a call costs O(1) a block in the long run, and no single one
more than some pieces do, however long the queue is. Runs of blocks are slices of flat lists of numbers: the interpreter
moves many at once, and the garbage collector has little to walk.

Only blocks without a label are put before the head, and no hit takes those out, so the front is a plain stack. Whoever takes
one out of it all the same has it closed up at once.

The order of eviction is the order of the queue: least recently freed first, and within one sequence its last block
first, as a block is of no use once an earlier one of its prefix is gone.

Each queued block has a **ticket**, its place as a number: it grows at the tail, shrinks at the head, and is NaN for
a block that is not queued. Tickets ascend from head to tail, so a mirror needs them and nothing else.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from operator import lt, neg

NO_TICKET = float("nan")

PIECE = 1024
"""Tickets of a piece."""


class BrokenQueueError(Exception):
    """The entries of the queue are not what its tickets and its length say."""


class FreeQueue:
    """An ordered set of block numbers: taken from the head, put at both ends, removed anywhere.

    ``tickets`` is the pool's column of tickets (a value a block), which the queue keeps; a place is a whole number.
    At the start all blocks are queued in the order of their numbers, with their numbers as tickets.
    """

    __slots__ = (
        "_blocks",
        "_front",
        "_front_places",
        "_front_ticket",
        "_head",
        "_line",
        "_number",
        "_order",
        "_pieces",
        "_places",
        "_room",
        "_tail",
        "_tail_places",
        "_tail_ticket",
        "_ticket",
        "size",
    )

    def __init__(self, tickets: list[float]) -> None:
        blocks = len(tickets)
        numbers = list(range(blocks))
        tickets[:] = numbers
        self._ticket = tickets
        self._blocks = blocks
        self._front: list[int] = []
        self._front_places: list[float] = []
        """The stack of what was put before the head, its top last."""
        self._front_ticket = -1
        self._pieces: dict[float, tuple[list[int], list[float]]] = {}
        """By its number (its first ticket ÷ ``PIECE``): the blocks of a piece and their places, from head to tail."""
        self._room: dict[float, int] = {}
        """Of each piece: how many more of its entries may become stale until it is cleared out."""
        self._line: deque[int] = deque()
        """The numbers of the pieces behind the first one; those that were dropped among them are passed."""
        for start in range(0, blocks + 1, PIECE):
            part = numbers[start : start + PIECE]
            self._tail, self._tail_places = part, list[float](part)
            self._open(start // PIECE)
        self._tail_ticket = blocks
        self.size = blocks
        self._number = self._line.popleft()
        self._order, self._places = self._pieces[self._number]
        self._head = 0
        """The entry of the first piece that is taken next."""

    def __len__(self) -> int:
        return self.size

    @property
    def entered(self) -> int:
        """How many blocks ever came back to it."""
        return self._tail_ticket - self._blocks - 1 - self._front_ticket

    # -- out of it ----------------------------------------------------------------------------------------------

    def popleft_n(self, n: int) -> tuple[list[int], list[float]]:
        """Take ``n`` blocks from the head: the blocks and the tickets that they had.

        The caller has checked that so many are queued: asserted here, and nothing is changed when not.
        """
        assert 0 <= n <= self.size, f"{n} blocks asked of a free queue of {self.size}"
        if self._front:
            return self._from_front(n)
        head, ticket = self._head, self._ticket
        end = head + n
        blocks, tickets = self._order[head:end], self._places[head:end]
        for block, place in zip(blocks, tickets):
            if ticket[block] != place:
                taken = blocks.index(block)
                if not taken:
                    self._pass_stale()
                    return self.popleft_n(n)
                del blocks[taken:], tickets[taken:]
                break
            ticket[block] = NO_TICKET
        if len(blocks) == n:
            self._head = end
        else:
            self._head = head + len(blocks)
            self._past_stale(blocks, tickets, n)
        self.size -= n
        return blocks, tickets

    def popleft(self) -> tuple[int, float]:
        """Take one block from the head: the block and the ticket that it had."""
        if not self._front:
            at, order, ticket = self._head, self._order, self._ticket
            end = len(order)
            while at < end:
                block, place = order[at], self._places[at]
                at += 1
                if ticket[block] == place:
                    ticket[block] = NO_TICKET
                    self._head = at
                    self.size -= 1
                    return block, place
            self._head = end
        (block,), (place,) = self.popleft_n(1)
        return block, place

    def _from_front(self, n: int) -> tuple[list[int], list[float]]:
        """``n`` blocks, the first of them off the stack."""
        own = max(0, len(self._front) - n)
        blocks, tickets = self._front[: -n - 1 : -1], self._front_places[: -n - 1 : -1]
        ticket = self._ticket
        for block, place in zip(blocks, tickets):
            assert ticket[block] == place, f"block {block} has the ticket {ticket[block]}, not {place}"
            ticket[block] = NO_TICKET
        del self._front[own:], self._front_places[own:]
        self.size -= len(blocks)
        if len(blocks) < n:
            more, theirs = self.popleft_n(n - len(blocks))
            blocks += more
            tickets += theirs
        return blocks, tickets

    def _pass_stale(self) -> None:
        """The head goes past the stale entries where it is, within its piece."""
        head, order, places, ticket = self._head, self._order, self._places, self._ticket
        while head < len(order) and ticket[order[head]] != places[head]:
            head += 1
        self._head = head

    def _past_stale(self, blocks: list[int], tickets: list[float], n: int) -> None:
        """``blocks`` that were taken become ``n``, with their ``tickets``, past stale entries and to further pieces."""
        ticket, head = self._ticket, self._head
        order, places = self._order, self._places
        while len(blocks) < n:
            if head == len(order):
                assert self._line, f"a free queue of {self.size} has {len(blocks)} blocks"
                del self._pieces[self._number], self._room[self._number]
                self._first()
                order, places, head = self._order, self._places, 0
                continue
            block, place = order[head], places[head]
            if ticket[block] == place:
                blocks.append(block)
                tickets.append(place)
                ticket[block] = NO_TICKET
            head += 1
        self._head = head

    def remove(self, block: int) -> float:
        """Take one block out of the middle (a prefix hit): the ticket that it had."""
        place = self._ticket[block]
        assert place is not NO_TICKET, f"block {block} is not in the free queue"
        self._ticket[block] = NO_TICKET
        self.size -= 1
        if place < 0:
            self._close_up(place)
        else:
            self._lapse(place // PIECE, 1)
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
        number = min(tickets, default=-1) // PIECE
        if number >= 0 and number == max(tickets) // PIECE:
            self._lapse(number, len(tickets))
            return tickets
        for place in tickets:
            if place < 0:
                self._close_up(place)
        for number, count in Counter(place // PIECE for place in tickets if place >= 0).items():
            self._lapse(number, count)
        return tickets

    # -- into it ------------------------------------------------------------------------------------------------

    def append(self, block: int) -> float:
        """Put one block behind the tail: its ticket."""
        place, ticket = self._tail_ticket, self._ticket
        assert ticket[block] is NO_TICKET, f"block {block} is in the free queue already"
        ticket[block] = place
        self._tail.append(block)
        self._tail_places.append(place)
        self._tail_ticket = behind = place + 1
        self.size += 1
        if not behind % PIECE:
            self._next(behind)
        return place

    def append_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks behind the tail, the first of them first: their tickets."""
        place, ticket = self._tail_ticket, self._ticket
        self._tail_ticket = behind = place + len(blocks)
        tickets: list[float] = [*range(place, behind)]
        for block, each in zip(blocks, tickets):
            assert ticket[block] is NO_TICKET, f"block {block} is in the free queue already"
            ticket[block] = each
        self.size += behind - place
        if behind // PIECE == place // PIECE:
            self._tail += blocks
            self._tail_places += tickets
            return tickets
        done, room = 0, PIECE - place % PIECE
        while len(tickets) - done >= room:
            self._tail += blocks[done : done + room]
            self._tail_places += tickets[done : done + room]
            done, room = done + room, PIECE
            self._next(place + done)
        self._tail += blocks[done:]
        self._tail_places += tickets[done:]
        return tickets

    def prepend_n(self, blocks: Sequence[int]) -> list[float]:
        """Put blocks before the head, so that the first of them is the next to go: their tickets."""
        ticket = self._ticket
        self._front_ticket -= len(blocks)
        before = self._front_ticket + 1
        tickets: list[float] = [*range(before, before + len(blocks))]
        for block, each in zip(blocks, tickets):
            assert ticket[block] is NO_TICKET, f"block {block} is in the free queue already"
            ticket[block] = each
        self.size += len(tickets)
        self._front += blocks[::-1]
        self._front_places += tickets[::-1]
        return tickets

    # -- pieces -------------------------------------------------------------------------------------------------

    def _open(self, number: int) -> None:
        """The tail's lists are the piece ``number``."""
        self._pieces[number] = self._tail, self._tail_places
        self._room[number] = (PIECE + 1) // 2
        self._line.append(number)

    def _next(self, place: int) -> None:
        """The tail's piece is full, and a new one begins with the ticket ``place``."""
        self._tail, self._tail_places = [], []
        self._open(place // PIECE)

    def _first(self) -> None:
        """The next piece of the line becomes the one where the head is."""
        while (number := self._line.popleft()) not in self._pieces:
            pass
        self._number, self._head = number, 0
        self._order, self._places = self._pieces[number]

    def _close_up(self, place: float) -> None:
        """The entry of the front with this ticket goes."""
        at = bisect_left(self._front_places, -place, key=neg)
        assert self._front_places[at] == place, f"no entry of the free queue has the ticket {place}"
        del self._front[at], self._front_places[at]

    def _lapse(self, number: float, count: int) -> None:
        """So many more entries of a piece are stale."""
        self._room[number] = left = self._room[number] - count
        if left <= 0:
            self._clear_out(number)

    def _clear_out(self, number: float) -> None:
        """Forget the stale entries of a piece, and what is left of the head; a piece that has nothing left is dropped."""
        order, places = self._pieces[number]
        here = number == self._number
        order[:], places[:] = self._live(order, places, self._head if here else 0)
        if here:
            self._head = 0
        if order or here or order is self._tail:
            self._room[number] = (len(order) + 1) // 2 if order is not self._tail else (PIECE + 1) // 2
            return
        del self._pieces[number], self._room[number]
        if len(self._line) > 2 * len(self._pieces) + PIECE:
            self._line = deque(each for each in self._line if each in self._pieces)

    def _live(self, order: list[int], places: list[float], head: int = 0) -> tuple[list[int], list[float]]:
        """Of entries those that are not stale, from ``head`` on: blocks and places."""
        order, places, ticket = order[head:], places[head:], self._ticket
        live = [ticket[block] == place for block, place in zip(order, places)]
        return list(compress(order, live)), list(compress(places, live))

    def _parts(self) -> Iterator[tuple[list[int], list[float]]]:
        """All entries from head to tail, in lists of blocks and places."""
        yield self._front[::-1], self._front_places[::-1]
        yield self._order[self._head :], self._places[self._head :]
        for number in self._line:
            if number in self._pieces:
                yield self._pieces[number]

    def walk(self) -> list[int]:
        """All queued blocks from head to tail.

        Raises :class:`BrokenQueueError` where places do not ascend, or there are more or fewer entries with their blocks'
        tickets than are counted; its ``args[1]`` holds the blocks that were reached.
        """
        reached: list[int] = []
        places: list[float] = []
        for part in self._parts():
            blocks, theirs = self._live(*part)
            reached += blocks
            places += theirs
        ascends = list(map(lt, places, islice(places, 1, None)))
        if not all(ascends):
            last = ascends.index(False) + 1
            raise BrokenQueueError(f"block {reached[last]} stands behind a later ticket", reached[:last])
        if len(reached) != self.size:
            raise BrokenQueueError(
                f"{len(reached)} blocks are reached, {self.size} are counted", reached[:-1]
            )
        return reached
