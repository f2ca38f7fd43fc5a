"""What the ledger keeps of a call: one plain tuple, as short as the engine's thread can make it.

Most calls are slices: operations of one kind on some blocks. What an engine does most often has a shorter form, flat and
without a list where one value says it; :func:`spread` lays it out as the slices that it stands for, in their order, on the
thread of whoever asks::

    a slice          kind, blocks, cause, sequences, positions, group, pin, extra
    one block        kind, block, cause, sequence, position, extra values       ->  the same of ``(block,)``
    a prompt         PROMPT, blocks, sequence, position, tickets, ...           ->  evict, allocate, fill, cache
    its one block    PROMPT, block, sequence, position, ticket, ...             ->  the same of ``(block,)``
    a whole table    TABLE, blocks, cause, sequence, ticket                     ->  free, tail first
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple

from kvarium_ledger.operations import NONE, Cause, Operation


class Slice(NamedTuple):
    """Operations of one kind. A scalar stands for all of them; ``position`` as an int is the first of a run.

    ``extra`` holds what the kind carries beside its holder, as the columns of that kind in the order of
    :data:`kvarium_ledger.encoder.EXTRA`.
    """

    kind: Operation
    blocks: Sequence[int]
    cause: Cause
    sequences: int | Sequence[int]
    positions: int | Sequence[int]
    group: int
    pin: int
    extra: tuple[Sequence[int] | Sequence[float], ...]


_Each = int | Sequence[int]
_Extra = tuple[Sequence[int] | Sequence[float], ...]
PlainSlice = tuple[Operation, Sequence[int], Cause, _Each, _Each, int, int, _Extra]
"""A :class:`Slice` without its names: made in a third of the time."""

Told = tuple[Any, ...]
"""A :data:`PlainSlice` or one of the shorter forms."""

PROMPT: Final = 32
TABLE: Final = 33
"""Stand where a kind stands, and are none."""


def spread(told: Iterable[Told]) -> Iterator[PlainSlice]:
    """The slices that ``told`` stand for, in their order."""
    for each in told:
        kind, blocks = each[0], each[1]
        if kind == PROMPT:
            yield from _prompt(each)
        elif kind == TABLE:
            _, _, cause, sequence, ticket = each
            count = len(blocks)
            tickets = range(int(ticket), int(ticket) + count)
            yield Operation.free, blocks, cause, sequence, range(count - 1, -1, -1), 0, 0, (tickets,)
        elif isinstance(blocks, int):
            _, _, cause, sequence, position, *extra = each
            yield kind, (blocks,), cause, sequence, position, 0, 0, tuple((value,) for value in extra)
        else:
            yield each


def _prompt(told: Told) -> Iterator[PlainSlice]:
    """Of blocks that were taken for a prompt, those that had contents lost them; all are filled, the full ones labelled."""
    _, blocks, sequence, at, tickets, filled, lost, hits, size, last, contents = told
    if isinstance(blocks, int):
        blocks, tickets, filled, lost, hits = (blocks,), (tickets,), (filled,), (lost,), (hits,)
        contents = () if contents == NONE else (contents,)
    count, cause = len(blocks), Cause.prefill
    if NONE in lost:
        had = [content != NONE for content in lost]
        evicted, lost, hits = (list(compress(column, had)) for column in (blocks, lost, hits))
    else:
        evicted = blocks
    if evicted:
        yield Operation.evict, evicted, Cause.allocate, sequence, NONE, 0, 0, (lost, hits)
    yield Operation.allocate, blocks, cause, sequence, at, 0, 0, (tickets, filled)
    after = [size] * (count - 1) + [last]
    yield Operation.fill, blocks, cause, sequence, NONE, 0, 0, ([0] * count, after)
    if contents:
        yield Operation.cache, blocks[: len(contents)], Cause.full, sequence, NONE, 0, 0, (contents,)


def slices_of(told: Iterable[Told]) -> list[Slice]:
    """The slices by the names of their parts."""
    return [Slice._make(each) for each in spread(told)]
