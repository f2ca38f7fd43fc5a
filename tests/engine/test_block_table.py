"""Block tables: how many blocks, and which slots."""

import numpy as np
import pytest

from kvarium_engine.memory.block_table import blocks_for, slots


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (1, 1), (16, 1), (17, 2), (40, 3), (1040, 65)])
def test_tokens_fill_blocks_and_the_last_one_partly(tokens: int, blocks: int) -> None:
    assert blocks_for(tokens, 16) == blocks


def test_forty_keys_scattered_by_a_table_read_back_equal_through_it() -> None:
    table = [41, 7, 19]
    keys = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    pool = np.zeros((64 * 16, 8), dtype=np.float32)
    pool[slots(table, 0, 40, 16)] = keys
    assert np.array_equal(pool[slots(table, 0, 40, 16)], keys)
    assert np.array_equal(pool.reshape(64, 16, 8)[table].reshape(-1, 8)[:40], keys)


def test_a_chunk_may_begin_in_the_middle_of_a_block() -> None:
    assert slots([41, 7, 19], 14, 4, 16).tolist() == [670, 671, 112, 113]
    assert slots([3], 0, 1, 1).tolist() == [3]
