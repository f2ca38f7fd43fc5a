"""Oversized reservations: a contiguous cache gives a request its blocks at once, and most of them were never filled."""

from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Contents
from kvarium.findings.part import Part
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.words import plural
from kvarium_ledger.operations import Cause, Operation

_KEPT = 5


class Reservations(Watch):
    """Sums what the blocks of reservations held when they came back, which is the most that they ever held."""

    kind = "oversized_reservations"
    thresholds: ClassVar[dict[str, int | float]] = {"requests": 1, "unfilled_share": 0.25}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._reserves = False
        self._slots = self._filled = self._ended = 0
        self._evidence: list[tuple[int, Evidence]] = []
        self._part: Changes | None = None

    def begin(self, part: Part, changes: Changes) -> None:
        columns = part.columns
        self._reserves = self._reserves or bool((columns.cause == int(Cause.reserve)).any())
        if not self._reserves:
            return
        size = self.past.block_size
        freed = changes.kind == int(Operation.free)
        places, filled = changes.place[freed], changes.filled_after[freed]
        self._slots += size * len(places)
        self._filled += int(filled.sum())
        requests, which = np.unique(part.requests[places], return_inverse=True)
        slots = np.bincount(which, minlength=len(requests)) * size
        used = np.bincount(which, weights=filled, minlength=len(requests)).astype(np.int64)
        self._ended += int((requests >= 0).sum())
        for index in np.argsort(used - slots, kind="stable")[:_KEPT].tolist():
            unfilled = int(slots[index] - used[index])
            place = int(places[which == index].min())
            told = f"gave back a reservation of {int(slots[index])} slots, {int(used[index])} of them filled"
            measured: dict[str, int | float] = {"slots": int(slots[index]), "filled": int(used[index])}
            who = part.who(self.past, place)
            evidence = Evidence(told=told, measured=measured, at=part.moment(place), who=who)
            self._evidence.append((unfilled, evidence))
        self._evidence = sorted(self._evidence, key=lambda kept: -kept[0])[:_KEPT]

    def found(self) -> list[Finding]:
        if not self._reserves or not self._slots:
            return []
        unfilled = self._slots - self._filled
        share = unfilled / self._slots
        if self._ended < self.thresholds["requests"] or share < self.thresholds["unfilled_share"]:
            return []
        told = (
            f"oversized reservations: {unfilled} of {plural(self._slots, 'slot')} that {plural(self._ended, 'request')} reserved "
            f"({100 * share:.1f} %) {'was' if unfilled == 1 else 'were'} never filled"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={
                    "slots": self._slots,
                    "filled": self._filled,
                    "unfilled_share": round(share, 3),
                    "requests": self._ended,
                },
                thresholds=self.thresholds,
                settings=[
                    self.setting("memory_backend", "paged: a block when one is needed"),
                    *(
                        []
                        if self.past.config.get("reserve") == "exact"
                        else [self.setting("reserve", "or exact, where lengths are known")]
                    ),
                ],
                evidence=[each for _, each in self._evidence],
                in_all=self._ended,
            )
        ]
