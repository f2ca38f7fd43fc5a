"""The nine operations of the ledger, their causes, and the columns that each carries.

An *operation* is one change of one block (``copy`` changes two). It leaves a lawful state, it can be checked
against what it finds, and it carries what is needed to apply **and** to undo it:

====== ============ =============================== ==================================== ===========================
 code   operation    finds                           leaves                               columns beside the common
====== ============ =============================== ==================================== ===========================
 1      allocate     queued, count 0, no content     count 1, no ticket, generation + 1,  position, ticket before,
                                                     filled 0, holder set                 filled before
 2      evict        content                         no content, hits 0                   content, hits (both before)
 3      reuse        queued, count 0, content        count 1, no ticket, holder set,      position, ticket before
                                                     hits + 1
 4      share        count >= 1                      count + 1, holder set; hits + 1 when position
                                                     the cause is ``prefix_hit``
 5      copy         source: count > 1, partly       source count - 1; target as after    position, ticket before,
                     filled, no content; target:     allocate, filled as the source; the  filled before (target's),
                     queued, count 0, no content     table entry moves source -> target   filled after, source
 6      fill         count 1, no content, filled     filled grows                         filled before, filled after
                     < block size
 7      cache        full, no content                content set, hits 0                  content
 8      release      count > 1                       count - 1, holder cleared            position
 9      free         count 1                         count 0, ticket set, holder cleared  position, ticket after
====== ============ =============================== ==================================== ===========================

Common to all: ``kind``, ``block`` (the target of a copy), ``cause`` and ``sequence`` (the holder's, or the one that is
served; ``NONE`` where there is none). A *holder* of a count is ``(sequence, group, position)`` or a *pin*; operations
that set or clear a holder carry ``position``, and ``NONE`` there says that the holder is a pin, named by one value in
the column ``pin``.

Columns are **sparse**: a column holds one value for each operation that carries it, in the order of the operations,
so that no value is stored that means nothing::

    kind      allocate  fill  fill  free          4 values
    block     7         7     3     3             4 values
    position  0                     2             2 values: allocate and free set or clear a holder
    ticket    7.0                   12.0          2 values: allocate (before) and free (after)
"""

from enum import IntEnum
from typing import Final

import numpy as np

NONE: Final = 0xFFFFFFFF
"""Absence, in a u32 column. In a column of tickets it is NaN."""


class Operation(IntEnum):
    """What happened to a block. The values are the codes of the column ``kind`` (u8)."""

    allocate = 1
    evict = 2
    reuse = 3
    share = 4
    copy = 5
    fill = 6
    cache = 7
    release = 8
    free = 9


class Cause(IntEnum):
    """Why it happened. The values are the codes of the column ``cause`` (u8).

    ``prefill``, ``decode``: allocate and fill, for a prompt's tokens or for a sampled one; ``reserve``: allocate by a
    contiguous cache. ``allocate``: evict, because the block is about to be allocated; ``reset``, ``failed_step``,
    ``unscheduled``: evict, by a reset of the prefix cache, because the forward that should have computed the content
    failed, or because the request was preempted in the step that had scheduled it. ``fork``: share with a new sequence
    of the same request; ``prefix_hit``: reuse or share of cached content. ``write``: copy, the block is shared and
    about to be written. ``full``: cache. ``finished``, ``aborted``, ``preempted``, ``dropped``, ``refused``: release
    and free, the end of the holder. ``copy_launch``: a pin of a copy's source begins (share) or ends (release, free).
    ``foreign``: a pin or change that a foreign engine made for a reason of its own.
    """

    prefill = 0
    decode = 1
    reserve = 2
    allocate = 3
    reset = 4
    failed_step = 5
    unscheduled = 6
    fork = 7
    prefix_hit = 8
    write = 9
    full = 10
    finished = 11
    aborted = 12
    preempted = 13
    dropped = 14
    copy_launch = 15
    refused = 16
    foreign = 17


class Pin(IntEnum):
    """A holder of a count that is not a sequence. The values are the codes of the column ``pin`` (u8)."""

    copy_source = 0
    null_block = 1
    transfer = 2


COLUMNS: Final[dict[str, np.dtype]] = {
    "kind": np.dtype("u1"),
    "block": np.dtype("<u4"),
    "cause": np.dtype("u1"),
    "sequence": np.dtype("<u4"),
    "position": np.dtype("<u4"),
    "group": np.dtype("u1"),
    "pin": np.dtype("u1"),
    "ticket": np.dtype("<f8"),
    "filled_before": np.dtype("<u4"),
    "filled_after": np.dtype("<u4"),
    "source": np.dtype("<u4"),
    "content": np.dtype("<u4"),
    "hits": np.dtype("<u4"),
}
"""Every column of :class:`kvarium_ledger.records.Operations` with its element type (little-endian)."""

_O = Operation
CARRIED_BY: Final[dict[str, frozenset[Operation]]] = {
    "kind": frozenset(_O),
    "block": frozenset(_O),
    "cause": frozenset(_O),
    "sequence": frozenset(_O),
    "position": frozenset({_O.allocate, _O.reuse, _O.share, _O.copy, _O.release, _O.free}),
    "ticket": frozenset({_O.allocate, _O.reuse, _O.copy, _O.free}),
    "filled_before": frozenset({_O.allocate, _O.copy, _O.fill}),
    "filled_after": frozenset({_O.copy, _O.fill}),
    "source": frozenset({_O.copy}),
    "content": frozenset({_O.evict, _O.cache}),
    "hits": frozenset({_O.evict}),
}
"""Which operations carry a column. ``group`` goes with ``position`` and may be absent when every group is 0;
``pin`` has one value for each ``position`` that is ``NONE``."""


def carried_mask(column: str) -> np.ndarray:
    """A table ``[256] bool`` indexed by the code of an operation: does it carry ``column``?"""
    mask = np.zeros(256, dtype=bool)
    mask[[int(kind) for kind in CARRIED_BY[column]]] = True
    return mask


CARRIED_MASK: Final[dict[str, np.ndarray]] = {name: carried_mask(name) for name in CARRIED_BY}
