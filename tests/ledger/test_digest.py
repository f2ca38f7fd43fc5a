"""Digests: the values are fixed (another language must get them), sums do not depend on order."""

import numpy as np

from kvarium_ledger.digest import Lanes, float_words, row_sums
from kvarium_ledger.state import BlockState, request_sums


def fmix32(h: int) -> int:
    for shift, multiplier in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h ^= h >> shift
        h = h * multiplier & 0xFFFFFFFF
    return h


def test_a_row_is_hashed_as_the_format_says() -> None:
    words = [3, 0, 5, 0xFFFFFFFF]
    multipliers = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F)
    by_hand = fmix32((0x13198A2E + sum(w * m for w, m in zip(words, multipliers, strict=True))) & 0xFFFFFFFF)
    assert row_sums("tables", *(np.array([word], np.uint32) for word in words))[0] == by_hand


def test_the_lanes_of_a_fresh_pool_are_these() -> None:
    assert BlockState(4).sums() == (370862861, 2341328114)


def test_a_float_is_two_words_and_every_nan_is_one() -> None:
    nan = np.frombuffer(np.array([0xFFF8000000000001], "<u8").tobytes(), "<f8")
    low, high = float_words(np.concatenate(([1.0, -2.5], nan)))
    assert [hex(word) for word in high] == ["0x3ff00000", "0xc0040000", "0x7ff80000"]
    assert low.tolist() == [0, 0, 0]


def test_the_order_of_rows_does_not_matter_and_a_row_can_be_taken_out() -> None:
    rows = [(1, "waiting", 2.0), (2, "running", -1.0), (9, "preempted", 0.5)]
    assert request_sums(rows) == request_sums(rows[::-1])
    lanes = Lanes()
    lanes.add("requests", request_sums(rows))
    lanes.subtract("requests", request_sums(rows[:1]))
    expected = Lanes()
    expected.add("requests", request_sums(rows[1:]))
    assert lanes.digest() == expected.digest()


def test_each_word_of_a_block_matters() -> None:
    fresh = BlockState(8).sums()
    for name in ("generation", "count", "content", "filled"):
        state = BlockState(8)
        getattr(state, name)[5] = 1
        assert state.sums() != fresh
    state = BlockState(8)
    state.ticket[5], state.ticket[6] = 6.0, 5.0
    assert state.sums() != fresh
