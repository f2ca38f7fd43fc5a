"""Blocks so small that to hand them out takes a good part of each step: a sequence asks for one every few tokens."""

from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Contents
from kvarium.findings.part import Part, moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.words import plural, were
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Step

_KEPT = 5


class SmallBlocks(Watch):
    """Sums the time of scheduling and of the forwards, as the steps tell them, and the blocks that were allocated."""

    kind = "small_blocks"
    fault = "many short requests at a small or large block size"
    thresholds: ClassVar[dict[str, int | float]] = {
        "block_size_at_most": 8,
        "schedule_share": 0.2,
        "steps": 8,
    }

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._allocated = self._tokens = self._steps = 0
        self._schedule = self._forward = 0
        self._evidence: list[tuple[int, Evidence]] = []

    def begin(self, part: Part, changes: Changes) -> None:
        self._allocated += int(np.count_nonzero(part.columns.mask(Operation.allocate)))

    def step(self, step: Step) -> None:
        # A runner without a model computes nothing: there is no forward to compare with.
        if not step.tokens or not step.forward_ns:
            return
        self._steps += 1
        self._tokens += step.tokens
        self._schedule += step.schedule_ns
        self._forward += step.forward_ns + step.sample_ns
        kept = self._evidence
        if len(kept) < _KEPT or step.schedule_ns > kept[-1][0]:
            told = f"{step.schedule_ns / 1e6:.2f} ms of scheduling beside {step.forward_ns / 1e6:.2f} ms of forward, for {plural(step.tokens, 'token')}"
            measured = {
                "schedule_ms": round(step.schedule_ns / 1e6, 2),
                "forward_ms": round(step.forward_ns / 1e6, 2),
                "tokens": step.tokens,
            }
            kept.append((step.schedule_ns, Evidence(told=told, measured=measured, at=moment(step))))
            kept.sort(key=lambda each: -each[0])
            del kept[_KEPT:]

    def found(self) -> list[Finding]:
        size = self.past.block_size
        if self.past.row["runner"] == "null" or self._steps < self.thresholds["steps"]:
            return []
        share = self._schedule / (self._schedule + self._forward)
        if size > self.thresholds["block_size_at_most"] or share < self.thresholds["schedule_share"]:
            return []
        allocated = were(self._allocated, " block" if self._allocated == 1 else " blocks")
        told = (
            f"small blocks: {allocated} allocated for {plural(self._tokens, 'token')}, of {plural(size, 'slot')} each, and "
            f"scheduling took {100 * share:.1f} % of the steps' time"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={
                    "schedule_share": round(share, 3),
                    "block_size": size,
                    "allocated": self._allocated,
                    "tokens": self._tokens,
                    "steps": self._steps,
                },
                thresholds=self.thresholds,
                settings=[
                    self.setting("block_size", "larger blocks: 16, which is asked for once in 16 tokens")
                ],
                evidence=[each for _, each in self._evidence],
                in_all=self._steps,
            )
        ]
