"""Random cases of paged attention, and dense attention in float64 to compare them with.

What may not be read is poison: NaN in every slot that is not attended to (of FP8 too), and entries of the block tables that are no
blocks. Ten cases have each value of each setting; some 55 have each two values that can meet: a fault takes one, or two that meet.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from kvarium_engine.kernels.covering import covering
from kvarium_engine.kernels.fp8 import FP8, NO_SCALES

SETTINGS: dict[str, tuple[Any, ...]] = {
    "head_dim": (8, 16, 32, 64, 80, 96, 128, 256),
    "block_size": (8, 16, 32, 64, 128, 256),
    "dtype": (torch.float32, torch.float16, torch.bfloat16),
    "fp8": (False, True),
    "softcap": (None, 0.5, 30.0),
    "window": (None, 1, 7, 150),
    "kv_heads": (1, 2, 3),
    "group": (1, 2, 3, 8, 20),
    "longest": (3, 40, 300, 600),
    "magnitude": (1.0, 2.0**20, 2.0**-40),
    "heads_first": (False, True),
}
"""``longest``: tokens of a context, at most; ``magnitude``: of the query's numbers, which the scaling takes back; ``heads_first``:
how the query lies in memory."""
DRAWN = 2000
"""Of which those that cover the most are taken: any two values meet in some of so many."""
NO_BLOCK = 2**30
UNIT = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-7}
"""By how much a rounded number is off, of itself. Triton's interpreter cuts bfloat16 off, so it is twice what a card does."""
LEAST = {torch.float32: 0.0, torch.float16: 2.0**-25, torch.bfloat16: 0.0}
"""By how much at least: half the smallest float16."""
LIFTED = 2.0**-15
"""Of that, what a power of the softmax is off: powers of float16 are taken 2¹⁵ times as large."""


@dataclass
class Case:
    """Chunks of sequences (of one token each, for a decode) and the pools they stand in."""

    told: str
    query: torch.Tensor
    key_pool: torch.Tensor
    value_pool: torch.Tensor
    tables: torch.Tensor
    counts: list[int]
    lengths: list[int]
    scaling: float
    window: int | None
    softcap: float | None
    scales: tuple[float, float]


def drawn(rng: random.Random) -> dict[str, Any]:
    """A value for each setting."""
    found = {name: rng.choice(values) for name, values in SETTINGS.items()}
    if found["dtype"] == torch.float16:
        found["magnitude"] = 1.0  # it holds no other
    return found


def cases(kind: str, seed: int, least: int | None = None) -> Iterator[Case]:
    """Cases that have all pairs of values between them; with ``least``, so many that have all values."""
    rng = random.Random(f"{kind} {seed}")
    settings = [drawn(rng) for _ in range(DRAWN)]
    for chosen in covering(settings, least):
        yield case_of(kind, rng, **settings[chosen])


def case_of(
    kind: str,
    rng: random.Random,
    head_dim: int,
    block_size: int,
    dtype: torch.dtype,
    fp8: bool,
    softcap: float | None,
    window: int | None,
    kv_heads: int,
    group: int,
    longest: int,
    magnitude: float,
    heads_first: bool,
) -> Case:
    """A case with these :data:`SETTINGS`; all else of it is random."""
    counts, lengths = chunks_of(kind, rng, longest)
    generator = torch.Generator().manual_seed(rng.randrange(2**60))
    query = (
        torch.randn(kv_heads * group, sum(counts), head_dim, generator=generator).transpose(0, 1).to(dtype)
    )
    tables, pools = poisoned(
        rng, generator, counts, lengths, window, block_size, (kv_heads, head_dim), FP8 if fp8 else dtype
    )
    return Case(
        f"head_dim {head_dim}, block_size {block_size}, {dtype}, fp8 {fp8}, softcap {softcap}, window {window}, "
        f"{kv_heads} × {group} heads, {counts} of {lengths} tokens",
        (query if heads_first else query.contiguous()) * magnitude,
        *pools,
        tables,
        counts,
        lengths,
        head_dim**-0.5 * rng.uniform(0.5, 4) / magnitude,
        window,
        softcap,
        (rng.uniform(0.2, 2), rng.uniform(0.2, 2)) if fp8 else NO_SCALES,
    )


def first_token_takes_all(dtype: torch.dtype, fp8: bool) -> Case:
    """The last of 300 tokens, for which the first weighs 2²³ to 2³⁰ times as much as each other and has a value of zero."""
    length, head_dim, block_size = 300, 16, 32
    others = torch.arange(length - 1)
    key, value = torch.zeros(2, length, head_dim)
    key[0, 0], key[1:, 0], key[1:, 1] = 16, -7, -(others % 8)
    value[1:] = (others[:, None] + torch.arange(head_dim)) % 7 * 32 + 32
    tables = torch.arange(-(-length // block_size), dtype=torch.int32)[None]
    pools = torch.full((2, tables.shape[1] * block_size, head_dim), torch.nan)
    pools[0, :length], pools[1, :length] = key, value
    key_pool, value_pool = pools.view(2, -1, block_size, 1, head_dim).to(FP8 if fp8 else dtype)
    query = torch.ones(1, 1, head_dim, dtype=dtype)
    told = f"a first token that takes all, {dtype}, fp8 {fp8}"
    return Case(told, query, key_pool, value_pool, tables, [1], [length], 0.7, None, None, NO_SCALES)


def chunks_of(kind: str, rng: random.Random, longest: int) -> tuple[list[int], list[int]]:
    """The tokens of each chunk, and of its context with it; one of them is padding."""
    lengths = [rng.randint(1, longest) for _ in range(rng.randint(1, 3))]
    counts = (
        [1] * len(lengths) if kind == "decode" else [rng.randint(1, min(length, 50)) for length in lengths]
    )
    place = rng.randint(0, len(lengths))
    lengths.insert(place, 0)
    counts.insert(place, int(kind == "decode"))
    return counts, lengths


def poisoned(
    rng: random.Random,
    generator: torch.Generator,
    counts: list[int],
    lengths: list[int],
    window: int | None,
    block_size: int,
    shape: tuple[int, int],
    dtype: torch.dtype,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Block tables and pools in which only what is attended to can be read."""
    blocks = [-(-length // block_size) for length in lengths]
    free = rng.sample(range(sum(blocks) + 3), sum(blocks))
    tables = torch.full((len(lengths), max(blocks) + rng.randint(0, 2)), NO_BLOCK, dtype=torch.int32)
    pools = [torch.full((sum(blocks) + 3, block_size, *shape), torch.nan) for _ in range(2)]
    for table, count, length in zip(tables, counts, lengths, strict=True):
        first = 0 if window is None else max(0, length - count + 1 - window)
        positions = torch.arange(first, length)
        for place in range(first // block_size, -(-length // block_size)):
            table[place] = free.pop()
        slots = table[positions // block_size].long() * block_size + positions % block_size
        for pool in pools:
            pool.flatten(0, 1)[slots] = torch.randn(len(slots), *shape, generator=generator)
    return tables, [pool.to(dtype) for pool in pools]


def expected(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """Dense attention in float64, and by how much a kernel may differ from it, each ``[tokens, heads, head_dim]``."""
    answers, allowed = torch.zeros(2, *case.query.shape, dtype=torch.float64)
    dtype, head_dim = case.query.dtype, case.query.shape[2]
    # FP8 and bfloat16 meet in float16, and so do the powers of the softmax and the values then.
    met = torch.float16 if dtype == torch.bfloat16 and case.key_pool.dtype == FP8 else dtype
    group = case.query.shape[1] // case.key_pool.shape[2]
    row = 0
    for table, count, length in zip(case.tables, case.counts, case.lengths, strict=True):
        for position in range(max(0, length - count), length):
            first = 0 if case.window is None else max(0, position + 1 - case.window)
            block_size = case.key_pool.shape[1]
            seen = torch.arange(first, position + 1)
            slots = table[seen // block_size].long() * block_size + seen % block_size
            key, value = (
                (pool.flatten(0, 1)[slots].double() * scale).repeat_interleave(group, 1)
                for pool, scale in zip((case.key_pool, case.value_pool), case.scales, strict=True)
            )
            query = case.query[row].double()
            scores = torch.einsum("hd,nhd->hn", query, key) * case.scaling
            if case.softcap is not None:
                scores = case.softcap * torch.tanh(scores / case.softcap)
            chances = scores.softmax(-1)
            answers[row] = torch.einsum("hn,nhd->hd", chances, value)
            # A score is a sum of head_dim products in float32; a power of it is off by as much, of itself.
            sizes = torch.einsum("hd,nhd->hn", query.abs(), key.abs()).amax(1, keepdim=True) * case.scaling
            off = 2 * 2.0**-24 * ((head_dim + 8) * sizes + 8 * (case.softcap or 0) + 64)
            weighed = torch.einsum("hn,nhd->hd", chances, value.abs())
            # A power, 1 at most, is rounded to its dtype and so off by a unit of itself or by the least, the answer by one of its own.
            allowed[row] = weighed * (off + UNIT[met]) + LIFTED * LEAST[met] * value.abs().sum(0)
            allowed[row] += UNIT[dtype] * answers[row].abs() + LEAST[dtype]
            row += 1
        row += max(0, count - length)
    return answers, allowed


def compare(case: Case, right: torch.Tensor, allowed: torch.Tensor, answer: torch.Tensor, told: str) -> None:
    """Raises :class:`AssertionError`, with what the case was, where ``answer`` differs by more than rounding."""
    assert answer.dtype == case.query.dtype
    worst = ((answer.double() - right).abs() / (allowed * 1.01 + 1e-300)).max().item()
    assert math.isfinite(worst) and worst <= 1, f"{told}: {worst:.3g} of what rounding allows; {case.told}"
