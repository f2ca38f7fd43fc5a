"""Prefill: chunks of new tokens attend to what stands before each of them, earlier chunks included, all in the pool.

    query rows    tokens of the chunks, one after the other       starts [0, 3, 8]      chunk 1: 5 tokens, 2 heads a KV head
                  0 0 0 │ 1 1 1 1 1                               lengths [3, 9]        they stand at positions 4 … 8

    tile of ROWS  token    3   3   4   4  │ 5   5   6   6  │ 7   7   ‥   ‥      the heads of a group beside one another:
    rows          head     0   1   0   1  │ 0   1   0   1  │ 0   1   ‥   ‥      keys and values are read for all of them

    program (tile of rows, KV head, chunk)
                  positions   0 ─────────────── 4 ──── 8
    row of 4      window ──▶ ░░░░█████████████████               █ seen   ░ before the window: tiles of these alone aren't read
    row of 8                     ░░░░██████████████████████         up to the first row's position nothing is masked

A tile's last positions are masked by row, as each token sees itself and what is before it. The rows with the most to read go
first, so that they are not what is waited for. Chunks are of any length, none included.

Bytes moved a layer: the keys and values of a chunk's context once for each tile of its rows that sees them, from the card's own
cache (L2) but for the first; 2 × Σ length × kv_heads × head_dim × itemsize from memory at least, and queries and answers, 2 × tokens ×
heads × head_dim × itemsize. What bounds it is arithmetic: 4 × head_dim operations for each head, token and position it sees.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
import triton
import triton.language as tl

from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales, movable
from kvarium_engine.kernels.triton_tile import (
    ALIKE,
    FIRST_WITH_FP8,
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


@triton.jit(do_not_specialize=["table_width", "block_bits", "window"])
def prefill_chunks(
    out,  # [tokens, heads, head_dim]
    query,  # [tokens, heads, head_dim]
    key_pool,  # [num_blocks, block_size, kv_heads, head_dim]
    value_pool,
    tables,  # [chunks, table_width] i32
    starts,  # [chunks + 1] i32
    lengths,  # [chunks] i32
    table_width,
    token_stride,  # of query
    head_stride,
    kv_heads,
    group,
    block_bits,
    window,
    score_scale,
    cap,
    value_scale,
    HEAD_DIM: tl.constexpr,
    HEAD_PAD: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
    FP8: tl.constexpr,
    NATIVE_FP8: tl.constexpr,
    WIDE: tl.constexpr,
):
    """A tile of a chunk's rows, for the heads of one KV head: grid (tiles of rows, kv_heads, chunks)."""
    kv_head = tl.program_id(1)
    chunk = tl.program_id(2).to(tl.int64)
    start = tl.load(starts + chunk)
    count = tl.load(starts + chunk + 1) - start
    first_row = (tl.num_programs(0) - 1 - tl.program_id(0)) * ROWS
    if first_row >= count * group:
        return
    before = tl.load(lengths + chunk) - count
    row = first_row + tl.arange(0, ROWS)
    token = row // group
    head = kv_head * group + row % group
    position = before + token
    # What the first row sees, all see; what the last one does not, none does.
    common = before + first_row // group + 1
    end = before + tl.minimum((first_row + ROWS - 1) // group, count - 1) + 1

    dims = tl.arange(0, HEAD_PAD)
    numbers = (token < count)[:, None] & (dims < HEAD_DIM)[None, :]
    line = (start + token).to(tl.int64)
    asked = tl.load(
        query + (line * token_stride + head.to(tl.int64) * head_stride)[:, None] + dims[None, :],
        mask=numbers,
        other=0,
    )
    if FP8 and asked.dtype == tl.bfloat16:
        asked, power = as_float16(asked)
        score_scale = score_scale * power
    acc = tl.zeros([ROWS, HEAD_PAD], dtype=tl.float32)
    total = tl.zeros([ROWS], dtype=tl.float32)
    highest = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    table = tables + chunk * table_width
    if WINDOW:
        first = tl.maximum(common - window, 0)
        masked = first // TILE * TILE
    else:
        first = 0
        masked = common // TILE * TILE
    # Twice the same loop: over tiles that all rows see whole (of a window there are none), and over those that are masked by row.
    for by_row in tl.static_range(1 if WINDOW else 0, 2):
        for tile in range(masked if by_row else 0, end if by_row else masked, TILE):
            positions = tile + tl.arange(0, TILE)
            readable = (positions >= first) & (positions < end)
            slots = slots_of(table, positions, readable, block_bits)
            keys = read_tile(key_pool, slots, readable, kv_head, kv_heads, HEAD_DIM, HEAD_PAD)
            values = read_tile(value_pool, slots, readable, kv_head, kv_heads, HEAD_DIM, HEAD_PAD)
            scores = scores_of(
                asked, as_numbers(keys, asked, FP8, NATIVE_FP8), score_scale, cap, SOFTCAP, WIDE
            )
            if by_row:
                seen = positions[None, :] <= position[:, None]
                if WINDOW:
                    seen = seen & (positions[None, :] > position[:, None] - window)
                scores = tl.where(seen, scores, float("-inf"))
            values = as_numbers(values, asked, FP8, NATIVE_FP8)
            acc, total, highest = fold_tile(acc, total, highest, scores, values, WIDE)

    answers = mean_of(acc, total, value_scale)
    place = out + (line * (kv_heads * group) + head)[:, None] * HEAD_DIM + dims[None, :]
    tl.store(place, answers.to(out.dtype.element_ty), mask=numbers)


KERNELS = {"prefill_chunks": prefill_chunks}


def tiling(head_dim: int, itemsize: int, fp8: bool, arch: int) -> tuple[int, Tiling]:
    """Rows of a tile, and how positions are taken in, for heads of ``head_dim`` numbers of ``itemsize`` bytes and an FP8 cache or none."""
    if itemsize == 4:
        return 32 if padded(head_dim) <= 128 else 16, Tiling(16, 8, stages_of_float32(fp8))
    if padded(head_dim) == 128 and fp8 and arch < FIRST_WITH_FP8:
        # With 128 rows each of the eight warps would convert the whole tile; so it is half of it.
        return 64, Tiling(64, 8, 3)
    if padded(head_dim) <= 128:
        # Before sm_90 a tensor core takes its numbers from registers, and there are not enough for more.
        return 128, Tiling(64 if arch >= 90 else 32, 8, 3)
    return 64, Tiling(32, 8, 3)


def constants(head_dim: int, itemsize: int, fp8: bool, arch: int) -> tuple[dict[str, Any], Tiling]:
    """The kernel's constants for heads of ``head_dim`` numbers of ``itemsize`` bytes, and how positions are taken in."""
    rows, how = tiling(head_dim, itemsize, fp8, arch)
    return {"HEAD_DIM": head_dim, "HEAD_PAD": padded(head_dim), "ROWS": rows, "TILE": how.tile}, how


def prefill_attention(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    block_tables: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    max_query_len: int,
    scaling: float,
    sliding_window: int | None = None,
    softcap: float | None = None,
    scales: Scales = NO_SCALES,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The tokens of all chunks attend to what stands before each of them; the twin of the reference in ``paged_attention.py``.

    ``query`` ``[tokens, heads, head_dim]``, its last dimension contiguous, the chunks' rows one after the other: those of chunk c
    are ``starts[c]`` … ``starts[c + 1] - 1`` (``[chunks + 1]`` i32), at most ``max_query_len``. ``lengths`` ``[chunks]`` i32: the tokens of
    its sequence up to the chunk's end. One layer's pools ``[num_blocks, block_size, kv_heads, head_dim]``, contiguous, of the query's
    dtype or FP8 (times ``scales``); ``block_tables`` ``[chunks, blocks]`` i32, in which entries past a chunk's end may be anything. With a
    ``sliding_window`` w a token sees itself and the w - 1 before it. Writes to ``out`` (contiguous, as ``query``; rows of no chunk are left
    alone) and returns it.
    """
    tokens, heads, head_dim = query.shape
    _, block_size, kv_heads, _ = key_pool.shape
    chunks = lengths.shape[0]
    assert heads % kv_heads == 0 and query.stride(2) == 1 and block_tables.stride(1) == 1
    assert key_pool.is_contiguous() and value_pool.is_contiguous() and lengths.is_contiguous()
    assert starts.is_contiguous() and starts.shape == (chunks + 1,)
    assert block_tables.dtype == starts.dtype == lengths.dtype == torch.int32
    if out is None:
        out = torch.empty((tokens, heads, head_dim), dtype=query.dtype, device=query.device)
    assert out.is_contiguous() and out.shape == query.shape and out.dtype == query.dtype
    if tokens == 0:
        return out
    group = heads // kv_heads
    arch = arch_of(query.device)
    fp8 = key_pool.dtype == FP8
    sizes, how = constants(head_dim, query.itemsize, fp8, arch)
    score_scale, cap = score_factors(scaling, scales[0], softcap)
    prefill_chunks[(triton.cdiv(max_query_len * group, sizes["ROWS"]), kv_heads, chunks)](
        out,
        query,
        movable(key_pool),
        movable(value_pool),
        block_tables,
        starts,
        lengths,
        block_tables.stride(0),
        query.stride(0),
        query.stride(1),
        kv_heads,
        group,
        bits_of(block_size),
        NO_WINDOW if sliding_window is None else sliding_window,
        score_scale,
        cap,
        scales[1],
        **sizes,
        WINDOW=sliding_window is not None,
        SOFTCAP=softcap is not None,
        **conversion(fp8, arch),
        WIDE=wide(query.dtype),
        num_warps=how.num_warps,
        num_stages=how.num_stages,
        **LAUNCH,
    )
    return out


def variants() -> Iterator[Variant]:
    """What the kernel can be compiled as: one for each combination of settings."""
    for head_dim, dtype, kv_dtype, window, softcap in product(
        HEAD_DIMS, DTYPES, KV_DTYPES, (False, True), (False, True)
    ):
        pool, fp8 = pointer(dtype, kv_dtype), kv_dtype != "same"
        integers = "table_width token_stride head_stride kv_heads group block_bits window"
        for archs in ALIKE:
            sizes, how = constants(head_dim, ITEMSIZES[dtype], fp8, archs[0])
            yield Variant(
                "prefill_chunks",
                {
                    "head_dim": head_dim,
                    "dtype": dtype,
                    "kv_dtype": kv_dtype,
                    "window": window,
                    "softcap": softcap,
                },
                {"out": pointer(dtype), "query": pointer(dtype), "key_pool": pool, "value_pool": pool}
                | dict.fromkeys(("tables", "starts", "lengths"), "*i32")
                | dict.fromkeys(integers.split(), "i32")
                | dict.fromkeys(("score_scale", "cap", "value_scale"), "fp32"),
                {
                    **sizes,
                    "WINDOW": window,
                    "SOFTCAP": softcap,
                    **conversion(fp8, archs[0]),
                    "WIDE": False,
                },
                how.num_warps,
                how.num_stages,
                archs,
            )
