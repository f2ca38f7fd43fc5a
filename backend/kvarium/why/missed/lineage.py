"""Which contents begin as the tokens of a request do: followed through a recording, as they are interned, labelled and lost.

    the request   Once upon │ a time │ there      its full blocks, of which the first was hit and the second missed
    same          {7}       │ {12}   │ {}         contents of equal tokens behind equal ones, and of equal keys, by depth
    alike         {7, 31}   │ {12, 32}            of equal tokens, whatever the keys (31 has another salt)
    nearest       {9: "a tame"}                   behind what is the same: the longest common beginning of what differs

Contents are told apart by their ids, which an engine may give anew to what it has forgotten: so there may be several at a
place. Where text is not recorded, hashes are told, and only that of the block that was missed is known of the request.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kvarium_ledger import block_columns
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Gap, Keyframe, Step, Text

Keys = list[list[str]] | None
"""The extra keys in a hash; None: there are none."""

_KEPT: Final = 64
"""Of contents that are equal in what is asked about, so many of the last ones are followed."""


@dataclass(frozen=True)
class Sought:
    """What is known of the request.

    ``hits`` are the contents that it hit, ``missed`` the hash of the block behind them. ``tokens`` (``[blocks, block_size]
    u32``) are those of its full blocks, and ``keys`` the extra keys of its first one; None: text is not recorded. ``own`` is
    the content by which it labelled the missed block itself, when it had computed it.
    """

    hits: list[int]
    missed: bytes
    tokens: np.ndarray | None
    keys: Keys
    own: int | None


@dataclass
class Trail:
    """Which blocks hold a content, each with the operation that labelled it (-1: that is not recorded).

    ``first`` is the first of those, ``lost`` the eviction after which no block held it, of a block that ``labelled`` had labelled.
    ``lacks`` says what is not known of how it was lost.
    """

    holders: dict[int, int] = field(default_factory=dict)
    first: int | None = None
    lost: int | None = None
    labelled: int | None = None
    lacks: str | None = None

    @property
    def seen(self) -> bool:
        """Did a block ever hold it?"""
        return self.first is not None

    def label(self, block: int, op: int) -> None:
        """``block`` holds it from operation ``op`` on."""
        self.holders[block] = op
        self.lacks = None
        self.first = op if self.first is None else self.first

    def evict(self, block: int, op: int) -> None:
        """``block`` loses it by operation ``op``."""
        labelled = self.holders.pop(block, -1)
        if not self.holders:
            self.lost, self.labelled, self.lacks = op, labelled, None

    def load(self, blocks: list[int], where: str, may_have_held: bool) -> None:
        """In a whole state after what is not recorded, ``where``, these ``blocks`` hold it."""
        if self.holders and not blocks:
            self.lost = self.labelled = None
            self.lacks = f"when it was evicted: {where}"
        elif self.seen and not blocks and may_have_held:
            self.lacks = f"whether it was cached and evicted once more {where}"
        self.holders = {block: self.holders.get(block, -1) for block in blocks}
        if blocks and self.first is None:
            self.first = -1


class Lineage:
    """The contents that begin as a request's tokens do, up to where the records that were taken go.

    ``same`` and ``alike`` are by depth; ``agree`` is how many tokens of the request ``nearest`` begin with, in
    all (None: text is not recorded), each with its tokens. ``lacks`` says what is not known, as records are.
    """

    def __init__(self, sought: Sought, block_size: int) -> None:
        self.sought = sought
        self.at = len(sought.hits)
        """The depth of the block that was missed."""
        depth = self.at + 1 if sought.tokens is None else max(self.at + 1, len(sought.tokens))
        self.same: list[set[int]] = [set() for _ in range(depth)]
        self.alike: deque[int] = deque(maxlen=_KEPT)
        """Of the depth of the block that was missed alone: those of other keys."""
        self.agree: int | None = None
        self.nearest: dict[int, np.ndarray | None] = {}
        self.trails: dict[int, Trail] = {}
        self.keys: dict[int, Keys] = {}
        """Of contents of other keys: those of their first blocks."""
        self.lacks: list[str] = []
        self.closed = False
        """Only what is the request's own is looked for from now on: the rest came too late for it."""
        self._size = block_size
        self._depths: dict[int, int] = {}
        self._equal: set[int] = set()
        self._rows = [] if sought.tokens is None else [row.tobytes() for row in sought.tokens]
        self._next = 0
        self._gap: Gap | None = None
        self._begun = False
        for place, content in enumerate(sought.hits):
            self._equals(content, place)
        if sought.own is not None:
            self._equals(sought.own, self.at)

    def _equals(self, content: int, depth: int) -> None:
        """A content is the request's own at a depth."""
        self.same[depth].add(content)
        self._equal.add(content)
        self._depths[content] = depth
        if depth == self.at:
            self.trails.setdefault(content, Trail())

    # -- records ------------------------------------------------------------------------------------------------------

    def take(self, step: Step, text: Text | None, of: set[int] | None = None) -> None:
        """The contents that a step interned; of them ``of`` alone, if that is given."""
        content = u32(step.contents.content).tolist()
        if not content:
            return
        parent = u32(step.contents.parent).tolist()
        self._next = max(self._next, content[-1] + 1)
        if step.contents.hash_size:
            self._by_hash(content, parent, step.contents.hashes, of)
        elif text is not None and self.sought.tokens is not None:
            self._by_tokens(content, parent, text, of)

    def _by_hash(
        self, content: list[int], parent: list[int], hashes: list[bytes], of: set[int] | None
    ) -> None:
        for number, before, value in zip(content, parent, hashes, strict=False):
            if of is not None and number not in of:
                continue
            if value == self.sought.missed:
                self._equals(number, self.at)
            elif self.at and before in self.same[self.at - 1]:
                self._near(number, None, None)

    def _by_tokens(self, content: list[int], parent: list[int], text: Text, of: set[int] | None) -> None:
        width = 4 * self._size
        places: dict[int, int] | None = None
        told = u32(text.content).tolist()
        if told != content:
            places = {number: place for place, number in enumerate(told)}
        keyed = {number: each.keys for each in text.extra for number in u32(each.content).tolist()}
        depths, equal = self._depths, self._equal
        for index, (number, before) in enumerate(zip(content, parent, strict=False)):
            if before == NONE:
                depth, same = 0, keyed.get(number) == self.sought.keys
            else:
                known = depths.get(before)
                if known is None:
                    continue
                depth, same = known + 1, before in equal
            if depth >= len(self._rows) or (of is not None and number not in of):
                continue
            place = index if places is None else places.get(number, -1)
            row = text.tokens[place * width : (place + 1) * width] if place >= 0 else b""
            if len(row) != width:
                continue
            if row == self._rows[depth]:
                if same:
                    self._equals(number, depth)
                elif number not in equal:
                    self._is_alike(number, before, depth, keyed.get(number))
            elif same and depth == self.at:
                differs = u32(row) != u32(self._rows[depth])
                self._near(number, depth * self._size + int(differs.argmax()), u32(row))

    def _is_alike(self, content: int, parent: int, depth: int, keys: Keys) -> None:
        self._depths[content] = depth
        self.keys[content] = keys if parent == NONE else self.keys.get(parent)
        if depth == self.at and not self.closed:
            if len(self.alike) == _KEPT:
                self.trails.pop(self.alike[0], None)
            self.alike.append(content)
            self.trails[content] = Trail()

    def _near(self, content: int, agree: int | None, tokens: np.ndarray | None) -> None:
        """Another content that goes on otherwise, behind ``agree`` tokens of the request's."""
        if self.closed or agree == 0 or (agree is not None and self.agree is not None and agree < self.agree):
            return
        if agree != self.agree:
            for old in self.nearest:
                self.trails.pop(old, None)
            self.nearest = {}
        elif len(self.nearest) == _KEPT:
            oldest = next(iter(self.nearest))
            del self.nearest[oldest]
            self.trails.pop(oldest, None)
        self.agree = agree
        self.nearest[content] = tokens
        self.trails[content] = Trail()

    def follow(
        self, columns: OperationColumns, first: int, begin: int, end: int, only_lost: bool = False
    ) -> None:
        """The labels and evictions of a step whose first operation is ``first``, from ``begin`` up to before ``end``.

        ``only_lost``: only the evictions by which what was missed is lost.
        """
        kinds = columns.mask(Operation.evict) if only_lost else columns.mask(Operation.evict, Operation.cache)
        content = columns.expand("content")
        watched = np.fromiter(self.trails, dtype=np.int64, count=len(self.trails))
        found = np.flatnonzero(kinds & np.isin(content, watched))
        for place in found.tolist():
            op, number, block = first + place, int(content[place]), int(columns.block[place])
            if not begin <= op < end or (only_lost and number not in self.same[self.at]):
                continue
            if int(columns.kind[place]) == Operation.cache:
                self.trails[number].label(block, op)
            elif not only_lost or block in self.trails[number].holders:
                self.trails[number].evict(block, op)

    def may_follow(self, step: Step) -> bool:
        """Is anything that is followed labelled or lost in a step?"""
        labels = u32(step.operations.content)
        return bool(len(labels)) and not self.trails.keys().isdisjoint(labels.tolist())

    def lose(self, gap: Gap) -> None:
        """Records are lost."""
        self._gap = gap

    def load(self, keyframe: Keyframe, num_blocks: int) -> None:
        """A whole state: with the first one the recording begins, and one follows a gap."""
        gap, self._gap = self._gap, None
        begins, self._begun = not self._begun, True
        if not begins and gap is None:
            return
        where = f"before record {keyframe.record}, with which the recording begins"
        if gap is not None:
            where = f"in records {gap.first} to {gap.last}, which are lost"
        if keyframe.next_content > self._next:
            self.lacks.append(f"what was cached {where}")
            # Of what is held then parents are told, and hashes where text is not recorded.
            told = keyframe.contents
            if told.hash_size:
                self._by_hash(u32(told.content).tolist(), u32(told.parent).tolist(), told.hashes, None)
        own = self.sought.own
        if own is not None and self._next <= own < keyframe.next_content:
            # It got the number of what was known before.
            self.trails[own].first = -1
            self.trails[own].lacks = f"when it was evicted: {where}"
        self._next = max(self._next, keyframe.next_content)
        held = block_columns.decode("content", keyframe.blocks.content, num_blocks)
        for content, trail in self.trails.items():
            blocks = [] if held is None else np.flatnonzero(held == content).tolist()
            trail.load(blocks, where, not begins)
