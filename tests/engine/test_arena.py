"""The arena: first fit, merging, and what a naive bitmap says to each step."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvarium_engine.memory.arena import Arena


class Bitmap:
    """The same, as plainly as can be: a flag a block."""

    def __init__(self, num_blocks: int) -> None:
        self.taken = [False] * num_blocks

    def runs(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for block, taken in enumerate(self.taken):
            if not taken:
                if found and sum(found[-1]) == block:
                    found[-1] = (found[-1][0], found[-1][1] + 1)
                else:
                    found.append((block, 1))
        return found

    def take(self, blocks: int) -> int | None:
        for begin, length in self.runs():
            if length >= blocks:
                self.taken[begin : begin + blocks] = [True] * blocks
                return begin
        return None

    def fits(self, count: int, blocks: int) -> bool:
        return sum(length // blocks for _, length in self.runs()) >= count


def assert_equal(arena: Arena, bitmap: Bitmap) -> None:
    runs = bitmap.runs()
    assert arena.runs() == runs
    assert arena.free_blocks == sum(length for _, length in runs)
    assert arena.largest == max((length for _, length in runs), default=0)


@given(
    num_blocks=st.integers(1, 70),
    actions=st.lists(st.tuples(st.booleans(), st.integers(1, 30), st.integers(1, 4)), max_size=60),
)
def test_it_does_what_a_bitmap_does(num_blocks: int, actions: list[tuple[bool, int, int]]) -> None:
    arena, bitmap = Arena(num_blocks), Bitmap(num_blocks)
    held: dict[int, int] = {}
    for takes, number, count in actions:
        assert arena.fits(count, number) == bitmap.fits(count, number)
        assert_equal(arena, bitmap)
        if takes:
            expected = bitmap.take(number)
            assert (arena.largest >= number) == (expected is not None)
            if expected is not None:
                assert arena.take(number) == expected
                held[expected] = number
        elif held:
            begin = sorted(held)[number % len(held)]
            blocks = held.pop(begin)
            arena.free(begin)
            bitmap.taken[begin : begin + blocks] = [False] * blocks
        assert_equal(arena, bitmap)
    for begin in held:
        arena.free(begin)
    assert arena.runs() == [(0, num_blocks)]


def test_a_run_goes_to_the_lowest_address_where_it_fits() -> None:
    arena = Arena(32)
    assert [arena.take(blocks) for blocks in (8, 3, 5, 8, 4)] == [0, 8, 11, 16, 24]
    arena.free(8)
    arena.free(16)
    assert (arena.free_blocks, arena.largest) == (15, 8)
    assert arena.runs() == [(8, 3), (16, 8), (28, 4)]
    assert not arena.fits(1, 9), "15 are free"
    assert (arena.fits(3, 4), arena.fits(4, 4), arena.fits(2, 5)) == (True, False, False)
    assert arena.take(4) == 16
    assert arena.take(3) == 8


def test_a_freed_run_merges_with_both_of_its_neighbours() -> None:
    arena = Arena(9)
    for _ in range(3):
        arena.take(3)
    arena.free(0)
    arena.free(6)
    assert arena.runs() == [(0, 3), (6, 3)]
    arena.free(3)
    assert arena.runs() == [(0, 9)]


def test_what_is_not_there_is_neither_taken_nor_freed() -> None:
    arena = Arena(8)
    arena.take(5)
    for blocks in (0, 4):
        with pytest.raises(AssertionError, match=f"a run of {blocks} blocks: the largest free one has 3"):
            arena.take(blocks)
    with pytest.raises(AssertionError, match="no run that was taken begins at block 1"):
        arena.free(1)
    arena.free(0)
    with pytest.raises(AssertionError, match="no run that was taken begins at block 0"):
        arena.free(0)
    assert arena.runs() == [(0, 8)]
    with pytest.raises(ValueError, match="at least one block, not 0"):
        Arena(0)


def test_behind_many_holes_a_run_is_found_without_a_walk_over_them() -> None:
    def seconds(holes: int) -> float:
        arena = Arena(4 * holes + 3)
        for _ in range(2 * holes):
            arena.take(2)
        for hole in range(holes):
            arena.free(4 * hole)
        best = float("inf")
        for _ in range(5):
            began = time.thread_time()
            for _ in range(300):
                assert arena.take(3) == 4 * holes
                arena.free(4 * holes)
            best = min(best, time.thread_time() - began)
        return best

    # 64 times the holes: a walk would take some 64 times as long, the tree goes 17 levels down instead of 11.
    assert seconds(1 << 14) < 8 * seconds(1 << 8)
