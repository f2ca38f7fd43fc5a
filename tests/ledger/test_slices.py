"""The short forms tell what the long calls tell."""

from kvarium_ledger.encoder import columns_of
from kvarium_ledger.ledger import Ledger, Sealed, SealedStep, StepTimes
from kvarium_ledger.operations import NONE, Cause, Operation


def sealed_by(ledger: Ledger, found: list[Sealed]) -> SealedStep:
    ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
    step = found.pop()
    assert isinstance(step, SealedStep)
    assert step.operations == len(columns_of(step.told).kind) == ledger.op
    return step


def test_a_prompt_is_an_eviction_an_allocation_a_fill_and_labels() -> None:
    found: list[Sealed] = []
    short, long = Ledger(found.append), Ledger(found.append)
    short.prefill([4, 2, 7], 9, 1, [5.0, 6.0, 8.0], [16, 3, 16], [30, NONE, 31], [2, 0, 1], 16, 5, [40, 41])
    short.prefill_one(3, 8, 0, 9.0, 16, 32, 4, 16, 50)
    short.prefill_one(5, 8, 1, 10.0, 2, NONE, 0, 6, NONE)
    long.evict([4, 7], Cause.allocate, 9, [30, 31], [2, 1])
    long.allocate([4, 2, 7], Cause.prefill, 9, 1, [5.0, 6.0, 8.0], [16, 3, 16])
    long.fill([4, 2, 7], Cause.prefill, 9, [0, 0, 0], [16, 16, 5])
    long.cache([4, 2], 9, [40, 41])
    long.evict([3], Cause.allocate, 8, [32], [4])
    long.allocate([3], Cause.prefill, 8, 0, [9.0], [16])
    long.fill([3], Cause.prefill, 8, [0], [16])
    long.cache([3], 8, [50])
    long.allocate([5], Cause.prefill, 8, 1, [10.0], [2])
    long.fill([5], Cause.prefill, 8, [0], [6])
    told, expected = sealed_by(short, found), sealed_by(long, found)
    assert columns_of(told.told) == columns_of(expected.told)
    assert [part.kind for part in told.slices] == [part.kind for part in expected.slices]


def test_one_block_and_a_whole_table_are_slices() -> None:
    found: list[Sealed] = []
    short, long = Ledger(found.append), Ledger(found.append)
    short.reuse_one(1, 6, 0, 3.0)
    short.share_one(2, 6, 1)
    short.release_one(2, Cause.finished, 6)
    short.free_one(1, Cause.aborted, 6, 12.0)
    short.free_table([9, 8, 7], Cause.finished, 5, 13)
    long.reuse([1], 6, 0, [3.0])
    long.share([2], Cause.prefix_hit, 6, 1)
    long.release([2], Cause.finished, 6, [0])
    long.free([1], Cause.aborted, 6, [0], [12.0])
    long.free([9, 8, 7], Cause.finished, 5, [2, 1, 0], [13.0, 14.0, 15.0])
    told, expected = sealed_by(short, found), sealed_by(long, found)
    assert columns_of(told.told) == columns_of(expected.told)
    assert [part.kind for part in told.slices] == [
        Operation.reuse, Operation.share, Operation.release, Operation.free, Operation.free
    ]  # fmt: skip
