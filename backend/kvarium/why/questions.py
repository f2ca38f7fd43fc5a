"""The questions that can be asked, and who answers them: one list for the command line, the API and the screen."""

from collections.abc import Callable
from typing import Annotated

import msgspec

from kvarium.findings.answer import Findings
from kvarium.findings.sweep import find
from kvarium.why.eviction import Eviction, why_evicted
from kvarium.why.leaks import Leaks, what_leaks
from kvarium.why.memory import Memory, where_memory_goes
from kvarium.why.missed.answer import Miss
from kvarium.why.missed.question import why_missed
from kvarium.why.past import Past
from kvarium.why.preemption import Preemption, why_preempted
from kvarium.why.waiting import Wait, why_waits

Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
U32 = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]


class Evicted(msgspec.Struct, frozen=True, kw_only=True, tag="evicted"):
    """Why was a block evicted? The last time (up to ``step``; of that life), or by operation ``op``."""

    block: U32 | None = None
    generation: U32 | None = None
    op: Number | None = None
    step: Number | None = None


class PreemptedAt(msgspec.Struct, frozen=True, kw_only=True, tag="preempted"):
    """Why was a request preempted, the last time (up to ``step``)? It is named as r17, 17, or by its name."""

    request: str
    step: Number | None = None


class WaitsAt(msgspec.Struct, frozen=True, kw_only=True, tag="waits"):
    """Why does a request wait after ``step`` (the last one)?"""

    request: str
    step: Number | None = None


class MissedAt(msgspec.Struct, frozen=True, kw_only=True, tag="missed"):
    """Why did a request's prefix miss, when it was admitted first (with ``step``: the last time up to it)?"""

    request: str
    step: Number | None = None


class MemoryAt(msgspec.Struct, frozen=True, kw_only=True, tag="memory"):
    """Where does the memory go, after ``step`` (the last one)?"""

    step: Number | None = None


class LeaksAt(msgspec.Struct, frozen=True, kw_only=True, tag="leaks"):
    """Is anything leaking after ``step`` (the last one), against the state after step ``baseline``?"""

    baseline: Number = 0
    step: Number | None = None


class FindingsIn(msgspec.Struct, frozen=True, kw_only=True, tag="findings"):
    """What is wrong in the whole recording?"""


Question = Evicted | PreemptedAt | WaitsAt | MissedAt | MemoryAt | LeaksAt | FindingsIn
Answer = Eviction | Preemption | Wait | Miss | Memory | Leaks | Findings

_ANSWERED: dict[type[Question], Callable[..., Answer]] = {
    Evicted: why_evicted,
    PreemptedAt: why_preempted,
    WaitsAt: why_waits,
    MissedAt: why_missed,
    MemoryAt: where_memory_goes,
    LeaksAt: what_leaks,
    FindingsIn: find,
}


def answer(past: Past, question: Question) -> Answer:
    """The answer. Raises :class:`kvarium.errors.OutOfRangeError` where what is asked about is not recorded, or is not so."""
    asked = msgspec.structs.asdict(question)
    if asked.get("step") is not None:
        past.check_step(asked["step"])
    return _ANSWERED[type(question)](past, **asked)
