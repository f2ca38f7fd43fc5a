"""Attention in float64, one sequence after the other, straight from its definition: what every kernel is compared with.

scores = q · k × scaling ─▶ c · tanh(scores ÷ c) where there is a softcap ─▶ only positions that may be seen ─▶ softmax ─▶ · v
"""

from collections.abc import Sequence

import torch

from kvarium_engine.kernels.fp8 import FP8, Scales

TOLERANCE = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}
"""What rounding explains of :func:`error`, by the dtype of the queries. In float32 it rules out TF32, which rounds to 10 bits."""


def context(pool: torch.Tensor, table: Sequence[int], length: int, scale: float) -> torch.Tensor:
    """The keys or values of one sequence, in order: ``[length, kv_heads, head_dim]`` f64; of an FP8 pool × ``scale``."""
    blocks = torch.tensor(list(table), device=pool.device)
    numbers = pool.view(torch.uint8)[blocks].view(FP8) if pool.dtype == FP8 else pool[blocks]
    wide = numbers.flatten(0, 1)[:length].to(torch.float32).double()
    return wide * scale if pool.dtype == FP8 else wide


def attention(
    query: torch.Tensor,
    pools: tuple[torch.Tensor, torch.Tensor],
    table: Sequence[int],
    length: int,
    scaling: float,
    window: int | None,
    softcap: float | None,
    scales: Scales,
) -> torch.Tensor:
    """The last tokens of a sequence of ``length``: ``query`` ``[tokens, heads, head_dim]``; the same shape in f64 comes back."""
    tokens, heads, _ = query.shape
    key, value = (
        context(pool, table, length, scale).repeat_interleave(heads // pool.shape[2], dim=1)
        for pool, scale in zip(pools, scales, strict=True)
    )
    scores = torch.einsum("qhd,khd->hqk", query.double(), key) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    place = torch.arange(length, device=query.device)
    asked = place[length - tokens :, None]
    seen = place <= asked
    if window is not None:
        seen &= place > asked - window
    chances = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return torch.einsum("hqk,khd->qhd", chances, value)


def error(found: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest difference, as a part of the largest number; infinite where something is no number."""
    if not bool(found.isfinite().all()):
        return float("inf")
    return float((found.double() - exact).abs().max() / exact.abs().max().clamp_min(1e-30))
