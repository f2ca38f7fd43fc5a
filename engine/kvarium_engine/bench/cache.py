"""``kvarium bench cache``: what it costs to keep keys and values, in four ways, on the same model.

    no cache        every step computes all tokens anew                    [ t0 t1 t2 … tn ] ─▶ one token
    concatenation   every step copies what there is, and appends           old ──copy──▶ new │ t        0 + 1 + 2 + …
    preallocated    all slots are there from the start, each written once  [ t0 t1 t ┄┄┄┄┄┄┄┄┄┄┄┄ ]
    paged           blocks as they are needed, each slot written once      [ t4 t5 t ┄ ] … [ t0 t1 t2 t3 ]

Three questions. *Entries*: a token's keys and values of one layer are an entry; how many are written, and how many that stood in the
cache already are copied elsewhere (seen by whether the memory in which they are is another one). *Bytes*: of the real tensors, beside
2 × layers × KV heads × head_dim × length × bytes a number. *Time*: of a step that computes the last token of a sequence of a
length. All ways in turn, lengths within a round, rounds one after the other, so that a slower minute meets them all.

Tokens are counted on one layer of the model's geometry, up to a length at which steps without a cache would take hours; times are
taken up to a shorter one. In the torch reference, attention to a paged cache gathers the context once a layer: it is a part of
the step's time, and no entry of the cache.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvarium_engine.bench.columns import columns
from kvarium_engine.bench.commands import MODEL, AsJson, print_facts, refusals_of, size_named
from kvarium_engine.bench.loading import load_for_bench
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.progress import progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kvarium_engine.model.kept import Kept

WAYS = ("no cache", "concatenation", "preallocated", "paged")


def grows_from(lengths: Sequence[int]) -> float:
    """How many times as long a step must take at the last length as at the first to be told as growing.

    The root of the lengths' ratio, 4 from 32 to 512 tokens: between one that is as long with any, and one that is in proportion.
    """
    return math.sqrt(lengths[-1] / lengths[0])


Report = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """``count``: tokens up to which entries are counted; ``lengths``: those at which a step is timed, ``rounds`` times each.

    ``tokens``: so many greedy tokens are made in each way, to see that they are the same.
    """

    count: int
    lengths: tuple[int, ...]
    rounds: int
    tokens: int
    block_size: int = 16


SIZES = {
    "small": Sizes(1024, (16, 32, 64), 3, 8),
    "full": Sizes(8192, (32, 64, 128, 256, 512), 5, 24),
}


def concatenation_entries(length: int) -> int:
    """Entries that appending one by one by concatenation copies: 0 + 1 + … + (length - 1)."""
    return length * (length - 1) // 2


def measure(
    model: "PreTrainedModel", name: str, sizes: Sizes, report: Report = lambda done, now: None
) -> dict[str, Any]:
    """All of it by name, for scripts; ``report`` is told the share that is done, and what is being done.

    ``model`` is loaded for the paged attention. Raises :class:`UsageError` for one that is too short for the lengths.
    """
    from kvarium_engine.model.geometry import geometry_of
    from kvarium_engine.model.torch_runner import device_name

    geometry = geometry_of(model.config.get_text_config().to_dict())
    dtype = str(model.dtype).removeprefix("torch.")
    longest = max(*sizes.lengths, sizes.tokens)
    if longest > geometry.max_position_embeddings:
        raise UsageError(
            f"{name} has {geometry.max_position_embeddings} positions, and steps are timed up to {longest}"
        )
    return {
        "model": name,
        "device": device_name(model.device),
        "dtype": dtype,
        "layers": geometry.layers,
        "kv_heads": geometry.kv_heads,
        "head_dim": geometry.head_dim,
        "block_size": sizes.block_size,
        "entries": count_entries(model, sizes, report),
        "bytes": count_bytes(model, sizes, geometry.kv_bytes_per_token(dtype)),
        "steps": time_steps(model, sizes, report),
        "tokens": sizes.tokens,
        "tokens_equal": len({tuple(greedy(model, way, sizes)) for way in WAYS}) == 1,
    }


def count_entries(model: "PreTrainedModel", sizes: Sizes, report: Report) -> dict[str, Any]:
    """Tokens are appended one by one, on one layer of the model's geometry."""
    import torch

    ways = []
    for number, way in enumerate(WAYS[1:]):
        report(0.3 * number / 3, f"{way}: {sizes.count:,} tokens, one by one")
        kept = make(model, way, sizes.count, sizes.block_size, layers=1)
        entry = kept.entries(1, model.dtype, model.device)
        with torch.inference_mode():
            for _ in range(sizes.count):
                kept.append(0, *entry)
        ways.append({"way": way, "written": kept.written, "copied": kept.copied})
    return {
        "length": sizes.count,
        "layers": 1,
        "closed_form": concatenation_entries(sizes.count),
        "ways": [{"way": WAYS[0], "written": 0, "copied": 0}, *ways],
        "tokens_computed_without_a_cache": concatenation_entries(sizes.count + 1),
    }


def count_bytes(model: "PreTrainedModel", sizes: Sizes, a_token: int) -> dict[str, Any]:
    """The real tensors of all layers, with the last of the lengths that are timed; ``a_token``: bytes of one, by the formula."""
    length = sizes.lengths[-1]
    ways = []
    for way in WAYS[1:]:
        kept = make(model, way, length, sizes.block_size)
        for layer in range(kept.layers):
            kept.append(layer, *kept.entries(length, model.dtype, model.device))
        ways.append({"way": way, "bytes": kept.nbytes})
    return {
        "length": length,
        "formula": length * a_token,
        "ways": [{"way": WAYS[0], "bytes": 0}, *ways],
    }


def time_steps(model: "PreTrainedModel", sizes: Sizes, report: Report) -> dict[str, Any]:
    """Milliseconds of a step, the median of the rounds, by way and length."""
    times: dict[str, dict[int, list[float]]] = {way: {length: [] for length in sizes.lengths} for way in WAYS}
    rounds = range(sizes.rounds + 1)  # the first warms up
    for number in rounds:
        for at, length in enumerate(sizes.lengths):
            share = (number + at / len(sizes.lengths)) / len(rounds)
            report(0.3 + 0.6 * share, f"steps of {length:,} tokens, round {number} of {sizes.rounds}")
            for way in WAYS:
                step = prepared(model, way, length, sizes.block_size)
                began = time.perf_counter()
                step()
                if number:
                    times[way][length].append(1000 * (time.perf_counter() - began))
    return {
        "lengths": list(sizes.lengths),
        "rounds": sizes.rounds,
        "ways": [told(way, sizes.lengths, times[way]) for way in WAYS],
    }


def told(way: str, lengths: Sequence[int], times: dict[int, list[float]]) -> dict[str, Any]:
    """Medians, their growth from the first length to the last in the same round, and what that is called."""
    ratio = statistics.median(
        last / first for first, last in zip(times[lengths[0]], times[lengths[-1]], strict=True)
    )
    medians = [statistics.median(times[length]) for length in lengths]
    slope = (medians[-1] - medians[0]) / max(lengths[-1] - lengths[0], 1)
    return {
        "way": way,
        "ms": [round(each, 3) for each in medians],
        "last_to_first": round(ratio, 3),
        "ms_per_1000_tokens": round(1000 * slope, 3),
        "shape": "growing" if ratio >= grows_from(lengths) else "flat",
    }


def make(
    model: "PreTrainedModel", way: str, length: int, block_size: int, layers: int | None = None
) -> "Kept":
    """An empty cache of that kind, with room for ``length`` tokens where room is taken in advance."""
    from kvarium_engine.model.geometry import geometry_of
    from kvarium_engine.model.kept import KINDS

    geometry = geometry_of(model.config.get_text_config().to_dict())
    return KINDS[way](geometry, layers or geometry.layers, length, block_size, model.dtype, model.device)


def prepared(model: "PreTrainedModel", way: str, length: int, block_size: int) -> Callable[[], int]:
    """A step that computes the last token of ``length``; all before it is there already. It returns the likeliest next token."""
    from kvarium_engine.model.kept import step_of

    tokens = [(7 * place + 3) % model.config.get_text_config().vocab_size for place in range(length)]
    kept = None
    if way != WAYS[0]:
        kept = make(model, way, length, block_size)
        for layer in range(kept.layers):
            kept.append(layer, *kept.entries(length - 1, model.dtype, model.device))
    return step_of(model, kept, tokens)


def greedy(model: "PreTrainedModel", way: str, sizes: Sizes) -> list[int]:
    """The greedy tokens after the token 1, made one by one."""
    from kvarium_engine.model.kept import step_of

    tokens = [1]
    kept = None if way == WAYS[0] else make(model, way, sizes.tokens, sizes.block_size)
    while len(tokens) < sizes.tokens:
        tokens.append(step_of(model, kept, tokens)())
    return tokens


def table(facts: dict[str, Any]) -> str:
    """The same for a person."""
    entries, size, steps = facts["entries"], facts["bytes"], facts["steps"]
    heads = ["", "entries written", "entries copied", f"bytes at {size['length']:,}"]
    heads += [f"ms at {length:,}" for length in steps["lengths"]]
    rows = [[*heads, "last ÷ first", ""]]
    for count, kept, timed in zip(entries["ways"], size["ways"], steps["ways"], strict=True):
        row = [count["way"], f"{count['written']:,}", f"{count['copied']:,}", f"{kept['bytes']:,}"]
        row += [f"{ms:,.1f}" for ms in timed["ms"]]
        rows.append([*row, f"{timed['last_to_first']:.2f}", timed["shape"]])
    formula = (
        f"2 (K, V) × {facts['layers']} layers × {facts['kv_heads']} KV heads × head_dim {facts['head_dim']} × "
        f"{size['length']:,} tokens in {facts['dtype']} = {size['formula']:,} bytes"
    )
    same = "the same in all four ways" if facts["tokens_equal"] else "NOT the same in all four ways"
    return "\n".join(
        [
            f"{facts['model']}, {facts['dtype']} on {facts['device']}, blocks of {facts['block_size']}",
            "",
            *columns(rows, left=1),
            "",
            f"Entries: counted while {entries['length']:,} tokens were appended one by one, on one layer of this geometry;",
            (
                f"0 + 1 + … + {entries['length'] - 1:,} = {entries['closed_form']:,}. Without a cache "
                f"{entries['tokens_computed_without_a_cache']:,} tokens would be computed instead of {entries['length']:,}."
            ),
            f"Bytes: {formula}.",
            (
                f"Milliseconds: a whole step of the model, the median of {steps['rounds']} interleaved rounds; growing from "
                f"{grows_from(steps['lengths']):.1f} times on, the root of what the lengths grow by."
            ),
            f"{facts['tokens']} greedy tokens: {same}.",
        ]
    )


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cache", help="What keeping keys and values costs, in four ways.")(cache)


def cache(
    model: Annotated[str, typer.Option(help=MODEL)] = "smollm2-135m",
    load_format: Annotated[
        str, typer.Option(help="auto; or dummy: random weights from a config alone.")
    ] = "auto",
    dtype: Annotated[
        str, typer.Option(help="auto (as the weights are stored), float32, bfloat16 or float16.")
    ] = "auto",
    size: Annotated[
        str, typer.Option(help="full: entries to 8,192 tokens, steps to 512; small: to 1,024 and 64.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Print what each way costs."""
    with refusals_of("cache"):
        sizes = size_named(SIZES, size)
        loaded = load_for_bench(choose_model(model, dtype, load_format=load_format))
        with progress(f"{loaded.name}: four ways to keep keys and values", 1.0) as report:
            facts = measure(loaded.module, loaded.name, sizes, report)
    print_facts(facts, as_json, table)
