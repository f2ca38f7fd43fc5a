"""What somebody may have meant who typed a name that is none."""

from collections.abc import Sequence
from typing import Final

_MOST_WRONG: Final = 2
"""At most so many letters are wrong."""


def distance(a: str, b: str) -> int:
    """How many letters are to be put in, left out, changed or swapped with their neighbours to make one word the other."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            least = min(last[j - 1] + (letter != other), last[j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]


def nearest(said: str, names: Sequence[str]) -> str | None:
    """The first of the names that begin so, else of those that are nearest to what was said; None: none is near."""
    best = next((name for name in names if len(said) > 1 and name.startswith(said)), None)
    if best is not None:
        return best
    least = min(_MOST_WRONG, len(said) - 1) + 1
    for name in names:
        wrong = distance(said, name)
        if wrong < least:
            best, least = name, wrong
    return best
