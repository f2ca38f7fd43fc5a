"""Evicted, then wanted: contents that allocations took from the cache, and that somebody computed again."""

from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Again, Contents
from kvarium.findings.part import Part
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.places import Life
from kvarium.why.questions import Evicted, link_of
from kvarium.why.words import plural
from kvarium_ledger.operations import Operation

_KEPT = 5


class EvictedThenWanted(Watch):
    """Counts labels of contents that had been lost. A resumed request that computes its own again counts, too."""

    kind = "evicted_then_wanted"
    fault = "prefix cache off, or prefixes too short, or evicted between"
    thresholds: ClassVar[dict[str, int | float]] = {"blocks": 4, "share": 0.01}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._labels = self._again = 0
        self._contents: set[int] = set()
        self._evidence: list[tuple[int, Evidence]] = []

    def begin(self, part: Part, changes: Changes) -> None:
        self._labels += int(np.count_nonzero(part.columns.mask(Operation.cache)))

    def take(self, part: Part, again: Again) -> None:
        self._again += len(again.place)
        self._contents.update(again.content.tolist())
        between = part.first + again.place - again.lost
        for index in np.argsort(between, kind="stable")[:_KEPT].tolist():
            place, lost = int(again.place[index]), int(again.lost[index])
            told = f"computed again, {int(between[index])} operations after it was evicted at op {lost}"
            evidence = Evidence(
                told=told,
                measured={"operations": int(between[index]), "evicted_op": lost},
                at=part.moment(place),
                who=part.who(self.past, place),
                life=Life(block=int(part.columns.block[place])),
                link=link_of(Evicted(op=lost)),
            )
            self._evidence.append((int(between[index]), evidence))
        self._evidence = sorted(self._evidence, key=lambda kept: kept[0])[:_KEPT]

    def found(self) -> list[Finding]:
        share = self._again / self._labels if self._labels else 0.0
        if self._again < self.thresholds["blocks"] or share < self.thresholds["share"]:
            return []
        tokens = self._again * self.past.block_size
        told = (
            f"evicted, then wanted: {plural(self._again, 'block')} ({100 * share:.1f} % of all that were labelled) were computed "
            f"again after an allocation had taken them from the cache: {tokens} tokens"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={
                    "blocks": self._again,
                    "contents": len(self._contents),
                    "labelled": self._labels,
                    "share": round(share, 3),
                    "tokens": tokens,
                },
                thresholds=self.thresholds,
                settings=[
                    self.pool("a larger pool keeps them longer"),
                    *self.fewer_sequences("or fewer sequences at once, which leave more of it to the cache"),
                ],
                evidence=[each for _, each in self._evidence],
                in_all=self._again,
            )
        ]
