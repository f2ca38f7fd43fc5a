"""Unreachable branches: free blocks whose content nobody can hit, as a content before it in its chain is held by no block.

content 3 ── content 4 ── content 9       a hit goes from the first block on: without a block that holds 4, that of 9
held         no block     held, free      is as good as empty, though it counts as cached
"""

from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Again, Contents
from kvarium.findings.part import Part, moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.places import Life
from kvarium.why.words import plural
from kvarium_ledger.operations import NONE

_KEPT = 5
_LOOKS = 16


class Unreachable(Watch):
    """Looks at the state after 16 parts of the recording, and at its end; the worst counts."""

    kind = "unreachable"
    thresholds: ClassVar[dict[str, int | float]] = {"blocks": 1, "share_of_cached": 0.05}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._each = max(1, int(past.row["operations"]) // _LOOKS)
        self._next = self._each
        self._last: Part | None = None
        self._worst: tuple[float, int, int] = (0.0, 0, 0)
        self._evidence: list[Evidence] = []

    def begin(self, part: Part, changes: Changes) -> None:
        self._last = part

    def take(self, part: Part, again: Again) -> None:
        if part.first + len(part.columns) >= self._next:
            self._look(part)
            self._next = part.first + len(part.columns) + self._each

    def _look(self, part: Part) -> None:
        content = self.blocks.content
        free = np.flatnonzero(~self.blocks.used & (content != NONE))
        if not len(free):
            return
        held = np.flatnonzero(self.contents.holders > 0)
        parent = self.contents.parent[held]
        rank = np.full(len(self.contents.holders) + 1, -1, dtype=np.int64)
        rank[held] = np.arange(len(held))
        first = parent == NONE
        before = np.where(first, np.arange(len(held)), rank[np.where(first, 0, parent)])
        reachable = before >= 0
        before = np.where(reachable, before, 0)
        # Twice as far up the chain each time.
        for _ in range(32):
            further = reachable & reachable[before]
            before = before[before]
            if (further == reachable).all():
                break
            reachable = further
        lost = free[~reachable[rank[content[free]]]]
        share = len(lost) / len(free)
        if len(lost) and share > self._worst[0]:
            self._worst = (share, len(lost), len(free))
            step = part.steps[-1]
            self._evidence = [
                Evidence(
                    told=f"free, and holds content {content[block]}, whose beginning is held by no block",
                    measured={"content": int(content[block])},
                    at=moment(step, step.op + len(step.operations.kind) - 1),
                    life=Life(block=block),
                    link=f"blocks/{block}/operations",
                )
                for block in lost[:_KEPT].tolist()
            ]

    def found(self) -> list[Finding]:
        if self._last is not None:
            self._look(self._last)
        share, lost, free = self._worst
        if lost < self.thresholds["blocks"] or share < self.thresholds["share_of_cached"]:
            return []
        told = (
            f"unreachable branches: {plural(lost, 'block')} of {free} that count as cached can't be hit, as a block before "
            f"them was evicted"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={"blocks": lost, "cached": free, "share_of_cached": round(share, 3)},
                thresholds=self.thresholds,
                settings=[
                    self.pool("a larger pool, which evicts less of a chain")
                    if self.past.config.get("free_order") == "lru"
                    else self.setting(
                        "free_order", "lru: a chain is then freed tail first, and loses its tail first"
                    )
                ],
                evidence=self._evidence,
                in_all=lost,
            )
        ]
