"""The engine: the loop's one turn.

    schedule ──▶ run ──▶ update ──▶ seal            one step, one record
    slots, blocks   tokens   forks, ends   to the ledger's sink

What happens between two steps (a request comes in, one is aborted) is told by the next step's record.
"""

import logging
from dataclasses import dataclass, field

from kvarium_engine.audit import Auditor, default_interval
from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.contiguous import ContiguousPool
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.memory.reservation import RESERVE, Reservation
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.contiguous_scheduler import ContiguousScheduler
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.step_plan import Runner, StepPlan
from kvarium_ledger.ledger import Ledger, StepTimes
from kvarium_ledger.records import Keyframe

log = logging.getLogger(__name__)

MEMORY_BACKENDS = ("paged", "contiguous")
"""``paged``: a block when one is needed. ``contiguous``: a run of blocks a sequence, reserved at admission."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's sizes and rules by vLLM's names; ``audit_interval`` is in steps (0: one that costs under 1 %).

    ``memory_backend`` is one of :data:`MEMORY_BACKENDS`; ``reserve``, one of :data:`RESERVE`, is of the contiguous one, which
    has no prefix cache and no ``free_order``. Raises :class:`ValueError` for what can't be.
    """

    num_blocks: int
    block_size: int = 16
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    enable_prefix_caching: bool = True
    free_order: str = "lru"
    hash_seed: str = "0"
    tell_hashes: bool = False
    audit_interval: int = 0
    memory_backend: str = "paged"
    reserve: str = "max"

    def __post_init__(self) -> None:
        if self.audit_interval < 0:
            raise ValueError(f"audit_interval must not be negative, it is {self.audit_interval}")
        if self.memory_backend not in MEMORY_BACKENDS:
            raise ValueError(
                f"memory_backend is one of {', '.join(MEMORY_BACKENDS)}, not {self.memory_backend!r}"
            )
        if self.reserve not in RESERVE:
            raise ValueError(f"reserve is one of {', '.join(RESERVE)}, not {self.reserve!r}")
        if self.memory_backend == "contiguous" and self.enable_prefix_caching:
            raise ValueError("a contiguous cache shares no blocks: it has no prefix cache")

    @property
    def reservation(self) -> str | None:
        """How memory is reserved; None: it is paged, and nothing is."""
        return self.reserve if self.memory_backend == "contiguous" else None


class Engine:
    """A pool, a scheduler and a runner, with a ledger whose ``sink`` gets what is sealed.

    The first thing in the sink is a keyframe: the state before step 0.
    """

    def __init__(self, config: EngineConfig, runner: Runner, ledger: Ledger) -> None:
        self.config = config
        self.runner = runner
        self.ledger = ledger
        self.scheduler = make_scheduler(config, runner, ledger)
        self.pool: BlockPool = self.scheduler.pool
        self.auditor = Auditor(self.pool, self.scheduler.roster)
        self.audit_interval = config.audit_interval or default_interval(config.num_blocks)
        self.step_ns = 0
        """How long the last step took."""
        self.seal_ns = 0
        """How long the last step's record took to be sealed."""
        self.slices = 0
        """How many calls of the ledger the last step took."""
        self._op = 0
        self.ledger.keyframe(self.snapshot())

    @property
    def steps(self) -> int:
        """How many steps were sealed."""
        return self.ledger.step + 1

    @property
    def idle(self) -> bool:
        """No request is in the engine."""
        return self.scheduler.idle

    def snapshot(self) -> Keyframe:
        """The whole state of the real objects, between two steps."""
        ledger = self.ledger
        now = ledger.now()
        return self.auditor.keyframe(ledger.step, ledger.op, now, ledger.utc_us + now // 1000)

    def keyframe(self, forget: bool = False) -> None:
        """Hand a keyframe to the ledger.

        What was done since the last step (a submission, an abort) is in no record yet: a step is sealed first then.
        ``forget``: records were lost, and with them the contents that the keyframe does not list.
        """
        if self.ledger.pending:
            self.step_without_work()
        if forget and self.pool.cache is not None:
            self.pool.cache.forget_unheld()
        self.ledger.keyframe(self.snapshot())

    def step(self) -> StepPlan:
        """Schedule, run, update and seal one step. A runner's exception ends the step's requests, not the engine."""
        now = self.ledger.now
        start = now()
        plan = self.scheduler.schedule()
        scheduled = now()
        tokens: list[int] | None = None
        failure = ""
        try:
            if not plan.empty:
                tokens = self.runner.execute(plan)
        except Exception as error:
            log.exception("the forward of step %d failed", plan.step)
            failure = f"{type(error).__name__}: {error}"
        ran = now()
        if tokens is not None:
            self.scheduler.update(plan, tokens)
        elif failure:
            self.scheduler.fail(plan, failure)
        times = StepTimes(start, scheduled - start, ran - scheduled, now() - ran)
        self._seal(times, plan.tokens)
        return plan

    def step_without_work(self) -> None:
        """Seal a step that computes nothing, only to record what was done since the last one."""
        self._seal(StepTimes(self.ledger.now(), 0, 0, 0), 0)

    def _seal(self, times: StepTimes, tokens: int) -> None:
        ledger = self.ledger
        begin = ledger.now()
        due = (ledger.step + 2) % self.audit_interval == 0
        audit = self.auditor.digest() if due else None
        self.slices = ledger.slices
        ledger.seal(times, tokens, self.config.scheduler.max_num_batched_tokens, self._op, audit)
        self._op = ledger.op
        end = ledger.now()
        self.seal_ns = end - begin
        self.step_ns = end - times.start

    def abort_all(self, asked_by: str) -> None:
        """End every request."""
        for request in list(self.scheduler.roster.requests.values()):
            self.scheduler.abort(request, asked_by)

    def close(self, asked_by: str = "") -> None:
        """End every request, record that, and close the runner. The sink stays open: its owner closes it."""
        self.abort_all(asked_by)
        if self.ledger.pending:
            self.step_without_work()
        self.runner.close()


def make_scheduler(config: EngineConfig, runner: Runner, ledger: Ledger) -> Scheduler:
    """A fresh pool of the kind that is asked for, and its scheduler."""
    blocks, size, limits = config.num_blocks, config.block_size, config.scheduler
    if config.memory_backend == "contiguous":
        runs = ContiguousPool(blocks, size, ledger, Reservation(config.reserve, limits.max_model_len))
        return ContiguousScheduler(limits, runs, ledger, runner.eos_tokens, runner.vocabulary)
    cache = None
    if config.enable_prefix_caching:
        cache = PrefixCache(
            size, config.hash_seed, remember=max(1 << 18, blocks // 2), hashing=config.tell_hashes
        )
    pool = BlockPool(blocks, size, ledger, cache, config.free_order)
    return Scheduler(limits, pool, ledger, runner.eos_tokens, runner.vocabulary)
