"""Blocks and their free queue: how they leave it for a new life, and where they come back to.

    popleft ──▶ count 1, generation + 1, content and hits taken away, filled anew          take, take_one
    append  ◀── a freed block, or to the head: one without a label, by ``unhashed-first``  enqueue

Nothing is logged here: what was taken is told by the verb that it was taken for (:mod:`.block_pool`).
"""

from collections import Counter
from collections.abc import Sequence

from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.memory.pool_state import PoolState
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE

FREE_ORDERS = ("lru", "unhashed-first")
"""``lru``: all freed blocks go to the tail. ``unhashed-first``: those without a label go to the head, as in vLLM 0.32,
where they are of no use to a later request and are reused at once."""

Taken = tuple[list[int], list[float], list[int], list[int], list[int]]
"""What was taken out of the queue to be allocated, for the ledger: the blocks, and what they had: tickets, fills, contents
(``NONE``: none) and hits. Lists with a value a block."""


class FreeBlocks:
    """All blocks of the engine. ``state`` has their columns, ``queue`` their order, ``cache`` the labels' map."""

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

    def take(self, n: int, fill: int = 0) -> Taken:
        """Take ``n`` blocks from the head, each with count 1, a new generation, no content and filled to ``fill``.

        Nothing is logged: the caller logs an ``evict`` of those that had content, then what it took them for.
        Asserts that so many are in the queue.
        """
        blocks, tickets = self.queue.popleft_n(n)
        return self._begin_lives(blocks, tickets, fill)

    def _begin_lives(self, blocks: list[int], tickets: list[float], fill: int) -> Taken:
        """``blocks``, which have just left the queue with these ``tickets``, begin new lives, filled to ``fill``."""
        state, cache = self.state, self.cache
        count, content, filled = state.count, state.content, state.filled
        generation, hits = state.generation, state.hits
        filled_before: list[int] = []
        lost: list[int] = []
        hits_before: list[int] = []
        for block in blocks:
            assert not count[block], f"block {block} of the free queue has count {count[block]}"
            count[block] = 1
            generation[block] += 1
            filled_before.append(filled[block])
            filled[block] = fill
            label = content[block]
            lost.append(label)
            hits_before.append(hits[block])
            if label != NONE:
                assert cache is not None, f"block {block} is labelled, but there is no prefix cache"
                found = cache.holders.pop(label)
                if found != block:
                    cache.put_back(label, found, block)
                content[block] = NONE
                hits[block] = 0
        if cache is not None:
            cache.forget_hashes(lost)
        return blocks, tickets, filled_before, lost, hits_before

    def take_one(self, fill: int = 0) -> tuple[int, float, int, int, int]:
        """Take one block, as :meth:`take` does: it, its ticket, fill, content (``NONE``: it had none) and hits before."""
        block, ticket = self.queue.popleft()
        state = self.state
        count, filled, content = state.count, state.filled, state.content
        assert not count[block], f"block {block} of the free queue has count {count[block]}"
        count[block] = 1
        state.generation[block] += 1
        filled_before = filled[block]
        filled[block] = fill
        label = content[block]
        if label == NONE:
            return block, ticket, filled_before, NONE, 0
        cache = self.cache
        assert cache is not None, f"block {block} is labelled, but there is no prefix cache"
        found = cache.holders.pop(label)
        if found != block:
            cache.put_back(label, found, block)
        elif cache.hashes:
            cache.hashes.pop(label, None)
        content[block] = NONE
        hits = state.hits[block]
        state.hits[block] = 0
        return block, ticket, filled_before, label, hits

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
