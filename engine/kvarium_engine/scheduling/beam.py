"""A beam search: which continuations of which beams live on, and which hypotheses are found.

    width 2, after step 4            step 5: each beam's likeliest tokens           what becomes of them

    beam 0  −1.2  "the cat" ──┬──▶  −1.5  "the cat sat"                             beam 0, child of 0
                              └──▶  −2.1  "the cat."    an end token                a hypothesis, −2.1 ÷ 5 ^ penalty
    beam 1  −1.9  "a cat"  ───┬──▶  −2.3  "a cat sat"                               beam 1, child of 1
                              └──▶  −2.9  "a cat is"                                nothing

The rules are those of transformers' ``generate`` with ``num_beams`` and without sampling, so that tokens, scores and the order
of the hypotheses are its own: sums in f32; of all continuations the ``(1 + end tokens) × width`` best are looked at, so that
enough of them go on; an end counts only among the ``width`` best; and what is over is decided by ``early_stopping``:

    True      as soon as there are ``width`` hypotheses
    False     when the best beam, were it to end at once, would not be better than the worst of ``width`` hypotheses
    "never"   when it would not be even if it went on to the greatest length at no cost (with a penalty above 0)

Of equal scores the earlier one goes first: that of the better beam, and of one beam the likelier token. A *candidate* is a token
that a beam may go on with, a *hypothesis* a whole answer; the answers of a request are its ``n`` best hypotheses.
"""

from array import array
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from kvarium_engine.scheduling.sampling_params import SamplingParams


class Candidates(NamedTuple):
    """What one beam may go on with: its likeliest tokens, likeliest first, with their log probabilities (f32)."""

    tokens: Sequence[int]
    logprobs: Sequence[float]


class Continuation(NamedTuple):
    """A beam of the next step: the ``parent``-th beam of this one, and ``token``."""

    parent: int
    token: int
    score: float


class FoundHypothesis(NamedTuple):
    """A hypothesis as a step finds it: the ``parent``-th beam, and ``token``, by which it ended; ``score`` has the length penalty in it."""

    parent: int
    token: int
    score: float
    reason: Literal["stop", "length"]


class BeamStep(NamedTuple):
    """What one step led to. ``beams`` are in the order of their scores, the best first."""

    beams: list[Continuation]
    found: list[FoundHypothesis]
    over: bool


class KeptHypothesis(NamedTuple):
    """A hypothesis with its text, as a request keeps it: ``tokens`` are the sampled ones, that by which it ended included."""

    score: float
    tokens: "array[int]"
    reason: Literal["stop", "length"]
    stop_reason: int | None = None


def ends_of(params: SamplingParams, eos_tokens: frozenset[int]) -> frozenset[int]:
    """The tokens that end a hypothesis."""
    return frozenset(params.stop_token_ids) | (frozenset() if params.ignore_eos else eos_tokens)


def candidates_of(params: SamplingParams, eos_tokens: frozenset[int]) -> int:
    """How many continuations a step looks at, and so how many tokens of each beam can matter."""
    assert params.beam_width is not None, "it is no beam search"
    return max(2, 1 + len(ends_of(params, eos_tokens))) * params.beam_width


class BeamSearch:
    """The state of one search. ``scores`` (f32) are the sums of the beams' log probabilities, the best first."""

    def __init__(self, params: SamplingParams, eos_tokens: frozenset[int], max_tokens: int) -> None:
        assert params.beam_width is not None, "it is no beam search"
        self.width = params.beam_width
        self.scores = np.zeros(1, dtype=np.float32)
        self.generated = 0
        self._ends = ends_of(params, eos_tokens)
        self._looked_at = candidates_of(params, eos_tokens)
        self._max_tokens = max_tokens
        self._penalty = params.length_penalty
        self._early_stopping = params.early_stopping
        self._finished: list[float] = []
        """The scores of the ``width`` best hypotheses, the best first."""

    def step(self, candidates: Sequence[Candidates]) -> BeamStep:
        """One step: ``candidates`` of each beam, in the beams' order. Asserts that there are as many as beams."""
        assert len(candidates) == len(self.scores), f"{len(candidates)} beams of {len(self.scores)} computed"
        self.generated += 1
        owners = [parent for parent, (tokens, _) in enumerate(candidates) for _ in tokens]
        tokens = [token for each in candidates for token in each.tokens]
        logprobs = np.array([value for each in candidates for value in each.logprobs], dtype=np.float32)
        sums = logprobs + self.scores[owners]
        best = [
            place
            for place in np.argsort(-sums, kind="stable")[: self._looked_at].tolist()
            if sums[place] > -np.inf
        ]
        at_end = self.generated >= self._max_tokens
        divisor = self._divisor(self.generated)
        beams: list[Continuation] = []
        found: list[FoundHypothesis] = []
        for rank, place in enumerate(best):
            parent, token, score = owners[place], tokens[place], sums[place]
            ends = token in self._ends
            if not ends and not at_end:
                if len(beams) < self.width:
                    beams.append(Continuation(parent, token, float(score)))
            elif rank < self.width:
                found.append(
                    FoundHypothesis(parent, token, float(score / divisor), "stop" if ends else "length")
                )
        self.scores = np.array([beam.score for beam in beams], dtype=np.float32)
        self._finished = sorted(self._finished + [each.score for each in found], reverse=True)[: self.width]
        return BeamStep(beams, found, not beams or self._is_over())

    def _divisor(self, length: int) -> np.float32:
        return np.float32(float(length) ** self._penalty)

    def _is_over(self) -> bool:
        if len(self._finished) < self.width:
            return False
        if self._early_stopping is True:
            return True
        going_on = self._early_stopping == "never" and self._penalty > 0
        length = self._max_tokens if going_on else self.generated
        return not self.scores[0] / self._divisor(length) > self._finished[-1]
