"""How much memory sharing saves: what requests of several sequences hold, and what their tables would hold alone.

    4 samples, 40 tokens in, 8 out, block size 16

    tables   [ 7, 3, 9 ]  [ 7, 3, 12 ]  [ 7, 3, 5 ]  [ 7, 3, 20 ]     12 entries: what they need without sharing
    held       7, 3, 9, 12, 5, 20                                      6 blocks: 6 are saved in this step

    saving = Σ over steps of blocks saved ÷ Σ over steps of entries

as the vLLM paper counts it. Only a request's own sequences share: the prefix cache is off, so that requests don't matter to
one another. Of n samples the saving depends on lengths alone, and equals a closed form; of beams it depends on who lives on,
so a real model searches. Lengths are drawn around the means of the paper's data sets, log-normal; it tells no more of them.
"""

import json
import math
import random
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Annotated, Any, NamedTuple

import typer

from kvarium_engine.bench.searcher import Searcher, load_searcher
from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.progress import progress
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_ledger.ledger import Ledger, StepTimes

WIDTHS = (2, 4, 6)
"""Samples, and beams."""
PROMPT_SPREAD, OUTPUT_SPREAD = 0.6, 0.9
"""Standard deviations of the lengths' logarithms."""


class Profile(NamedTuple):
    """Lengths as in a data set, by their means, and what the paper saved there with OPT-13B, in percent (from, to)."""

    name: str
    prompt_tokens: float
    output_tokens: float
    paper_parallel: tuple[float, float]
    paper_beam: tuple[float, float]


PROFILES = (
    Profile("alpaca", 19, 58, (6.1, 9.8), (37.6, 55.2)),
    Profile("sharegpt", 161, 338, (16.2, 30.5), (44.3, 66.3)),
)


class Size(NamedTuple):
    """How many requests: of n samples, and of a beam search, by profile."""

    parallel: int
    beam: dict[str, int]


SIZES = {
    "small": Size(16, {"alpaca": 2, "sharegpt": 1}),
    "full": Size(64, {"alpaca": 6, "sharegpt": 1}),
}


class Lengths(NamedTuple):
    """Tokens of one request."""

    prompt: int
    output: int


class Saving(NamedTuple):
    """Summed over steps: ``saved`` blocks, of ``entries`` that would be blocks without sharing."""

    saved: int
    entries: int

    @property
    def percent(self) -> float:
        """The share that is saved."""
        return 100 * self.saved / self.entries


@dataclass(frozen=True, slots=True)
class Result:
    """A profile's savings, by width; ``lengths`` are those of the parallel requests and of the searches."""

    profile: Profile
    parallel: dict[int, Saving]
    beam: dict[int, Saving]
    lengths: tuple[list[Lengths], list[Lengths]]


def draw_lengths(profile: Profile, count: int, seed: int) -> list[Lengths]:
    """Lengths of ``count`` requests: quantiles of the two distributions, scaled to their means, paired by ``seed``."""
    draw = random.Random(seed)

    def drawn(mean: float, spread: float) -> list[int]:
        raw = [math.exp(spread * NormalDist().inv_cdf((i + 0.5) / count)) for i in range(count)]
        values = [max(2, round(value * mean / fmean(raw))) for value in raw]
        draw.shuffle(values)
        return values

    prompts = drawn(profile.prompt_tokens, PROMPT_SPREAD)
    return [Lengths(*pair) for pair in zip(prompts, drawn(profile.output_tokens, OUTPUT_SPREAD), strict=True)]


def closed_form(requests: Sequence[Lengths], n: int, block_size: int) -> Saving:
    """What n samples save: all but one of them save the prompt's full blocks, in every step but the prompt's own."""
    saved = entries = 0
    for prompt, output in requests:
        saved += (output - 1) * (n - 1) * (prompt // block_size)
        entries += blocks_for(prompt, block_size)
        entries += n * sum(blocks_for(prompt + told, block_size) for told in range(1, output))
    return Saving(saved, entries)


def measure(
    make_runner: Callable[[int], Runner],
    prompts: Sequence["array[int]"],
    requests: Sequence[Lengths],
    params: dict[str, Any],
    block_size: int,
    report: Callable[[int], None] = lambda tokens: None,
) -> Saving:
    """Run requests to their lengths, all at once, and count blocks in each step, when it is computed.

    ``params`` are those of :class:`SamplingParams` beside the lengths; ``make_runner`` gets the pool's blocks, as many as they
    need without sharing; ``report`` gets how many tokens a step computed.
    """
    asked = [SamplingParams(max_tokens=each.output, ignore_eos=True, **params) for each in requests]
    width = sum(each.width for each in asked)
    tokens = sum(map(len, prompts)) + width
    blocks = sum(
        each.width * blocks_for(sum(lengths), block_size)
        for each, lengths in zip(asked, requests, strict=True)
    )
    ledger = Ledger(lambda sealed: None)
    pool = BlockPool(blocks, block_size, ledger)
    runner = make_runner(blocks)
    scheduler = Scheduler(SchedulerConfig(tokens, width, tokens + blocks * block_size), pool, ledger)
    for prompt, each in zip(prompts, asked, strict=True):
        scheduler.submit(prompt, each)
    saved = entries = 0
    while not scheduler.idle:
        plan = scheduler.schedule()
        needed = sum(len(sequence.table) for request in scheduler.roster.running for sequence in request.live)
        saved += needed - (blocks - pool.num_free)
        entries += needed
        scheduler.update(plan, runner.execute(plan))
        ledger.seal(StepTimes(0, 0, 0, 0), plan.tokens, tokens, 0)
        report(plan.tokens)
    return Saving(saved, entries)


def parallel(requests: Sequence[Lengths], n: int, block_size: int) -> Saving:
    """What n samples save, measured without a model. Raises :class:`AssertionError` unless it is the closed form."""
    prompts = [seeded_tokens(number, each.prompt) for number, each in enumerate(requests)]
    found = measure(lambda blocks: NullRunner(), prompts, requests, {"n": n}, block_size)
    exact = closed_form(requests, n, block_size)
    assert found == exact, f"{n} samples: {found} was measured, the closed form is {exact}"
    return found


def bench(searcher: Searcher, size: Size, block_size: int, seed: int) -> list[Result]:
    """All profiles and widths; how far it is stands on standard error."""
    drawn = {profile: draw_lengths(profile, size.beam[profile.name], seed) for profile in PROFILES}
    total = sum(
        each.prompt + width * each.output for rows in drawn.values() for each in rows for width in WIDTHS
    )
    results: list[Result] = []
    done = 0
    with progress("sharing", total) as report:
        for profile, searches in drawn.items():
            requests = draw_lengths(profile, size.parallel, seed)
            prompts = [searcher.prompt(seed + number, each.prompt) for number, each in enumerate(searches)]
            beam: dict[int, Saving] = {}
            for width in WIDTHS:

                def computed(tokens: int, now: str = f"{profile.name}, {width} beams") -> None:
                    nonlocal done
                    done += tokens
                    report(done, now)

                beam[width] = measure(
                    searcher.make_runner, prompts, searches, {"beam_width": width}, block_size, computed
                )
            samples = {n: parallel(requests, n, block_size) for n in WIDTHS}
            results.append(Result(profile, samples, beam, (requests, searches)))
    return results


# -- told --------------------------------------------------------------------------------------------------------------------


def _told(requests: Sequence[Lengths]) -> dict[str, Any]:
    return {
        "requests": len(requests),
        "prompt_tokens": round(fmean(each.prompt for each in requests), 1),
        "output_tokens": round(fmean(each.output for each in requests), 1),
        "lengths": [list(each) for each in requests],
    }


def facts(results: Sequence[Result], searcher: Searcher, block_size: int, seed: int) -> dict[str, Any]:
    """All of it by name, for scripts."""
    return {
        "block_size": block_size,
        "seed": seed,
        "model": searcher.name,
        "device": searcher.device,
        "profiles": [
            {
                "name": each.profile.name,
                "parallel": [
                    {"n": n, "saving_percent": round(s.percent, 2)} for n, s in each.parallel.items()
                ],
                "beam": [{"width": w, "saving_percent": round(s.percent, 2)} for w, s in each.beam.items()],
                "paper": {"parallel": each.profile.paper_parallel, "beam": each.profile.paper_beam},
                "parallel_lengths": _told(each.lengths[0]),
                "beam_lengths": _told(each.lengths[1]),
            }
            for each in results
        ],
    }


def table(results: Sequence[Result], searcher: Searcher, block_size: int) -> str:
    """All of it for a person."""
    lines = [
        f"saving = blocks saved ÷ blocks without sharing, over all steps; blocks of {block_size}, no prefix cache",
        f"beams are searched by {searcher.name} on {searcher.device}; samples need no model, and equal the closed form",
    ]
    for each in results:
        lines += ["", each.profile.name]
        for what, word, savings, paper, requests in (
            ("parallel", "n", each.parallel, each.profile.paper_parallel, each.lengths[0]),
            ("beam", "width", each.beam, each.profile.paper_beam, each.lengths[1]),
        ):
            told = _told(requests)
            row = "   ".join(f"{word} {width}: {saving.percent:4.1f} %" for width, saving in savings.items())
            lines.append(f"  {what:<8}  {row}   paper: {paper[0]}–{paper[1]} %")
            lines.append(
                f"            {told['requests']} requests, {told['prompt_tokens']} tokens in and "
                f"{told['output_tokens']} out on average: {_some(requests)}"
            )
    lines += ["", "the paper's savings are those of OPT-13B on the data sets themselves"]
    return "\n".join(lines)


def _some(requests: Sequence[Lengths], most: int = 8) -> str:
    some = ", ".join(f"{prompt}+{output}" for prompt, output in requests[:most])
    return some + (", …" if len(requests) > most else "")


def add(app: typer.Typer) -> None:
    """Add the command to a command line."""
    app.command("sharing", help="Memory that samples and beams save by sharing blocks.")(sharing)


def sharing(
    model: Annotated[
        str, typer.Option(help="Who searches with beams: a name that `kvarium models ls` lists, or a folder.")
    ] = "smollm2-135m",
    block_size: Annotated[int, typer.Option(help="Tokens a block: a power of two from 1 to 256.")] = 16,
    seed: Annotated[int, typer.Option(help="Lengths and prompts are drawn with it.")] = 0,
    size: Annotated[
        str, typer.Option(help="How many requests: small or full, which takes minutes on two cores.")
    ] = "full",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Measure and print."""
    try:
        if size not in SIZES:
            raise UsageError(f"--size is {' or '.join(SIZES)}, not {size!r}")
        searcher = load_searcher(model, block_size)
        results = bench(searcher, SIZES[size], block_size, seed)
    except (UsageError, ValueError) as error:
        print(f"kvarium bench sharing: {error}", file=sys.stderr, flush=True)
        raise typer.Exit(2) from None
    told = (
        json.dumps(facts(results, searcher, block_size, seed))
        if as_json
        else table(results, searcher, block_size)
    )
    print(told, flush=True)
