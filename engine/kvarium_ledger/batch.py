"""The batch fold: the block columns after a record, without walking its operations. The last write wins.

Each column's new value depends on at most the last operation that writes it, or on a count of operations, so a record of
any size costs a handful of array operations. It checks nothing: the exact fold (:mod:`kvarium_ledger.fold`) does.
"""

import numpy as np

from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.state import BlockState

_O = Operation
_GAIN = np.zeros(256, dtype=np.int64)
_GAIN[[_O.allocate, _O.reuse, _O.share, _O.copy]] = 1
_GAIN[[_O.release, _O.free]] = -1


def apply_batch(state: BlockState, columns: OperationColumns) -> None:
    """Bring the block columns of ``state`` to where they are after all ``columns``."""
    kind, block = columns.kind, columns.block
    change = _GAIN[kind]
    np.add.at(state.np_count, block, change.astype(np.uint32))
    np.subtract.at(state.np_count, columns.source, np.uint32(1))
    born = columns.mask(_O.allocate, _O.copy)
    np.add.at(state.np_generation, block[born], np.uint32(1))

    # numpy assigns the values of a repeated index in order, so the last one stays.
    moves = columns.mask(_O.allocate, _O.reuse, _O.copy, _O.free)
    ticket = np.where(kind[moves] == int(_O.free), columns.ticket, np.nan)
    state.np_ticket[block[moves]] = ticket
    fills = columns.mask(_O.allocate, _O.copy, _O.fill)
    state.np_filled[block[fills]] = columns.expand("filled_after")[fills]
    labels = columns.mask(_O.evict, _O.cache)
    state.np_content[block[labels]] = np.where(
        kind[labels] == int(_O.cache), columns.content, np.uint32(NONE)
    )
    _count_hits(state, columns)


def _count_hits(state: BlockState, columns: OperationColumns) -> None:
    """Hits after the last reset of each block (an evict), added to what was there where none is reset."""
    resets = np.flatnonzero(columns.mask(_O.evict))
    hits = np.flatnonzero(
        columns.mask(_O.reuse) | (columns.mask(_O.share) & (columns.cause == int(Cause.prefix_hit)))
    )
    if len(resets):
        touched, inverse = np.unique(columns.block, return_inverse=True)
        last_reset = np.full(len(touched), -1, dtype=np.int64)
        last_reset[inverse[resets]] = resets
        state.np_hits[touched[last_reset >= 0]] = 0
        hits = hits[hits > last_reset[inverse[hits]]]
    np.add.at(state.np_hits, columns.block[hits], np.uint32(1))
