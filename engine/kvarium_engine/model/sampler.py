"""The sampler: logits to tokens.

    logits ─▶ adjusted ──▶ greedy (temperature 0): the largest
             (of those      └─▶ ÷ temperature ─▶ min-p ─▶ top-k ─▶ softmax ─▶ top-p ─▶ the largest of
              who ask)                                                                 chance ÷ waiting time

Each token of the vocabulary waits for an exponentially distributed time, and the first to come is drawn: with rate p it comes
first with chance p (vLLM draws so too). The times are hashes of the request's seed, the sequence's index, the position
and the token, and of nothing else, so a run is repeated by its seeds, whoever runs beside a request and however
often it is preempted. Logits of another batch shape differ in their last bits; that changes a token only where two were
within those bits of one another, as with greedy sampling. (A running sum that passes a number would be moved at each
of its borders.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kvarium_engine.model.adjust import Adjustment, adjusted

_MASK = (1 << 64) - 1


class Draw(NamedTuple):
    """How one token is drawn. ``seed`` is the request's; ``position`` is the token's in its sequence.

    ``adjustment``: what is done to its logits first; None: nothing.
    """

    temperature: float
    top_k: int
    top_p: float
    seed: int
    sequence_index: int
    position: int
    min_p: float = 0.0
    adjustment: Adjustment | None = None


def _mix(value: int) -> int:
    """A well-mixed u64 of an integer (SplitMix64's finaliser)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seed_of(seed: int, sequence_index: int, position: int) -> int:
    """A u64 that depends on these three alone."""
    return _mix(_mix(_mix(seed) ^ sequence_index) ^ position)


def waiting_times(seeds: Sequence[int], vocabulary: int, device: torch.device) -> torch.Tensor:
    """Exponentially distributed numbers ``[seeds, vocabulary]`` (f32, above 0), each a hash of its seed (u64) and token."""
    start = torch.tensor([_signed(seed) for seed in seeds], dtype=torch.int64, device=device)
    token = torch.arange(1, vocabulary + 1, dtype=torch.int64, device=device)
    value = start[:, None] + token * _signed(0x9E3779B97F4A7C15)
    # SplitMix64's finaliser; i64 multiplies modulo 2^64 as u64 does, only shifts must be told to bring in zeros.
    value = (value ^ _shifted(value, 30)) * _signed(0xBF58476D1CE4E5B9)
    value = (value ^ _shifted(value, 27)) * _signed(0x94D049BB133111EB)
    value = value ^ _shifted(value, 31)
    # 24 bits, so that f32 holds them exactly; half a step up, so that none is 0.
    return -torch.log((_shifted(value, 40).float() + 0.5) * 2.0**-24)


def _shifted(value: torch.Tensor, bits: int) -> torch.Tensor:
    """i64 as if it were u64, shifted right."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """A u64 as the i64 of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def sample(logits: torch.Tensor, rows: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    """One token for each of ``draws``, of the row of ``logits`` (``[rows, vocabulary]``, any float) that ``rows`` names.

    Raises :class:`FloatingPointError` when a logit is NaN: the forward has failed then.
    """
    if torch.isnan(logits).any():
        raise FloatingPointError("the logits are not numbers (NaN)")
    tokens = _choose(logits, rows, draws)
    changed = [number for number, draw in enumerate(draws) if draw.adjustment is not None]
    if changed:
        scores = adjusted(
            logits[[rows[number] for number in changed]],
            [draw.adjustment for draw in draws if draw.adjustment is not None],
        )
        chosen = _choose(scores, range(len(changed)), [draws[number] for number in changed])
        for number, token in zip(changed, chosen, strict=True):
            tokens[number] = token
    return tokens


def _choose(logits: torch.Tensor, rows: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    greedy = logits.argmax(dim=-1).tolist()
    tokens = [greedy[row] for row in rows]
    drawn = [number for number, draw in enumerate(draws) if draw.temperature > 0]
    if drawn:
        scores = logits[[rows[number] for number in drawn]]
        for number, token in zip(drawn, _draw(scores, [draws[n] for n in drawn]), strict=True):
            tokens[number] = token
    return tokens


def _draw(logits: torch.Tensor, draws: list[Draw]) -> list[int]:
    temperatures = torch.tensor([draw.temperature for draw in draws], device=logits.device)[:, None]
    # The largest is taken off first, so that a tiny temperature can't overflow.
    scores = logits.float()
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / temperatures
    if any(draw.min_p for draw in draws):
        # The likeliest has the score 0: a chance relative to it is exp(score).
        least = torch.tensor([draw.min_p for draw in draws], device=logits.device).log()
        scores.masked_fill_(scores < least[:, None], -torch.inf)
    for row, draw in enumerate(draws):
        if 0 < draw.top_k < scores.shape[1]:
            least = scores[row].topk(draw.top_k).values[-1]
            scores[row].masked_fill_(scores[row] < least, -torch.inf)
    chances = scores.softmax(dim=-1)
    for row, draw in enumerate(draws):
        if draw.top_p < 1:
            chances[row] = _nucleus(chances[row], draw.top_p)
    seeds = [seed_of(draw.seed, draw.sequence_index, draw.position) for draw in draws]
    return chances.div_(waiting_times(seeds, chances.shape[1], chances.device)).argmax(dim=-1).tolist()


def _nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of the likeliest tokens whose chances add up to ``top_p``; the others get 0."""
    ordered, order = chances.sort(descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(chances)
    inside = before < top_p
    kept[order[inside]] = ordered[inside]
    return kept
