"""Head-of-line blocking: the first of those that wait lacks blocks, and one behind it, for which they would do, waits too.

    free: 3    waiting  r9 (needs 8)  r12 (a prompt of one block)  …       nobody is admitted before r9

What the one behind needs is its prompt (its first chunk, where that is shorter), without any hit: at most what it would take.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar

import numpy as np

from kvarium.findings.answer import Evidence, Finding, Setting
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Contents
from kvarium.findings.part import Part, moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.questions import WaitsAt, link_of
from kvarium.why.words import are, plural
from kvarium_ledger.decisions import Aborted, Admitted, Finished, Preempted, Refused, Submitted, Waiting
from kvarium_ledger.records import Keyframe, Step

_KEPT = 5


@dataclass
class _Blocked:
    """Since ``first`` the head lacks blocks; in ``steps`` steps of these others would have fit, ``fits`` at first."""

    head: int
    first: Step
    op: int
    needs: int
    free: int
    steps: int = 0
    fits: int = -1
    length: int = 0


class HeadOfLine(Watch):
    """Follows who waits, and why the head does."""

    kind = "head_of_line_blocking"
    thresholds: ClassVar[dict[str, int | float]] = {"steps_in_one_wait": 8}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._waiting: dict[int, int] = {}
        self._shortest: list[tuple[int, int]] = []
        self._blocked: _Blocked | None = None
        self._used = 0
        self._free: dict[int, int] = {}
        self._count = self._steps = 0
        self._evidence: list[tuple[int, Evidence]] = []
        self.decisions = {
            Submitted: self._on_submitted,
            Waiting: self._on_waiting,
            Admitted: self._on_left,
            Preempted: self._on_preempted,
            Finished: self._on_left,
            Aborted: self._on_left,
            Refused: self._on_left,
        }

    def load(self, keyframe: Keyframe) -> None:
        self._end()
        self._waiting = {
            row.request: row.prompt_tokens for row in keyframe.requests if row.state == "waiting"
        }
        self._shortest = [(tokens, request) for request, tokens in self._waiting.items()]
        heapify(self._shortest)
        self._used = int(self.blocks.used.sum())

    def begin(self, part: Part, changes: Changes) -> None:
        more = changes.used_after.astype(np.int64) - changes.used_before
        used = self._used + np.cumsum(part.per_step(changes.place, more))
        self._used = int(used[-1])
        numbers = [step.step for step in part.steps]
        self._free = dict(zip(numbers, (self.past.num_blocks - used).tolist(), strict=True))

    def _on_submitted(self, decision: Submitted, step: Step) -> None:
        if decision.state_after is not None:
            self._waiting[decision.request] = decision.prompt_tokens
            heappush(self._shortest, (decision.prompt_tokens, decision.request))

    def _on_left(self, decision: Admitted | Finished | Aborted | Refused, step: Step) -> None:
        self._waiting.pop(decision.request, None)
        if self._blocked is not None and self._blocked.head == decision.request:
            self._end()

    def _on_preempted(self, decision: Preempted, step: Step) -> None:
        # It waits before all others now.
        self._end()

    def _on_waiting(self, decision: Waiting, step: Step) -> None:
        blocked = self._blocked
        if blocked is not None and blocked.head != decision.request:
            return
        self._end()
        if decision.reason == "blocks" and decision.needs is not None:
            self._blocked = _Blocked(decision.request, step, decision.op, decision.needs, decision.free or 0)

    def step(self, step: Step) -> None:
        blocked = self._blocked
        if blocked is None:
            return
        while self._shortest and self._shortest[0][1] not in self._waiting:
            heappop(self._shortest)
        aside = None
        if self._shortest and self._shortest[0][1] == blocked.head:
            aside = heappop(self._shortest)
            while self._shortest and self._shortest[0][1] not in self._waiting:
                heappop(self._shortest)
        if self._shortest:
            tokens, request = self._shortest[0]
            free, size = self._free[step.step], self.past.block_size
            needs = -(-min(tokens, step.budget or tokens) // size)
            if needs <= free < blocked.needs:
                blocked.steps += 1
                if blocked.fits < 0:
                    blocked.fits, blocked.length = request, tokens
        if aside is not None:
            heappush(self._shortest, aside)

    def _end(self) -> None:
        blocked, self._blocked = self._blocked, None
        if blocked is None or blocked.steps < self.thresholds["steps_in_one_wait"]:
            return
        self._count += 1
        self._steps += blocked.steps
        told = (
            f"needs {plural(blocked.needs, 'block')}, {are(blocked.free)} free: for {plural(blocked.steps, 'step')} others behind it would have "
            f"fit, r{blocked.fits} with a prompt of {plural(blocked.length, 'token')} at first"
        )
        evidence = Evidence(
            told=told,
            measured={
                "needs": blocked.needs,
                "free": blocked.free,
                "steps": blocked.steps,
                "fits": blocked.fits,
                "prompt_tokens": blocked.length,
            },
            at=moment(blocked.first, blocked.op),
            who=self.past.who(blocked.head),
            link=link_of(WaitsAt(request=f"r{blocked.head}", step=blocked.first.step)),
        )
        self._evidence = sorted([*self._evidence, (blocked.steps, evidence)], key=lambda kept: -kept[0])[
            :_KEPT
        ]

    def found(self) -> list[Finding]:
        self._end()
        if not self._count:
            return []
        told = (
            f"head-of-line blocking: {plural(self._count, 'time')} the first that waited lacked blocks while one behind it would "
            f"have fit, for {plural(self._steps, 'step')} together"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={"times": self._count, "steps": self._steps},
                thresholds=self.thresholds,
                settings=self._settings(),
                evidence=[each for _, each in self._evidence],
                in_all=self._count,
            )
        ]

    def _settings(self) -> list[Setting]:
        config, settings = self.past.config, []
        if config.get("memory_backend") != "contiguous":
            settings.append(
                self.setting(
                    "max_num_batched_tokens",
                    "a smaller chunk: a long prompt then begins with fewer blocks",
                )
            )
        if config.get("scheduling_policy") != "priority":
            settings.append(
                self.setting("scheduling_policy", "or priority, with the short ones before the long ones")
            )
        return [*settings, self.pool("or a larger pool")]
