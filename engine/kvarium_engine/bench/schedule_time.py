"""How long a step is scheduled, with more and more blocks: a steady load on pools of different sizes, in turn.

The blocks of a pool that has run for long are anywhere in memory, and nearly all of them hold content: before it begins, each
pool's free queue is shuffled, and the blocks at its head hold the content of requests that have ended, as many as will be
taken. So an allocation evicts, whatever the size. Time is CPU time of the thread, a value a step.
"""

import random
import statistics
import time
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

from kvarium_engine.bench.ledger_cost import collected
from kvarium_engine.bench.steady_load import Load, SteadyLoad
from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_ledger.ledger import Ledger, StepTimes
from kvarium_ledger.operations import NONE, Cause

_TIMES = StepTimes(0, 0, 0, 0)


class Sizes(NamedTuple):
    """``pools``: their blocks; ``steps`` of each are timed, behind ``warm_up``."""

    pools: tuple[int, ...]
    load: Load
    steps: int
    warm_up: int


class Scheduled:
    """An engine of one size. ``ms``: what scheduling took, a value a step."""

    def __init__(self, num_blocks: int, load: Load, requests: list[Any], labelled: int) -> None:
        limits = SchedulerConfig(max_num_seqs=load.sequences)
        config = EngineConfig(num_blocks, scheduler=limits)
        self.engine = Engine(config, NullRunner(), Ledger(lambda sealed: None))
        self._shuffle(min(labelled, num_blocks))
        self._feeding = SteadyLoad(load.sequences, requests)
        self.ms: list[float] = []

    def _shuffle(self, labelled: int) -> None:
        """All blocks are taken and come back in any order; the first ``labelled`` of them hold something."""
        engine = self.engine
        pool, size = engine.pool, engine.pool.block_size
        table = pool.allocate(pool.num_blocks, Cause.prefill, 0, 0)
        random.Random(0).shuffle(table)
        held = table[-labelled:]
        pool.fill(held, Cause.prefill, 0, [0] * labelled, [size] * labelled)
        for number, block in enumerate(held):
            pool.label([block], NONE, array("I", [number] * size).tobytes())
        pool.let_go(table, Cause.finished, 0)
        engine.ledger.seal(_TIMES, 0, 0, 0)

    def step(self) -> None:
        """Take a step."""
        engine = self.engine
        scheduler, ledger = engine.scheduler, engine.ledger
        self._feeding.feed(engine)
        began = time.thread_time_ns()
        plan = scheduler.schedule()
        self.ms.append((time.thread_time_ns() - began) / 1e6)
        scheduler.update(plan, engine.runner.execute(plan))
        ledger.seal(_TIMES, plan.tokens, 0, ledger.op)

    def facts(self) -> dict[str, Any]:
        """All of it by name."""
        ordered = sorted(self.ms)
        return {
            "num_gpu_blocks": self.engine.pool.num_blocks,
            "p50": round(statistics.median(ordered), 4),
            "p99": round(ordered[len(ordered) * 99 // 100], 4),
        }


def schedule_times(sizes: Sizes, report: Callable[[float], None] = lambda done: None) -> list[dict[str, Any]]:
    """The time of a step's schedule in ms, median and 99th percentile, for each size of the pool."""
    load, steps = sizes.load, sizes.warm_up + sizes.steps
    requests = load.requests(steps, NullRunner.vocab_size)
    labelled = load.sequences * (2 + 3 * steps // load.output) * (load.longest // 16 + 1)
    every = [Scheduled(blocks, load, requests, labelled) for blocks in sizes.pools]
    with collected():
        for number in range(steps):
            for turn in range(len(every)):
                every[(number + turn) % len(every)].step()
            if number == sizes.warm_up:
                for each in every:
                    each.ms.clear()
            report((number + 1) / steps)
    return [each.facts() for each in every]
