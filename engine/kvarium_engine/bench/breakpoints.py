"""``kvarium bench breakpoints``: what breakpoints cost the engine, where none is set and where ten are.

    plain     ████     the engine alone: nothing is looked at between two steps
    none      ████     as an engine's process goes: it may be told to stop, and is not
    ten       ████▎    ten breakpoints of all kinds, none of which stops it
    mirror    █████    one for ``violation``: a mirror is folded beside the engine
    again     ████     as plain: what two that do the same differ by

A round of steps each, in turn, in one process; CPU time of the engine's thread without the forward, less that of *plain* in the same
round. A percentage is of the step's whole time, in a pool of 256 sequences without a model and of eight with one.
"""

import statistics
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from kvarium_engine.bench.columns import columns
from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.ledger import SIZES as LEDGER_SIZES
from kvarium_engine.bench.ledger_cost import Contender, Trial, collected, told_spread
from kvarium_engine.bench.loading import load_for_bench
from kvarium_engine.bench.steady_load import SteadyLoad
from kvarium_engine.control import Control
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.progress import Report, progress
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.tally import Tally
from kvarium_ledger.ledger import Ledger

_BLOCK_SIZE: Final = 16
_UNREACHED: Final = 1 << 52
TEN: Final = (
    "op:evict owner:r17",
    "block:42#3",
    "op:copy,share cause:fork",
    "cause:preempted",
    "seq:9 op:free",
    "decision:refused,aborted",
    "preempted>2",
    "waiting>30s",
    "usage>98% or free<4",
    "hit_rate<1% step:100..",
)
CONTENDERS: Final[dict[str, tuple[str, ...] | None]] = {
    "plain": None,
    "none": (),
    "ten": TEN,
    "mirror": ("violation",),
    "again": None,
}
"""The breakpoints that each has; None: it is not even asked whether it has any."""

SIZES: Final = {name: (sizes.model, sizes.steps) for name, sizes in LEDGER_SIZES.items()}
"""Of steps with a model, and without one. ``small``: for tests, with fewer sequences."""


def compare(
    trial: Trial, make: Callable[[], Runner], report: Callable[[float], None] = lambda done: None
) -> dict[str, Any]:
    """µs a step that each contender takes more than ``plain``, and per cent of its step. ``make`` makes runners."""
    runners = {name: make() for name in CONTENDERS}
    steps = trial.warm_up + trial.rounds * trial.steps
    requests = trial.load.requests(steps, min(runner.vocab_size for runner in runners.values()))
    every = {}
    for name, whens in CONTENDERS.items():
        feeding = SteadyLoad(trial.load.sequences, requests)
        each = every[name] = Contender(trial.config, runners[name], Ledger(Tally().count), feeding)
        if whens is None:
            continue
        control = Control(each.engine, allowed=True, tells_text=True)
        for when in whens:
            control.handlers["break"]({"when": when, "mark": True, "hits": _UNREACHED}, "a bench")
        each.after = control.stepped
    order = list(every.values())
    with collected():
        for each in order:
            each.round(trial.warm_up, timed=False)
        for turn in range(trial.rounds):
            for number in range(len(order)):
                order[(turn + number if turn % 2 else turn - number) % len(order)].round(trial.steps)
            report((turn + 1) / trial.rounds)
    plain = every["plain"]
    step_us = statistics.median(plain.wall_us)
    facts: dict[str, Any] = {
        "sequences": trial.load.sequences,
        "rounds": trial.rounds,
        "steps_a_round": trial.steps,
        "step_us": round(step_us, 2),
    }
    for name, each in every.items():
        if name == "plain":
            continue
        more = [cost - base for cost, base in zip(each.cpu_us, plain.cpu_us, strict=True)]
        facts[name] = {
            "us": told_spread(more),
            "percent": round(100 * statistics.median(more) / step_us, 4),
        }
    return facts


def measure(
    sizes: tuple[Trial, Trial], model: str | None, report: Report = lambda done, now: None
) -> dict[str, Any]:
    """With a ``model``, whose steps the goal speaks of, and without one."""
    of_model, of_none = sizes
    with_model: dict[str, Any] | None = None
    if model is not None:
        try:
            report(0.0, f"loading {model}")
            loaded = load_for_bench(choose_model(model))
        except UsageError as error:
            print(f"kvarium bench breakpoints: model is null: {error}", file=sys.stderr, flush=True)
        else:
            found = compare(
                of_model,
                lambda: loaded.runner(of_model.num_blocks, _BLOCK_SIZE),
                lambda done: report(done * 0.7, f"steps of {loaded.name}"),
            )
            with_model = {"model": loaded.name, "device": loaded.device} | found
    without = compare(of_none, NullRunner, lambda done: report(0.7 + done * 0.3, "steps without a model"))
    return {
        "none_percent": with_model and with_model["none"]["percent"],
        "ten_percent": with_model and with_model["ten"]["percent"],
        "ten_us_256": without["ten"]["us"]["p50"],
        "model": with_model,
        "steps": without,
    }


def table(facts: dict[str, Any]) -> str:
    """The same for a person."""
    lines = []
    for name in ("model", "steps"):
        found = facts[name]
        if found is None:
            continue
        who = found.get("model", "no model")
        lines.append(f"{who}, {found['sequences']} sequences, a step of {found['step_us'] / 1000:,.2f} ms")
        rows = [["", "µs a step more", "nine of ten rounds", "of a step"]]
        for each in CONTENDERS:
            if each in found:
                us = found[each]["us"]
                spread = f"{us['p5']:,.1f} … {us['p95']:,.1f}"
                rows.append([each, f"{us['p50']:,.1f}", spread, f"{found[each]['percent']:.3f} %"])
        lines += [*columns(rows), ""]
    return "\n".join(lines).rstrip()


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("breakpoints", help="What breakpoints cost a step: none set, ten set, a mirror.")(breakpoints)


def breakpoints(
    model: Annotated[
        str, typer.Option(help=f"Whose steps the cost is a part of; an empty name: none. {MODEL}")
    ] = "smollm2-135m",
    size: Annotated[str, typer.Option(help="small or full, which takes a minute or two.")] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure and print."""
    with refusals_of("breakpoints"):
        sizes = size_named(SIZES, size)
    with progress("breakpoints", 1.0) as report:
        facts = measure(sizes, model or None, report)
    print_facts(facts, as_json, table)
