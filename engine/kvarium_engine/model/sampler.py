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

_SMALL = 4096
"""A vocabulary for which it is not worth while to look at some tokens alone."""
_AT_ONCE = 1 << 16
"""Logits that are looked at at once on a CPU: what is computed of them stays in its cache, and no new memory is asked for."""
_LIKELIEST = 512
"""How many of the likeliest tokens are looked at first for top-p."""


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

    @property
    def filters(self) -> bool:
        """Only some tokens are left to be drawn."""
        return self.top_k > 0 or self.top_p < 1 or self.min_p > 0


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
    return _times(seeds, torch.arange(vocabulary, dtype=torch.int64, device=device))


def _times(seeds: Sequence[int], tokens: torch.Tensor) -> torch.Tensor:
    """The waiting times ``[seeds, tokens]`` of some tokens (i64)."""
    start = torch.tensor([_signed(seed) for seed in seeds], dtype=torch.int64, device=tokens.device)
    value = start[:, None] + (tokens + 1) * _signed(0x9E3779B97F4A7C15)
    # SplitMix64's finaliser; i64 multiplies modulo 2^64 as u64 does, only shifts must be told to bring in zeros.
    value.bitwise_xor_(_shifted(value, 30)).mul_(_signed(0xBF58476D1CE4E5B9))
    value.bitwise_xor_(_shifted(value, 27)).mul_(_signed(0x94D049BB133111EB))
    value.bitwise_xor_(_shifted(value, 31))
    # 24 bits, so that f32 holds them exactly; half a step up, so that none is 0.
    return _shifted(value, 40).float().add_(0.5).mul_(2.0**-24).log_().neg_()


def _shifted(value: torch.Tensor, bits: int) -> torch.Tensor:
    """i64 as if it were u64, shifted right."""
    return (value >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """A u64 as the i64 of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def sample(logits: torch.Tensor, rows: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    """One token for each of ``draws``, of the row of ``logits`` (``[rows, vocabulary]``, any float) that ``rows`` names.

    Raises :class:`FloatingPointError` when a logit is NaN: the forward has failed then.
    """
    largest = logits.argmax(dim=-1, keepdim=True)
    if torch.isnan(logits.gather(-1, largest)).any():  # NaN counts as the largest
        raise FloatingPointError("the logits are not numbers (NaN)")
    tokens = _choose(logits, largest, rows, draws)
    changed = [number for number, draw in enumerate(draws) if draw.adjustment is not None]
    if changed:
        scores = adjusted(
            logits[[rows[number] for number in changed]],
            [draw.adjustment for draw in draws if draw.adjustment is not None],
        )
        largest = scores.argmax(dim=-1, keepdim=True)
        chosen = _choose(scores, largest, range(len(changed)), [draws[number] for number in changed])
        for number, token in zip(changed, chosen, strict=True):
            tokens[number] = token
    return tokens


def _choose(
    logits: torch.Tensor, largest: torch.Tensor, rows: Sequence[int], draws: Sequence[Draw]
) -> list[int]:
    greedy = largest[:, 0].tolist()
    tokens = [greedy[row] for row in rows]
    drawn = [number for number, draw in enumerate(draws) if draw.temperature > 0]
    # On a card all at once, as there each call costs.
    most = max(1, _AT_ONCE // logits.shape[1]) if logits.device.type == "cpu" else max(1, len(drawn))
    for start in range(0, len(drawn), most):
        part = drawn[start : start + most]
        scores = logits[[rows[number] for number in part]]
        for number, token in zip(part, _draw(scores, [draws[n] for n in part]), strict=True):
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
    return _first(chances, draws)


def _first(chances: torch.Tensor, draws: Sequence[Draw]) -> list[int]:
    """The first token to come of each row of ``chances``. On a CPU, those that a filter has left out don't even wait."""
    seeds = [seed_of(draw.seed, draw.sequence_index, draw.position) for draw in draws]
    vocabulary = chances.shape[1]
    if chances.device.type != "cpu" or vocabulary <= _SMALL or not all(draw.filters for draw in draws):
        first: list[int] = (
            chances.div_(waiting_times(seeds, vocabulary, chances.device)).argmax(dim=-1).tolist()
        )
        return first
    tokens = []
    for row, seed in zip(chances, seeds, strict=True):
        left = row.nonzero()[:, 0]
        tokens.append(int(left[row[left].div_(_times([seed], left)[0]).argmax()]))
    return tokens


def _nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of the likeliest tokens whose chances add up to ``top_p``; the others get 0."""
    kept = torch.zeros_like(chances)
    if len(chances) > _SMALL:
        # Most often a few are enough, and to sort them all would take longer than all else.
        least = chances.topk(_LIKELIEST).values[-1]
        likely = ((chances >= least) & (chances > 0)).nonzero()[:, 0]
        ordered, order, inside = _ordered(chances[likely], top_p)
        if least == 0 or not inside[-1]:
            kept[likely[order[inside]]] = ordered[inside]
            return kept
    ordered, order, inside = _ordered(chances, top_p)
    kept[order[inside]] = ordered[inside]
    return kept


def _ordered(chances: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Chances from the likeliest on, their order, and which of them the smallest set has that adds up to ``top_p``."""
    ordered, order = chances.sort(descending=True, stable=True)
    return ordered, order, ordered.cumsum(dim=-1) - ordered < top_p
