"""How long the requests of a bench are: prompts and answers drawn by a seed around the averages of a data set.

Lengths of real requests are skewed: many are short, some are several times as long as the average. A log-normal distribution
with a sigma of 0.8 has that: of an average of 338 tokens, half are below 245, and one in a hundred is beyond 1,580.
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

_SIGMA = 0.8


class Shape(NamedTuple):
    """A request of ``prompt`` tokens that gets an answer of ``output`` tokens."""

    prompt: int
    output: int


def drawn(seed: int, count: int, prompt: int, output: int, longest: int) -> list[Shape]:
    """``count`` shapes around these averages; none is longer than ``longest`` tokens, nor has an empty part."""
    draw = random.Random(seed)

    def length(average: int, most: int) -> int:
        value = draw.lognormvariate(math.log(average) - _SIGMA * _SIGMA / 2, _SIGMA)
        return max(1, min(round(value), most))

    shapes: list[Shape] = []
    for _ in range(count):
        tokens = length(prompt, longest // 2)
        shapes.append(Shape(tokens, length(output, longest - tokens)))
    return shapes


def told(lengths: Sequence[int]) -> dict[str, float]:
    """Average and extremes of some lengths."""
    return {"average": round(sum(lengths) / len(lengths), 1), "least": min(lengths), "most": max(lengths)}
