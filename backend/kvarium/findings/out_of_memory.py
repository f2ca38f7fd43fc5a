"""The pool is too small for what was asked of it: requests that could never fit, or that had to end for lack of blocks."""

from typing import Any, ClassVar

from kvarium.findings.answer import Evidence, Finding, Setting
from kvarium.findings.blocks import Blocks
from kvarium.findings.contents import Contents
from kvarium.findings.part import moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.words import were
from kvarium_ledger.decisions import Finished, Preempted, Refused
from kvarium_ledger.records import Step

_KEPT = 5


class OutOfMemory(Watch):
    """Counts requests that were refused for blocks, that ended by the pool's capacity, or whose forward had no memory."""

    kind = "out_of_memory"
    fault = "out of memory at gpu_memory_utilization"
    thresholds: ClassVar[dict[str, int | float]] = {"requests": 1}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._refused = self._capacity = self._failed = self._preempted = 0
        self._most_needed = 0
        self._evidence: list[Evidence] = []
        self.decisions = {
            Refused: self._on_refused,
            Finished: self._on_finished,
            Preempted: self._on_preempted,
        }

    def _keep(self, told: str, step: Step, op: int, request: int, **more: Any) -> None:
        if len(self._evidence) < _KEPT:
            who = self.past.who(request)
            self._evidence.append(Evidence(told=told, at=moment(step, op), who=who, **more))

    def _on_refused(self, decision: Refused, step: Step) -> None:
        if decision.unit != "blocks":
            return  # longer than max_model_len: a pool of any size refuses it
        self._refused += 1
        self._most_needed = max(self._most_needed, decision.needs)
        told = f"refused: it may need {decision.needs} blocks, the pool has {decision.has}"
        measured: dict[str, int | float] = {"needs": decision.needs, "has": decision.has}
        self._keep(told, step, decision.op, decision.request, measured=measured)

    def _on_finished(self, decision: Finished, step: Step) -> None:
        if decision.reason == "capacity":
            self._capacity += 1
            self._keep(
                f"ended: {decision.message}",
                step,
                decision.op,
                decision.request,
                link=f"why/memory?step={step.step}",
            )
        elif decision.reason == "error" and "out of memory" in (decision.message or "").lower():
            self._failed += 1
            self._keep(f"its forward failed: {decision.message}", step, decision.op, decision.request)

    def _on_preempted(self, decision: Preempted, step: Step) -> None:
        self._preempted += 1

    def found(self) -> list[Finding]:
        requests = self._refused + self._capacity + self._failed
        if not requests:
            return []
        pool = self.past.num_blocks
        told = []
        if self._refused:
            told.append(
                f"{were(self._refused)} refused, the largest for {self._most_needed} of {pool} blocks"
            )
        if self._capacity:
            told.append(f"{self._capacity} ended because the pool of {pool} blocks was full with them alone")
        if self._failed:
            told.append(f"the forward of {self._failed} had no memory")
        return [
            Finding(
                kind=self.kind,
                fault=self.fault,
                told=f"out of memory: {', '.join(told)}",
                measured={
                    "refused": self._refused,
                    "capacity": self._capacity,
                    "failed": self._failed,
                    "preempted": self._preempted,
                    "needs": self._most_needed,
                    "pool": pool,
                },
                thresholds=self.thresholds,
                settings=self._settings(),
                evidence=self._evidence,
                in_all=requests,
            )
        ]

    def _settings(self) -> list[Setting]:
        if self._failed:
            settings = [self.pool("a smaller pool: the forward itself had no memory beside it")]
        else:
            settings = [self.pool("more of it, and so a larger pool")]
        by_memory = settings[0].name != "num_gpu_blocks_override"
        if by_memory and not self._failed:
            settings.append(self.setting("num_gpu_blocks_override", "or a pool of more blocks outright"))
        settings.append(self.setting("max_model_len", "or shorter requests"))
        if by_memory and "fp8" not in str(self.past.config.get("kv_cache_dtype")):
            settings.append(
                self.setting("kv_cache_dtype", "or fp8: a byte a number, and more tokens in the same memory")
            )
        return settings
