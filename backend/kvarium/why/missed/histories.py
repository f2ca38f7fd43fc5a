"""What became of the contents that a request missed, or nearly hit: which blocks held them, by whom, and how they were lost."""

from typing import Final

import numpy as np

from kvarium.why.missed.answer import Held, Loss, Nearest, OtherKey
from kvarium.why.missed.lineage import Lineage, Trail
from kvarium.why.missed.text import text_of
from kvarium.why.past import Past
from kvarium.why.places import Life, Moment, Who, moment_of
from kvarium_ledger.fold import Fold

_SHOWN: Final = 8
"""So many tokens before the block that differs are shown beside it."""


class Histories:
    """Of the contents of ``lineage``, in the moment at which ``fold`` stands."""

    def __init__(self, past: Past, lineage: Lineage, fold: Fold) -> None:
        self._past = past
        self._lineage = lineage
        self._fold = fold
        self._size = past.block_size

    def last(self) -> Trail | None:
        """Of contents that are what was missed, the one that a block held last; None: none ever did."""
        trails = [self._lineage.trails[content] for content in self._lineage.same[self._lineage.at]]
        seen = [trail for trail in trails if trail.seen]
        return max(seen, key=lambda trail: -1 if trail.lost is None else trail.lost, default=None)

    def loss(self, trail: Trail) -> Loss | None:
        """How it was lost; None: that is not recorded."""
        row = None if trail.lost is None else self._past.event_at(trail.lost, "op:evict")
        if row is None:
            return None
        asked = self._past.who(row["request"], row["sequence"], row["sequence_index"])
        return Loss(
            at=moment_of(row),
            life=Life(block=row["block"], generation=row["generation"]),
            cause=str(row["cause"]),
            asked=asked,
            labelled=self._labelled(trail.labelled)[0],
        )

    def _labelled(self, op: int | None) -> tuple[Moment | None, Who | None]:
        """Where a block was labelled, and by whom."""
        row = None if op is None or op < 0 else self._past.event_at(op, "op:cache")
        if row is None:
            return None, None
        return moment_of(row), self._past.who(row["request"], row["sequence"], row["sequence_index"])

    def behind(self) -> int:
        """How many blocks of the prompt behind the one that was missed are in the cache."""
        contents = self._fold.state.blocks.np_content
        return sum(
            bool(np.isin(list(same), contents).any())
            for same in self._lineage.same[self._lineage.at + 1 :]
            if same
        )

    def _held(self, content: int) -> Held:
        blocks, trail = self._fold.state.blocks, self._lineage.trails[content]
        block = min(trail.holders, default=None)
        labelled, who = self._labelled(trail.first)
        lost = (
            None if trail.lost is None or block is not None else self._past.event_at(trail.lost, "op:evict")
        )
        return Held(
            content=content,
            life=None if block is None else Life(block=block, generation=blocks.generation[block]),
            who=who,
            labelled=labelled,
            lost=None if lost is None else moment_of(lost),
        )

    def other_key(self) -> OtherKey | None:
        """The missed tokens under other keys."""
        seen = [content for content in self._lineage.alike if self._lineage.trails[content].seen]
        if not seen:
            return None
        content = _best(seen, self._lineage)
        return OtherKey(keys=self._lineage.keys[content], held=self._held(content))

    def nearest(self, tokens: np.ndarray | None) -> Nearest | None:
        """The cached text that begins as ``tokens`` for the longest."""
        seen = [content for content in self._lineage.nearest if self._lineage.trails[content].seen]
        if not seen:
            return None
        content = _best(seen, self._lineage)
        held = self._held(content)
        other, agree = self._lineage.nearest[content], self._lineage.agree
        if tokens is None or other is None or agree is None:
            return Nearest(
                agree=None, first=None, own=None, cached=None, own_text=None, cached_text=None, held=held
            )
        begin = agree // self._size * self._size
        first = max(0, begin - _SHOWN)
        own = tokens.ravel()[first : begin + self._size].tolist()
        cached = own[: begin - first] + other.tolist()
        pieces = self._past.reader.pieces(self._past.number)
        return Nearest(
            agree=agree,
            first=first,
            own=own,
            cached=cached,
            own_text=text_of(own, pieces),
            cached_text=text_of(cached, pieces),
            held=held,
        )


def _best(contents: list[int], lineage: Lineage) -> int:
    """Of equals one that a block holds, and of those the one that was labelled last."""
    return max(
        contents, key=lambda each: (bool(lineage.trails[each].holders), lineage.trails[each].first or -1)
    )
