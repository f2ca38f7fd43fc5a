"""Anything that can be asked of an engine with contiguous memory, in any order, beside a naive arena of flags."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from kvarium_engine.memory.contiguous import ContiguousPool
from kvarium_engine.memory.reservation import RESERVE
from kvarium_ledger.decisions import Preempted, Waiting
from kvarium_ledger.ledger import SealedStep
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
        blocks=st.integers(4, 40),
        size=st.sampled_from([1, 2, 4, 8]),
        budget=st.integers(6, 40),
        seqs=st.integers(1, 6),
        policy=st.sampled_from(["fcfs", "priority"]),
        reserve=st.sampled_from(RESERVE),
        length=st.integers(20, 60),
    )
    def start(
        self, blocks: int, size: int, budget: int, seqs: int, policy: str, reserve: str, length: int
    ) -> None:
        self.runner = ScriptedRunner()
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

    @invariant()
    def each_sequence_holds_one_run_of_what_was_reserved(self) -> None:
        pool = self.engine.pool
        assert isinstance(pool, ContiguousPool)
        for request in self.engine.roster.running:
            assert len(request.live) == request.width
            for sequence in request.live:
                begin = sequence.held[0]
                assert sequence.held == list(range(begin, begin + request.reserved_blocks))
        for request in self.engine.roster.waiting.requests():
            assert not request.live
        assert pool.arena.runs() == free_runs(self.engine)
        assert pool.arena.free_blocks == pool.num_free
        assert pool.arena.largest == max((blocks for _, blocks in free_runs(self.engine)), default=0)

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


TestContiguousMachine = ContiguousMachine.TestCase
TestContiguousMachine.settings = settings(stateful_step_count=40)
