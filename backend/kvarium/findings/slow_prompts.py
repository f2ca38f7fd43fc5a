"""Long prompts that are slow under mixed load: their prefills take many more steps than their lengths ask for.

    a prompt of 4,096 tokens, 2,048 a step     alone: 2 steps        beside others' tokens: 2,048 │ 310 │ 298 │ 305 │ …

What a step computes for others is taken from the chunk, since decodes go first: the step's budget is the limit.
"""

from dataclasses import dataclass
from typing import ClassVar

from kvarium.findings.answer import Evidence, Finding
from kvarium.findings.blocks import Blocks
from kvarium.findings.contents import Contents
from kvarium.findings.part import moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.words import plural, were
from kvarium_ledger.decisions import Aborted, Admitted, Finished, Preempted, Scheduled
from kvarium_ledger.records import Keyframe, Step

_KEPT = 5


@dataclass
class _Prefill:
    """A prefill that is not at its end: what it got, in how many chunks, and what the steps had and gave."""

    first: Step
    op: int
    end: int
    left: int
    own: int = 0
    chunks: int = 0
    full: int = 0


class SlowPrompts(Watch):
    """Follows prefills of more than one chunk, from admission to their last one."""

    kind = "slow_prompts"
    fault = "long prompts slow under mixed load"
    thresholds: ClassVar[dict[str, int | float]] = {
        "prompts": 1,
        "steps": 4,
        "times_as_many_steps": 2,
        "full_steps_share": 0.5,
    }

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._open: dict[int, _Prefill] = {}
        self._got: dict[int, int] = {}
        self._long = self._count = self._steps = self._ideal = 0
        self._evidence: list[tuple[int, Evidence]] = []
        self.decisions = {
            Admitted: self._on_admitted,
            Scheduled: self._on_scheduled,
            Preempted: self._on_left,
            Finished: self._on_left,
            Aborted: self._on_left,
        }

    def load(self, keyframe: Keyframe) -> None:
        self._open.clear()

    def _on_admitted(self, decision: Admitted, step: Step) -> None:
        left = decision.tokens - decision.hit
        self._open[decision.request] = _Prefill(step, decision.op, decision.tokens, left)

    def _on_scheduled(self, decision: Scheduled, step: Step) -> None:
        prefill = self._open.get(decision.request)
        if prefill is None:
            return
        if not prefill.chunks and decision.start + decision.tokens >= prefill.end:
            del self._open[decision.request]  # in one chunk
            return
        self._got[decision.request] = decision.start + decision.tokens
        prefill.own += decision.tokens
        prefill.chunks += 1

    def _on_left(self, decision: Preempted | Finished | Aborted, step: Step) -> None:
        self._open.pop(decision.request, None)
        self._got.pop(decision.request, None)

    def step(self, step: Step) -> None:
        if not self._got:
            return
        for request, reached in self._got.items():
            prefill = self._open[request]
            prefill.full += step.tokens >= step.budget
            if reached >= prefill.end:
                del self._open[request]
                self._judge(request, prefill, step)
        self._got.clear()

    def _judge(self, request: int, prefill: _Prefill, step: Step) -> None:
        self._long += 1
        steps = step.step - prefill.first.step + 1
        ideal = -(-prefill.left // max(1, step.budget))
        limits = self.thresholds
        if steps < limits["steps"] or steps < limits["times_as_many_steps"] * ideal:
            return
        if prefill.full < limits["full_steps_share"] * prefill.chunks:
            return
        self._count += 1
        self._steps += steps
        self._ideal += ideal
        share = 100 * prefill.own / (steps * max(1, step.budget))
        took = (step.sealed - prefill.first.time) / 1e6
        told = (
            f"its {plural(prefill.left, 'token')} took {plural(steps, 'step')} ({took:.0f} ms) where {ideal} would do: it got {share:.0f} % of "
            f"their budgets, of which {were(prefill.full)} used up while it computed"
        )
        evidence = Evidence(
            told=told,
            measured={
                "tokens": prefill.left,
                "steps": steps,
                "ms": round(took),
                "steps_at_best": ideal,
                "share": round(share) / 100,
                "full_steps": prefill.full,
            },
            at=moment(prefill.first, prefill.op),
            who=self.past.who(request),
        )
        self._evidence = sorted([*self._evidence, (steps - ideal, evidence)], key=lambda kept: -kept[0])[
            :_KEPT
        ]

    def found(self) -> list[Finding]:
        if self._count < self.thresholds["prompts"]:
            return []
        told = (
            f"long prompts are slow under mixed load: {self._count} of {self._long} that took several steps took {self._steps} "
            f"together, where the budget alone would do with {self._ideal}"
        )
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=told,
                measured={
                    "prompts": self._count,
                    "of": self._long,
                    "steps": self._steps,
                    "steps_at_best": self._ideal,
                },
                thresholds=self.thresholds,
                settings=[
                    self.setting(
                        "max_num_batched_tokens",
                        "more tokens a step: what decodes leave is the prompts' chunk",
                    ),
                    *self.fewer_sequences("or fewer sequences that decode beside them"),
                ],
                evidence=[each for _, each in self._evidence],
                in_all=self._count,
            )
        ]
