"""The answers that a page holds: it has no server that could derive them, so they are made when it is exported.

    findings ─▶ the links of their evidence        always
    evictions    wanted again, then the newest     in one pass
    preemptions · first admissions · waits · memory and leaks at steps all over the page        one by one

Which questions are answered depends on the recording alone, and how many of what costs much on its size: the same
recording gives the same answers, however fast the machine is.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.exchange.page_plan import Plan
from kvarium.findings.sweep import find
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.why.answers import Answer, answer
from kvarium.why.evictions import all_evictions, why_evicted_each
from kvarium.why.past import Past
from kvarium.why.questions import (
    Evicted,
    FindingsIn,
    LeaksAt,
    MemoryAt,
    MissedAt,
    PreemptedAt,
    Question,
    WaitsAt,
    link_of,
    question_of,
)

Progress = Callable[[int, int], None]
Each = TypeVar("Each")

DEFAULT: Final = 200
"""So many answers, beside the findings and what they name."""

_SHARES: Final = {"preempted": 5, "missed": 10, "waits": 10, "memory": 10, "leaks": 20}
"""At most one of so many is of a kind that is answered one by one; the rest are evictions."""

_MISSED_OPERATIONS: Final = 4_000_000
"""A miss reads all that came before it: so many operations for all of them together."""

_EVICTED_BLOCKS: Final = 50_000_000
"""An eviction looks at the whole pool: so many blocks for all of them together."""

_LEAST: Final = 4
_BYTES: Final = 32 << 20
"""Answers of more bytes than that, before they are packed, are left out."""


class Kind(msgspec.Struct):
    """How many answers of a kind are there, ``of`` how many questions that could be asked."""

    answered: int = 0
    of: int = 0


class Answers:
    """Answers by their links, as the API gives them, and how many they are of each kind."""

    def __init__(self) -> None:
        self.table: dict[str, msgspec.Raw] = {}
        self.kinds: dict[str, Kind] = {}
        self._bytes = 0

    def told(self) -> str:
        """How many of how many are there, of each kind, in a line."""
        if not self.kinds:
            return "the page holds no answers to why, and no findings"
        each = ", ".join(f"{kind} {found.answered} of {found.of}" for kind, found in self.kinds.items())
        return f"answers in the page: {each}"

    def put(self, kind: str, found: Answer, *questions: Question) -> None:
        """Keep an answer under the links of all that ask for it."""
        told = msgspec.Raw(msgspec.json.encode(found))
        if self._bytes + len(questions) * len(told) > _BYTES:
            return
        self._bytes += len(questions) * len(told)
        self.kinds.setdefault(kind, Kind()).answered += 1
        for question in questions:
            self.table[link_of(question)] = told


def derive_answers(reader: Reader, plan: Plan, most: int, progress: Progress) -> Answers:
    """Findings, and ``most`` answers beside those that findings name (0: none at all), of what lies in the page's steps.

    They are of the whole recording, also where the page is a part of it. ``progress`` is told how many of how many are made.
    """
    if most == 0:
        return Answers()
    with contextlib.closing(Seeker(reader)) as seeker:
        return _Deriving(Past(reader, seeker, plan.session), plan, most).run(progress)


class _Deriving:
    def __init__(self, past: Past, plan: Plan, most: int) -> None:
        self._past = past
        self._most = most
        last = int(plan.row["last_step"])
        self._first, self._last = (0, last) if plan.part is None else (plan.part.from_step, plan.part.to_step)
        self._end = last
        self._operations = int(plan.row["operations"])
        self._answers = Answers()

    def run(self, progress: Progress) -> Answers:
        findings = find(self._past)
        self._answers.put("findings", findings, FindingsIn())
        self._answers.kinds["findings"].of = 1
        named = [
            question
            for finding in findings.findings
            for evidence in finding.evidence
            if evidence.link is not None and (question := question_of(evidence.link)) is not None
        ]
        chosen = [
            *self._preemptions(named),
            *self._chosen("missed", self._admissions(), named),
            *self._chosen("waits", self._waits(), named),
            *self._chosen("memory", self._memory(), named),
            *self._chosen("leaks", self._leaks(), named),
        ]
        evictions = self._evictions(self._most - len(chosen), named)
        total = len(chosen) + len(evictions)
        for done, questions in enumerate(chosen):
            progress(done, total)
            self._one(questions)
        self._together(
            evictions, lambda read, of: progress(len(chosen) + len(evictions) * read // max(1, of), total)
        )
        progress(total, total)
        return self._answers

    def _one(self, questions: Sequence[Question]) -> None:
        kind = str(questions[0].__struct_config__.tag)
        with contextlib.suppress(OutOfRangeError, DamagedRecordingError):
            self._answers.put(kind, answer(self._past, questions[0]), *questions)

    def _together(self, ops: Sequence[int], progress: Progress) -> None:
        with contextlib.suppress(DamagedRecordingError):
            found = why_evicted_each(self._past, ops, progress)
            for op in ops:
                if op in found:
                    self._answers.put("evicted", found[op], Evicted(op=op))

    def _chosen(
        self, kind: str, asked: list[tuple[Question, ...]], named: Sequence[Question]
    ) -> list[tuple[Question, ...]]:
        """Those that findings name, then as many of the rest as may be; each with what else asks the same."""
        self._answers.kinds[kind] = Kind(of=len(asked))
        wanted = [each for each in named if each.__struct_config__.tag == kind]
        first = [each for each in asked if any(one in wanted for one in each)]
        first += [(each,) for each in dict.fromkeys(wanted) if not any(each in one for one in first)]
        most = max(_LEAST, self._most // _SHARES[kind])
        if kind == "missed":
            most = min(most, max(_LEAST, 2 * _MISSED_OPERATIONS // max(1, self._operations)))
        rest = [each for each in asked if each not in first]
        return first + rest[:most]

    # -- what could be asked -------------------------------------------------------------------------------------------

    def _holds(self, step: int | None) -> bool:
        return step is not None and self._first <= step <= self._last

    def _preemptions(self, named: Sequence[Question]) -> list[tuple[Question, ...]]:
        """Of the requests that were preempted last, and those that findings name, all preemptions or none.

        So that of a request whose preemptions are there it is known which is the last one up to a step.
        """
        steps: dict[str, list[int]] = {}
        inside: dict[str, None] = {}
        for row in self._past.search("decision:preempted"):
            if row["kind"] == "gap":
                continue
            name = f"r{row['decision']['request']}"
            steps.setdefault(name, []).append(row["step"])
            if self._holds(row["step"]):
                inside[name] = None
        wanted = dict.fromkeys(each.request for each in named if isinstance(each, PreemptedAt))
        self._answers.kinds["preempted"] = Kind(of=sum(len(steps[name]) for name in wanted | inside))
        found: list[tuple[Question, ...]] = []
        most = max(_LEAST, self._most // _SHARES["preempted"])
        for name in wanted | inside:
            if name in wanted or len(found) + len(steps[name]) <= most:
                found += [
                    (PreemptedAt(request=name, step=step),)
                    + ((PreemptedAt(request=name),) if step == steps[name][0] else ())
                    for step in dict.fromkeys(steps[name])
                ]
        return found

    def _requests(self) -> list[dict[str, Any]]:
        rows = self._past.requests.values()
        return [
            row for row in rows if row["submitted_step"] is not None and row["submitted_step"] <= self._last
        ]

    def _admissions(self) -> list[tuple[Question, ...]]:
        """The first one of every request, spread over the page."""
        rows = [row for row in self._requests() if self._holds(row["admitted_step"])]
        return [(MissedAt(request=f"r{row['request']}"),) for row in _spread(rows)]

    def _waits(self) -> list[tuple[Question, ...]]:
        """The last step of every first wait, the longest first; at the recording's end it is what is asked without a step, too."""
        found: list[tuple[int, int, int]] = []
        for row in self._requests():
            over = row["ended_step"] if row["admitted_step"] is None else row["admitted_step"]
            last = self._end if over is None else over - 1
            last = min(last, self._last)
            if row["submitted_step"] <= last and last >= self._first:
                found.append((row["submitted_step"] - last, row["request"], last))
        return [
            (WaitsAt(request=f"r{request}", step=step),)
            + ((WaitsAt(request=f"r{request}"),) if step == self._end else ())
            for _, request, step in sorted(found)
        ]

    def _memory(self) -> list[tuple[Question, ...]]:
        return [
            (MemoryAt(step=step),) + ((MemoryAt(),) if step == self._end else ()) for step in self._steps()
        ]

    def _leaks(self) -> list[tuple[Question, ...]]:
        return [(LeaksAt(step=step),) + ((LeaksAt(),) if step == self._end else ()) for step in self._steps()]

    def _steps(self) -> list[int]:
        return _spread(range(self._first, self._last + 1))

    def _evictions(self, most: int, named: Sequence[Question]) -> list[int]:
        """Operations: those that findings name, those whose content was wanted again, and the newest."""
        every = all_evictions(self._past)
        inside = [(op, again) for step, op, again in every if self._holds(step)]
        self._answers.kinds["evicted"] = Kind(of=len(inside))
        first = [each.op for each in named if isinstance(each, Evicted) and each.op is not None]
        order = [op for op, again in reversed(inside) if again] + [
            op for op, again in reversed(inside) if not again
        ]
        most = min(most, max(_LEAST, _EVICTED_BLOCKS // self._past.num_blocks))
        return sorted(set(first) | set(order[: max(_LEAST, most)]))


def _spread(values: Sequence[Each]) -> list[Each]:
    """The last, the first, the middle, the quarters, …: a beginning of it lies all over."""
    found: dict[int, None] = dict.fromkeys((len(values) - 1, 0)) if values else {}
    parts = 2
    while len(found) < len(values):
        for part in range(1, parts, 2):
            found.setdefault(part * len(values) // parts)
        parts *= 2
    return [values[at] for at in found]
