"""Who holds the blocks of the pool in a moment."""

from collections import Counter

import msgspec

from kvarium.why.past import Past
from kvarium.why.places import Who
from kvarium_ledger.fold import Fold


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A request: it holds ``blocks`` by ``entries`` of its tables, ``alone`` of them alone, with ``unused`` slots in those it holds.

    ``alone`` is what taking its blocks away would set free; ``entries`` is what it would hold without any sharing.
    """

    who: Who
    blocks: int
    entries: int
    alone: int
    unused: int
    precedence: int


def holder_of(past: Past, fold: Fold, request: int) -> Holder:
    """What a request holds in the state of ``fold``, which knows it."""
    facts, blocks = fold.state.facts[request], fold.state.blocks
    held: Counter[int] = Counter()
    own = set(facts.sequences)
    for (sequence, _), table in fold.state.tables.items():
        if sequence in own:
            held.update(table.values())
    who = past.who(request)
    assert who is not None
    return Holder(
        who=who,
        blocks=len(held),
        entries=held.total(),
        alone=sum(blocks.count[block] == entries for block, entries in held.items()),
        unused=sum(past.block_size - blocks.filled[block] for block in held),
        precedence=facts.precedence,
    )


def running(fold: Fold) -> dict[int, float]:
    """The requests that run, with their places."""
    return {
        request: standing.place
        for request, standing in fold.state.requests.items()
        if standing.state == "running"
    }
