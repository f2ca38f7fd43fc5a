"""The sampler: logits to tokens.

    logits ──▶ greedy (temperature 0): the largest
           └─▶ ÷ temperature ─▶ top-k ─▶ softmax ─▶ top-p ─▶ the token at which the running sum passes u

``u`` in [0, 1) is a hash of the request's seed, the sequence's index and the position, and of nothing else: a token does not
depend on who ran beside it, nor on a preemption, and a run is repeated by its seeds. (vLLM draws from a generator a
request; the distribution is the same.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

_MASK = (1 << 64) - 1


class Draw(NamedTuple):
    """How one token is drawn. ``seed`` is the request's; ``position`` is the token's in its sequence."""

    temperature: float
    top_k: int
    top_p: float
    seed: int
    sequence_index: int
    position: int


def _mix(value: int) -> int:
    """A well-mixed u64 of an integer (SplitMix64's finaliser)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def uniform(seed: int, sequence_index: int, position: int) -> float:
    """A number in [0, 1) with 53 bits that depends on these three alone."""
    return (_mix(_mix(_mix(seed) ^ sequence_index) ^ position) >> 11) * 2.0**-53


def sample(logits: torch.Tensor, rows: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    """One token for each of ``draws``, of the row of ``logits`` (``[rows, vocabulary]``, any float) that ``rows`` names.

    Raises :class:`FloatingPointError` when a logit is NaN: the forward has failed then.
    """
    if torch.isnan(logits).any():
        raise FloatingPointError("the logits are not numbers (NaN)")
    greedy = logits.argmax(dim=-1).tolist()
    tokens = [greedy[row] for row in rows]
    drawn = [number for number, draw in enumerate(draws) if draw.temperature > 0]
    if drawn:
        scores = logits[[rows[number] for number in drawn]]
        for number, token in zip(drawn, _draw(scores, [draws[n] for n in drawn]), strict=True):
            tokens[number] = token
    return tokens


def _draw(logits: torch.Tensor, draws: list[Draw]) -> list[int]:
    def column(values: list[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float64, device=logits.device)[:, None]

    # The largest is taken off first, so that a tiny temperature can't overflow.
    scores = logits.double()
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / column([draw.temperature for draw in draws])
    for row, draw in enumerate(draws):
        if 0 < draw.top_k < scores.shape[1]:
            least = scores[row].topk(draw.top_k).values[-1]
            scores[row].masked_fill_(scores[row] < least, -torch.inf)
    chances = scores.softmax(dim=-1)
    for row, draw in enumerate(draws):
        if draw.top_p < 1:
            chances[row] = _nucleus(chances[row], draw.top_p)
    sums = chances.cumsum(dim=-1)
    asked = column([uniform(draw.seed, draw.sequence_index, draw.position) for draw in draws]) * sums[:, -1:]
    # side="right" never lands on a token whose chance is 0; the last sum is always above what is asked.
    return torch.searchsorted(sums, asked, right=True)[:, 0].tolist()


def _nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of the likeliest tokens whose chances add up to ``top_p``; the others get 0."""
    ordered, order = chances.sort(descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(chances)
    inside = before < top_p
    kept[order[inside]] = ordered[inside]
    return kept
