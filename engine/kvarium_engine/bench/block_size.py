"""``kvarium bench block-size``: what a block's size costs and buys, from 1 to 256 tokens, on the same requests.

    block_size 4      │ t t t t │ t t t t │ t ┄ ┄ ┄ │        tail: 3 unused slots; 3 entries in the table
    block_size 16     │ t t t t t t t t t ┄ ┄ ┄ ┄ ┄ ┄ ┄ │    tail: 7 unused slots; 1 entry

Larger blocks waste more of a sequence's last block, and share less, as only whole blocks are found in the prefix cache; smaller
ones make tables, queues and hashes longer. All pools have as many slots. Requests begin with one of a few common prefixes,
whose lengths are seldom whole blocks, and all are there from the start.

*Tail waste*: unused slots of blocks in use, which only a sequence's last block has: of all slots in use, and a sequence. *Hit
rate*: of the prompts' tokens. *Step*: the median time of a step; without a model that is the scheduler, the pool and the ledger.
The sizes take their steps in turn, each round beginning with another one, so that a slower minute meets them all.
"""

import gc
import random
import statistics
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import typer

from kvarium_engine.bench.columns import columns
from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.loading import load_for_bench
from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.pool_size import card_there
from kvarium_engine.progress import progress
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_ledger.ledger import Ledger, StepTimes

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

MakeRunner = Callable[[int, int], Runner]
"""Takes ``num_blocks`` and ``block_size``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: the seed and the tokens of its common prefix, its own tokens, and those of its answer."""

    prefix: int
    prefix_tokens: int
    own_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """``slots`` of every pool, how many ``requests`` there are, and the limits of their lengths in tokens."""

    slots: int
    requests: int
    prefixes: int
    prefix: int
    own: int
    output: int
    max_num_seqs: int
    max_num_batched_tokens: int = 2048

    def asked(self, seed: int) -> list[Asked]:
        """The requests: lengths from a quarter of each limit to all of it, every prefix of one length."""
        draw = random.Random(seed)

        def length(most: int) -> int:
            return draw.randint(max(1, most // 4), most)

        lengths = [length(self.prefix) for _ in range(self.prefixes)]
        found: list[Asked] = []
        for _ in range(self.requests):
            prefix = draw.randrange(self.prefixes)
            found.append(Asked(prefix, lengths[prefix], length(self.own), length(self.output)))
        return found


SIZES = {
    "small": Sizes(2048, 40, 4, 120, 60, 24, 8),
    "full": Sizes(32_768, 600, 8, 700, 200, 200, 64),
}
"""``small``: for a model on a CPU and for tests."""


@dataclass(slots=True)
class Measured:
    """What requests came to with one block size; sums over ``steps``."""

    block_size: int
    engine: Engine
    times: list[float] = field(default_factory=list)
    slots: int = 0
    unused: int = 0
    sequences: int = 0
    entries: int = 0
    most_entries: int = 0

    def step(self) -> None:
        """Take a step of the engine, and look at its blocks when its slots are assigned."""
        engine = self.engine
        ledger, scheduler = engine.ledger, engine.scheduler
        began = time.perf_counter()
        plan = scheduler.schedule()
        scheduled = time.perf_counter()
        self._look()
        looked = time.perf_counter()
        scheduler.update(plan, engine.runner.execute(plan))
        budget = engine.config.scheduler.max_num_batched_tokens
        ledger.seal(StepTimes(ledger.now(), 0, 0, 0), plan.tokens, budget, ledger.op)
        self.times.append(time.perf_counter() - looked + scheduled - began)

    def _look(self) -> None:
        state, running = self.engine.pool.state, self.engine.scheduler.roster.running
        count, filled = np.array(state.count), np.array(state.filled)
        used = count > 0
        slots = int(used.sum()) * self.block_size
        self.slots += slots
        self.unused += slots - int(filled[used].sum())
        tables = [len(sequence.table) for request in running for sequence in request.live]
        self.sequences += len(tables)
        self.entries += sum(tables)
        self.most_entries = max(self.most_entries, sum(tables))

    def facts(self) -> dict[str, Any]:
        """All of it by name."""
        steps, hits = len(self.times), self.engine.scheduler.roster.hit_statistics
        return {
            "block_size": self.block_size,
            "num_gpu_blocks": self.engine.pool.num_blocks,
            "tail_waste_percent": round(100 * self.unused / max(self.slots, 1), 2),
            "tail_waste_slots": round(self.unused / max(self.sequences, 1), 2),
            "table_entries": round(self.entries / steps, 1),
            "most_table_entries": self.most_entries,
            "hit_rate_percent": round(100 * hits.rate, 2),
            "preemptions": hits.preempted_requests,
            "steps": steps,
            "step_ms": round(1000 * statistics.median(self.times), 4),
            "total_s": round(sum(self.times), 3),
        }


def prepared(block_size: int, sizes: Sizes, asked: list[Asked], make: MakeRunner) -> Measured:
    """An engine of blocks of this size, with all requests in its queue."""
    num_blocks = sizes.slots // block_size
    config = EngineConfig(
        num_blocks=num_blocks,
        block_size=block_size,
        scheduler=SchedulerConfig(sizes.max_num_batched_tokens, sizes.max_num_seqs, sizes.slots),
    )
    runner = make(num_blocks, block_size)
    engine = Engine(config, runner, Ledger(lambda sealed: None))
    for number, each in enumerate(asked):
        prompt = seeded_tokens(each.prefix, each.prefix_tokens)
        prompt.extend(seeded_tokens(1_000_000 + number, each.own_tokens))
        known = array("I", (token % runner.vocab_size for token in prompt))
        params = SamplingParams(max_tokens=each.output_tokens, temperature=0, ignore_eos=True)
        request = engine.scheduler.submit(known, params)
        assert request.state is not None, f"{each} does not fit into {sizes.slots} slots"
    return Measured(block_size, engine)


def measure(
    sizes: Sizes,
    asked: list[Asked],
    make: MakeRunner = lambda num_blocks, block_size: NullRunner(),
    report: Callable[[float, str], None] = lambda done, now: None,
) -> list[dict[str, Any]]:
    """The same requests with each block size: their facts, the smallest first. ``report`` is told how far it is."""
    every = [prepared(size, sizes, asked, make) for size in BLOCK_SIZES]
    gc.collect()
    turn, going = 0, list(every)
    while going:
        for number in range(len(going)):
            going[(turn + number) % len(going)].step()
        turn += 1
        left = sum(len(each.engine.scheduler.roster.requests) for each in every)
        report(1 - left / (len(asked) * len(every)), "nine block sizes in turn")
        going = [each for each in going if not each.engine.idle]
    return [each.facts() for each in every]


def table(facts: dict[str, Any]) -> str:
    """The same for a person."""
    heads = ["block size", "blocks", "tail waste", "slots a sequence", "table entries", "hit rate", "step"]
    rows = [heads] + [
        [
            f"{each['block_size']}",
            f"{each['num_gpu_blocks']:,}",
            f"{each['tail_waste_percent']:.1f} %",
            f"{each['tail_waste_slots']:.1f}",
            f"{each['table_entries']:,.0f}",
            f"{each['hit_rate_percent']:.1f} %",
            f"{each['step_ms']:.3f} ms",
        ]
        for each in facts["block_sizes"]
    ]
    return "\n".join(
        [
            (
                f"{facts['requests']:,} requests with {facts['prefixes']} common prefixes, pools of {facts['slots']:,} slots, "
                f"at most {facts['max_num_seqs']} sequences at once; {facts['model'] if facts['model'] != 'none' else 'no model'}"
            ),
            "",
            *columns(rows),
            "",
            "tail waste: unused slots of the blocks in use, all of them in last blocks; table entries: of all running",
            "sequences; hit rate: of the prompts' tokens; step: the median"
            + ("." if facts["model"] != "none" else ", without a model: scheduler, pool and ledger."),
        ]
    )


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("block-size", help="Tail waste, table entries, hit rate and step time by block size.")(
        block_size
    )


def block_size(
    size: Annotated[
        str | None, typer.Option(help="small or full. Default: full; with a --model on a CPU small.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help=f"Take the steps on a model; without: no tensors, the scheduler's time. {MODEL}"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the lengths.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print what each block size costs and buys."""
    with refusals_of("block-size"):
        sizes = size_named(SIZES, size or ("small" if model is not None and not card_there() else "full"))
        make, name, device = runners(model)
    with progress("nine block sizes", 1.0) as report:
        found = measure(sizes, sizes.asked(seed), make, report)
    facts = {
        "model": name,
        "device": device,
        "seed": seed,
        "requests": sizes.requests,
        "prefixes": sizes.prefixes,
        "slots": sizes.slots,
        "max_num_seqs": sizes.max_num_seqs,
        "max_num_batched_tokens": sizes.max_num_batched_tokens,
        "block_sizes": found,
    }
    print_facts(facts, as_json, table)


def runners(model: str | None) -> tuple[MakeRunner, str, str]:
    """What makes a runner for each block size, on one model's weights, and what it is called and runs on."""
    if model is None:
        return lambda num_blocks, block_size: NullRunner(), NullRunner.model, NullRunner.device
    loaded = load_for_bench(choose_model(model))
    return loaded.runner, loaded.name, loaded.device
