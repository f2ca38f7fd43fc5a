"""Block tables: where the tokens of a sequence are.

position of a token    0 … 15    16 … 31    32 … 39
block table            [ 41,        7,        19 ]         block size 16
slots                  656 … 671  112 … 127  304 … 311     slot = block × block size + offset
"""

from collections.abc import Sequence

import numpy as np


def blocks_for(tokens: int, block_size: int) -> int:
    """How many blocks hold ``tokens`` tokens: 40 tokens in blocks of 16 need 3."""
    return -(-tokens // block_size)


def slots(table: Sequence[int], start: int, count: int, block_size: int) -> np.ndarray:
    """The slots ``[count] i64`` of the tokens ``start``, ``start + 1``, ... of a sequence with this ``table``."""
    first = start // block_size
    blocks = np.array(table[first : blocks_for(start + count, block_size)], dtype=np.int64)
    every = (blocks[:, None] * block_size + np.arange(block_size)).ravel()
    skip = start - first * block_size
    return every[skip : skip + count]
