"""Thrashing: a request was preempted, and before it was preempted again it computed more tokens again than it gained.

As `kvarium why … preempted` has it, of requests of one sequence: of several the decisions alone do not say which tokens are the same.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks
from kvarium.findings.contents import Contents
from kvarium.findings.part import moment
from kvarium.findings.watch import Watch
from kvarium.sql.walk import sampled_of
from kvarium.why.past import Past
from kvarium.why.questions import PreemptedAt, link_of
from kvarium.why.words import plural
from kvarium_ledger.decisions import Aborted, Finished, Preempted, Scheduled, SequenceCreated, Submitted
from kvarium_ledger.records import Keyframe, Step

_KEPT = 5


@dataclass
class _Since:
    """Of a request that was preempted: the tokens that it had, and what it did since the step."""

    sequence: int
    lost: int
    step: int
    again: int = 0
    gained: int = 0


class Thrashing(Watch):
    """Follows requests from one preemption to the next."""

    kind = "thrashing"
    thresholds: ClassVar[dict[str, int | float]] = {"preemptions": 1}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._single: set[int] = set()
        self._sequence: dict[int, int] = {}
        self._open: dict[int, _Since] = {}
        self._preempted = self._count = self._again = self._gained = 0
        self._requests: set[int] = set()
        self._evidence: list[tuple[int, Evidence]] = []
        self.decisions = {
            Submitted: self._on_submitted,
            SequenceCreated: self._on_created,
            Scheduled: self._on_scheduled,
            Preempted: self._on_preempted,
            Finished: self._on_ended,
            Aborted: self._on_ended,
        }

    def load(self, keyframe: Keyframe) -> None:
        self._open.clear()
        self._single = {row.request for row in keyframe.requests if row.n == 1 and row.beam_width is None}
        self._sequence = {row.request: row.sequence for row in keyframe.sequences}

    def _on_submitted(self, decision: Submitted, step: Step) -> None:
        if decision.n == 1 and decision.beam_width is None:
            self._single.add(decision.request)

    def _on_created(self, decision: SequenceCreated, step: Step) -> None:
        if decision.request in self._single:
            self._sequence[decision.request] = decision.sequence

    def _on_ended(self, decision: Finished | Aborted, step: Step) -> None:
        self._single.discard(decision.request)
        self._sequence.pop(decision.request, None)
        self._open.pop(decision.request, None)

    def _on_scheduled(self, decision: Scheduled, step: Step) -> None:
        since = self._open.get(decision.request)
        if since is not None:
            since.again += max(0, min(decision.start + decision.tokens, since.lost) - decision.start)

    def _on_preempted(self, decision: Preempted, step: Step) -> None:
        self._preempted += 1
        request = decision.request
        since = self._open.pop(request, None)
        if since is not None and since.again > since.gained:
            self._count += 1
            self._again += since.again
            self._gained += since.gained
            self._requests.add(request)
            self._keep(request, since, decision, step)
        sequence = self._sequence.get(request)
        if request in self._single and sequence is not None:
            self._open[request] = _Since(sequence, decision.tokens, step.step)

    def _keep(self, request: int, since: _Since, decision: Preempted, step: Step) -> None:
        victim_of = self.past.who(decision.victim_of)
        name = "" if victim_of is None else f" for r{victim_of.request}"
        told = (
            f"preempted again{name}, {plural(step.step - since.step, 'step')} after the time before: "
            f"{plural(since.again, 'token')} computed again, {since.gained} gained"
        )
        evidence = Evidence(
            told=told,
            measured={
                "victim_of": decision.victim_of,
                "steps": step.step - since.step,
                "again": since.again,
                "gained": since.gained,
            },
            at=moment(step, decision.op),
            who=self.past.who(request),
            link=link_of(PreemptedAt(request=f"r{request}", step=step.step)),
        )
        self._evidence.append((since.again - since.gained, evidence))
        if len(self._evidence) > _KEPT:
            self._evidence.remove(min(self._evidence, key=lambda kept: kept[0]))

    def step(self, step: Step) -> None:
        if not self._open:
            return
        sampled = sampled_of(step)
        sequences = [since.sequence for since in self._open.values()]
        if np.isin(sampled, sequences).any():
            told = set(sampled.tolist())
            for since in self._open.values():
                since.gained += since.sequence in told and since.step < step.step

    def found(self) -> list[Finding]:
        if not self._count:
            return []
        told = (
            f"thrashing: {plural(len(self._requests), 'request')} computed {plural(self._again, 'token')} again and gained "
            f"{self._gained} between {plural(self._count, 'pair')} of preemptions"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={
                    "preemptions": self._count,
                    "preemptions_in_all": self._preempted,
                    "requests": len(self._requests),
                    "again": self._again,
                    "gained": self._gained,
                },
                thresholds=self.thresholds,
                settings=[
                    *self.fewer_sequences("fewer sequences at once: each that runs needs its blocks"),
                    self.pool("or a larger pool"),
                ],
                evidence=[each for _, each in sorted(self._evidence, key=lambda kept: -kept[0])],
                in_all=self._count,
            )
        ]
