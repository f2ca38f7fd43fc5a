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
from itertools import groupby

from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.memory.pool_state import PoolState
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause, Pin

_ALLOCATE, _PREFIX_HIT = Cause.allocate, Cause.prefix_hit

FREE_ORDERS = ("lru", "unhashed-first")
"""``lru``: all freed blocks go to the tail. ``unhashed-first``: those without a label go to the head, as in vLLM 0.32,
where they are of no use to a later request and are reused at once."""

Taken = tuple[list[int], list[float], list[int], list[int], list[int], list[int]]
"""What was taken out of the queue to be allocated, for the ledger: the blocks, the tickets and fills that they had; those
that were evicted, their contents and hits. Lists with a value a block."""


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
        self.state = PoolState(num_blocks)
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
        discard = self.cache.discard if self.cache is not None else None
        filled_before: list[int] = []
        evicted: list[int] = []
        contents: list[int] = []
        hits_before: list[int] = []
        for block in blocks:
            assert not count[block], f"block {block} of the free queue has count {count[block]}"
            count[block] = 1
            generation[block] += 1
            filled_before.append(filled[block])
            filled[block] = 0
            label = content[block]
            if label != NONE:
                assert discard is not None, f"block {block} is labelled, but there is no prefix cache"
                discard(label, block)
                content[block] = NONE
                evicted.append(block)
                contents.append(label)
                hits_before.append(hits[block])
                hits[block] = 0
        return blocks, tickets, filled_before, evicted, contents, hits_before

    def take_one(self) -> tuple[int, float, int, int, int]:
        """Take one block, as :meth:`take` does: it, its ticket, fill, content (``NONE``: it had none) and hits before."""
        block, ticket = self.queue.popleft()
        state = self.state
        assert not state.count[block], f"block {block} of the free queue has count {state.count[block]}"
        state.count[block] = 1
        state.generation[block] += 1
        filled_before = state.filled[block]
        state.filled[block] = 0
        label = state.content[block]
        if label == NONE:
            return block, ticket, filled_before, NONE, 0
        assert self.cache is not None, f"block {block} is labelled, but there is no prefix cache"
        self.cache.discard(label, block)
        state.content[block] = NONE
        hits = state.hits[block]
        state.hits[block] = 0
        return block, ticket, filled_before, label, hits

    def allocate(self, n: int, cause: Cause, sequence: int, position: int) -> list[int]:
        """Allocate ``n`` blocks for the entries ``position``, ... of a sequence's table."""
        ledger = self.ledger
        if n == 1:
            block, ticket, filled_before, label, was_hit = self.take_one()
            if label != NONE:
                ledger.evict((block,), _ALLOCATE, sequence, (label,), (was_hit,))
            ledger.allocate((block,), cause, sequence, position, (ticket,), (filled_before,))
            return [block]
        blocks, tickets, filled, evicted, contents, hits = self.take(n)
        if evicted:
            ledger.evict(evicted, _ALLOCATE, sequence, contents, hits)
        ledger.allocate(blocks, cause, sequence, position, tickets, filled)
        return blocks

    def hit(self, blocks: list[int], sequence: int, position: int) -> None:
        """A prefix hit: labelled ``blocks`` become the entries ``position``, ... of a sequence's table.

        Those in the queue are reused, those in use are shared; runs of one kind are one slice.
        """
        state = self.state
        count, content, hits = state.count, state.content, state.hits
        if len(blocks) == 1:
            (block,) = blocks
            assert content[block] != NONE, f"block {block} is hit but holds no content"
            hits[block] += 1
            held = count[block]
            count[block] = held + 1
            if held:
                self.ledger.share((block,), _PREFIX_HIT, sequence, position)
            else:
                self.ledger.reuse((block,), sequence, position, (self.queue.remove(block),))
            return
        idle, runs = not count[blocks[0]], 1
        for block in blocks:
            assert content[block] != NONE, f"block {block} is hit but holds no content"
            if (not count[block]) is not idle:
                runs += 1
        if runs == 1:
            for block in blocks:
                count[block] += 1
                hits[block] += 1
            told = blocks[:]  # the caller's is a table that grows
            if idle:
                self.ledger.reuse(told, sequence, position, self.queue.remove_n(blocks))
            else:
                self.ledger.share(told, _PREFIX_HIT, sequence, position)
            return
        start = 0
        for _, run in groupby([count[block] for block in blocks], key=bool):
            end = start + len(list(run))
            self.hit(blocks[start:end], sequence, position + start)
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
        target, ticket, filled_before, label, hits = self.take_one()
        if label != NONE:
            self.ledger.evict((target,), _ALLOCATE, sequence, (label,), (hits,))
        state.count[source] -= 1
        state.filled[target] = filled
        self.ledger.copy(source, target, sequence, position, ticket, filled_before, filled)
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
        count, content = self.state.count, self.state.content
        tickets: Sequence[float]
        if len(table) == 1:
            block = table[0]
            if count[block] == 1:
                count[block] = 0
                if content[block] == NONE and self.free_order != "lru":
                    tickets = self.queue.prepend_n((block,))
                else:
                    tickets = (self.queue.append(block),)
                self.ledger.free((block,), cause, sequence, (0,), tickets)
                return
        last = list(table[::-1])
        shared = unlabelled = 0
        for block in last:
            holders = count[block]
            assert holders, f"block {block} of sequence {sequence} is freed but nobody holds it"
            if holders > 1:
                shared += 1
            elif content[block] == NONE:
                unlabelled += 1
        positions: Sequence[int] = range(len(last) - 1, -1, -1)
        if shared:
            last, positions = self._release_shared(last, positions, cause, sequence)
        for block in last:
            count[block] = 0
        if not unlabelled or unlabelled == len(last) or self.free_order == "lru":
            if last:
                self.ledger.free(last, cause, sequence, positions, self._enqueue(last))
            return
        place = dict(zip(last, positions))
        for part in self._by_end(last):
            self.ledger.free(part, cause, sequence, [place[block] for block in part], self._enqueue(part))

    def _release_shared(
        self, last: list[int], positions: Sequence[int], cause: Cause, sequence: int
    ) -> tuple[list[int], list[int]]:
        """Those of a table's blocks that others hold too are released; returns the rest, with their positions."""
        count = self.state.count
        every = [(block, at, count[block] > 1) for block, at in zip(last, positions)]
        shared = [block for block, _, held in every if held]
        for block in shared:
            count[block] -= 1
        self.ledger.release(shared, cause, sequence, [at for _, at, held in every if held])
        return [block for block, _, held in every if not held], [at for _, at, held in every if not held]

    def _by_end(self, blocks: list[int]) -> list[list[int]]:
        """The freed blocks as runs that go to one end of the queue: the head's first."""
        if self.free_order == "lru" or not blocks:
            return [blocks] if blocks else []
        content = self.state.content
        unhashed = [block for block in blocks if content[block] == NONE]
        hashed = [block for block in blocks if content[block] != NONE]
        return [part for part in (unhashed, hashed) if part]

    def _enqueue(self, blocks: list[int]) -> Sequence[float]:
        """Freed blocks come to the end of the queue where they belong, by the first of them: their tickets."""
        if self.free_order == "unhashed-first" and self.state.content[blocks[0]] == NONE:
            return self.queue.prepend_n(blocks)
        return self.queue.append_n(blocks)

    # -- contents -----------------------------------------------------------------------------------------------

    def fill(
        self, blocks: list[int], cause: Cause, sequence: int, before: list[int], after: list[int]
    ) -> None:
        """Slots are assigned: the fill of each block grows from ``before`` to ``after``."""
        count, filled, size = self.state.count, self.state.filled, self.block_size
        # A labelled block is full, so it can't be written.
        if len(blocks) == 1:
            (block,), (old,), (new,) = blocks, before, after
            assert count[block] == 1, f"block {block} is written with count {count[block]}"
            assert filled[block] == old < new <= size, (
                f"block {block} is filled to {filled[block]} of {size}, not from {old} to {new}"
            )
            filled[block] = new
            self.ledger.fill(blocks, cause, sequence, before, after)
            return
        for block, old, new in zip(blocks, before, after):
            assert count[block] == 1, f"block {block} is written with count {count[block]}"
            assert filled[block] == old < new <= size, (
                f"block {block} is filled to {filled[block]} of {size}, not from {old} to {new}"
            )
            filled[block] = new
        self.ledger.fill(blocks, cause, sequence, before, after)

    def label(
        self, blocks: Sequence[int], parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS
    ) -> list[int]:
        """Full blocks behind the content ``parent`` are labelled by their ``tokens`` (u32): their contents.

        The ledger hears of new contents; the caller logs the labels (:meth:`Ledger.cache`).
        """
        cache, state, size = self.cache, self.state, self.block_size
        content, filled = state.content, state.filled
        assert cache is not None, "labels need a prefix cache"
        if len(blocks) == 1:
            (block,) = blocks
            assert filled[block] == size, f"block {block} is not full: {filled[block]} slots"
            assert content[block] == NONE, f"block {block} is labelled twice"
            told, is_new = cache.intern(parent, tokens, keys)
            if is_new:
                first = keys.first if parent == NONE else keys.rest
                hashes = cache.hashes_of((told,)) if cache.hashing else ()
                self.ledger.contents(told, parent, 1, tokens, first, None, hashes)
            content[block] = told
            if cache.holders.setdefault(told, block) != block:
                cache.add(told, block)
            return [told]
        for block in blocks:
            assert filled[block] == size, f"block {block} is not full: {filled[block]} slots"
            assert content[block] == NONE, f"block {block} is labelled twice"
        contents, new = cache.intern_n(parent, tokens, keys)
        if new:
            known = len(contents) - new
            if known:
                parent, tokens = contents[known - 1], tokens[known * len(tokens) // len(contents) :]
            hashes = cache.hashes_of(contents[known:]) if cache.hashing else ()
            first = keys.first if parent == NONE else keys.rest
            self.ledger.contents(contents[known], parent, new, tokens, first, keys.rest, hashes)
        hold = cache.holders.setdefault
        for block, told in zip(blocks, contents):
            content[block] = told
            if hold(told, block) != block:
                cache.add(told, block)
        return contents

    def evict(self, blocks: Sequence[int], cause: Cause, sequence: int = NONE) -> None:
        """Blocks lose their labels for another reason than an allocation: a reset, a failed or an unscheduled step."""
        content, hits = self.state.content, self.state.hits
        contents = [content[block] for block in blocks]
        hits_before = [hits[block] for block in blocks]
        assert NONE not in contents, f"a block of {list(blocks)} holds no content"
        assert self.cache is not None, "labels need a prefix cache"
        for block, label in zip(blocks, contents):
            self.cache.discard(label, block)
            content[block] = NONE
            hits[block] = 0
        self.ledger.evict(list(blocks), cause, sequence, contents, hits_before)

    def reset_cache(self) -> int:
        """Take all labels away (one ``evict`` a block); returns how many.

        As in vLLM only while no block is in use: raises :class:`ValueError` with the numbers otherwise.
        """
        used = self.num_blocks - self.num_free
        if used:
            raise ValueError(
                f"{used} of {self.num_blocks} blocks are in use: the prefix cache is reset only while none is"
            )
        labelled = [block for block, content in enumerate(self.state.content) if content != NONE]
        if labelled:
            self.evict(labelled, Cause.reset)
        return len(labelled)
