"""``kvarium bench waste``: where the memory goes, paged and contiguous, on the same requests in the same memory.

Each slot of the pool is one of these, while a step is computed::

    a sequence's blocks   [ tokens ··········· │ reserved ········ │ internal ··········· ]
                            hold a token         will hold one       never hold one, as it ends before
    free blocks           external: the request whose turn it is waits for memory all the same
                          idle: it waits for something else (the step's tokens, a seat)

They are the terms of the vLLM paper's figure 2. Shares are those of all slots, averaged over the steps at which a request
waits: only then is memory what lacks. All requests are there from the start, answers get as long as they may, and nothing
is shared: no prefix is common, and each request has one sample. So it is seen afterwards how much of a reservation was used.

*Throughput* is told in tokens of answers a step, which is a matter of memory alone, and with a model in tokens a second too.
"""

import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from kvarium_engine.bench.columns import columns
from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.lengths import Shape, drawn, told
from kvarium_engine.engine import EngineConfig, make_scheduler
from kvarium_engine.memory.reservation import RESERVE
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.options import Options, resolve
from kvarium_engine.pool_size import card_there
from kvarium_engine.progress import progress
from kvarium_engine.runners import make_runner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_ledger.decisions import Preempted
from kvarium_ledger.ledger import Ledger, Sealed, SealedStep, StepTimes

KINDS = ("tokens", "reserved", "internal", "external", "idle")
SYSTEMS: tuple[str | None, ...] = (None, *RESERVE)
"""Paged memory, then what contiguous memory reserves."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The pool, the limits, and the requests: how many, and their average lengths in tokens."""

    num_blocks: int
    block_size: int
    max_model_len: int
    requests: int
    prompt: int
    output: int
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048

    def shapes(self, seed: int) -> list[Shape]:
        """The lengths of all requests."""
        return drawn(seed, self.requests, self.prompt, self.output, self.max_model_len)


SIZES = {
    "small": Sizes(256, 4, 256, 64, 20, 42),
    "full": Sizes(1024, 16, 2048, 400, 161, 338),
}
"""``full``: ShareGPT's averages, a longest sequence of 2,048 tokens and room for 8 of those, about as the vLLM paper had it for
OPT-13B on a card of 40 GB. ``small``: an eighth of each length and half the room, for a model on a CPU and for tests."""


@dataclass(slots=True)
class Usage:
    """What one kind of memory made of requests; :meth:`run` may be called for one part of them after the other.

    ``slots`` sums up the slots of each kind over the ``loaded`` steps, those at which a request waits.
    """

    sizes: Sizes
    reservation: str | None
    slots: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    steps: int = 0
    loaded: int = 0
    running: int = 0
    most_requests: int = 0
    most_unused_slots: int = 0
    """The most slots without a token that one sequence held."""
    fragmentation_steps: int = 0
    """Steps at which a request was not admitted although as many blocks were free as it needs."""
    preemptions: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """As the table calls it."""
        return "paged" if self.reservation is None else f"contiguous, {self.reservation}"

    def run(self, shapes: Sequence[Shape], runner: Runner, report: Callable[[int], None]) -> None:
        """Let requests of these shapes run to their ends; ``report`` is told now and then how many have ended."""
        sizes = self.sizes
        limits = SchedulerConfig(sizes.max_num_batched_tokens, sizes.max_num_seqs, sizes.max_model_len)
        config = EngineConfig(
            num_blocks=sizes.num_blocks,
            block_size=sizes.block_size,
            scheduler=limits,
            enable_prefix_caching=False,
            memory_backend="paged" if self.reservation is None else "contiguous",
            reserve=self.reservation or RESERVE[0],
        )
        ledger = Ledger(self._count)
        scheduler = make_scheduler(config, runner, ledger)
        for number, shape in enumerate(shapes):
            prompt = array("I", (token % runner.vocab_size for token in seeded_tokens(number, shape.prompt)))
            params = SamplingParams(max_tokens=shape.output, temperature=0, ignore_eos=True)
            request = scheduler.submit(prompt, params)
            assert request.state is not None, f"a request of {shape} does not fit into {sizes}"
        self.output_tokens += sum(shape.output for shape in shapes)
        began = time.perf_counter()
        while not scheduler.idle:
            plan = scheduler.schedule()
            self._look(scheduler)
            scheduler.update(plan, runner.execute(plan))
            ledger.seal(StepTimes(ledger.now(), 0, 0, 0), plan.tokens, limits.max_num_batched_tokens, 0)
            if self.steps % 64 == 0:
                report(len(shapes) - len(scheduler.roster.requests))
        self.seconds += time.perf_counter() - began

    def _count(self, sealed: Sealed) -> None:
        if isinstance(sealed, SealedStep):
            self.preemptions += sum(isinstance(decision, Preempted) for decision in sealed.decisions)

    def _look(self, scheduler: Scheduler) -> None:
        """Count the slots of a step that is about to be computed."""
        roster, pool = scheduler.roster, scheduler.pool
        self.steps += 1
        self.most_requests = max(self.most_requests, len(roster.running))
        found = dict.fromkeys(KINDS, 0)
        for request in roster.running:
            for sequence in request.live:
                held = len(sequence.held) * pool.block_size
                filled = min(request.most_tokens, held)
                found["tokens"] += sequence.computed
                found["reserved"] += filled - sequence.computed
                found["internal"] += held - filled
                self.most_unused_slots = max(self.most_unused_slots, held - sequence.computed)
        head = roster.waiting.head()
        if head is None:
            return
        lacking = head.reason not in ("budget", "max_num_seqs")
        found["external" if lacking else "idle"] = pool.num_free * pool.block_size
        self.loaded += 1
        self.running += len(roster.running)
        self.fragmentation_steps += head.reason == "fragmentation"
        for kind, slots in found.items():
            self.slots[kind] += slots

    def facts(self, timed: bool) -> dict[str, Any]:
        """All of it by name; ``timed``: the time was a model's."""
        every = self.loaded * self.sizes.num_blocks * self.sizes.block_size
        assert sum(self.slots.values()) == every, (
            f"{self.slots} are not the {every} slots of {self.loaded} steps"
        )
        shares = {
            f"{kind}_percent": round(100 * slots / max(every, 1), 2) for kind, slots in self.slots.items()
        }
        wasted = every - self.slots["tokens"] - self.slots["idle"]
        return {
            "memory_backend": "paged" if self.reservation is None else "contiguous",
            "reserve": self.reservation,
            **shares,
            "waste_percent": round(100 * wasted / max(every, 1), 2),
            "most_requests": self.most_requests,
            "average_requests": round(self.running / max(self.loaded, 1), 2),
            "most_unused_slots_of_a_sequence": self.most_unused_slots,
            "steps": self.steps,
            "steps_with_requests_waiting": self.loaded,
            "steps_held_up_by_fragmentation": self.fragmentation_steps,
            "preemptions": self.preemptions,
            "output_tokens": self.output_tokens,
            "output_tokens_per_step": round(self.output_tokens / self.steps, 2),
            "output_tokens_per_s": round(self.output_tokens / self.seconds, 1) if timed else None,
        }


def measure(
    sizes: Sizes, runner: Runner, seed: int = 0, report: Callable[[float, str], None] = lambda done, now: None
) -> dict[str, Any]:
    """The same requests with each kind of memory. ``report`` is told the share that is done, and what is being done.

    With a model, whose time counts, they run in two halves, the second in the opposite order, after a few that warm it up.
    """
    shapes = sizes.shapes(seed)
    usages = [Usage(sizes, reservation) for reservation in SYSTEMS]
    timed = runner.has_logits
    parts = [shapes[::2], shapes[1::2]] if timed else [shapes]
    if timed:
        Usage(sizes, None).run(shapes[:4], runner, lambda ended: None)
    done = 0
    for number, part in enumerate(parts):
        for usage in reversed(usages) if number % 2 else usages:

            def tell(ended: int, before: int = done, name: str = usage.name) -> None:
                report((before + ended) / (len(shapes) * len(usages)), name)

            usage.run(part, runner, tell)
            done += len(part)
    return {
        "model": runner.model,
        "device": runner.device,
        "num_gpu_blocks": sizes.num_blocks,
        "block_size": sizes.block_size,
        "slots": sizes.num_blocks * sizes.block_size,
        "max_model_len": sizes.max_model_len,
        "max_num_seqs": sizes.max_num_seqs,
        "max_num_batched_tokens": sizes.max_num_batched_tokens,
        "seed": seed,
        "requests": len(shapes),
        "prompt_tokens": told([shape.prompt for shape in shapes]),
        "output_tokens": told([shape.output for shape in shapes]),
        "systems": [usage.facts(timed) for usage in usages],
    }


def table(facts: dict[str, Any]) -> str:
    """The same for a person."""
    prompts, outputs = facts["prompt_tokens"], facts["output_tokens"]
    timed = facts["systems"][0]["output_tokens_per_s"] is not None
    heads = ["", "tokens", "reserved", "internal", "external", "idle", "at once", "steps", "tokens a step"]
    rows = [[*heads, *(["tokens/s"] if timed else [])]]
    for system in facts["systems"]:
        name = "paged" if system["reserve"] is None else f"contiguous, {system['reserve']}"
        row = [name, *(f"{system[f'{kind}_percent']:.1f} %" for kind in KINDS)]
        row += [
            f"{system['most_requests']:,}",
            f"{system['steps']:,}",
            f"{system['output_tokens_per_step']:.1f}",
        ]
        rows.append([*row, *([f"{system['output_tokens_per_s']:,.1f}"] if timed else [])])
    paged, largest, *_ = facts["systems"]
    held_up = ", ".join(
        f"{system['reserve']} {system['steps_held_up_by_fragmentation']:,}" for system in facts["systems"][1:]
    )
    return "\n".join(
        [
            (
                f"{facts['requests']:,} requests: prompts of {prompts['average']} tokens on average (at most "
                f"{prompts['most']:,}), answers of {outputs['average']} (at most {outputs['most']:,})"
            ),
            (
                f"memory: {facts['num_gpu_blocks']:,} blocks of {facts['block_size']} = {facts['slots']:,} slots; max_model_len "
                f"{facts['max_model_len']:,}; {facts['model'] if timed else 'no model'}"
            ),
            "",
            *columns(rows, left=1),
            "",
            "tokens: hold a token; reserved: will hold one; internal: never hold one; external: free, while the next request",
            "waits for memory; idle: free, while it waits for something else. At once: the most requests that ran together.",
            (
                "Throughput: tokens of answers a step, and a second of this model."
                if timed
                else "Throughput: tokens of answers a step; with a --model also a second, as a step's time is a model's."
            ),
            f"Steps at which the next request was held up by fragmentation, though enough blocks were free: {held_up}.",
            (
                f"Waste: paged {paged['waste_percent']:.1f} % (the vLLM paper: under 4 %), reserving the most "
                f"{largest['waste_percent']:.1f} % (60 to 80 %)."
            ),
        ]
    )


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("waste", help="Where the memory goes, and how many requests fit: paged and contiguous.")(
        waste
    )


def waste(
    size: Annotated[
        str | None,
        typer.Option(
            help="small or full (ShareGPT's lengths). Default: full; with a --model on a CPU small."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=(
                "Run it on a model; the throughput is told in tokens a second then, and without one in tokens a step alone. "
                f"{MODEL}"
            )
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the lengths.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print where the memory goes."""
    with refusals_of("waste"):
        sizes = size_named(SIZES, size or ("small" if model is not None and not card_there() else "full"))
        options = Options(
            runner=None if model is not None else "null",
            model=model,
            num_blocks=sizes.num_blocks,
            block_size=sizes.block_size,
            max_model_len=sizes.max_model_len,
            step_ms=0.0 if model is None else None,
            mix=False,
        )
        runner, _ = make_runner(
            options, resolve(options), lambda line: print(line, file=sys.stderr, flush=True)
        )
    with progress("four kinds of memory", 1.0) as report:
        facts = measure(sizes, runner, seed, report)
    runner.close()
    print_facts(facts, as_json, table)
