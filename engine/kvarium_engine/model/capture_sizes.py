"""For which batch sizes a decode is captured as a CUDA graph, and which of them a batch is padded to.

    sizes    1  2  4  8  16  24  32 …           as vLLM has them: each 8 up to 256, each 16 above
    batch    a  b  c  d  e                      5 sequences decode
    padded   a  b  c  d  e  ·  ·  ·             8: the smallest size that holds them; · has length 0 and no slot

Between two sizes at most 7 rows (above 256: 15) are computed for nothing, which costs a decode next to nothing, as it reads all weights
for one row as for eight.
"""

from bisect import bisect_left
from collections.abc import Sequence

from kvarium_engine.errors import UsageError

LARGEST = 512
"""Larger batches are bound by what they compute, not by the launches that a graph saves."""


class CaptureError(RuntimeError):
    """A forward that can't be recorded; its text says of which size, and why."""


def chosen_sizes(asked: str | None, enforce_eager: bool, max_num_seqs: int) -> tuple[int, ...]:
    """The sizes, ascending, that ``--cudagraph-capture-sizes`` and ``--enforce-eager`` give; empty: nothing is captured.

    Raises :class:`UsageError` in one line.
    """
    if asked is None:
        return () if enforce_eager else default_sizes(max_num_seqs)
    if enforce_eager:
        raise UsageError(f"--enforce-eager captures nothing, but --cudagraph-capture-sizes {asked} is given")
    sizes = parse_sizes(asked)
    if sizes[-1] > max_num_seqs:
        raise UsageError(
            f"--cudagraph-capture-sizes {sizes[-1]} is more than the {max_num_seqs} sequences that run at once (--max-num-seqs)"
        )
    return sizes


def default_sizes(max_num_seqs: int) -> tuple[int, ...]:
    """The sizes up to ``max_num_seqs``, itself included, but no larger than :data:`LARGEST`."""
    largest = min(max_num_seqs, LARGEST)
    usual = [1, 2, 4, *range(8, 257, 8), *range(272, LARGEST + 1, 16)]
    return (*(size for size in usual if size < largest), largest)


def parse_sizes(text: str) -> tuple[int, ...]:
    """``1,2,4`` as sizes, ascending and once each. Raises :class:`UsageError` for what is none."""
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 10 for part in parts):
        raise UsageError(
            f"--cudagraph-capture-sizes is batch sizes with commas between, as 1,2,4,8, not {text!r}"
        )
    sizes = tuple(sorted({int(part) for part in parts}))
    if sizes[0] < 1:
        raise UsageError(f"--cudagraph-capture-sizes must be at least 1 each, not {sizes[0]}")
    return sizes


def padded_size(sizes: Sequence[int], batch: int) -> int | None:
    """The smallest of ``sizes`` (ascending) that holds ``batch`` sequences; None: none does."""
    place = bisect_left(sizes, batch)
    return sizes[place] if place < len(sizes) else None
