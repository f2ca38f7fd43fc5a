"""The seeded mix: everything happens, the same for the same seed, and nothing leaks."""

import pytest

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.tally import Tally
from kvarium_engine.workload.mix import Mix
from kvarium_ledger.ledger import Ledger, SealedStep
from tests.engine.mirrored import Mirrored


def mixed(num_blocks: int, steps: int, seqs: int, budget: int, seed: int = 0) -> tuple[Engine, Tally]:
    tally = Tally()
    config = EngineConfig(num_blocks, scheduler=SchedulerConfig(budget, seqs, num_blocks * 16))
    engine = Engine(config, NullRunner(seed, eos_every=40), Ledger(tally.count))
    mix = Mix(num_blocks, 16, seqs, seed)
    for _ in range(steps):
        mix.feed(engine)
        engine.step()
    return engine, tally


@pytest.mark.parametrize(
    ("num_blocks", "seqs", "budget", "steps"), [(512, 256, 2048, 2500), (30_000, 256, 2048, 1500)]
)
def test_each_kind_of_operation_is_at_least_1_percent_and_fills_are_at_most_60(
    num_blocks: int, seqs: int, budget: int, steps: int
) -> None:
    _, tally = mixed(num_blocks, steps, seqs, budget)
    total = sum(tally.operations.values())
    shares = {name: count / total for name, count in tally.operations.items()}
    assert min(shares.values()) >= 0.01, shares
    assert shares["fill"] <= 0.60


def test_requests_are_aborted_preempted_refused_forked_and_dropped() -> None:
    _, tally = mixed(512, 1500, 256, 2048)
    for name in ("aborted", "preempted", "refused", "sequence_dropped", "finished", "waiting"):
        assert tally.decisions[name] >= 5, tally.decisions


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
@pytest.mark.parametrize("free_order", ["lru", "unhashed-first"])
def test_the_mirror_agrees_with_a_mix_forwards_and_backwards_and_nothing_leaks(
    policy: str, free_order: str, seed: int
) -> None:
    engine = Mirrored(
        num_blocks=96, budget=256, seqs=48, policy=policy, free_order=free_order, seed=seed, eos_every=40,
        audit_interval=64,
    )  # fmt: skip
    mix = Mix(96, 16, 48, seed)
    for _ in range(250):
        mix.feed(engine.engine)
        engine.step()
    engine.engine.close("the end of the test")
    assert engine.mirror() == []
    engine.assert_nothing_leaks()
    engine.undo_all()


def test_a_seed_gives_the_same_ledger_and_another_seed_another() -> None:
    def ledger(seed: int) -> list[object]:
        sealed: list[object] = []

        def keep(part: object) -> None:
            if isinstance(part, SealedStep):
                sealed.append((part.slices, part.decisions, part.sampled_tokens, part.contents))

        config = EngineConfig(128, scheduler=SchedulerConfig(512, 64, 2048))
        engine = Engine(config, NullRunner(seed, eos_every=40), Ledger(keep))
        mix = Mix(128, 16, 64, seed)
        for _ in range(120):
            mix.feed(engine)
            engine.step()
        return sealed

    assert ledger(1) == ledger(1)
    assert ledger(1) != ledger(2)


def test_a_tiny_pool_and_a_single_sequence_will_do() -> None:
    for blocks, seqs in ((1, 1), (2, 1), (5, 3)):
        engine = Mirrored(num_blocks=blocks, seqs=seqs, budget=64)
        mix = Mix(blocks, 16, seqs)
        for _ in range(60):
            mix.feed(engine.engine)
            engine.step()


def test_the_decodes_of_a_step_are_told_in_a_handful_of_slices() -> None:
    slices: list[int] = []
    engine = Engine(
        EngineConfig(4096, scheduler=SchedulerConfig(8192, 256, 1024)),
        NullRunner(),
        Ledger(lambda part: slices.append(len(part.slices)) if isinstance(part, SealedStep) else None),
    )
    from kvarium_engine.scheduling.sampling_params import SamplingParams
    from tests.engine.mirrored import tokens

    for i in range(256):
        engine.scheduler.submit(tokens(i, 20 + i % 16), SamplingParams(max_tokens=100, ignore_eos=True))
    while len(engine.scheduler.roster.waiting):
        engine.step()
    slices.clear()
    for _ in range(40):
        plan = engine.step()
        assert len(plan.decodes) == 256
    assert max(slices) <= 4, "allocate, fill, cache (and evict)"


@pytest.mark.parametrize("num_blocks", [1, 2, 3, 8, 64, 512])
@pytest.mark.parametrize("block_size", [1, 2, 4, 8, 16, 32, 64, 128, 256])
def test_every_block_size_on_every_pool_runs_and_the_mirror_agrees(block_size: int, num_blocks: int) -> None:
    engine = Mirrored(
        num_blocks, block_size, budget=2048, seqs=256, length=num_blocks * block_size, eos_every=40
    )
    mix = Mix(num_blocks, block_size, 256)
    for _ in range(60):
        mix.feed(engine.engine)
        engine.step()
    engine.engine.close("the end of the test")
    assert engine.mirror() == []
    engine.assert_nothing_leaks()
    assert engine.fold.check_all() == []
