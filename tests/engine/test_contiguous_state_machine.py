"""Anything that can be asked of an engine with contiguous memory, in any order, beside a naive arena of flags."""

import random
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from kvarium_engine.memory.contiguous import ContiguousPool
from kvarium_engine.memory.reservation import RESERVE
from kvarium_ledger.decisions import Preempted, Waiting
from kvarium_ledger.ledger import SealedStep
from tests.engine.letters import Letters
from tests.engine.mirrored import Mirrored, ScriptedRunner
from tests.engine.test_state_machine import EngineMachine


def free_runs(engine: Mirrored) -> list[tuple[int, int]]:
    """(first block, blocks) of the runs of blocks that nobody holds, as the counts say."""
    taken = "".join("#" if count else "." for count in engine.pool.state.count)
    found: list[tuple[int, int]] = []
    begin = taken.find(".")
    while begin >= 0:
        end = taken.find("#", begin)
        end = end if end >= 0 else len(taken)
        found.append((begin, end - begin))
        begin = taken.find(".", end)
    return found


class ContiguousMachine(EngineMachine):
    """The rules and invariants of paged memory, and what is true of runs beside them."""

    @initialize(
        blocks=st.integers(12, 40),
        size=st.sampled_from([2, 4, 8]),
        budget=st.integers(16, 60),
        seqs=st.integers(4, 16),
        policy=st.sampled_from(["fcfs", "priority"]),
        reserve=st.sampled_from(RESERVE),
        length=st.integers(20, 80),
    )
    def start(
        self, blocks: int, size: int, budget: int, seqs: int, policy: str, reserve: str, length: int
    ) -> None:
        self.runner = ScriptedRunner(vocabulary=Letters())
        self.runner.eos_every = 12
        self.engine = Mirrored(
            num_blocks=blocks,
            block_size=size,
            budget=budget,
            seqs=seqs,
            length=length,
            policy=policy,
            reserve=reserve,
            runner=self.runner,
        )

    @rule(shapes=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 25)), min_size=2, max_size=6))
    def submit_a_crowd(self, shapes: list[tuple[int, int]]) -> None:
        for prompt, output in shapes:
            self.engine.submit(prompt, max_tokens=output)
        self.engine.step()

    @invariant()
    def the_model_has_the_same(self) -> None:
        """The naive model that takes the queue's head has no say here: that of an arena are flags."""
        pool = self.engine.pool
        assert isinstance(pool, ContiguousPool)
        runs = free_runs(self.engine)
        assert pool.arena.runs() == runs
        assert pool.arena.free_blocks == pool.num_free
        assert pool.arena.largest == max((blocks for _, blocks in runs), default=0)

    @invariant()
    def each_sequence_holds_one_run_of_what_was_reserved(self) -> None:
        for request in self.engine.roster.running:
            assert len(request.live) == request.width
            for sequence in request.live:
                begin = sequence.held[0]
                assert sequence.held == list(range(begin, begin + request.reserved_blocks))
        for request in self.engine.roster.waiting.requests():
            assert not request.live

    @invariant()
    def what_the_last_step_told_is_of_a_contiguous_cache(self) -> None:
        sealed = self.engine.sealed[-1]
        if not isinstance(sealed, SealedStep):
            return
        assert {part.kind.name for part in sealed.slices} <= {"allocate", "fill", "free"}
        for decision in sealed.decisions:
            assert not isinstance(decision, Preempted)
            if isinstance(decision, Waiting) and decision.reason in ("blocks", "fragmentation"):
                assert decision.needs is not None
                assert decision.free is not None
                assert (decision.needs > decision.free) == (decision.reason == "blocks")
                assert (decision.largest is None) == (decision.reason == "blocks")


TestContiguousMachine = pytest.mark.timeout(900)(ContiguousMachine.TestCase)
TestContiguousMachine.settings = settings(stateful_step_count=40)


def crowded(rng: random.Random, reserve: str) -> "Counter[str]":
    """400 steps of requests of all shapes; why they waited."""
    engine = Mirrored(num_blocks=60, block_size=8, length=160, budget=64, seqs=16, reserve=reserve)
    for _ in range(400):
        if len(engine.roster.waiting) < 3:
            shape = rng.randint(1, 60), rng.randint(1, 40)
            engine.submit(shape[0], max_tokens=shape[1], n=rng.choice((1, 1, 1, 2, 3)))
        if rng.random() < 0.03 and engine.roster.running:
            engine.engine.scheduler.abort(rng.choice(engine.roster.running))
        engine.step()
        assert engine.pool.arena.runs() == free_runs(engine)  # type: ignore[attr-defined]
    engine.run()
    engine.engine.close()
    engine.mirror()
    engine.assert_nothing_leaks()
    assert not engine.decisions(Preempted)
    waits = [one for one in engine.decisions(Waiting) if one.reason == "fragmentation"]
    assert all(one.largest < one.needs <= one.free for one in waits if one.largest is not None)
    return Counter(one.reason for one in engine.decisions(Waiting))


@pytest.mark.parametrize("reserve", RESERVE)
def test_a_crowd_of_all_shapes_waits_for_blocks_and_for_runs_and_leaves_nothing_behind(
    rng: random.Random, reserve: str
) -> None:
    wanted = {"blocks"} if reserve == "max" else {"blocks", "fragmentation"}
    reasons: Counter[str] = Counter()
    for _ in range(20):
        reasons += crowded(rng, reserve)
        if all(reasons[reason] > 5 for reason in wanted):
            break
    else:
        pytest.fail(f"20 crowds waited for {reasons}")
    if reserve == "max":
        assert not reasons["fragmentation"], "runs of one length leave no hole that is too short"
