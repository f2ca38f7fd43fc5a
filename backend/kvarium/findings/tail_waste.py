"""Tail waste: slots of blocks in use that are not filled, step by step, and what they would be with smaller blocks.

block 7, 16 slots    3 filled: 13 unused        with blocks of 4 slots: 1 unused        with blocks of 1: none
"""

from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Contents
from kvarium.findings.part import Part, moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.questions import MemoryAt, link_of
from kvarium.why.words import are
from kvarium_ledger.records import Keyframe


class TailWaste(Watch):
    """Sums what is unused after each step. A contiguous cache reserves, which is another finding."""

    kind = "tail_waste"
    fault = "many short requests at a small or large block size"
    thresholds: ClassVar[dict[str, int | float]] = {"share": 0.1, "steps": 8}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        size = past.block_size
        filled = np.arange(size + 1)
        # A divisor a row: the slots that a block with so many filled would leave unused, in blocks of that size.
        self._sizes = [size >> shift for shift in range(size.bit_length()) if size % (1 << shift) == 0]
        self._unused = np.array([(-filled) % each for each in self._sizes], dtype=np.int64)
        self._unused[0, 0] = size
        self._now = np.zeros(len(self._sizes), dtype=np.int64)
        self._slots = 0
        self._sums = np.zeros(len(self._sizes), dtype=np.int64)
        self._slot_sum = self._steps = self._worst = 0
        self._evidence: list[Evidence] = []

    def load(self, keyframe: Keyframe) -> None:
        used = self.blocks.used
        self._now = self._unused[:, self.blocks.filled[used]].sum(axis=1)
        self._slots = int(used.sum()) * self.past.block_size

    def begin(self, part: Part, changes: Changes) -> None:
        size = self.past.block_size
        more = changes.used_after.astype(np.int64) - changes.used_before
        slots = self._slots + np.cumsum(part.per_step(changes.place, more)) * size
        after = []
        for row, table in enumerate(self._unused):
            grown = (
                table[changes.filled_after] * changes.used_after
                - table[changes.filled_before] * changes.used_before
            )
            after.append(self._now[row] + np.cumsum(part.per_step(changes.place, grown)))
        unused = np.array(after)
        self._now, self._slots = unused[:, -1].copy(), int(slots[-1])
        busy = slots > 0
        self._steps += int(busy.sum())
        self._slot_sum += int(slots.sum())
        self._sums += unused[:, busy].sum(axis=1)
        worst = int(unused[0].argmax())
        if unused[0, worst] > self._worst:
            self._worst = int(unused[0, worst])
            step = part.steps[worst]
            self._evidence = [
                Evidence(
                    told=f"{are(self._worst, f' of {int(slots[worst])} slots in use')} not filled after this step, the most of all",
                    measured={"unused": self._worst, "slots": int(slots[worst])},
                    at=moment(step, step.op + len(step.operations.kind)),
                    link=link_of(MemoryAt(step=step.step)),
                )
            ]

    def found(self) -> list[Finding]:
        if self.past.config.get("memory_backend") == "contiguous" or self._steps < self.thresholds["steps"]:
            return []
        share = int(self._sums[0]) / self._slot_sum
        if share < self.thresholds["share"]:
            return []
        size = self.past.block_size
        # What a smaller block would hold is what is filled, and its own tails.
        filled = self._slot_sum - int(self._sums[0])
        measured: dict[str, int | float] = {
            "share": round(share, 3),
            "block_size": size,
            "steps": self._steps,
            "unused_mean": round(int(self._sums[0]) / self._steps, 1),
            "slots_mean": round(self._slot_sum / self._steps, 1),
        }
        for each, unused in zip(self._sizes[1:], self._sums[1:].tolist(), strict=True):
            measured[f"share_with_{each}"] = round(unused / (filled + unused), 3)
        half = measured.get(f"share_with_{size // 2}", 0.0)
        told = (
            f"tail waste: of the slots in use {100 * share:.1f} % were not filled, a step of {self._steps}, in blocks of {size}; "
            f"in blocks of {size // 2} it would have been {100 * half:.1f} %"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured=measured,
                thresholds=self.thresholds,
                settings=[self.setting("block_size", "smaller blocks: a sequence wastes less than one")],
                evidence=self._evidence,
                in_all=self._steps,
            )
        ]
