"""Decode attention as a share of what a copy reaches on the same card, measured beside it, in turn.

    copy      n bytes read, n written ────────────────────▶ bytes ÷ time      the card's bandwidth, as far as it can be had
    decode    keys and values of each context read once ──▶ bytes ÷ time      2 × context × kv_heads × head_dim × itemsize a sequence

One layer of Llama 3.1 8B's sizes. Contexts lie in random blocks, and what is read is many times a card's cache.
"""

import statistics
from collections.abc import Callable
from typing import NamedTuple

import torch

from kvarium_engine.gpu_check.part import Facts, Setting, SkippedError
from kvarium_engine.kernels.fp8 import FP8
from kvarium_engine.memory.block_table import blocks_for

HEADS, KV_HEADS, HEAD_DIM, BLOCK_SIZE = 32, 8, 128, 16
COPIED = 2 << 30
"""Bytes of the copy."""
ROUNDS = 15


class Load(NamedTuple):
    """So many sequences with so many tokens of context each; keys and values in bfloat16, or in FP8."""

    sequences: int
    context: int
    fp8: bool = False


LOADS = (
    Load(1, 131072),
    Load(8, 32768),
    Load(64, 4096),
    Load(256, 1024),
    Load(64, 4096, fp8=True),
)


def measure(setting: Setting) -> Facts:
    """Bandwidths in GB/s (10⁹ bytes), medians of interleaved rounds, and the shares."""
    if not setting.on_card:
        raise SkippedError("there is no card; how long Triton's interpreter takes says nothing")
    source = torch.empty(COPIED // 2, dtype=torch.bfloat16, device=setting.device).fill_(1)
    target = torch.empty_like(source)
    found = []
    for load in LOADS:
        attend, count = decode_of(load, setting.device)
        copies: list[float] = []
        decodes: list[float] = []
        for number in range(ROUNDS + 2):  # the first two warm up
            times = seconds(lambda: target.copy_(source)), seconds(attend)
            if number >= 2:
                copies.append(2 * COPIED / times[0] / 1e9)
                decodes.append(count / times[1] / 1e9)
        copied, decoded = statistics.median(copies), statistics.median(decodes)
        found.append(
            {
                "sequences": load.sequences,
                "context": load.context,
                "kv_dtype": "fp8_e4m3" if load.fp8 else "bfloat16",
                "bytes": count,
                "decode_gb_per_s": round(decoded, 1),
                "copy_gb_per_s": round(copied, 1),
                "share": round(decoded / copied, 3),
            }
        )
        setting.say(
            f"{load.sequences} × {load.context:,} tokens{' in FP8' if load.fp8 else ''}: {decoded:,.0f} of {copied:,.0f} GB/s"
        )
    return {"rounds": ROUNDS, "loads": found}


def decode_of(load: Load, device: str) -> tuple[Callable[[], object], int]:
    """The launch of one layer's decode attention, and the bytes of keys and values that it must read."""
    from kvarium_engine.kernels.triton_decode import decode_attention

    torch.manual_seed(0)
    dtype = FP8 if load.fp8 else torch.bfloat16
    each = blocks_for(load.context, BLOCK_SIZE)
    shape = (load.sequences * each, BLOCK_SIZE, KV_HEADS, HEAD_DIM)
    key, value = (torch.randn(shape, device=device, dtype=torch.bfloat16).to(dtype) for _ in "kv")
    tables = torch.randperm(shape[0], device=device).to(torch.int32).view(load.sequences, each)
    lengths = torch.full((load.sequences,), load.context, dtype=torch.int32, device=device)
    query = torch.randn(load.sequences, HEADS, HEAD_DIM, device=device, dtype=torch.bfloat16)
    out = torch.empty_like(query)

    def attend() -> object:
        return decode_attention(
            query, key, value, tables, lengths, HEAD_DIM**-0.5, None, None, (1.0, 1.0), out=out
        )

    return attend, 2 * load.sequences * load.context * KV_HEADS * HEAD_DIM * dtype.itemsize


def seconds(launch: Callable[[], object]) -> float:
    """What it takes on the card."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1000
