"""Who answers which question: one list for the command line, the API and every page."""

from collections.abc import Callable

import msgspec

from kvarium.findings.answer import Findings
from kvarium.findings.sweep import find
from kvarium.why import questions
from kvarium.why.eviction import Eviction, why_evicted
from kvarium.why.leaks import Leaks, what_leaks
from kvarium.why.memory import Memory, where_memory_goes
from kvarium.why.missed.answer import Miss
from kvarium.why.missed.question import why_missed
from kvarium.why.past import Past
from kvarium.why.preemption import Preemption, why_preempted
from kvarium.why.waiting import Wait, why_waits

Answer = Eviction | Preemption | Wait | Miss | Memory | Leaks | Findings

_ANSWERED: dict[type[questions.Question], Callable[..., Answer]] = {
    questions.Evicted: why_evicted,
    questions.PreemptedAt: why_preempted,
    questions.WaitsAt: why_waits,
    questions.MissedAt: why_missed,
    questions.MemoryAt: where_memory_goes,
    questions.LeaksAt: what_leaks,
    questions.FindingsIn: find,
}


def answer(past: Past, question: questions.Question) -> Answer:
    """The answer. Raises :class:`kvarium.errors.OutOfRangeError` where what is asked about is not recorded, or is not so."""
    asked = msgspec.structs.asdict(question)
    if asked.get("step") is not None:
        past.check_step(asked["step"])
    return _ANSWERED[type(question)](past, **asked)
