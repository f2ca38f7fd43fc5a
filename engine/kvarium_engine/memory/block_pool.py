"""The pool: every block, who holds it, and the verbs that change it, each of which tells the ledger.

A block is in one of four states::

            allocate                 fill … fill                  cache
    free ──────────────▶ active, 0 of 16 ──────▶ active, 16 of 16 ──────▶ active, labelled ◀─┐
     ▲                      │                                              │    │ share (+1)  │ reuse
     │                      │ free                                    free │    └──▶ shared   │ (a prefix hit)
     └──────────────────────┘                                              ▼        release   │
     ▲                                     evict                        cached ───────────────┘
     └────────────────────────────────────────────────────────────────────┘

*free* and *cached* blocks have count 0 and stand in the free queue; a cached one keeps its keys, values and label
until it comes to the head and is allocated. An *active* block has one holder, a *shared* one several.
"""

from collections import Counter
from collections.abc import Sequence

from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause, Pin
from kvarium_ledger.state import BlockState

FREE_ORDERS = ("lru", "unhashed-first")
"""``lru``: all freed blocks go to the tail. ``unhashed-first``: those without a label go to the head, as in vLLM 0.32,
where they are of no use to a later request and are reused at once."""


class Taken:
    """What was taken out of the queue to be allocated, for the ledger: lists with a value a block."""

    __slots__ = ("blocks", "contents", "evicted", "filled", "hits", "tickets")

    def __init__(
        self,
        blocks: list[int],
        tickets: list[float],
        filled: list[int],
        evicted: list[int],
        contents: list[int],
        hits: list[int],
    ) -> None:
        self.blocks = blocks
        self.tickets = tickets
        self.filled = filled
        self.evicted = evicted
        self.contents = contents
        self.hits = hits


class BlockPool:
    """All blocks of the engine. ``state`` has their columns, ``queue`` their order, ``cache`` the labels' map.

    Every verb asserts what it finds before it changes anything, so that a refused one leaves all counts as they were.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        ledger: Ledger,
        cache: PrefixCache | None = None,
        free_order: str = "lru",
    ) -> None:
        if num_blocks < 1:
            raise ValueError(f"a pool has at least one block, not {num_blocks}")
        if block_size not in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            raise ValueError(f"block_size must be a power of two from 1 to 256, not {block_size}")
        if free_order not in FREE_ORDERS:
            raise ValueError(f"free_order is one of {', '.join(FREE_ORDERS)}, not {free_order!r}")
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.ledger = ledger
        self.cache = cache
        self.free_order = free_order
        self.state = BlockState(num_blocks)
        self.queue = FreeQueue(self.state.ticket)
        self.pins: Counter[int] = Counter()
        """Copies' sources, each with its pins; empty between steps."""

    @property
    def num_free(self) -> int:
        """Blocks that can be allocated: free and cached ones."""
        return self.queue.size

    def reserved_blocks(self, prompt_tokens: int, max_tokens: int) -> int:
        """Blocks that each sequence of such a request gets at its admission: none, they are taken when they are needed."""
        return 0

    # -- out of the queue ---------------------------------------------------------------------------------------

    def take(self, n: int) -> Taken:
        """Take ``n`` blocks from the head, each with count 1, a new generation, no content and nothing filled.

        Nothing is logged: the caller logs an ``evict`` of those that had content, then what it took them for.
        Asserts that so many are in the queue.
        """
        return self._begin_lives(*self.queue.popleft_n(n))

    def _begin_lives(self, blocks: list[int], tickets: list[float]) -> Taken:
        """``blocks``, which have just left the queue with these ``tickets``, begin new lives."""
        state = self.state
        count, content, filled = state.count, state.content, state.filled
        generation, hits = state.generation, state.hits
        filled_before: list[int] = []
        evicted: list[int] = []
        evicted_contents: list[int] = []
        evicted_hits: list[int] = []
        for block in blocks:
            assert count[block] == 0, f"block {block} of the free queue has count {count[block]}"
            label = content[block]
            if label != NONE:
                assert self.cache is not None, f"block {block} is labelled, but there is no prefix cache"
                self.cache.discard(label, block)
                evicted.append(block)
                evicted_contents.append(label)
                evicted_hits.append(hits[block])
                content[block] = NONE
                hits[block] = 0
            filled_before.append(filled[block])
            filled[block] = 0
            count[block] = 1
            generation[block] += 1
        return Taken(blocks, tickets, filled_before, evicted, evicted_contents, evicted_hits)

    def allocate(self, n: int, cause: Cause, sequence: int, position: int) -> list[int]:
        """Allocate ``n`` blocks for the entries ``position``, ... of a sequence's table."""
        taken = self.take(n)
        if taken.evicted:
            self.ledger.evict(taken.evicted, Cause.allocate, sequence, taken.contents, taken.hits)
        self.ledger.allocate(taken.blocks, cause, sequence, position, taken.tickets, taken.filled)
        return taken.blocks

    def hit(self, blocks: Sequence[int], sequence: int, position: int) -> None:
        """A prefix hit: labelled ``blocks`` become the entries ``position``, ... of a sequence's table.

        Those in the queue are reused, those in use are shared; runs of one kind are one slice.
        """
        state, ledger = self.state, self.ledger
        count, hits = state.count, state.hits
        for block in blocks:
            assert state.content[block] != NONE, f"block {block} is hit but holds no content"
        start = 0
        while start < len(blocks):
            idle = count[blocks[start]] == 0
            end = start
            tickets: list[float] = []
            while end < len(blocks) and (count[blocks[end]] == 0) == idle:
                block = blocks[end]
                if idle:
                    tickets.append(self.queue.remove(block))
                count[block] += 1
                hits[block] += 1
                end += 1
            run = list(blocks[start:end])
            if idle:
                ledger.reuse(run, sequence, position + start, tickets)
            else:
                ledger.share(run, Cause.prefix_hit, sequence, position + start)
            start = end

    # -- holders ------------------------------------------------------------------------------------------------

    def fork(self, blocks: Sequence[int], sequence: int) -> None:
        """All ``blocks`` of a table become those of a new ``sequence`` too."""
        count = self.state.count
        for block in blocks:
            assert count[block] >= 1, f"block {block} is forked but nobody holds it"
            count[block] += 1
        self.ledger.share(list(blocks), Cause.fork, sequence, 0)

    def copy(self, source: int, sequence: int, position: int) -> int:
        """Copy-on-write: the table entry moves from the shared, partly filled ``source`` to a fresh block.

        The source is pinned until :meth:`launch_copies`, as a copy reads it when the step runs. Returns the target.
        """
        state = self.state
        filled = state.filled[source]
        holders = state.count[source] - self.pins[source]
        assert holders > 1, f"block {source} has {holders} holders: it is written in place"
        assert 0 < filled < self.block_size, f"block {source} is not partly filled: {filled} slots"
        assert state.content[source] == NONE, f"block {source} is labelled"
        if not self.pins[source]:
            self.pins[source] = 1
            state.count[source] += 1
            self.ledger.pin([source], Pin.copy_source, Cause.copy_launch, sequence)
        taken = self.take(1)
        if taken.evicted:
            self.ledger.evict(taken.evicted, Cause.allocate, sequence, taken.contents, taken.hits)
        target = taken.blocks[0]
        state.count[source] -= 1
        state.filled[target] = filled
        self.ledger.copy(source, target, sequence, position, taken.tickets[0], taken.filled[0], filled)
        return target

    def launch_copies(self) -> None:
        """The step's copies are launched: their sources' pins end."""
        if not self.pins:
            return
        count = self.state.count
        held = [block for block in self.pins if count[block] > 1]
        last = [block for block in self.pins if count[block] == 1]
        for block in held:
            count[block] -= 1
        if held:
            self.ledger.unpin_release(held, Pin.copy_source, Cause.copy_launch)
        for block in last:
            count[block] = 0
        for part in self._by_end(last):
            tickets = self._enqueue(part)
            self.ledger.unpin_free(part, Pin.copy_source, Cause.copy_launch, tickets)
        self.pins.clear()

    def let_go(self, table: Sequence[int], cause: Cause, sequence: int) -> None:
        """A sequence's table ends: tail first, still shared blocks are released, then the others freed."""
        count = self.state.count
        shared: list[int] = []
        shared_positions: list[int] = []
        last: list[int] = []
        positions: dict[int, int] = {}
        for position in range(len(table) - 1, -1, -1):
            block = table[position]
            assert count[block] >= 1, f"block {block} of sequence {sequence} is freed but nobody holds it"
            if count[block] > 1:
                shared.append(block)
                shared_positions.append(position)
            else:
                last.append(block)
                positions[block] = position
        if shared:
            for block in shared:
                count[block] -= 1
            self.ledger.release(shared, cause, sequence, shared_positions)
        for block in last:
            count[block] = 0
        for part in self._by_end(last):
            tickets = self._enqueue(part)
            self.ledger.free(part, cause, sequence, [positions[block] for block in part], tickets)

    def _by_end(self, blocks: list[int]) -> list[list[int]]:
        """The freed blocks as runs that go to one end of the queue: the head's first."""
        if self.free_order == "lru" or not blocks:
            return [blocks] if blocks else []
        content = self.state.content
        unhashed = [block for block in blocks if content[block] == NONE]
        hashed = [block for block in blocks if content[block] != NONE]
        return [part for part in (unhashed, hashed) if part]

    def _enqueue(self, blocks: list[int]) -> list[float]:
        if self.free_order == "unhashed-first" and self.state.content[blocks[0]] == NONE:
            return self.queue.prepend_n(blocks)
        return self.queue.append_n(blocks)

    # -- contents -----------------------------------------------------------------------------------------------

    def fill(
        self, blocks: list[int], cause: Cause, sequence: int, before: list[int], after: list[int]
    ) -> None:
        """Slots are assigned: the fill of each block grows from ``before`` to ``after``."""
        count, content, filled = self.state.count, self.state.content, self.state.filled
        for block, old, new in zip(blocks, before, after, strict=True):
            assert count[block] == 1, f"block {block} is written with count {count[block]}"
            assert content[block] == NONE, f"block {block} is written but labelled"
            assert filled[block] == old < new <= self.block_size, (
                f"block {block} is filled to {filled[block]} of {self.block_size}, not from {old} to {new}"
            )
            filled[block] = new
        self.ledger.fill(blocks, cause, sequence, before, after)

    def label(self, block: int, content: int) -> None:
        """A full block is labelled; the caller logs it (:meth:`Ledger.cache`)."""
        state = self.state
        assert self.cache is not None, "labels need a prefix cache"
        assert state.filled[block] == self.block_size, (
            f"block {block} is not full: {state.filled[block]} slots"
        )
        assert state.content[block] == NONE, f"block {block} is labelled twice"
        state.content[block] = content
        self.cache.add(content, block)

    def evict(self, blocks: Sequence[int], cause: Cause, sequence: int = NONE) -> None:
        """Blocks lose their labels for another reason than an allocation: a reset, a failed or an unscheduled step."""
        state = self.state
        contents = [state.content[block] for block in blocks]
        hits = [state.hits[block] for block in blocks]
        assert NONE not in contents, f"a block of {list(blocks)} holds no content"
        for block, content in zip(blocks, contents, strict=True):
            assert self.cache is not None, "labels need a prefix cache"
            self.cache.discard(content, block)
            state.content[block] = NONE
            state.hits[block] = 0
        self.ledger.evict(list(blocks), cause, sequence, contents, hits)

    def reset_cache(self) -> int:
        """Take all labels away (one ``evict`` a block); returns how many.

        As in vLLM only while no block is in use: raises :class:`ValueError` with the numbers otherwise.
        """
        used = self.num_blocks - self.num_free
        if used:
            raise ValueError(
                f"{used} of {self.num_blocks} blocks are in use: the prefix cache is reset only while none is"
            )
        content = self.state.np_content
        labelled: list[int] = (content != NONE).nonzero()[0].tolist()
        if labelled:
            self.evict(labelled, Cause.reset)
        return len(labelled)
