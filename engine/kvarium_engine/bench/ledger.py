"""``kvarium bench ledger``: what recording everything costs the engine, and how fast the pool is with it.

    a step with a model      the ledger's time on the engine's thread ÷ the step's time
    a step of 256 sequences  the same, absolutely, without a model                          :mod:`.ledger_cost`
    the pool                 operations a second, against vLLM's BlockPool                  :mod:`.pool_race`
    the free queue           the longest call, in a pool of a million blocks                :mod:`.longest_call`
    scheduling               of a step of 256 sequences, with more and more blocks          :mod:`.schedule_time`

All times are CPU times of the engine's thread, of halves that take turns in one process; the ratios are of the same process too.
What can't be had here (a model, vLLM's code) is null, and standard error says why.
"""

import sys
from typing import Annotated, Any, NamedTuple

import typer

from kvarium_engine.bench.columns import columns
from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.ledger_cost import Trial, compare
from kvarium_engine.bench.loading import load_for_bench
from kvarium_engine.bench.longest_call import Hits, longest_call
from kvarium_engine.bench.pool_race import BLOCKS_A_CALL, Race, race
from kvarium_engine.bench.schedule_time import Sizes as Pools
from kvarium_engine.bench.schedule_time import schedule_times
from kvarium_engine.bench.steady_load import Load
from kvarium_engine.bench.vllm_pool import import_vllm
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.progress import Report, progress

NUM_BLOCKS = 100_000
"""Of the pool whose scheduling time is the bench's."""
_BLOCK_SIZE = 16


class Sizes(NamedTuple):
    """How long each part is measured."""

    model: Trial
    steps: Trial
    race: Race
    queue: Hits
    pools: Pools


_MANY = Load(sequences=256, prompt=512, output=192)
_EIGHT = Load(sequences=8, prompt=64, output=48)

SIZES = {
    "small": Sizes(
        Trial(256, Load(8, 24, 8), rounds=3, steps=3, warm_up=4),
        Trial(4_000, Load(64, 128, 32), rounds=6, steps=5, warm_up=20),
        Race(blocks=512, coming=1_024, rounds=3),
        Hits(blocks=20_000, hits=30_000),
        Pools((NUM_BLOCKS,), Load(64, 128, 32), steps=40, warm_up=20),
    ),
    "full": Sizes(
        Trial(1_024, _EIGHT, rounds=16, steps=4, warm_up=24),
        Trial(NUM_BLOCKS, _MANY, rounds=80, steps=20, warm_up=192),
        Race(blocks=8_192, coming=16_384, rounds=15),
        Hits(blocks=1_000_000, hits=1_300_000),
        Pools((10_000, NUM_BLOCKS, 1_000_000), _MANY, steps=600, warm_up=192),
    ),
}
"""``small``: for tests, with fewer sequences."""


def measure(sizes: Sizes, model: str | None, report: Report = lambda done, now: None) -> dict[str, Any]:
    """All of it by name; without a ``model`` no model's step is measured."""
    with_model = _with_model(sizes.model, model, report)
    report(0.5, "steps without a model")
    steps = compare(sizes.steps, NullRunner)
    report(0.6, "the pool beside vLLM's")
    pools = _races(sizes.race)
    report(0.75, "the free queue")
    queue = longest_call(sizes.queue)
    report(0.8, "scheduling")
    times = schedule_times(sizes.pools)
    scheduled = next(each for each in times if each["num_gpu_blocks"] == NUM_BLOCKS)
    return {
        "step_percent": with_model and with_model["step_percent"],
        "us_per_step_256": steps["us_per_step"],
        "pool_ratio_vllm": pools and {n: each["ratio"]["p50"] for n, each in pools.items()},
        "schedule_ms": {name: scheduled[name] for name in ("p50", "p99")},
        "model": with_model,
        "steps": steps,
        "pools": pools,
        "free_queue": queue,
        "schedule": times,
    }


def _with_model(trial: Trial, model: str | None, report: Report) -> dict[str, Any] | None:
    if model is None:
        return None
    try:
        report(0.0, f"loading {model}")
        loaded = load_for_bench(choose_model(model))
    except UsageError as error:
        _absent("step_percent", str(error))
        return None
    found = compare(
        trial,
        lambda: loaded.runner(trial.num_blocks, _BLOCK_SIZE),
        lambda done: report(done / 2, f"steps of {loaded.name}"),
    )
    return {"model": loaded.name, "device": loaded.device} | found


def _races(size: Race) -> dict[str, dict[str, Any]] | None:
    why = import_vllm()
    if why is not None:
        _absent("pool_ratio_vllm", why)
        return None
    return {str(n): race(n, size) for n in BLOCKS_A_CALL}


def _absent(name: str, why: str) -> None:
    print(f"kvarium bench ledger: {name} is null: {why}", file=sys.stderr, flush=True)


def table(facts: dict[str, Any]) -> str:
    """The same for a person."""
    lines: list[str] = []
    for name in ("model", "steps"):
        cost = facts[name]
        if cost is None:
            continue
        who = cost.get("model", "no model")
        lines += [
            (
                f"{who}, {cost['sequences']} sequences: the ledger takes {cost['us_per_step']:,.1f} µs a step on the engine's "
                f"thread, {cost['step_percent']:.3f} % of its {cost['step_us'] / 1000:,.2f} ms"
            ),
            f"  recording   {_spread(cost['recording_us'], 'µs')}, with against without",
            f"  spread      {_spread(cost['off_against_off_us'], 'µs')}, without against without",
            f"  arguments   {cost['arguments_us']:,.1f} µs",
            f"  audits      {cost['audits_us']:,.2f} µs",
            f"  whole steps {_spread(cost['step_on_off_percent'], '%')}, with against without",
            f"  spread      {_spread(cost['step_off_off_percent'], '%')}, without against without",
            "",
        ]
    if facts["pools"]:
        rows = [["blocks a call", "kvarium", "vLLM", "ratio", "nine of ten rounds"]]
        for n, each in facts["pools"].items():
            ratio = each["ratio"]
            told = [f"{each[f'{name}_per_s'] / 1e6:.2f} M/s" for name in ("kvarium", "vllm")]
            rows.append([n, *told, f"{ratio['p50']:.2f}", f"{ratio['p5']:.2f} … {ratio['p95']:.2f}"])
        lines += ["pool operations a second, the ledger on, vLLM's events off", "", *columns(rows), ""]
    queue = facts["free_queue"]
    lines += [
        (
            f"the free queue of {queue['blocks']:,} blocks: the longest of {queue['calls']:,} calls takes "
            f"{queue['longest_ms']:.3f} ms, the mean {queue['mean_us']:.2f} µs"
        ),
        "",
    ]
    rows = [["blocks", "schedule, median", "99 of 100"]]
    rows += [
        [f"{each['num_gpu_blocks']:,}", f"{each['p50']:.3f} ms", f"{each['p99']:.3f} ms"]
        for each in facts["schedule"]
    ]
    return "\n".join([*lines, "scheduling, a step", "", *columns(rows)])


def _spread(spread: dict[str, float], unit: str) -> str:
    return f"{spread['p50']:8,.1f} {unit} ({spread['p5']:,.1f} … {spread['p95']:,.1f})"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "ledger", help="What the ledger costs a step, the pool beside vLLM's, scheduling by pool size."
    )(ledger)


def ledger(
    model: Annotated[
        str, typer.Option(help=f"Whose steps the cost is a part of; an empty name: none. {MODEL}")
    ] = "smollm2-135m",
    size: Annotated[str, typer.Option(help="small or full, which takes a minute or two.")] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure and print."""
    with refusals_of("ledger"):
        sizes = size_named(SIZES, size)
    with progress("the ledger's cost", 1.0) as report:
        facts = measure(sizes, model or None, report)
    print_facts(facts, as_json, table)
