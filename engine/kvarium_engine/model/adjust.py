"""What a request changes in its logits before a token is chosen of them, in vLLM's order.

    logits ──▶ − ∞ for barred tokens ──▶ + logit_bias ──▶ repetition ──▶ − frequency × count ──▶ − presence
                (min_tokens)                              prompt and output       of the output alone

Repetition divides a logit above 0 by the penalty and multiplies one below. Only the rows of requests that ask are here, and
of each only the tokens that it has seen are touched.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch


class Adjustment(NamedTuple):
    """What is changed for one token to be sampled: ``tokens`` are the sequence's, of which the first ``prompt`` are given."""

    tokens: Sequence[int]
    prompt: int
    barred: Sequence[int] = ()
    bias: Mapping[int, float] = {}
    repetition: float = 1.0
    frequency: float = 0.0
    presence: float = 0.0

    @property
    def penalizes(self) -> bool:
        """A penalty is asked for."""
        return self.repetition != 1 or self.frequency != 0 or self.presence != 0


def adjusted(logits: torch.Tensor, adjustments: Sequence[Adjustment]) -> torch.Tensor:
    """``logits`` (``[rows, vocabulary]``, one row for each of ``adjustments``), changed, as float32."""
    scores = logits.to(torch.float32, copy=True)
    size, flat = scores.shape[1], scores.view(-1)

    def places(found: list[int]) -> torch.Tensor:
        return torch.tensor(found, dtype=torch.int64, device=scores.device)

    barred = [
        row * size + token for row, item in enumerate(adjustments) for token in item.barred if token < size
    ]
    if barred:
        flat[places(barred)] = -torch.inf
    bias = {
        row * size + token: value
        for row, item in enumerate(adjustments)
        for token, value in item.bias.items()
        if token < size
    }
    if bias:
        flat[places(list(bias))] += torch.tensor(list(bias.values()), device=scores.device)
    _penalize(flat, size, adjustments)
    return scores


def _penalize(flat: torch.Tensor, size: int, adjustments: Sequence[Adjustment]) -> None:
    """Penalties on ``flat`` (all rows, one behind the other, of ``size`` tokens each)."""
    seen: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    penalties: list[np.ndarray] = []
    for row, item in enumerate(adjustments):
        if not item.penalizes:
            continue
        # A prompt counts for repetition alone.
        first = 0 if item.repetition != 1 else item.prompt
        tokens = np.array(item.tokens[first:], dtype=np.int64)
        found, inverse = np.unique(tokens, return_inverse=True)
        counts.append(np.bincount(inverse[item.prompt - first :], minlength=len(found)))
        seen.append(found + row * size)
        penalties.append(np.tile((item.repetition, item.frequency, item.presence), (len(found), 1)))
    if not seen:
        return

    def tensor(parts: list[np.ndarray], dtype: torch.dtype) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(flat.device, dtype)

    where, count = tensor(seen, torch.int64), tensor(counts, torch.float32)
    repetition, frequency, presence = tensor(penalties, torch.float32).unbind(-1)
    scores = flat[where]
    scores = torch.where(scores > 0, scores / repetition, scores * repetition)
    flat[where] = scores - frequency * count - presence * (count > 0)
