"""How much memory sharing saves: what requests of several sequences hold, and what their tables would hold alone.

    4 samples, 40 tokens in, 8 out, block size 16

    tables   [ 7, 3, 9 ]  [ 7, 3, 12 ]  [ 7, 3, 5 ]  [ 7, 3, 20 ]     12 entries: what they need without sharing
    held       7, 3, 9, 12, 5, 20                                      6 blocks: 6 are saved in this step

    saving = Σ over steps of blocks saved ÷ Σ over steps of entries

as the vLLM paper counts it. Only a request's own sequences share: the prefix cache is off, so that requests don't matter to
one another. Of n samples the saving depends on lengths alone, and equals a closed form: it is taken of all pairs of lengths,
the same at every size. Of beams it depends on who lives on, so a real model searches, for as many requests as there is time for.
The paper tells the averages of its data sets' lengths and no more: :mod:`~kvarium_engine.bench.lengths` says how they spread here.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import typer

from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.lengths import OUTPUT_SPREAD, PROMPT_SPREAD, Shape, all_pairs, drawn, shapes_told
from kvarium_engine.bench.searcher import Searcher, load_searcher
from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.options import check_block_size
from kvarium_engine.progress import progress
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_ledger.ledger import Ledger, StepTimes

WIDTHS = (2, 4, 6)
"""Samples, and beams."""
PAIRS_OF = 8
"""So many prompts, each with so many answers, are the requests of n samples. With 64 of each, longer answers than these would be
among them, and the figures be up to 0.4 points (Alpaca) and 3 points (ShareGPT) lower."""


class Profile(NamedTuple):
    """Lengths as in a data set, by their averages, and what the paper saved there with OPT-13B, in percent (from, to)."""

    name: str
    prompt_tokens: float
    output_tokens: float
    paper_parallel: tuple[float, float]
    paper_beam: tuple[float, float]

    def pairs(self) -> list[Shape]:
        """Lengths of the requests of n samples."""
        return all_pairs(PAIRS_OF, self.prompt_tokens, self.output_tokens)

    def searches(self, count: int, seed: int) -> list[Shape]:
        """Lengths of ``count`` beam searches."""
        return drawn(seed, count, self.prompt_tokens, self.output_tokens)


PROFILES = (
    Profile("alpaca", 19, 58, (6.1, 9.8), (37.6, 55.2)),
    Profile("sharegpt", 161, 338, (16.2, 30.5), (44.3, 66.3)),
)


SIZES = {"small": {"alpaca": 2, "sharegpt": 1}, "full": {"alpaca": 6, "sharegpt": 3}}
"""How many beam searches of each width, by profile."""


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
    lengths: tuple[list[Shape], list[Shape]]


def closed_form(requests: Sequence[Shape], n: int, block_size: int) -> Saving:
    """What n samples save: all but one of them save the prompt's full blocks, in every step but the prompt's own."""
    saved = entries = 0
    for prompt, output in requests:
        saved += (output - 1) * (n - 1) * (prompt // block_size)
        entries += blocks_for(prompt, block_size)
        entries += n * sum(blocks_for(prompt + told, block_size) for told in range(1, output))
    return Saving(saved, entries)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of ``n`` samples, or of a beam search, that ends after ``output`` tokens, and not before."""

    prompt: "array[int]"
    output: int
    n: int = 1
    beam_width: int | None = None

    @property
    def width(self) -> int:
        """The most sequences that it has at once."""
        return self.params.width

    @property
    def params(self) -> SamplingParams:
        """As a scheduler takes it."""
        return SamplingParams(max_tokens=self.output, ignore_eos=True, n=self.n, beam_width=self.beam_width)


def measure(
    make_runner: Callable[[int], Runner],
    requests: Sequence[Asked],
    block_size: int,
    report: Callable[[int], None] = lambda tokens: None,
) -> list[Saving]:
    """Run requests to their ends, all at once, and count the blocks of each in every step, when it is computed.

    ``make_runner`` gets the pool's blocks, as many as they need without sharing; ``report`` gets how many tokens a step computed.
    """
    width = sum(each.width for each in requests)
    tokens = sum(len(each.prompt) for each in requests) + width
    blocks = sum(each.width * blocks_for(len(each.prompt) + each.output, block_size) for each in requests)
    ledger = Ledger(lambda sealed: None)
    pool = BlockPool(blocks, block_size, ledger)
    runner = make_runner(blocks)
    scheduler = Scheduler(SchedulerConfig(tokens, width, tokens + blocks * block_size), pool, ledger)
    submitted = [scheduler.submit(each.prompt, each.params) for each in requests]
    saved, entries = [0] * len(submitted), [0] * len(submitted)
    while not scheduler.idle:
        plan = scheduler.schedule()
        every = 0
        for number, request in enumerate(submitted):
            tables = [sequence.table for sequence in request.live]
            needed, held = sum(map(len, tables)), len(set().union(*tables))
            saved[number] += needed - held
            entries[number] += needed
            every += held
        assert every == blocks - pool.num_free, f"{every} blocks are held, {blocks - pool.num_free} in use"
        scheduler.update(plan, runner.execute(plan))
        ledger.seal(StepTimes(0, 0, 0, 0), plan.tokens, tokens, 0)
        report(plan.tokens)
    return [Saving(*each) for each in zip(saved, entries, strict=True)]


def summed(savings: Iterable[Saving]) -> Saving:
    """The saving of all of them."""
    return Saving(*map(sum, zip(*savings, strict=True)))


def parallel(requests: Sequence[Shape], n: int, block_size: int) -> Saving:
    """What n samples save, measured without a model. Raises :class:`AssertionError` unless it is the closed form."""
    samples = [
        Asked(seeded_tokens(number, each.prompt), each.output, n) for number, each in enumerate(requests)
    ]
    found = summed(measure(lambda blocks: NullRunner(), samples, block_size))
    exact = closed_form(requests, n, block_size)
    assert found == exact, f"{n} samples: {found} was measured, the closed form is {exact}"
    return found


def bench(searcher: Searcher, searches: dict[str, int], block_size: int, seed: int) -> list[Result]:
    """All profiles and widths, so many ``searches`` of each width; how far it is stands on standard error.

    The beams of all searches take their steps together, as most of a small step's time does not depend on how many they are.
    """
    lengths = {profile: profile.searches(searches[profile.name], seed) for profile in PROFILES}
    named = [
        ((profile, width), Asked(searcher.prompt(seed + number, each.prompt), each.output, beam_width=width))
        for profile, shapes in lengths.items()
        for width in WIDTHS
        for number, each in enumerate(shapes)
    ]
    requests = [request for _, request in named]
    total = sum(len(each.prompt) + each.width * each.output for each in requests)
    done = 0
    with progress("sharing", total) as report:

        def computed(tokens: int) -> None:
            nonlocal done
            done += tokens
            report(done, f"{len(requests)} beam searches")

        savings = measure(searcher.make_runner, requests, block_size, computed)
    results: list[Result] = []
    for profile, shapes in lengths.items():
        beam = {
            width: summed(
                saving for (key, _), saving in zip(named, savings, strict=True) if key == (profile, width)
            )
            for width in WIDTHS
        }
        pairs = profile.pairs()
        samples = {n: parallel(pairs, n, block_size) for n in WIDTHS}
        results.append(Result(profile, samples, beam, (pairs, shapes)))
    return results


# -- told --------------------------------------------------------------------------------------------------------------------


def facts(results: Sequence[Result], searcher: Searcher, block_size: int, seed: int) -> dict[str, Any]:
    """All of it by name, for scripts."""
    return {
        "block_size": block_size,
        "seed": seed,
        "model": searcher.name,
        "device": searcher.device,
        "lengths": {
            "distribution": "log-normal",
            "prompt_spread": PROMPT_SPREAD,
            "output_spread": OUTPUT_SPREAD,
        },
        "profiles": [
            {
                "name": each.profile.name,
                "parallel": [
                    {"n": n, "saving_percent": round(s.percent, 2)} for n, s in each.parallel.items()
                ],
                "beam": [{"width": w, "saving_percent": round(s.percent, 2)} for w, s in each.beam.items()],
                "paper": {"parallel": each.profile.paper_parallel, "beam": each.profile.paper_beam},
                "parallel_lengths": shapes_told(each.lengths[0]),
                "beam_lengths": shapes_told(each.lengths[1]),
            }
            for each in results
        ],
    }


def table(facts: dict[str, Any]) -> str:
    """All of it for a person."""
    spread = facts["lengths"]
    lines = [
        f"saving = blocks saved ÷ blocks without sharing, over all steps; blocks of {facts['block_size']}, no prefix cache",
        f"beams are searched by {facts['model']} on {facts['device']}; samples need no model, and equal the closed form",
        (
            f"lengths: quantiles of log-normal distributions around the averages, spread {spread['prompt_spread']} of prompts "
            f"and {spread['output_spread']} of answers"
        ),
    ]
    for profile in facts["profiles"]:
        lines += ["", profile["name"]]
        for what, word, how in (("parallel", "n", "all pairs"), ("beam", "width", "drawn")):
            row = "   ".join(
                f"{word} {each[word]}: {each['saving_percent']:4.1f} %" for each in profile[what]
            )
            low, high = profile["paper"][what]
            lines.append(f"  {what:<8}  {row}   paper: {low}–{high} %")
            asked = profile[f"{what}_lengths"]
            lines.append(
                f"            {asked['requests']} requests, {asked['prompt_tokens']} tokens in and "
                f"{asked['output_tokens']} out on average, {how}: {_some(asked['lengths'])}"
            )
    lines += ["", "the paper's savings are those of OPT-13B on the data sets themselves"]
    return "\n".join(lines)


def _some(lengths: Sequence[Sequence[int]], most: int = 8) -> str:
    some = ", ".join(f"{prompt}+{output}" for prompt, output in lengths[:most])
    return some + (", …" if len(lengths) > most else "")


def add(app: typer.Typer) -> None:
    """Add the command to a command line."""
    app.command("sharing", help="Memory that samples and beams save by sharing blocks.")(sharing)


def sharing(
    model: Annotated[str, typer.Option(help=f"Who searches with beams. {MODEL}")] = "smollm2-135m",
    block_size: Annotated[int, typer.Option(help="Tokens a block: a power of two from 1 to 256.")] = 16,
    seed: Annotated[
        int, typer.Option(help="Prompts of the beam searches, and their pairs of lengths, are drawn with it.")
    ] = 0,
    size: Annotated[
        str, typer.Option(help="How many beam searches: small or full, which takes minutes on two cores.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure and print."""
    with refusals_of("sharing"):
        searches = size_named(SIZES, size)
        check_block_size(block_size)
        searcher = load_searcher(choose_model(model), block_size)
        results = bench(searcher, searches, block_size, seed)
    print_facts(facts(results, searcher, block_size, seed), as_json, table)
