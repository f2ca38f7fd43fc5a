"""The two pools alone: any order of allocations, hits, labels, frees and resets leaves both with the same blocks."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.block_pool import BlockPool as VllmPool
from vllm.v1.core.kv_cache_utils import hash_block_tokens

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause
from kvarium_ledger.step_text import ContentText
from tests.oracle.differences import numbered, vllm_blocks
from tests.oracle.foreign import same
from tests.oracle.lockstep import Hashes, compare_pools
from tests.oracle.vllm_side import HASH_SEED, seed_hashes


class Table:
    """A sequence's blocks in both pools, and the chain of tokens that its labels come from."""

    def __init__(self, number: int, tokens: list[int]) -> None:
        self.number = number
        self.tokens = tokens
        self.blocks: list[int] = []
        self.theirs: list[Any] = []
        self.labelled = 0
        self.content = NONE


class TwoPools:
    """The operations, each on both; after each all is compared."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.size = rng.choice([1, 2, 4, 16])
        blocks = rng.choice([1, 2, 5, 12, 40])
        self.cache = PrefixCache(self.size, HASH_SEED)
        self.pool = BlockPool(blocks, self.size, Ledger(lambda sealed: None), self.cache, "unhashed-first")
        self.theirs = VllmPool(vllm_blocks(blocks), enable_caching=True, hash_block_size=self.size)
        self.hashes = Hashes(HASH_SEED)
        self.tables: list[Table] = []
        self.counts: Counter[str] = Counter()

    def chain(self, tokens: list[int]) -> list[bytes]:
        hashes: list[Any] = []
        for start in range(0, len(tokens) - self.size + 1, self.size):
            before = hashes[-1] if hashes else None
            hashes.append(hash_block_tokens(sha256_cbor, before, tokens[start : start + self.size]))
        return hashes

    def begin(self) -> None:
        """A sequence begins, one of few prompts, and hits what is cached of it."""
        rng = self.rng
        tokens = [rng.randrange(2)] * (self.size * rng.randrange(1, 10))
        tokens += [rng.randrange(2, 5)] * (self.size * rng.randrange(1, 10))
        table = Table(len(self.tables) + self.counts["begun"] * 1000, tokens)
        raw = array("I", tokens).tobytes()
        found, contents = self.cache.lookup(raw, len(tokens) // self.size)
        theirs: list[Any] = []
        for value in self.chain(tokens):
            hit = self.theirs.get_cached_block(value, [0])  # type: ignore[arg-type]
            if not hit:
                break
            theirs += hit
        same("hits", found, numbered(block.block_id for block in theirs))
        self.counts["begun"] += 1
        self.counts["calls"] += 1
        self.counts["hits on freed blocks"] += sum(self.pool.state.count[block] == 0 for block in found)
        self.counts["hits"] += len(found)
        if found:
            self.pool.hit(found, table.number, 0)
            self.theirs.touch(theirs)
            table.content = contents[-1]
        table.blocks, table.theirs, table.labelled = found, theirs, len(found)
        self.tables.append(table)

    def grow(self) -> None:
        """A sequence gets blocks; some of them become full, and are labelled."""
        table = self.rng.choice(self.tables)
        room = len(table.tokens) // self.size - len(table.blocks)
        n = min(self.rng.randrange(1, 5), room, self.pool.num_free)
        if n <= 0:
            return
        before = sum(content != NONE for content in self.pool.state.content)
        taken = self.pool.allocate(n, Cause.prefill, table.number, len(table.blocks))
        theirs = self.theirs.get_new_blocks(n)
        same("allocated", taken, numbered(block.block_id for block in theirs))
        self.counts["evictions"] += before - sum(content != NONE for content in self.pool.state.content)
        self.counts["allocated"] += n
        self.counts["calls"] += 1
        table.blocks += taken
        table.theirs += theirs

    def label(self) -> None:
        table = self.rng.choice(self.tables)
        full = self.rng.randrange(table.labelled, len(table.blocks) + 1)
        for position in range(table.labelled, full):
            block = table.blocks[position]
            self.pool.fill([block], Cause.prefill, table.number, [0], [self.size])
            part = array("I", table.tokens[position * self.size : (position + 1) * self.size])
            before = table.content
            [table.content] = self.pool.label([block], before, part.tobytes())
            self.hashes.learn([ContentText(table.content, before, part)])
        request = SimpleNamespace(block_hashes=self.chain(table.tokens))
        self.theirs.cache_full_blocks(request, table.theirs, table.labelled, full, self.size, 0)  # type: ignore[arg-type]
        self.counts["labels"] += full - table.labelled
        self.counts["calls"] += full > table.labelled
        table.labelled = full

    def free(self) -> None:
        table = self.tables.pop(self.rng.randrange(len(self.tables)))
        self.pool.let_go(table.blocks, Cause.finished, table.number)
        self.theirs.free_blocks(reversed(table.theirs))
        self.counts["freed"] += len(table.blocks)
        self.counts["calls"] += 1

    def reset(self) -> None:
        while self.tables:
            self.free()
        assert self.theirs.reset_prefix_cache()
        self.pool.reset_cache()
        self.counts["resets"] += 1
        self.counts["calls"] += 1

    def run(self, operations: int) -> None:
        steps = [self.begin, self.grow, self.grow, self.label, self.label, self.free]
        for _ in range(operations):
            step = self.rng.choice(steps) if self.rng.random() < 0.99 else self.reset
            if step in (self.begin, self.reset) or self.tables:
                step()
                compare_pools(self.pool, self.theirs, self.hashes)


def test_any_operations_leave_both_pools_equal(seed: int, size: str, told: Callable[..., None]) -> None:
    seed_hashes(HASH_SEED)
    counts: Counter[str] = Counter()
    for run in range(150 if size == "small" else 1500):
        two = TwoPools(random.Random(seed + run))
        try:
            two.run(200)
        except AssertionError as error:
            raise AssertionError(f"run {run} (random.Random({seed + run})): {error}") from error
        counts += two.counts
    shown = "calls", "allocated", "evictions", "hits", "hits on freed blocks", "labels", "resets"
    told("pools alone", counts, *shown)
    assert counts["calls"] >= (10_000 if size == "small" else 100_000), counts
    assert min(counts[name] for name in ("evictions", "hits on freed blocks", "resets")) > 50, counts
