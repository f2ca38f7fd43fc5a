"""A fold's state as plain JSON values: what the vectors store and what the page's test hook returns."""

import math
from typing import Any

from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE


def plain_tree(fold: Fold) -> list[dict[str, Any]]:
    """The prefix tree: a node a content that blocks hold, in the order of contents, found by looking up each one's ancestors."""
    blocks, contents = fold.state.blocks, fold.state.contents
    held: dict[int, list[int]] = {}
    for block, content in enumerate(blocks.content):
        if content != NONE:
            held.setdefault(content, []).append(block)
    chains: dict[int, list[int]] = {}
    for content in held:
        chain = [content]
        while (parent := contents.parent(chain[-1])) != NONE:
            assert parent is not None, f"what content {chain[-1]} follows is not known"
            chain.append(parent)
        chains[content] = chain
    below = dict.fromkeys(held, 0)
    for content, chain in chains.items():
        for above in chain:
            if above not in held:
                break
            below[above] += len(held[content])
    return [
        {
            "content": content,
            "parent": chains[content][1] if len(chains[content]) > 1 and chains[content][1] in held else None,
            "depth": len(chains[content]),
            "reachable": all(above in held for above in chains[content]),
            "blocks": held[content],
            "hits": sum(blocks.hits[block] for block in held[content]),
            "below": below[content],
        }
        for content in sorted(held)
    ]


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
