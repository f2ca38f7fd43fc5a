"""Decode: one new token a sequence attends to its context in the pool, which is split over the card.

    sequence s     tiles of TILE positions       0 … window's start: not read          length
                   [  skipped  ][ split 0 ][ split 1 ][ split 2 ]       ⌈tiles ÷ splits⌉ tiles each, SHORTEST at least
                                     │          │          │
    program (KV head, s, split)   mean, log  mean, log  mean, log       each [heads of the group, head_dim] in float32
                                     └──────────┼──────────┘
    program (head, s)                        combine                    out [sequences, heads, head_dim]

The query heads that share a KV head are one tile, padded to the 16 rows that a tensor core takes, so that keys and values are
read once for all of them. How many splits there are does not depend on the lengths, which only the card knows (the grid of a CUDA
graph is fixed): each sequence is divided evenly when it is seen, and a split without work ends at once. One split writes
its answer itself, and nothing is combined.

Bytes moved a layer: keys and values of what is attended to, once, 2 × Σ min(length, window) × kv_heads × head_dim × itemsize;
queries and answers, 2 × sequences × heads × head_dim × itemsize; where there are splits, 2 × 4 × (head_dim + 1) × heads for each that
has work: 3 % beside the 256 tokens of a shortest split, with groups of 4 heads and 16 bits.
"""

import functools
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
import triton
import triton.language as tl

from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales, movable
from kvarium_engine.kernels.triton_tile import (
    ALIKE,
    NO_WINDOW,
    Tiling,
    arch_of,
    as_float16,
    as_numbers,
    bits_of,
    conversion,
    fold_tile,
    mean_of,
    padded,
    read_tile,
    score_factors,
    scores_of,
    slots_of,
    stages_of_float32,
    wide,
)
from kvarium_engine.kernels.variants import DTYPES, HEAD_DIMS, ITEMSIZES, KV_DTYPES, LAUNCH, Variant, pointer

ROWS = (16, 64)
"""Query heads in a tile: what a tensor core takes, and for models with one KV head for many. Of float32 always the first: there the
padding is computed in vain."""

SHORTEST = 256
"""Tokens of a split, at least: below, starting it and combining it cost more than it saves."""

RESIDENT = 2
"""Programs that a processor of the card (SM) holds at once."""

MOST_WAVES = 16
"""How often all processors are filled, at most: splits without work cost too."""

STARTING = 96
"""What a program costs before and after its tiles, in tokens."""

COMBINED = 16
"""Splits that are combined at once."""


def rows_of(group: int, itemsize: int) -> int:
    """Query heads in a tile, of a ``group`` that shares a KV head."""
    return ROWS[0] if group <= ROWS[0] or itemsize == 4 else ROWS[1]


def tiling(head_dim: int, itemsize: int, fp8: bool, rows: int) -> Tiling:
    """How heads of ``head_dim`` numbers of ``itemsize`` bytes are decoded, ``rows`` of them in a tile, with an FP8 cache or none.

    The tile's positions don't depend on ``fp8``: what combines the splits knows nothing of it.
    """
    # 16 KiB of keys and as much of values. The block table is read a stage ahead of them, so that five stages are two such pairs on
    # their way; beside 64 rows there is not the memory for it on every card. In float32, which no tensor core takes, registers are short.
    if itemsize == 4:
        stages = stages_of_float32(fp8)
        return Tiling(32, 4, stages) if padded(head_dim) < 128 else Tiling(16, 8, stages)
    return Tiling(min(128, 8192 // padded(head_dim)), 4, 5) if rows == ROWS[0] else Tiling(32, 8, 3)


def constants(head_dim: int, itemsize: int, fp8: bool, rows: int) -> tuple[dict[str, Any], Tiling]:
    """The constants of both kernels for heads of ``head_dim`` numbers of ``itemsize`` bytes, and how they are decoded."""
    how = tiling(head_dim, itemsize, fp8, rows)
    shortest = max(1, SHORTEST // how.tile)
    return {
        "HEAD_DIM": head_dim,
        "HEAD_PAD": padded(head_dim),
        "TILE": how.tile,
        "SHORTEST_TILES": shortest,
    }, how


@triton.jit
def division(length, window, splits, TILE: tl.constexpr, SHORTEST_TILES: tl.constexpr):
    """A sequence's first position that is attended to, its first tile, the tiles of a split, and the splits that have work."""
    first = tl.maximum(length - window, 0)
    first_tile = first // TILE
    tiles = tl.cdiv(length, TILE) - first_tile
    share = tl.maximum(tl.cdiv(tiles, splits), SHORTEST_TILES)
    return first, first_tile, share, tl.cdiv(tiles, share)


@triton.jit(do_not_specialize=["table_width", "block_bits", "splits", "window"])
def decode_splits(
    out,  # [sequences, heads, head_dim], or with SPLIT the splits' means [sequences, heads, splits, head_dim] f32
    logs,  # [sequences, heads, splits] f32: log₂ of a split's total, as large as powers are taken; not used without SPLIT
    query,  # [sequences, heads, head_dim]
    key_pool,  # [num_blocks, block_size, kv_heads, head_dim]
    value_pool,
    tables,  # [sequences, table_width] i32
    lengths,  # [sequences] i32
    table_width,
    sequence_stride,  # of query
    head_stride,
    kv_heads,
    group,
    block_bits,
    splits,
    window,
    score_scale,
    cap,
    value_scale,
    HEAD_DIM: tl.constexpr,
    HEAD_PAD: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    SHORTEST_TILES: tl.constexpr,
    SPLIT: tl.constexpr,
    SOFTCAP: tl.constexpr,
    FP8: tl.constexpr,
    NATIVE_FP8: tl.constexpr,
    WIDE: tl.constexpr,
):
    """A split of a sequence's context, for the heads of one KV head: grid (kv_heads × tiles of heads, sequences, splits)."""
    parts = tl.cdiv(group, ROWS)
    kv_head = tl.program_id(0) // parts
    member = tl.program_id(0) % parts * ROWS + tl.arange(0, ROWS)
    sequence = tl.program_id(1).to(tl.int64)
    split = tl.program_id(2)
    length = tl.load(lengths + sequence)
    first, first_tile, share, working = division(length, window, splits, TILE, SHORTEST_TILES)
    if SPLIT and split >= working:
        return
    begin = (first_tile + split * share) * TILE
    end = tl.minimum(begin + share * TILE, length)

    head = kv_head * group + member
    dims = tl.arange(0, HEAD_PAD)
    rows = member < group
    numbers = rows[:, None] & (dims < HEAD_DIM)[None, :]
    asked = tl.load(
        query + sequence * sequence_stride + head[:, None] * head_stride + dims[None, :],
        mask=numbers,
        other=0,
    )
    if FP8 and asked.dtype == tl.bfloat16:
        asked, power = as_float16(asked)
        score_scale = score_scale * power
    acc = tl.zeros([ROWS, HEAD_PAD], dtype=tl.float32)
    total = tl.zeros([ROWS], dtype=tl.float32)
    highest = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    table = tables + sequence * table_width
    for tile in range(begin, end, TILE):
        positions = tile + tl.arange(0, TILE)
        readable = (positions >= first) & (positions < end)
        slots = slots_of(table, positions, readable, block_bits)
        keys = read_tile(key_pool, slots, readable, kv_head, kv_heads, HEAD_DIM, HEAD_PAD)
        values = read_tile(value_pool, slots, readable, kv_head, kv_heads, HEAD_DIM, HEAD_PAD)
        scores = scores_of(asked, as_numbers(keys, asked, FP8, NATIVE_FP8), score_scale, cap, SOFTCAP, WIDE)
        scores = tl.where(readable[None, :], scores, float("-inf"))
        values = as_numbers(values, asked, FP8, NATIVE_FP8)
        acc, total, highest = fold_tile(acc, total, highest, scores, values, WIDE)

    answers = mean_of(acc, total, value_scale)
    line = sequence * (kv_heads * group) + head
    if SPLIT:
        line = line * splits + split
        tl.store(logs + line, highest + tl.log2(total), mask=rows)
    tl.store(out + line[:, None] * HEAD_DIM + dims[None, :], answers.to(out.dtype.element_ty), mask=numbers)


@triton.jit(do_not_specialize=["splits", "window"])
def decode_combine(
    out,  # [sequences, heads, head_dim]
    means,  # [sequences, heads, splits, head_dim] f32
    logs,  # [sequences, heads, splits] f32
    lengths,  # [sequences] i32
    splits,
    window,
    HEAD_DIM: tl.constexpr,
    HEAD_PAD: tl.constexpr,
    TILE: tl.constexpr,
    SHORTEST_TILES: tl.constexpr,
    COMBINED: tl.constexpr,
):
    """The splits of a sequence and head, weighed by their totals: grid (heads, sequences). Those without work are not read."""
    sequence = tl.program_id(1).to(tl.int64)
    line = sequence * tl.num_programs(0) + tl.program_id(0)
    length = tl.load(lengths + sequence)
    _, _, _, working = division(length, window, splits, TILE, SHORTEST_TILES)
    dims = tl.arange(0, HEAD_PAD)
    numbers = dims < HEAD_DIM
    acc = tl.zeros([1, HEAD_PAD], dtype=tl.float32)
    total = tl.zeros([1], dtype=tl.float32)
    highest = tl.full([1], float("-inf"), dtype=tl.float32)
    for start in range(0, working, COMBINED):
        split = start + tl.arange(0, COMBINED)
        present = split < working
        places = line * splits + split
        log = tl.load(logs + places, mask=present, other=float("-inf"))
        mean = tl.load(
            means + places[:, None] * HEAD_DIM + dims[None, :],
            mask=present[:, None] & numbers[None, :],
            other=0,
        )
        higher = tl.maximum(highest, tl.max(log, 0))
        weights = tl.exp2(log - higher)
        fade = tl.exp2(highest - higher)
        total = total * fade + tl.sum(weights, 0)
        acc = acc * fade[:, None] + tl.sum(weights[:, None] * mean, 0)[None, :]
        highest = higher
    answer = mean_of(acc, total, 1.0)
    place = out + line * HEAD_DIM + dims[None, :]
    tl.store(place, answer.to(out.dtype.element_ty), mask=numbers[None, :])


KERNELS = {"decode_splits": decode_splits, "decode_combine": decode_combine}


@functools.cache
def processors(device: torch.device) -> int:
    """Processors (SMs) of ``device``; one, where it is no card."""
    if device.type != "cuda":
        return 1
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count


@functools.lru_cache(maxsize=4096)
def splits_for(programs: int, longest: int, processors: int) -> int:
    """Into how many splits to divide each of ``programs`` (sequences × KV heads) contexts of up to ``longest`` tokens.

    The number with which ``processors`` processors are the soonest done, where each runs :data:`RESIDENT` programs at once: too few
    leave some idle, and so does a last wave that is almost empty. The least of several that are as good.
    """
    places = processors * RESIDENT
    most = max(1, min(longest // SHORTEST, MOST_WAVES * places // programs))

    def duration(splits: int) -> int:
        return -(-programs * splits // places) * (-(-longest // splits) + STARTING)

    return min(range(1, most + 1), key=duration)


def decode_attention(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    block_tables: torch.Tensor,
    lengths: torch.Tensor,
    scaling: float,
    sliding_window: int | None = None,
    softcap: float | None = None,
    scales: Scales = NO_SCALES,
    out: torch.Tensor | None = None,
    splits: int | None = None,
) -> torch.Tensor:
    """One new token a sequence attends to its context, its own key included; the twin of the reference in ``paged_attention.py``.

    ``query`` ``[sequences, heads, head_dim]``, its last dimension contiguous; one layer's pools ``[num_blocks, block_size, kv_heads,
    head_dim]``, contiguous, of the query's dtype or FP8 (times ``scales``); ``block_tables`` ``[sequences, blocks]`` i32, in which entries
    past a sequence's blocks may be anything; ``lengths`` ``[sequences]`` i32, 0 for a padding sequence, whose answer is zeros. With a
    ``sliding_window`` w the last w tokens are attended to. ``splits``: into how many parts each context is divided, by default
    :func:`splits_for` as many blocks as the tables have room for. Writes to ``out`` (contiguous, as ``query``) and returns it.
    """
    sequences, heads, head_dim = query.shape
    _, block_size, kv_heads, _ = key_pool.shape
    assert heads % kv_heads == 0 and query.stride(2) == 1 and block_tables.stride(1) == 1
    assert key_pool.is_contiguous() and value_pool.is_contiguous() and lengths.is_contiguous()
    assert block_tables.dtype == lengths.dtype == torch.int32
    if out is None:
        out = torch.empty((sequences, heads, head_dim), dtype=query.dtype, device=query.device)
    assert out.is_contiguous() and out.shape == query.shape and out.dtype == query.dtype
    if sequences == 0:
        return out
    group = heads // kv_heads
    rows = rows_of(group, query.itemsize)
    programs = kv_heads * triton.cdiv(group, rows)
    if splits is None:
        longest = block_tables.shape[1] * block_size
        splits = splits_for(sequences * programs, longest, processors(query.device))
    fp8 = key_pool.dtype == FP8
    sizes, how = constants(head_dim, query.itemsize, fp8, rows)
    window = NO_WINDOW if sliding_window is None else sliding_window
    score_scale, cap = score_factors(scaling, scales[0], softcap)
    means = logs = out
    if splits > 1:
        means = torch.empty((sequences, heads, splits, head_dim), dtype=torch.float32, device=query.device)
        logs = torch.empty((sequences, heads, splits), dtype=torch.float32, device=query.device)
    decode_splits[(programs, sequences, splits)](
        means,
        logs,
        query,
        movable(key_pool),
        movable(value_pool),
        block_tables,
        lengths,
        block_tables.stride(0),
        query.stride(0),
        query.stride(1),
        kv_heads,
        group,
        bits_of(block_size),
        splits,
        window,
        score_scale,
        cap,
        scales[1],
        **sizes,
        ROWS=rows,
        SPLIT=splits > 1,
        SOFTCAP=softcap is not None,
        **conversion(fp8, arch_of(query.device)),
        WIDE=wide(query.dtype),
        num_warps=how.num_warps,
        num_stages=how.num_stages,
        **LAUNCH,
    )
    if splits > 1:
        decode_combine[(heads, sequences)](
            out, means, logs, lengths, splits, window, **sizes, COMBINED=COMBINED, **LAUNCH
        )
    return out


def variants() -> Iterator[Variant]:
    """What the kernels can be compiled as: one for each combination of settings that is launched."""
    for head_dim, dtype, kv_dtype, softcap, split, rows in product(
        HEAD_DIMS, DTYPES, KV_DTYPES, (False, True), (False, True), ROWS
    ):
        itemsize = ITEMSIZES[dtype]
        if rows != rows_of(rows, itemsize):
            continue
        pool, fp8 = pointer(dtype, kv_dtype), kv_dtype != "same"
        sizes, how = constants(head_dim, itemsize, fp8, rows)
        integers = "table_width sequence_stride head_stride kv_heads group block_bits splits window"
        for archs in ALIKE:
            yield Variant(
                "decode_splits",
                {
                    "head_dim": head_dim,
                    "dtype": dtype,
                    "kv_dtype": kv_dtype,
                    "softcap": softcap,
                    "split": split,
                    "rows": rows,
                },
                {"out": "*fp32" if split else pointer(dtype), "logs": "*fp32" if split else pointer(dtype)}
                | {
                    "query": pointer(dtype),
                    "key_pool": pool,
                    "value_pool": pool,
                    "tables": "*i32",
                    "lengths": "*i32",
                }
                | dict.fromkeys(integers.split(), "i32")
                | dict.fromkeys(("score_scale", "cap", "value_scale"), "fp32"),
                {
                    **sizes,
                    "ROWS": rows,
                    "SPLIT": split,
                    "SOFTCAP": softcap,
                    **conversion(fp8, archs[0]),
                    "WIDE": False,
                },
                how.num_warps,
                how.num_stages,
                archs,
            )
    for head_dim, dtype in product(HEAD_DIMS, DTYPES):
        yield Variant(
            "decode_combine",
            {"head_dim": head_dim, "dtype": dtype},
            {
                "out": pointer(dtype),
                "means": "*fp32",
                "logs": "*fp32",
                "lengths": "*i32",
                "splits": "i32",
                "window": "i32",
            },
            {**constants(head_dim, ITEMSIZES[dtype], False, ROWS[0])[0], "COMBINED": COMBINED},
        )
