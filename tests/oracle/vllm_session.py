"""A session of the ledger from a vLLM: its scheduler's steps, each a record with an audit.

add_request          a request comes in          told with the next step
schedule             a step begins               blocks, admissions, preemptions: VllmLedger
update_from_output   it was computed             sampled tokens, ends; then the record is sealed
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vllm.v1.core.sched.request_queue import PriorityRequestQueue
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request

from kvarium_ledger.ledger import Ledger, Sealed, StepTimes
from kvarium_ledger.records import Keyframe
from tests.oracle.vllm_audit import VllmAudit
from tests.oracle.vllm_ledger import VllmLedger, watch


class VllmSession:
    """Watches a ``Scheduler`` that has no request yet; ``sink`` gets what is sealed, a keyframe first.

    An audit goes with every ``audit_interval``-th step.
    """

    def __init__(
        self, scheduler: Scheduler, sink: Callable[[Sealed], None], audit_interval: int = 64
    ) -> None:
        self.scheduler = scheduler
        self.ledger = Ledger(sink)
        self.told = VllmLedger(scheduler.kv_cache_manager, self.ledger)
        self.audit = VllmAudit(self.told)
        self.audit_interval = audit_interval
        self._op = 0
        self._began = self._scheduled = 0
        self._tokens = 0
        watch(scheduler, "add_request", self._add_request)
        watch(scheduler, "schedule", self._schedule)
        watch(scheduler, "update_from_output", self._update_from_output)
        self.ledger.keyframe(self.snapshot())

    def queues(self) -> list[Iterable[Request]]:
        """Running and waiting requests in their order; those that wait by priority as one queue a priority."""
        running, waiting = self.scheduler.running, list(self.scheduler.waiting)
        if not isinstance(self.scheduler.waiting, PriorityRequestQueue):
            return [running, waiting]
        priorities = {request.priority for request in waiting}
        return [running, *([each for each in waiting if each.priority == one] for one in priorities)]

    def snapshot(self) -> Keyframe:
        """The whole state of vLLM's objects, between two steps."""
        return self.audit.keyframe(self.queues())

    def _add_request(self, plain: Callable[..., None], request: Request) -> None:
        self.told.submit(request)
        plain(request)

    def _schedule(self, plain: Callable[..., Any], *given: Any, **named: Any) -> Any:
        self._began = self.ledger.now()
        output = plain(*given, **named)
        self._scheduled = self.ledger.now()
        self._tokens = output.total_num_scheduled_tokens
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
        self._seal(
            StepTimes(
                self._began, self._scheduled - self._began, ran - self._scheduled, self.ledger.now() - ran
            )
        )
        return answer

    def seal(self) -> None:
        """Record what was done since the last step (a submission, an abort, a reset), if anything was."""
        if self.ledger.pending:
            self._tokens = 0
            self._seal(StepTimes(self.ledger.now(), 0, 0, 0))

    def _seal(self, times: StepTimes) -> None:
        ledger = self.ledger
        due = (ledger.step + 2) % self.audit_interval == 0
        audit = self.audit.digest(self.queues()) if due else None
        budget = self.scheduler.max_num_scheduled_tokens
        ledger.seal(times, self._tokens, budget, self._op, audit)
        self._op = ledger.op
