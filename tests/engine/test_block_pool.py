"""The pool: each verb, what it tells the ledger, and what it refuses."""

import pytest

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause, Operation, Pin
from kvarium_ledger.slices import Slice, slices_of


class Recorded(Ledger):
    """A ledger whose slices a test can read."""

    def __init__(self) -> None:
        super().__init__(lambda sealed: None)

    @property
    def told(self) -> list[Slice]:
        return slices_of(self._told)

    def forget(self) -> None:
        self._told.clear()


def pool_of(blocks: int, free_order: str = "lru") -> tuple[BlockPool, Recorded]:
    ledger = Recorded()
    return BlockPool(blocks, 16, ledger, PrefixCache(16), free_order), ledger


def counts(pool: BlockPool) -> list[list[float]]:
    state = pool.state
    return [
        list(column) for column in (state.generation, state.count, state.content, state.filled, state.hits)
    ] + [[float(block) for block in pool.queue.walk()]]


def take_table(pool: BlockPool, table: list[int], sequence: int) -> None:
    """Give a sequence exactly these blocks."""
    for position, block in enumerate(table):
        pool.queue.remove(block)
        pool.queue.prepend_n([block])
        assert pool.allocate(1, Cause.prefill, sequence, position) == [block]


def label(pool: BlockPool, block: int, tokens: bytes) -> int:
    pool.fill([block], Cause.prefill, 0, [pool.state.filled[block]], [16])
    [content] = pool.label([block], NONE, tokens)
    return content


def test_allocation_takes_from_the_head_and_begins_a_life() -> None:
    pool, ledger = pool_of(4)
    assert pool.allocate(3, Cause.prefill, 7, 0) == [0, 1, 2]
    assert list(pool.state.count) == [1, 1, 1, 0]
    assert list(pool.state.generation) == [1, 1, 1, 0]
    assert ledger.told == [
        Slice(Operation.allocate, [0, 1, 2], Cause.prefill, 7, 0, 0, 0, ([0.0, 1.0, 2.0], [0, 0, 0]))
    ]


def test_of_a_finished_table_22_8_31_14_with_8_in_use_the_others_are_freed_tail_first() -> None:
    pool, ledger = pool_of(40)
    take_table(pool, [22, 8, 31, 14], 1)
    pool.fork([8], 2)
    ledger.forget()
    pool.let_go([22, 8, 31, 14], Cause.finished, 1)
    assert pool.queue.walk()[-3:] == [14, 31, 22]
    assert pool.state.count[8] == 1
    release, free = ledger.told
    assert (release.kind, release.blocks, release.positions) == (Operation.release, [8], [1])
    assert (free.kind, free.blocks, free.positions) == (Operation.free, [14, 31, 22], [3, 2, 0])


def test_after_several_frees_the_next_allocations_take_exactly_their_order() -> None:
    pool, _ = pool_of(10)
    tables = {1: pool.allocate(3, Cause.prefill, 1, 0), 2: pool.allocate(4, Cause.prefill, 2, 0)}
    tables[3] = pool.allocate(1, Cause.prefill, 3, 0)
    for sequence in (2, 3, 1):
        pool.let_go(tables[sequence], Cause.finished, sequence)
    order = [8, 9, 6, 5, 4, 3, 7, 2, 1, 0]
    assert pool.queue.walk() == order, "those that were never used, then each table from its tail"
    taken = [pool.allocate(n, Cause.prefill, 4, position) for n, position in ((3, 0), (1, 3), (6, 4))]
    assert [block for part in taken for block in part] == order


def test_of_two_blocks_with_one_hash_one_stays_a_hit_when_the_other_is_taken() -> None:
    pool, _ = pool_of(3)
    content, same = (label(pool, block, b"x" * 64) for block in pool.allocate(2, Cause.prefill, 1, 0))
    assert content == same
    assert len(pool.cache) == 1, "they are one content"
    pool.let_go([0], Cause.finished, 1)
    pool.allocate(1, Cause.prefill, 2, 0)
    assert pool.allocate(1, Cause.prefill, 2, 1) == [0], "and it loses its label"
    assert pool.cache.lookup(b"x" * 64, 1) == ([1], [content])
    assert list(pool.state.content) == [NONE, content, NONE]
    pool.let_go([1], Cause.finished, 1)
    assert pool.allocate(1, Cause.prefill, 2, 2) == [1]
    assert pool.cache.lookup(b"x" * 64, 1) == ([], [])


def test_a_freed_block_is_still_a_hit_until_something_takes_it_from_the_head() -> None:
    pool, _ = pool_of(3)
    [block] = pool.allocate(1, Cause.prefill, 1, 0)
    content = label(pool, block, b"x" * 64)
    pool.let_go([block], Cause.finished, 1)
    assert pool.cache.lookup(b"x" * 64, 1) == ([block], [content])
    pool.allocate(2, Cause.prefill, 2, 0)
    assert pool.cache.lookup(b"x" * 64, 1) == ([block], [content])
    assert pool.allocate(1, Cause.prefill, 2, 2) == [block]
    assert pool.cache.lookup(b"x" * 64, 1) == ([], [])


def test_allocating_labelled_blocks_is_one_evict_of_them_and_then_one_allocate_of_all() -> None:
    pool, ledger = pool_of(3)
    pool.allocate(3, Cause.prefill, 1, 0)
    label(pool, 1, b"x" * 64)
    pool.let_go([0, 1, 2], Cause.finished, 1)
    ledger.forget()
    assert pool.allocate(3, Cause.decode, 2, 5) == [2, 1, 0]
    assert [(part.kind, part.blocks) for part in ledger.told] == [
        (Operation.evict, [1]),
        (Operation.allocate, [2, 1, 0]),
    ]


def test_a_hit_reuses_blocks_of_the_queue_and_shares_blocks_in_use_in_runs() -> None:
    pool, ledger = pool_of(6)
    for block in pool.allocate(4, Cause.prefill, 1, 0):
        label(pool, block, bytes([block]) * 64)
    pool.let_go([2, 3], Cause.finished, 1)
    ledger.forget()
    pool.hit([0, 1, 2, 3], 2, 0)
    assert [(part.kind, part.blocks, part.positions) for part in ledger.told] == [
        (Operation.share, [0, 1], 0),
        (Operation.reuse, [2, 3], 2),
    ]
    assert list(pool.state.count[:4]) == [2, 2, 1, 1]
    assert list(pool.state.hits[:4]) == [1, 1, 1, 1]
    assert pool.queue.walk() == [4, 5]


def test_copy_on_write_copies_4_to_15_and_leaves_the_old_block_to_the_other() -> None:
    pool, ledger = pool_of(20)
    take_table(pool, [2, 4], 1)
    pool.fill([2, 4], Cause.prefill, 1, [0, 0], [16, 6])
    pool.fork([2, 4], 2)
    pool.queue.remove(15)
    pool.queue.prepend_n([15])
    ledger.forget()
    assert pool.copy(4, 1, 1) == 15
    assert (pool.state.count[4], pool.state.count[15]) == (2, 1), "the other sequence and the pin"
    assert pool.state.filled[15] == 6
    pool.launch_copies()
    assert pool.state.count[4] == 1
    assert [part.kind for part in ledger.told] == [Operation.share, Operation.copy, Operation.release]
    assert {part.pin for part in ledger.told} == {Pin.copy_source}


def test_a_pin_that_is_the_last_holder_frees_its_block_at_the_launch() -> None:
    pool, ledger = pool_of(4)
    pool.allocate(1, Cause.prefill, 1, 0)
    pool.fill([0], Cause.prefill, 1, [0], [6])
    pool.fork([0], 2)
    pool.copy(0, 1, 0)
    pool.let_go([0], Cause.aborted, 2)
    pool.launch_copies()
    assert pool.queue.walk()[-1] == 0
    assert ledger.told[-1].kind is Operation.free
    assert not pool.pins


def test_unhashed_first_puts_blocks_without_a_label_to_the_head_and_the_others_to_the_tail() -> None:
    pool, ledger = pool_of(6, "unhashed-first")
    pool.allocate(4, Cause.prefill, 1, 0)
    for block in (0, 2):
        label(pool, block, bytes([block]) * 64)
    ledger.forget()
    pool.let_go([0, 1, 2, 3], Cause.finished, 1)
    assert pool.queue.walk() == [3, 1, 4, 5, 2, 0]
    assert [(part.kind, part.blocks) for part in ledger.told] == [
        (Operation.free, [3, 1]),
        (Operation.free, [2, 0]),
    ]


def test_a_reset_of_the_cache_is_one_evict_a_block_and_only_while_none_is_in_use() -> None:
    pool, ledger = pool_of(3)
    pool.allocate(2, Cause.prefill, 1, 0)
    for block in (0, 1):
        label(pool, block, bytes([block]) * 64)
    pool.let_go([1], Cause.finished, 1)
    ledger.forget()
    with pytest.raises(
        ValueError, match=r"^1 of 3 blocks are in use: the prefix cache is reset only while none is$"
    ):
        pool.reset_cache()
    assert len(pool.cache) == 2
    assert not ledger.told
    pool.let_go([0], Cause.finished, 1)
    ledger.forget()
    assert pool.reset_cache() == 2
    assert len(pool.cache) == 0
    assert [(part.kind, part.blocks, part.cause) for part in ledger.told] == [
        (Operation.evict, [0, 1], Cause.reset)
    ]
    assert pool.reset_cache() == 0


REFUSED = {
    "more blocks than are free": (
        lambda pool: pool.allocate(4, Cause.prefill, 9, 0),
        "4 blocks asked of a free queue",
    ),
    "freeing a block that nobody holds": (
        lambda pool: pool.let_go([0, 7], Cause.finished, 1),
        "block 7 of sequence 1 is freed but nobody holds it",
    ),
    "forking a block that nobody holds": (
        lambda pool: pool.fork([7], 2),
        "block 7 is forked but nobody holds it",
    ),
    "hitting a block without content": (
        lambda pool: pool.hit([0], 2, 0),
        "block 0 is hit but holds no content",
    ),
    "writing into a shared block": (
        lambda pool: pool.fill([3], Cause.decode, 1, [5], [6]),
        "block 3 is written with count 2",
    ),
    "writing into a labelled block": (
        lambda pool: pool.fill([1], Cause.decode, 1, [16], [17]),
        "block 1 is filled to 16 of 16, not from 16 to 17",
    ),
    "writing past the end": (
        lambda pool: pool.fill([2], Cause.decode, 1, [5], [17]),
        "block 2 is filled to 5 of 16, not from 5 to 17",
    ),
    "writing over what is written": (
        lambda pool: pool.fill([2], Cause.decode, 1, [4], [6]),
        "block 2 is filled to 5 of 16, not from 4 to 6",
    ),
    "copying a block of one holder": (
        lambda pool: pool.copy(2, 1, 2),
        "block 2 has 1 holders: it is written in place",
    ),
    "copying a full block": (lambda pool: pool.copy(4, 1, 4), "block 4 is not partly filled: 16 slots"),
    "labelling a block that is not full": (
        lambda pool: pool.label([2], NONE, b"y" * 64),
        "block 2 is not full: 5 slots",
    ),
    "labelling a block twice": (lambda pool: pool.label([1], NONE, b"y" * 64), "block 1 is labelled twice"),
    "taking a label that is not there": (
        lambda pool: pool.evict([1, 2], Cause.reset),
        "holds no content",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_and_leaves_all_counts_as_they_were(name: str) -> None:
    act, message = REFUSED[name]
    pool, ledger = pool_of(8)
    pool.allocate(5, Cause.prefill, 1, 0)
    pool.fill([1, 2, 3, 4], Cause.prefill, 1, [0, 0, 0, 0], [16, 5, 5, 16])
    pool.label([1], NONE, b"x" * 64)
    pool.fork([3, 4], 2)
    before, told, held = counts(pool), list(ledger.told), len(pool.cache)
    with pytest.raises(AssertionError, match=message):
        act(pool)
    assert counts(pool) == before
    assert ledger.told == told
    assert len(pool.cache) == held
    assert not pool.pins


@pytest.mark.parametrize(
    ("blocks", "size", "order", "message"),
    [
        (0, 16, "lru", "at least one block, not 0"),
        (4, 12, "lru", "power of two from 1 to 256, not 12"),
        (4, 512, "lru", "power of two from 1 to 256, not 512"),
        (4, 16, "fifo", "not 'fifo'"),
    ],
)
def test_a_pool_of_a_wrong_shape_is_refused_with_the_value(
    blocks: int, size: int, order: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        BlockPool(blocks, size, Recorded(), None, order)
