"""The scheduler of the contiguous baseline: who is admitted gets all its memory at once, and keeps it to its end.

    the head of the waiting queue needs 8 blocks in one run

    free runs 3, 4          7 blocks are free    it waits for blocks
    free runs 3, 8, 4      15 are free           it is admitted
    free runs 3, 5, 4      12 are free           it waits: fragmentation, the largest run has 5

All else (continuous batching, chunks, priorities, ends) is as with paged memory. Several samples of one prompt have a run
each: the first computes the prompt, of whose logits all of them get their first token, as ever; then each of the others
computes the prompt again into its own run. A beam search, which forks at each step, is refused: without sharing each fork
would copy all that its parent holds.
"""

from kvarium_engine.memory.contiguous import ContiguousPool
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.forks import Forks
from kvarium_engine.scheduling.request import Request, Stage
from kvarium_engine.scheduling.run_writer import RunWriter
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_engine.vocabulary import Vocabulary
from kvarium_ledger.ledger import Ledger


class _RunForks(Forks):
    """Sequences with runs of their own fork nothing."""

    def samples(self, request: Request) -> list[Sequence]:
        """The prompt is computed once: the other sequences, which are there already, go on by themselves."""
        request.started = True
        request.stage = Stage.own
        return request.live


class ContiguousScheduler(Scheduler):
    """Requests in, plans out, on a :class:`ContiguousPool`."""

    pool: ContiguousPool

    def __init__(
        self,
        config: SchedulerConfig,
        pool: ContiguousPool,
        ledger: Ledger,
        eos_tokens: frozenset[int] = frozenset(),
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(config, pool, ledger, eos_tokens, vocabulary)
        self.slots = RunWriter(pool, ledger)
        self.forks = _RunForks(pool, self.roster, eos_tokens)

    def check(self, params: SamplingParams) -> None:
        """Beams live by sharing: raises :class:`ValueError` for a search of them, too."""
        if params.beam_width is not None:
            raise ValueError(
                f"beam_width = {params.beam_width}: beams share blocks, and contiguous memory shares none; the engine "
                "searches with --memory-backend paged"
            )
        super().check(params)

    def _begin(self, request: Request, budget: int, plan: StepPlan) -> bool:
        """Admit one request, with a run for each of its sequences and its first chunk; False when there is no room."""
        pool, roster = self.pool, self.roster
        n, blocks = request.params.n, request.reserved_blocks
        if not pool.arena.fits(n, blocks):
            if n * blocks > pool.num_free:
                roster.wait(request, "blocks", n * blocks, pool.num_free)
            else:
                roster.wait(request, "fragmentation", n * blocks, pool.num_free, largest=pool.arena.largest)
            return False
        roster.admit(request, request.prompt_tokens, 0, False, None)
        for _ in range(1, n):
            request.live.append(roster.create_sequence(request, request.first))
        for sequence in request.live:
            sequence.ahead = pool.reserve(blocks, sequence.id)
        self._write(request, request.live[0], min(request.prompt_tokens, budget), plan)
        return True
