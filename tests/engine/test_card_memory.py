"""A card's memory: what the engine's share of it leaves for keys and values, and the profiling run that measures the rest."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvarium_engine.capacity import GIB
from kvarium_engine.card_memory import CardUse, MemoryShares, kv_cache_bytes
from kvarium_engine.errors import UsageError
from kvarium_engine.model.capture_sizes import CaptureError
from kvarium_engine.model.profiling import largest_steps, measure, scratch_blocks
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.step_plan import StepPlan


def test_the_share_bounds_weights_and_activations_too() -> None:
    use = CardUse(total=80 * GIB, free=79 * GIB, weights=15 * GIB, step=2 * GIB, other=GIB)
    assert kv_cache_bytes(use, 0.5) == 40 * GIB - 18 * GIB
    assert use.told(0.5) == "0.5 of 80.00 GiB are 40.00: weights 15.00, largest step 2.00, other 1.00"
    graphs = replace(use, graphs=3 * GIB)
    assert kv_cache_bytes(graphs, 0.5) == 40 * GIB - 21 * GIB
    assert "largest step 2.00, CUDA graphs 3.00, other 1.00" in graphs.told(0.5)


def test_nothing_that_remains_is_told_with_the_numbers() -> None:
    use = CardUse(total=20 * GIB, free=20 * GIB, weights=15 * GIB, step=3 * GIB)
    with pytest.raises(UsageError) as told:
        kv_cache_bytes(use, 0.9)
    assert str(told.value) == (
        "nothing remains for keys and values: 0.9 of 20.00 GiB are 18.00: weights 15.00, largest step 3.00, other 0.00 GiB: "
        "raise --gpu-memory-utilization, or lower --max-num-batched-tokens and --max-num-seqs"
    )


@pytest.mark.parametrize(
    ("weights", "advice"),
    [(21, "take a larger card, a smaller --dtype or another model"), (19, "raise --gpu-memory-utilization")],
)
def test_what_can_not_help_is_not_advised(weights: int, advice: str) -> None:
    use = CardUse(total=20 * GIB, free=20 * GIB, weights=weights * GIB, step=0)
    with pytest.raises(UsageError) as told:
        kv_cache_bytes(use, 0.9)
    assert str(told.value).endswith(f"other 0.00 GiB: {advice}")


def test_a_card_that_others_use_is_told_with_a_share_that_works() -> None:
    use = CardUse(total=20 * GIB, free=10 * GIB, weights=GIB, step=GIB)
    with pytest.raises(UsageError, match=r"only 10\.00 GiB were free at the start: give 0\.5 or less"):
        kv_cache_bytes(use, 0.9)
    assert kv_cache_bytes(use, 0.5) == 8 * GIB


@given(
    total=st.integers(1, 1 << 40),
    shares=st.tuples(*[st.integers(0, 1 << 38)] * 4),
    utilization=st.floats(0.01, 1.0),
)
def test_the_engine_never_passes_its_share(
    total: int, shares: tuple[int, int, int, int], utilization: float
) -> None:
    use = CardUse(total, total, *shares)
    try:
        remains = kv_cache_bytes(use, utilization)
    except UsageError:
        assert use.needed >= int(total * utilization)
    else:
        assert remains > 0
        assert use.needed + remains <= total * utilization + 1


@given(
    total=st.integers(1, 1 << 40),
    parts=st.tuples(*[st.integers(0, 1 << 38)] * 4),
    step=st.none() | st.integers(0, 1 << 38),
)
def test_the_shares_that_are_told_of_a_card_are_all_of_it(
    total: int, parts: tuple[int, int, int, int], step: int | None
) -> None:
    weights, kv_cache, graphs, elsewhere = parts
    total += sum(parts)
    free = total - sum(parts)
    shares = MemoryShares.of_card(total, free, weights, kv_cache, graphs, step)
    told = [
        shares.weights,
        shares.kv_cache,
        shares.graphs,
        shares.other,
        shares.free,
        shares.activations or 0,
    ]
    assert sum(each or 0 for each in told) == shares.total == total
    assert shares.other == elsewhere
    assert shares.activations == (None if step is None else min(step, free))


# -- the profiling run ------------------------------------------------------------------------------------------------


@given(
    budget=st.integers(1, 5000),
    seqs=st.integers(1, 300),
    longest=st.integers(1, 9000),
    block_size=st.sampled_from([1, 16, 256]),
)
def test_the_largest_steps_keep_the_limits(budget: int, seqs: int, longest: int, block_size: int) -> None:
    seqs = min(seqs, budget)
    plans = largest_steps(SchedulerConfig(budget, seqs, longest), block_size)
    for plan in plans:
        assert 1 <= len(plan.prefills) <= seqs
        assert plan.tokens == sum(prefill.tokens for prefill in plan.prefills) == min(budget, plan.tokens)
        for sequence, start, tokens, samples in plan.prefills:
            assert (start, samples) == (0, 1)
            assert 1 <= tokens == len(sequence.tokens) == sequence.computed <= longest
            assert tokens <= len(sequence.table) * block_size < tokens + block_size
    chunks, prompts = plans
    assert len(prompts.prefills) == seqs
    assert chunks.tokens == min(budget, seqs * longest)
    assert scratch_blocks(plans) * block_size < min(budget, longest) + block_size


class Memory:
    """A card on which weights lie, and on which each step takes some for a while."""

    device = "cuda: a card"

    def __init__(self, total: int, taken_by_others: int) -> None:
        self.total = total
        self.others = taken_by_others
        self.tensors = self.most = self.outside = self.graphs = 0

    def free(self) -> int:
        return self.total - self.others - self.outside - self.graphs - self.tensors

    def held(self) -> int:
        return self.tensors

    def peak(self) -> int:
        return self.most

    def reset_peak(self) -> None:
        self.most = self.tensors

    def take(self, count: int) -> None:
        self.tensors += count
        self.most = max(self.most, self.tensors)


class Runner:
    """Its cache and its steps take memory: 10 bytes a token, and 1,000 a sampled one."""

    kv_bytes_per_block = 4096

    def __init__(self, memory: Memory, blocks: int) -> None:
        self.memory = memory
        self.cache = blocks * self.kv_bytes_per_block
        memory.take(self.cache)

    def execute(self, plan: StepPlan) -> list[int]:
        count = 10 * plan.tokens + 1000 * len(plan.prefills)
        self.memory.outside = 500
        self.memory.take(count)
        self.memory.take(-count)
        return []

    def capture(self, sizes: tuple[int, ...], max_model_len: int) -> None:
        """The largest graph takes 5,000 bytes of the card, each other 300, as long as they are there."""
        self.memory.graphs = 5000 + 300 * (len(sizes) - 1)

    def close(self) -> None:
        self.memory.graphs = 0
        self.memory.take(-self.cache)


class Uncapturable(Runner):
    """Its forward looks at its numbers."""

    def capture(self, sizes: tuple[int, ...], max_model_len: int) -> None:
        raise CaptureError("a decode of 8 can't be recorded")


def test_the_profiling_run_measures_the_step_alone_and_leaves_nothing() -> None:
    memory = Memory(total=10_000_000, taken_by_others=1000)
    free = memory.free()
    memory.take(70_000)
    use = measure(
        lambda blocks: Runner(memory, blocks),  # type: ignore[arg-type, return-value]
        SchedulerConfig(max_num_batched_tokens=2048, max_num_seqs=64, max_model_len=1024),
        16,
        memory,
        free,
        weights=70_000,
    )
    assert use == CardUse(10_000_000, 9_999_000, 70_000, 10 * 2048 + 1000 * 64, 500)
    assert memory.tensors == memory.most == 70_000


@pytest.mark.parametrize(("sizes", "expected"), [((8,), 5000), ((4, 8), 5300), ((1, 2, 4, 8), 5900)])
def test_graphs_are_estimated_from_the_two_largest(sizes: tuple[int, ...], expected: int) -> None:
    memory = Memory(total=10_000_000, taken_by_others=1000)
    use = measured(Runner, memory, sizes)
    assert (use.graphs, use.step) == (expected, 10 * 2048 + 1000 * 64)
    assert memory.tensors == memory.graphs == 0, "nothing of them is left"


def test_graphs_that_can_not_be_captured_take_nothing() -> None:
    use = measured(Uncapturable, Memory(total=10_000_000, taken_by_others=1000), (4, 8))
    assert use.graphs == 0


def measured(kind: type[Runner], memory: Memory, sizes: tuple[int, ...]) -> CardUse:
    limits = SchedulerConfig(max_num_batched_tokens=2048, max_num_seqs=64, max_model_len=1024)
    return measure(lambda blocks: kind(memory, blocks), limits, 16, memory, memory.free(), 0, sizes)  # type: ignore[arg-type, return-value]
