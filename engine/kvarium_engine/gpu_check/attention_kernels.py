"""The attention kernels against float64, over head dims, dtypes, groups, block sizes, windows and soft caps.

block tables   random and without order; what no sequence has filled is NaN, so that reading it shows
decode         lengths from 1 to past a split, and a row of padding (length 0)
prefill        chunks from the start and with earlier context, of lengths that fill no tile
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from kvarium_engine.gpu_check import exact
from kvarium_engine.gpu_check.part import Facts, FailedError, Setting
from kvarium_engine.gpu_check.pool_kernels import name
from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales
from kvarium_engine.memory.block_table import blocks_for

COMPILED_S = 6.0
"""What a case may take, its kernels compiled."""

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


class AttentionCase(NamedTuple):
    """``heads`` query heads share ``kv_heads``; keys and values are kept as ``kv_dtype``."""

    head_dim: int
    heads: int
    kv_heads: int
    block_size: int
    dtype: torch.dtype
    kv_dtype: torch.dtype
    window: int | None = None
    softcap: float | None = None

    def __str__(self) -> str:
        kept = "" if self.kv_dtype == self.dtype else f" in {name(self.kv_dtype)}"
        return (
            f"head_dim {self.head_dim}, {self.heads} heads on {self.kv_heads}, blocks of {self.block_size}, "
            f"{name(self.dtype)}{kept}"
            + (f", window {self.window}" if self.window else "")
            + (f", softcap {self.softcap:g}" if self.softcap else "")
        )


ON_CARD = (
    AttentionCase(128, 32, 8, 16, BF16, BF16),
    AttentionCase(64, 9, 3, 16, F32, F32),
    AttentionCase(256, 8, 4, 64, BF16, BF16, window=200, softcap=50.0),
    AttentionCase(128, 32, 8, 16, BF16, FP8),
    AttentionCase(80, 32, 32, 16, F16, F16),
    AttentionCase(96, 32, 32, 32, BF16, BF16, window=100),
    AttentionCase(64, 8, 1, 128, F32, FP8),
    AttentionCase(256, 8, 4, 16, F16, FP8, window=64, softcap=50.0),
    AttentionCase(64, 32, 8, 16, BF16, BF16),
    AttentionCase(128, 28, 4, 8, F16, F16),
    AttentionCase(128, 32, 8, 256, F32, F32),
    AttentionCase(256, 16, 8, 16, F16, F16, softcap=30.0),
)
"""The most different first, as there may be no time for all."""
SMALL = (
    AttentionCase(16, 4, 2, 8, F32, F32, window=5),
    AttentionCase(80, 3, 1, 16, F32, F32, softcap=20.0),
    AttentionCase(64, 2, 2, 8, F16, FP8),
)


class Pool:
    """One layer's pools with the keys and values of sequences of ``lengths`` tokens, and NaN in all other slots."""

    def __init__(self, case: AttentionCase, lengths: Sequence[int], device: str, seed: int) -> None:
        size = case.block_size
        counts = [blocks_for(length, size) for length in lengths]
        order = random.Random(seed).sample(range(sum(counts) + 3), sum(counts))
        self.scales: Scales = (0.75, 1.25) if case.kv_dtype == FP8 else NO_SCALES
        self.tables: list[list[int]] = []
        for count in counts:
            self.tables.append([order.pop() for _ in range(count)])
        shape = (2, sum(counts) + 3, size, case.kv_heads, case.head_dim)
        numbers = torch.randn(shape, device=device)
        filled = torch.zeros(shape[1:3], dtype=torch.bool, device=device)
        for table, length in zip(self.tables, lengths, strict=True):
            for place, block in enumerate(table):
                filled[block, : length - place * size] = True
        numbers[:, ~filled] = torch.nan
        key, value = numbers.to(case.kv_dtype)
        self.pools = key.contiguous(), value.contiguous()
        self.block_tables = torch.zeros(len(lengths), max(counts), dtype=torch.int32, device=device)
        for row, table in enumerate(self.tables):
            self.block_tables[row, : len(table)] = torch.tensor(table, dtype=torch.int32)


def check_decode(setting: Setting) -> Facts:
    """One token a sequence. Raises :class:`FailedError` with the cases that are off."""
    from kvarium_engine.kernels.triton_decode import decode_attention

    lengths = [1, 7, 16, 255, 256, 257, 1000, 4097, 33] if setting.on_card else [1, 16, 37]
    errors: dict[AttentionCase, float] = {}
    for case in cases(setting, errors):
        torch.manual_seed(len(errors))
        pool = Pool(case, [*lengths, 0], setting.device, seed=len(errors))
        query = torch.randn(len(lengths) + 1, case.heads, case.head_dim, device=setting.device).to(case.dtype)
        scaling = case.head_dim**-0.5
        out = torch.full_like(query, torch.nan)
        told = torch.tensor([*lengths, 0], dtype=torch.int32, device=setting.device)
        found = decode_attention(
            query,
            *pool.pools,
            pool.block_tables,
            told,
            scaling,
            case.window,
            case.softcap,
            pool.scales,
            out=out,
        )
        expected = torch.cat(
            [
                exact.attention(
                    query[row : row + 1],
                    pool.pools,
                    table,
                    length,
                    scaling,
                    case.window,
                    case.softcap,
                    pool.scales,
                )
                for row, (table, length) in enumerate(zip(pool.tables, lengths, strict=False))
            ]
        )
        errors[case] = exact.error(found[:-1], expected)
        setting.say(f"decode, {case}: {errors[case]:.1e}")
    return judged(errors, setting)


def check_prefill(setting: Setting) -> Facts:
    """Chunks of several sequences at once. Raises :class:`FailedError` with the cases that are off."""
    from kvarium_engine.kernels.triton_prefill import prefill_attention

    # (tokens of the chunk, context up to its end)
    chunks = (
        [(1, 1), (5, 300), (64, 64), (130, 130), (257, 1000), (31, 2048)]
        if setting.on_card
        else [(3, 3), (5, 21), (17, 17)]
    )
    counts, lengths = zip(*chunks, strict=True)
    starts = torch.tensor([sum(counts[:number]) for number in range(len(counts) + 1)], dtype=torch.int32)
    errors: dict[AttentionCase, float] = {}
    for case in cases(setting, errors):
        torch.manual_seed(len(errors))
        pool = Pool(case, lengths, setting.device, seed=len(errors))
        query = torch.randn(sum(counts), case.heads, case.head_dim, device=setting.device).to(case.dtype)
        scaling = case.head_dim**-0.5
        out = torch.full_like(query, torch.nan)
        found = prefill_attention(
            query,
            *pool.pools,
            pool.block_tables,
            starts.to(setting.device),
            torch.tensor(lengths, dtype=torch.int32, device=setting.device),
            max(counts),
            scaling,
            case.window,
            case.softcap,
            pool.scales,
            out=out,
        )
        expected = torch.cat(
            [
                exact.attention(
                    rows, pool.pools, table, length, scaling, case.window, case.softcap, pool.scales
                )
                for rows, table, length in zip(query.split(counts), pool.tables, lengths, strict=True)
            ]
        )
        errors[case] = exact.error(found, expected)
        setting.say(f"prefill, {case}: {errors[case]:.1e}")
    return judged(errors, setting)


def cases(setting: Setting, errors: dict[AttentionCase, float]) -> Iterator[AttentionCase]:
    """Those for this device, as long as there is time for one more: each may have to be compiled first."""
    for case in ON_CARD if setting.on_card else SMALL:
        if errors and setting.left < COMPILED_S:
            return
        yield case


def judged(errors: dict[AttentionCase, float], setting: Setting) -> Facts:
    """The errors of all cases, beside what rounding explains. Raises :class:`FailedError` where it does not."""
    facts: Facts = {
        "left_out": len(ON_CARD if setting.on_card else SMALL) - len(errors),
        "cases": [
            {"case": str(case), "error": _finite(error), "allowed": exact.TOLERANCE[case.dtype]}
            for case, error in errors.items()
        ],
    }
    wrong = [case for case, error in errors.items() if not error <= exact.TOLERANCE[case.dtype]]
    if wrong:
        raise FailedError(
            f"{len(wrong)} of {len(errors)} are off from float64, first {wrong[0]}: by {errors[wrong[0]]:.1e} of the largest "
            f"number, rounding explains {exact.TOLERANCE[wrong[0].dtype]:g}",
            facts,
        )
    return facts


def _finite(error: float) -> float | None:
    """None where something was no number: JSON has no infinity."""
    return float(f"{error:.3g}") if error < float("inf") else None
