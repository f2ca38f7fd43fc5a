"""How long the requests of a bench are: prompts and answers, by the averages of a data set.

Lengths of real requests are skewed: many are short, some are several times as long as the average. Both are log-normal here,
answers more spread than prompts: of an average of 338 tokens, half of the answers are below 225, and one in a hundred is beyond
1,800. Few draws from such a distribution have any average, and a sum over them is mostly that of the longest. So lengths
are quantiles, the middles of equal parts of it, scaled to have the average; what is left to draw is which answer a prompt gets::

    all pairs   each prompt with each answer: as independent as can be, and nothing is drawn      k × k requests
    drawn       each prompt and each answer once, paired by a seed                                any number of requests
"""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

PROMPT_SPREAD, OUTPUT_SPREAD = 0.6, 0.9
"""Standard deviations of the lengths' logarithms."""


class Shape(NamedTuple):
    """A request of ``prompt`` tokens that gets an answer of ``output`` tokens."""

    prompt: int
    output: int


def quantiles(average: float, spread: float, count: int) -> list[int]:
    """``count`` lengths of this average (but for rounding), the shortest first, none below 1."""
    raw = [math.exp(spread * NormalDist().inv_cdf((i + 0.5) / count)) for i in range(count)]
    return [max(1, round(value * average / fmean(raw))) for value in raw]


def all_pairs(each: int, prompt: float, output: float) -> list[Shape]:
    """Every one of ``each`` prompts with every one of as many answers, around these averages."""
    outputs = quantiles(output, OUTPUT_SPREAD, each)
    return [Shape(tokens, answer) for tokens in quantiles(prompt, PROMPT_SPREAD, each) for answer in outputs]


def drawn(seed: int, count: int, prompt: float, output: float, longest: int | None = None) -> list[Shape]:
    """``count`` shapes around these averages; ``longest``: no request is longer, nor is its prompt longer than half of that.

    ``seed`` says which answer a prompt gets, and in which order they come.
    """
    draw = random.Random(seed)
    prompts = quantiles(prompt, PROMPT_SPREAD, count)
    outputs = quantiles(output, OUTPUT_SPREAD, count)
    draw.shuffle(prompts)
    draw.shuffle(outputs)
    if longest is not None:
        prompts = [min(tokens, longest // 2) for tokens in prompts]
        outputs = [min(answer, longest - tokens) for answer, tokens in zip(outputs, prompts, strict=True)]
    return [Shape(*each) for each in zip(prompts, outputs, strict=True)]


def told(lengths: Sequence[int]) -> dict[str, float]:
    """Average and extremes of some lengths."""
    return {"average": round(fmean(lengths), 1), "least": min(lengths), "most": max(lengths)}


def shapes_told(shapes: Sequence[Shape]) -> dict[str, Any]:
    """How many there are, the averages of their parts, and each of them, as ``[prompt, output]``."""
    return {
        "requests": len(shapes),
        "prompt_tokens": round(fmean(each.prompt for each in shapes), 1),
        "output_tokens": round(fmean(each.output for each in shapes), 1),
        "lengths": [list(each) for each in shapes],
    }
