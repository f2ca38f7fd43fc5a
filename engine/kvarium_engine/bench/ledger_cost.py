"""What the ledger costs on the engine's thread: the same engine with it and without it, in turn, on the same requests.

    with       ████▌   ████▌   ████▌        a round of steps each, the order turned from round to round; a round's time is
    without    ████    ████    ████         CPU time of the engine's thread, so that who else uses the machine counts little
    without    ████    ████    ████         the spread: what two that do the same differ by

*With* is what an engine beside a backend has: the summary's tally, the link's queue and its encoder on a thread of its own (no
backend answers, all is kept). *Without* is a ledger whose calls do nothing. That difference lacks what is done for the
ledger before it is called, and audits, which are rare. Both are measured apart and added::

    recording    with - without: the calls, sealing, the queue, the collector's work for it
    arguments    what one step told, made again: decisions, columns of tickets and fills, the call itself
    audits       the digest of the real objects, once in so many steps: its time over the interval

The digest of each record, columns and bytes are the encoder's, on its own thread: that thread's time is told as well.
"""

import gc
import statistics
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from kvarium_engine.audit import default_interval
from kvarium_engine.bench.steady_load import Load, SteadyLoad
from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.step_plan import Runner, StepPlan
from kvarium_engine.tally import Tally
from kvarium_ledger.ledger import Ledger, Sealed, SealedStep, StepTimes
from kvarium_ledger.link import Link
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION

NOBODY = "ws://127.0.0.1:9/api/engine"
"""No backend listens there."""
KEPT_BYTES = 4 << 30
_NEVER = 1 << 40


class Unrecorded(Ledger):
    """A ledger that records nothing; it counts steps, as the scheduler asks for them."""

    def seal(self, times: StepTimes, tokens: int, budget: int, op: int, audit: Any = None) -> None:
        """A step ends."""
        self.step += 1


def _nothing(*args: Any, **named: Any) -> None:
    """What a call of :class:`Unrecorded` does."""


for _verb in [
    "allocate",
    "prefill",
    "prefill_one",
    "evict",
    "reuse",
    "reuse_one",
    "share",
    "share_one",
    "pin",
    "copy",
    "fill",
    "cache",
    "release",
    "release_one",
    "free",
    "free_one",
    "free_table",
    "unpin_release",
    "unpin_free",
    "decide",
    "contents",
    "prompt",
    "sampled",
    "control",
    "note",
    "keyframe",
]:
    assert callable(getattr(Ledger, _verb)), f"the ledger has no {_verb}"
    setattr(Unrecorded, _verb, _nothing)


class _Forward:
    """A runner whose time is kept apart: ``cpu_ns`` of the engine's thread."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.cpu_ns = 0
        for name in Runner.__annotations__:
            setattr(self, name, getattr(runner, name))

    def execute(self, plan: StepPlan) -> list[int]:
        began = time.thread_time_ns()
        tokens = self._runner.execute(plan)
        self.cpu_ns += time.thread_time_ns() - began
        return tokens

    def close(self) -> None:
        self._runner.close()


class Contender:
    """An engine in the comparison. ``cpu_us``, ``wall_us``: of a step, a value a round; in ``cpu_us`` no forward is.

    ``after`` is called after each step.
    """

    def __init__(
        self,
        config: EngineConfig,
        runner: Runner,
        ledger: Ledger,
        feeding: SteadyLoad,
        link: Link | None = None,
    ) -> None:
        self._forward = _Forward(runner)
        self.engine = Engine(config, cast(Runner, self._forward), ledger)
        self._feeding = feeding
        self._link = link
        self.after: Callable[[], None] | None = None
        self.cpu_us: list[float] = []
        self.wall_us: list[float] = []

    def round(self, steps: int, timed: bool = True) -> None:
        """Take ``steps`` steps; whatever they left to other threads is done when this returns."""
        engine, feed, after = self.engine, self._feeding.feed, self.after
        before = self._forward.cpu_ns
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for _ in range(steps):
            feed(engine)
            engine.step()
            if after is not None:
                after()
        cpu = time.thread_time_ns() - cpu - (self._forward.cpu_ns - before)
        wall = time.perf_counter_ns() - wall
        if timed:
            self.cpu_us.append(cpu / 1000 / steps)
            self.wall_us.append(wall / 1000 / steps)
        while self._link is not None and self._link.pending_records and self._link.failed is None:
            time.sleep(0.0005)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is compared: an engine of ``num_blocks``, its load, and how long."""

    num_blocks: int
    load: Load
    rounds: int
    steps: int
    warm_up: int

    @property
    def config(self) -> EngineConfig:
        """Its sizes; audits are measured apart."""
        limits = SchedulerConfig(max_num_seqs=self.load.sequences)
        return EngineConfig(self.num_blocks, scheduler=limits, audit_interval=_NEVER)


def compare(
    trial: Trial,
    make: Callable[[], Runner],
    report: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:
    """The ledger's cost a step, by its parts, in µs of the engine's thread, and the steps' times. ``make`` makes runners."""
    kept: list[SealedStep] = []
    keeping = False
    tally = Tally()

    def sink(sealed: Sealed) -> None:
        tally.count(sealed)
        link.put(sealed)
        if keeping and isinstance(sealed, SealedStep):
            kept.append(sealed)

    config, load = trial.config, trial.load
    runners = [make() for _ in range(3)]
    steps = trial.warm_up + (trial.rounds + 1) * trial.steps
    requests = load.requests(steps, min(runner.vocab_size for runner in runners))
    link = Link(NOBODY, "", _hello(config), bound_bytes=KEPT_BYTES, pieces=runners[0].vocabulary)
    link.start()

    def contender(number: int, ledger: Ledger, its_link: Link | None = None) -> Contender:
        feeding = SteadyLoad(load.sequences, requests)
        return Contender(config, runners[number], ledger, feeding, its_link)

    recorded = contender(0, Ledger(sink), link)
    plain, again = (contender(number, Unrecorded(lambda sealed: None)) for number in (1, 2))
    every = [recorded, plain, again]
    with collected():
        for each in every:
            each.round(trial.warm_up, timed=False)
        for turn in range(trial.rounds):
            for number in range(3):
                every[(turn + number) % 3 if turn % 2 else (turn - number) % 3].round(trial.steps)
            report((turn + 1) / trial.rounds)
        operations = recorded.engine.ledger.op
        keeping = True
        recorded.round(trial.steps, timed=False)
        operations = recorded.engine.ledger.op - operations
        told = _told_us(kept)
        audit = _audit_us(recorded.engine) / default_interval(trial.num_blocks)
    same = [list(each.engine.pool.state.generation) for each in (plain, again)]
    assert same[0] == same[1], "two engines that were fed alike did not do the same"
    link.close(timeout=0.0)
    recording = [on - off for on, off in zip(recorded.cpu_us, plain.cpu_us, strict=True)]
    noise = [off - other for off, other in zip(again.cpu_us, plain.cpu_us, strict=True)]
    step = statistics.median(plain.wall_us)
    total = statistics.median(recording) + told + audit
    return {
        "num_gpu_blocks": trial.num_blocks,
        "sequences": load.sequences,
        "rounds": trial.rounds,
        "steps_a_round": trial.steps,
        "operations_a_step": round(operations / trial.steps, 1),
        "us_per_step": round(total, 2),
        "recording_us": told_spread(recording),
        "off_against_off_us": told_spread(noise),
        "arguments_us": round(told, 2),
        "audits_us": round(audit, 3),
        "engine_us": round(statistics.median(plain.cpu_us), 1),
        "step_us": round(step, 1),
        "step_on_off_percent": told_spread(_percent(recorded.wall_us, plain.wall_us)),
        "step_off_off_percent": told_spread(_percent(again.wall_us, plain.wall_us)),
        "step_percent": round(100 * total / step, 4),
    }


def _percent(ours: list[float], theirs: list[float]) -> list[float]:
    return [100 * (one / other - 1) for one, other in zip(ours, theirs, strict=True)]


def told_spread(values: list[float]) -> dict[str, float]:
    """The median of some rounds, and between what nine tenths of them lie."""
    ordered = sorted(values)
    edge = len(ordered) // 20
    return {
        "p50": round(statistics.median(ordered), 2),
        "p5": round(ordered[edge], 2),
        "p95": round(ordered[-1 - edge], 2),
    }


@contextmanager
def collected() -> Iterator[None]:
    """The garbage collector as an engine's process has it: what was there before is none of its business."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _hello(config: EngineConfig) -> Hello:
    return Hello(
        version=VERSION,
        session="",
        utc_us=0,
        num_blocks=config.num_blocks,
        block_size=config.block_size,
        engine="kvarium",
        model="none",
        runner="null",
        device="cpu",
    )


def _audit_us(engine: Engine) -> float:
    """What a digest of the real objects takes."""
    times = []
    for _ in range(5):
        began = time.thread_time_ns()
        engine.auditor.digest()
        times.append(time.thread_time_ns() - began)
    return statistics.median(times) / 1000


def _told_us(steps: list[SealedStep]) -> float:
    """What a step's arguments cost: all that ``steps`` told, made again, value by value."""
    decisions = [(type(each), msgspec.structs.asdict(each)) for step in steps for each in step.decisions]
    slices = [
        (tuple(part), [*part.extra, part.sequences, part.positions]) for step in steps for part in step.slices
    ]
    columns = [[list(each) for each in lists if not isinstance(each, int)] for _, lists in slices]
    sampled = [step.sampled for step in steps]
    contents = [told for step in steps for told in step.plain_contents]
    prompts = [array("I", prompt.tokens) for step in steps for prompt in step.prompts]
    times = []
    for _ in range(5):
        began = time.thread_time_ns()
        for kind, fields in decisions:
            _nothing(kind(**fields))
        for (call, _), lists in zip(slices, columns, strict=True):
            for column in lists:
                made: list[Any] = []
                for value in column:
                    made.append(value)  # noqa: PERF402 - as the engine does
            _nothing(*call)
        for sequences in sampled:
            _nothing([sequence for sequence in sequences])  # noqa: C416
        for told in contents:
            _nothing(*told)
        for prompt in prompts:
            _nothing(prompt.tobytes())
        times.append(time.thread_time_ns() - began)
    return statistics.median(times) / 1000 / len(steps)
