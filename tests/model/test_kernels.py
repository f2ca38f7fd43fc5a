"""The kernels' references: keys written through a block table are read back through it."""

import random

import torch

from kvarium_engine.kernels.write_kv import write_kv
from kvarium_engine.memory.block_table import blocks_for, slots


def written(
    table: list[int], tokens: int, block_size: int, num_blocks: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Keys and values ``[tokens, 2, 8]``, written in two parts; the pools with them, and their slots."""
    keys, values = torch.randn(2, tokens, 2, 8, generator=torch.Generator().manual_seed(tokens))
    pools = torch.full((2, num_blocks, block_size, 2, 8), torch.nan)
    places = torch.from_numpy(slots(table, 0, tokens, block_size))
    for part in (slice(0, tokens // 3), slice(tokens // 3, tokens)):
        write_kv(keys[part], values[part], pools[0], pools[1], places[part])
    return keys, values, pools[0], pools[1], places


def test_forty_keys_scattered_by_a_block_table_read_back_equal() -> None:
    keys, values, key_pool, value_pool, places = written([41, 7, 19], 40, 16, 64)
    assert torch.equal(key_pool.flatten(0, 1)[places], keys)
    assert torch.equal(value_pool.flatten(0, 1)[places], values)
    assert torch.equal(key_pool[[41, 7, 19]].flatten(0, 1)[:40], keys), "in order of the table"
    assert not key_pool[19, 8:].isfinite().any(), "8 slots of the last block are not filled"
    others = [block for block in range(64) if block not in (41, 7, 19)]
    assert not key_pool[others].isfinite().any(), "and nothing else is"


def test_any_table_reads_back_equal(rng: random.Random) -> None:
    for _ in range(20):
        block_size = 1 << rng.randrange(9)
        tokens = rng.randrange(1, 300)
        count = blocks_for(tokens, block_size)
        table = rng.sample(range(count + 5), count)
        keys, values, key_pool, value_pool, places = written(table, tokens, block_size, count + 5)
        assert torch.equal(key_pool.flatten(0, 1)[places], keys)
        assert torch.equal(value_pool.flatten(0, 1)[places], values)
