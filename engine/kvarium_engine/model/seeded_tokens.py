"""Tokens out of numbers: the same number gives the same tokens, here and on every machine."""

from array import array

import numpy as np

VOCABULARY = 32_000
EOS = 2
FIRST_TOKEN = 16
"""Seeded tokens are not below this, so that none is special by chance."""


def mix(value: int) -> int:
    """A well-mixed u32 of an integer (MurmurHash3's finaliser)."""
    value &= 0xFFFFFFFF
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return value ^ (value >> 16)


def seeded_tokens(seed: int, count: int) -> "array[int]":
    """``count`` token ids (u32) that depend on ``seed`` alone; fewer of the same seed are the beginning of more."""
    values = np.arange(count, dtype=np.uint32) + np.uint32(mix(seed * 0x9E3779B1 + 0x7F4A7C15))
    values ^= values >> np.uint32(16)
    values *= np.uint32(0x85EBCA6B)
    values ^= values >> np.uint32(13)
    values *= np.uint32(0xC2B2AE35)
    values ^= values >> np.uint32(16)
    values %= np.uint32(VOCABULARY - FIRST_TOKEN)
    values += np.uint32(FIRST_TOKEN)
    return array("I", values.tobytes())
