"""A session of the ledger from a vLLM: its scheduler's steps, each a record with an audit.

add_request          a request comes in          told with the next step
schedule             a step begins               blocks, admissions, preemptions: VllmLedger
update_from_output   it was computed             sampled tokens, ends; then the record is sealed
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.request_queue import PriorityRequestQueue
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request

from kvarium_ledger.ledger import Ledger, Sealed, StepTimes
from kvarium_ledger.records import Keyframe
from tests.oracle.vllm_audit import VllmAudit
from tests.oracle.vllm_ledger import VllmLedger, watch


class VllmSession:
    """A watched manager's session; ``sink`` gets what is sealed, a keyframe first.

    ``queues`` gives the running and the waiting requests, in their order. An audit goes with every ``audit_interval``-th
    step.
    """

    def __init__(
        self,
        manager: KVCacheManager,
        queues: Callable[[], list[Iterable[Request]]],
        sink: Callable[[Sealed], None],
        audit_interval: int = 64,
    ) -> None:
        self.ledger = Ledger(sink)
        self.told = VllmLedger(manager, self.ledger)
        self.audit = VllmAudit(self.told)
        self.audit_interval = audit_interval
        self.queues = queues
        self._op = 0
        self.ledger.keyframe(self.snapshot())

    def snapshot(self) -> Keyframe:
        """The whole state of vLLM's objects, between two steps."""
        return self.audit.keyframe(self.queues())

    def seal(self) -> None:
        """Record what was done since the last step (a submission, an abort, a reset), if anything was."""
        if self.ledger.pending:
            self._seal(StepTimes(self.ledger.now(), 0, 0, 0), 0, 0)

    def _seal(self, times: StepTimes, tokens: int, budget: int) -> None:
        due = (self.ledger.step + 2) % self.audit_interval == 0
        audit = self.audit.digest(self.queues()) if due else None
        self.ledger.seal(times, tokens, budget, self._op, audit)
        self._op = self.ledger.op


class SchedulerSession(VllmSession):
    """The session of a ``Scheduler`` that has no request yet."""

    def __init__(
        self, scheduler: Scheduler, sink: Callable[[Sealed], None], audit_interval: int = 64
    ) -> None:
        self.scheduler = scheduler
        self._began = self._scheduled = 0
        super().__init__(scheduler.kv_cache_manager, self._queues, sink, audit_interval)
        watch(scheduler, "add_request", self._add_request)
        watch(scheduler, "schedule", self._schedule)
        watch(scheduler, "update_from_output", self._update_from_output)

    def _queues(self) -> list[Iterable[Request]]:
        """Those that wait by priority are a queue for each priority."""
        running, waiting = self.scheduler.running, list(self.scheduler.waiting)
        if not isinstance(self.scheduler.waiting, PriorityRequestQueue):
            return [running, waiting]
        priorities = {request.priority for request in waiting}
        return [running, *([each for each in waiting if each.priority == one] for one in priorities)]

    def _add_request(self, plain: Callable[..., None], request: Request) -> None:
        by_priority = isinstance(self.scheduler.waiting, PriorityRequestQueue)
        self.told.submit(request, request.priority if by_priority else 0)
        plain(request)

    def _schedule(self, plain: Callable[..., Any], *given: Any, **named: Any) -> Any:
        self._began = self.ledger.now()
        output = plain(*given, **named)
        self._scheduled = self.ledger.now()
        return output

    def _update_from_output(self, plain: Callable[..., Any], output: Any, computed: Any) -> Any:
        sequences: list[int] = []
        tokens: list[int] = []
        for name, sampled in zip(computed.req_ids, computed.sampled_token_ids, strict=True):
            if sampled:
                sequences.append(self.told.requests[name].number)
                tokens += sampled
        ran = self.ledger.now()
        if sequences:
            self.ledger.sampled(sequences, tokens)
        answer = plain(output, computed)
        began, scheduled, now = self._began, self._scheduled, self.ledger.now()
        self._seal(
            StepTimes(began, scheduled - began, ran - scheduled, now - ran),
            output.total_num_scheduled_tokens,
            self.scheduler.max_num_scheduled_tokens,
        )
        return answer
