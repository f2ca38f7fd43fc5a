"""The contiguous baseline: what is reserved, where it goes, who waits for it, and a mirror that agrees with each step."""

import pytest

from kvarium_engine.capacity import GIB
from kvarium_engine.engine import EngineConfig
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.contiguous import ContiguousPool
from kvarium_engine.memory.reservation import RESERVE, Reservation
from kvarium_ledger.decisions import Aborted, Admitted, Finished, Preempted, Refused, SequenceCreated, Waiting
from kvarium_ledger.ledger import Ledger, SealedStep
from kvarium_ledger.operations import Cause
from tests.engine.mirrored import Mirrored, ScriptedRunner, table, tokens


def unused_slots(engine: Mirrored) -> int:
    """Slots of blocks in use that hold no token."""
    state = engine.pool.state
    return sum(
        engine.pool.block_size - state.filled[block] for block, count in enumerate(state.count) if count
    )


# -- how much ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "prompt", "output", "slots"),
    [
        ("max", 40, 100, 2048),
        ("power-of-two", 40, 100, 168),
        ("power-of-two", 40, 1, 41),
        ("power-of-two", 40, 64, 104),
        ("power-of-two", 40, 65, 168),
        ("power-of-two", 1500, 548, 2048),
        ("exact", 40, 100, 139),
        ("exact", 40, 1, 40),
    ],
)
def test_each_mode_reserves_its_slots(mode: str, prompt: int, output: int, slots: int) -> None:
    assert Reservation(mode, 2048).tokens(prompt, output) == slots


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="a reservation is one of max, power-of-two, exact, not 'half'"):
        Reservation("half", 2048)
    with pytest.raises(ValueError, match="reserve is one of max, power-of-two, exact, not 'half'"):
        EngineConfig(num_blocks=8, reserve="half")
    with pytest.raises(ValueError, match="memory_backend is one of paged, contiguous, not 'buddy'"):
        EngineConfig(num_blocks=8, memory_backend="buddy")
    with pytest.raises(ValueError, match="a contiguous cache shares no blocks: it has no prefix cache"):
        EngineConfig(num_blocks=8, memory_backend="contiguous")


def test_40_tokens_leave_8_slots_unused_in_pages_and_2008_of_a_reservation_of_2048() -> None:
    for reserve, unused in ((None, 8), ("max", 2008)):
        engine = Mirrored(num_blocks=256, length=2048, reserve=reserve)
        engine.submit(40, max_tokens=100)
        engine.step()
        assert unused_slots(engine) == unused


def test_8_requests_of_llama_8b_that_reserve_8192_tokens_and_use_1000_leave_7_of_8_gib_idle() -> None:
    bytes_a_token = 2 * 32 * 8 * 128 * 2
    engine = Mirrored(num_blocks=8 * 512, length=8192, reserve="max", audit_interval=64)
    # 1,000 on average: 650, 750 … 1,350.
    requests = [engine.submit(650 + 100 * i, max_tokens=100) for i in range(8)]
    assert {request.reserved_blocks * 16 * bytes_a_token for request in requests} == {GIB}
    engine.step(5)
    assert len(engine.roster.running) == 8
    assert engine.pool.num_free == 0
    idle = unused_slots(engine) * bytes_a_token
    assert 6.97 < idle / GIB < 7.03
    assert sum(engine.pool.state.filled) == sum(request.live[0].computed for request in requests)
    assert round(sum(engine.pool.state.filled) / 8, -2) == 1000


# -- where ------------------------------------------------------------------------------------------------------------


def test_a_reservation_is_one_slice_of_blocks_side_by_side_and_is_written_in_place() -> None:
    engine = Mirrored(num_blocks=64, length=256, reserve="power-of-two")
    request = engine.submit(40, max_tokens=30)
    engine.step()
    [allocated] = [part for part in engine.last.slices if part.kind.name == "allocate"]
    assert (allocated.blocks, allocated.cause, allocated.positions) == ([0, 1, 2, 3, 4], Cause.reserve, 0)
    assert engine.operations() == {("allocate", "reserve"): 5, ("fill", "prefill"): 3}
    [sequence] = request.live
    assert (sequence.table, sequence.ahead) == ([0, 1, 2], range(3, 5))
    engine.step(9)
    assert (sequence.table, sequence.ahead) == ([0, 1, 2, 3], range(4, 5))
    assert engine.operations() == {
        ("allocate", "reserve"): 5,
        ("fill", "prefill"): 3,
        ("fill", "decode"): 9,
    }
    engine.run()
    [freed] = [part for part in engine.last.slices if part.kind.name == "free"]
    assert (freed.blocks, freed.cause, list(freed.positions)) == (
        [4, 3, 2, 1, 0],
        Cause.finished,
        [4, 3, 2, 1, 0],
    )
    engine.assert_nothing_leaks()
    engine.undo_all()


def test_the_audit_and_the_keyframe_tell_the_whole_run() -> None:
    engine = Mirrored(num_blocks=64, length=256, reserve="max")
    request = engine.submit(20, max_tokens=5)
    engine.step()
    keyframe = engine.engine.snapshot()
    assert len(keyframe.tables.block) == 4 * request.reserved_blocks == 4 * 16
    assert engine.fold.state.tables[request.live[0].id, 0] == dict(enumerate(range(16)))
    request.live[0].ahead = request.live[0].ahead[:-1]
    assert engine.engine.auditor.digest() != engine.fold.lanes.digest()


def test_a_freed_run_is_taken_again_from_its_lowest_address_whatever_the_queue_says() -> None:
    engine = Mirrored(num_blocks=40, length=128, reserve="max")
    first, second, third = (engine.submit(10, max_tokens=20, name=name) for name in "abc")
    engine.step()
    assert [table(request)[0] for request in (first, second, third)] == [0, 8, 16]
    engine.engine.scheduler.abort(second)
    engine.engine.scheduler.abort(first)
    fourth = engine.submit(10, max_tokens=20)
    engine.step()
    assert engine.pool.queue.walk()[0] == 24, "the queue's head is another block"
    assert table(fourth) == [0]
    assert engine.pool.arena.runs() == [(8, 8), (24, 16)]  # type: ignore[attr-defined]
    engine.run()
    engine.assert_nothing_leaks()


def test_each_of_several_samples_has_its_own_run_and_computes_the_prompt_into_it() -> None:
    engine = Mirrored(num_blocks=64, length=256, reserve="exact")
    request = engine.submit(40, max_tokens=20, n=3)
    engine.step()
    assert [sequence.ahead.stop for sequence in request.live] == [4, 8, 12]
    created = engine.decisions(SequenceCreated)
    assert [(one.index, one.parent) for one in created] == [(0, None), (1, 0), (2, 0)]
    assert [sequence.computed for sequence in request.live] == [40, 0, 0]
    engine.step()
    assert [sequence.computed for sequence in request.live] == [41, 41, 41]
    assert [sequence.table for sequence in request.live] == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]
    engine.run()
    operations = engine.operations()
    assert operations["allocate", "reserve"] == 12
    assert operations["free", "finished"] == 12
    assert {kind for kind, _ in operations} == {"allocate", "fill", "free"}
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("reserve", RESERVE)
def test_samples_are_the_tokens_that_paged_memory_gives(reserve: str) -> None:
    def answers(reserve: str | None, budget: int) -> list[list[int]]:
        engine = Mirrored(num_blocks=64, length=256, budget=budget, seqs=8, reserve=reserve, eos_every=15)
        engine.submit(tokens(5, 50), max_tokens=40, n=4, seed=3, ignore_eos=False)
        engine.run()
        engine.assert_nothing_leaks()
        found: list[list[int]] = [[] for _ in range(4)]
        index = {one.sequence: one.index for one in engine.decisions(SequenceCreated)}
        for sealed in engine.sealed:
            if isinstance(sealed, SealedStep):
                for sequence, token in zip(sealed.sampled, sealed.sampled_tokens, strict=True):
                    found[index[sequence]].append(token)
        return found

    paged = answers(None, 2048)
    assert len({len(answer) for answer in paged}) > 1, "they end at different lengths"
    assert answers(reserve, 2048) == paged
    assert answers(reserve, 11) == paged, "in chunks"


# -- who waits --------------------------------------------------------------------------------------------------------


def test_fragmentation_is_a_wait_although_the_free_sum_would_do() -> None:
    engine = Mirrored(num_blocks=20, length=320, reserve="exact")
    # 4, 6, 4 and 6 blocks side by side; then the two of 4 end.
    shapes = [(60, 5), (60, 30), (60, 5), (60, 30)]
    engine_requests = [engine.submit(prompt, max_tokens=output) for prompt, output in shapes]
    engine.step(5)
    assert [request.state for request in engine_requests] == [None, "running", None, "running"]
    late = engine.submit(80, max_tokens=17)
    engine.step()
    [waiting] = engine.decisions(Waiting)
    assert (waiting.request, waiting.reason) == (late.id, "fragmentation")
    assert (waiting.needs, waiting.free, waiting.largest) == (6, 8, 4)
    engine.step(5)
    assert len(engine.decisions(Waiting)) == 1, "told once"
    engine.run()
    assert len(engine.decisions(Admitted)) == 5
    engine.assert_nothing_leaks()
    engine.undo_all()


def test_who_needs_more_than_is_free_waits_for_blocks_and_others_behind_it() -> None:
    engine = Mirrored(num_blocks=16, length=128, reserve="max")
    for _ in range(4):
        engine.submit(10, max_tokens=8)
    engine.step()
    waiting = engine.decisions(Waiting)
    assert [(one.reason, one.needs, one.free, one.largest, one.behind) for one in waiting] == [
        ("blocks", 8, 0, None, None),
        ("behind", None, None, None, 2),
    ]
    engine.run()
    assert len(engine.decisions(Finished)) == 4


def test_all_samples_get_their_runs_or_none_does() -> None:
    engine = Mirrored(num_blocks=20, length=64, reserve="max")
    held = engine.submit(10, max_tokens=6)
    both = engine.submit(10, max_tokens=3, n=2, name="both")
    engine.step()
    assert (held.state, both.state) == ("running", "running")
    three = engine.submit(10, max_tokens=3, n=3)
    engine.step()
    [waiting] = engine.decisions(Waiting)
    assert (waiting.reason, waiting.needs, waiting.free) == ("blocks", 12, 8)
    assert three.live == []
    engine.run()
    engine.assert_nothing_leaks()


@pytest.mark.parametrize(
    ("reserve", "n", "message", "needs"),
    [
        ("max", 1, "it reserves 32 blocks in one run; the pool has 24", 32),
        ("power-of-two", 1, "it reserves 26 blocks in one run; the pool has 24", 26),
        (
            "power-of-two",
            2,
            "each of its 2 sequences reserves 26 blocks in one run, together 52; the pool has 24",
            52,
        ),
        (
            "exact",
            2,
            "each of its 2 sequences reserves 19 blocks in one run, together 38; the pool has 24",
            38,
        ),
    ],
)
def test_what_can_never_fit_is_refused_at_once_with_the_numbers(
    reserve: str, n: int, message: str, needs: int
) -> None:
    engine = Mirrored(num_blocks=24, length=512, reserve=reserve)
    request = engine.submit(160, max_tokens=140, n=n)
    assert request.state is None
    engine.step()
    [refused] = engine.decisions(Refused)
    assert (refused.message, refused.needs, refused.has, refused.unit) == (message, needs, 24, "blocks")
    engine.assert_nothing_leaks()


def test_exactly_as_much_as_there_is_fits() -> None:
    engine = Mirrored(num_blocks=24, length=512, reserve="exact")
    request = engine.submit(150, max_tokens=43, n=2)
    assert request.worst_case_blocks(16) == 24
    engine.run()
    assert len(engine.decisions(Finished)) == 1


# -- ends -------------------------------------------------------------------------------------------------------------


def test_nobody_is_preempted_whatever_the_priorities() -> None:
    engine = Mirrored(num_blocks=24, length=128, reserve="max", policy="priority")
    calm = [engine.submit(30, max_tokens=90, priority=2) for _ in range(3)]
    engine.step(3)
    urgent = engine.submit(30, max_tokens=4, priority=0)
    engine.step(5)
    assert [request.state for request in calm] == ["running"] * 3
    assert urgent.state == "waiting"
    engine.run()
    assert engine.decisions(Preempted) == []
    other = engine.submit(30, max_tokens=4)
    engine.step()
    with pytest.raises(AssertionError, match="has all its blocks reserved"):
        engine.roster.preempt(other, other, 0)


def test_aborts_drops_and_failures_give_back_whole_runs() -> None:
    runner = ScriptedRunner()
    runner.eos_every = 6
    engine = Mirrored(num_blocks=60, length=160, reserve="max", runner=runner, budget=40, seqs=12)
    several = engine.submit(50, max_tokens=30, n=3, ignore_eos=False, seed=2)
    waiting = engine.submit(50, max_tokens=30, n=6)
    engine.step(2)
    engine.engine.scheduler.abort(waiting, "a test")
    engine.run()
    assert several.state is None
    assert engine.operations()["free", "dropped"] == 20
    half_computed = engine.submit(90, max_tokens=5, n=2)
    engine.step()
    engine.engine.scheduler.abort(half_computed)
    engine.submit(20, max_tokens=5, n=2)
    runner.fail_with = RuntimeError("a test")
    engine.step()
    assert engine.engine.idle
    engine.step()
    reasons = [end.reason for end in engine.decisions(Finished)]
    assert reasons[-1] == "error"
    assert len(engine.decisions(Aborted)) == 2
    engine.assert_nothing_leaks()
    assert engine.pool.arena.runs() == [(0, 60)]  # type: ignore[attr-defined]
    engine.undo_all()


def test_single_blocks_are_neither_given_nor_shared() -> None:
    pool = ContiguousPool(16, 16, Ledger(lambda sealed: None), Reservation("max", 64))
    run = pool.reserve(4, 0)
    with pytest.raises(AssertionError, match="1 blocks are asked of a contiguous pool one by one"):
        pool.allocate(1, Cause.decode, 0, 4)
    with pytest.raises(
        AssertionError, match=r"blocks \[0\] of a contiguous pool can't be shared by sequence 1"
    ):
        pool.fork([0], 1)
    with pytest.raises(AssertionError, match=r"\[0, 2\] is no run of blocks"):
        pool.let_go([0, 2], Cause.finished, 0)
    with pytest.raises(AssertionError, match="the largest free one has 12"):
        pool.reserve(13, 1)
    assert pool.num_free == pool.arena.free_blocks == 12
    pool.let_go(run, Cause.finished, 0)
    assert pool.num_free == 16
    assert blocks_for(64, 16) == pool.reserved_blocks(1, 1)


def test_a_beam_search_is_refused_by_name() -> None:
    engine = Mirrored(64, 16, reserve="max")
    with pytest.raises(
        ValueError, match="beam_width = 3: beams share blocks, and contiguous memory shares none"
    ):
        engine.submit(40, max_tokens=8, beam_width=3)
    assert not engine.roster.requests
