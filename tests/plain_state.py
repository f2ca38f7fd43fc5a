"""A fold's state as plain JSON values: what the vectors store and what the page's test hook returns."""

import math
from typing import Any

from kvarium_ledger.fold import Fold


def plain_state(fold: Fold) -> dict[str, Any]:
    """All that a fold knows of blocks, tables, pins and requests; a ticket that is NaN is ``None``."""
    state, blocks = fold.state, fold.state.blocks
    return {
        "record": fold.record,
        "step": fold.step,
        "op": fold.op,
        "lanes": {kind: list(pair) for kind, pair in fold.lanes.sums.items()},
        "usage": list(fold.usage()),
        "generation": list(blocks.generation),
        "count": list(blocks.count),
        "ticket": [None if math.isnan(ticket) else ticket for ticket in blocks.ticket],
        "content": list(blocks.content),
        "filled": list(blocks.filled),
        "hits": list(blocks.hits),
        "tables": [
            [sequence, group, position, block]
            for (sequence, group), table in sorted(state.tables.items())
            for position, block in sorted(table.items())
        ],
        "pins": [
            [block, pin] for block, pins in sorted(state.pins.items()) for pin in sorted(pins.elements())
        ],
        "requests": [[request, row.state, row.place] for request, row in sorted(state.requests.items())],
    }
