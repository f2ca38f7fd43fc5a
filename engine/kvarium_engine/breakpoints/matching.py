"""Where a step meets a predicate: its conditions over the step's columns, an alternative at a time."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from kvarium_engine.breakpoints.known import Known
from kvarium_engine.breakpoints.known_contents import KnownContents
from kvarium_engine.breakpoints.step_events import StepEvents
from kvarium_ledger.decisions import Submitted
from kvarium_ledger.filtering.predicates import Alternative, Bound, Condition, Predicate, subject_of
from kvarium_ledger.filtering.terms import ANY, Name, Nobody, Numbers, Request
from kvarium_ledger.operations import NONE, Cause, Operation

_BORN: Final = (int(Operation.allocate), int(Operation.copy))
_EVERY: Final = frozenset(int(kind) for kind in Operation)
_EVERY_CAUSE: Final = frozenset(int(cause) for cause in Cause)
_LABELS: Final = frozenset((int(Operation.evict), int(Operation.cache)))
_NOT_OF_DECISIONS: Final = frozenset({"op", "cause", "block", "content", "hash"})
_NOT_OF_OPERATIONS: Final = frozenset({"decision", "preempted"})


class Place(NamedTuple):
    """Where a predicate was met: an event at its place ``at`` in its record, a request that waits, or the state after the step.

    An operation has its ``block``, and the ``sequence`` that it served.
    """

    at: int | None = None
    op: int | None = None
    block: int | None = None
    sequence: int | None = None
    request: int | None = None


class Now(NamedTuple):
    """A step, and what is known after it. ``contents`` is there if a breakpoint asks for them."""

    events: StepEvents
    known: Known
    lives: dict[int, int]
    """The generation before the step of each block one of whose lives is asked for."""
    contents: KnownContents | None
    violations: int


class Matcher:
    """A predicate, applied to the steps of one engine in their order. An operation's index comes before a request or the state."""

    def __init__(self, predicate: Predicate) -> None:
        self._alternatives = [_Alternative(each) for each in predicate.alternatives]

    def met(self, now: Now) -> list[Place]:
        """The places where a step meets it: each event once, in order; then requests, then the state."""
        if len(self._alternatives) == 1:
            return self._alternatives[0].met(now)
        found = {place: None for each in self._alternatives for place in each.met(now)}
        ordered = sorted((place for place in found if place.at is not None), key=_order)
        return ordered + [place for place in found if place.at is None]


def _order(place: Place) -> int:
    assert place.at is not None
    return place.at


class _Alternative:
    """Conditions that must all hold."""

    def __init__(self, conditions: Alternative) -> None:
        self._conditions = conditions
        self._subject = subject_of(conditions)
        positive = {each.field for each in conditions if not each.not_}
        self._of_operations = not positive & _NOT_OF_OPERATIONS
        self._of_decisions = not positive & _NOT_OF_DECISIONS
        self._kinds, self._causes = _EVERY, _EVERY_CAUSE
        self._narrow: list[Condition] = []
        """Conditions that few steps can meet, and that can be asked of a step before it is laid out."""
        for each in conditions:
            if each.field == "op" and not each.not_ and ANY not in each.values:
                self._kinds &= {int(Operation[str(value)]) for value in each.values}
            elif each.field in ("content", "hash", "text") and not each.not_:
                self._kinds &= _LABELS
            elif each.field == "cause" and not each.not_:
                self._causes &= {int(Cause[str(value)]) for value in each.values}
            elif each.field in ("block", "owner", "seq") and not each.not_:
                self._narrow.append(each)
        self._held = False
        self._waited: set[int] = set()

    def met(self, now: Now) -> list[Place]:
        if self._subject == "event":
            return self._events(now)
        if self._subject == "request":
            return self._requests(now)
        before, self._held = self._held, all(_holds_of_step(each, now) for each in self._conditions)
        return [Place()] if self._held and not before else []

    def _requests(self, now: Now) -> list[Place]:
        """Those of which it begins to hold."""
        holds = {
            request
            for request, since in now.known.waits.items()
            if all(_holds_of_request(each, request, since, now) for each in self._conditions)
        }
        found = [Place(request=request) for request in sorted(holds - self._waited)]
        self._waited = holds
        return found

    def _events(self, now: Now) -> list[Place]:
        found: list[Place] = []
        events = now.events
        if self._of_operations and self._may_be_met(now):
            found += self._operations(now)
        if self._of_decisions and events.decisions:
            found += [
                Place(events.place_of_decision(at), decision.op, request=decision.request)
                for at, decision in enumerate(events.decisions)
                if all(_holds_of_decision(each, at, decision, now) for each in self._conditions)
            ]
            found.sort(key=_order)
        return found

    def _may_be_met(self, now: Now) -> bool:
        """Can any operation of the step meet it? So most steps need not be laid out."""
        if not (self._kinds & now.events.kinds and self._causes & now.events.causes):
            return False
        return all(any(_may_hold(each.field, value, now) for value in each.values) for each in self._narrow)

    def _operations(self, now: Now) -> list[Place]:
        events, first = now.events, now.events.sealed.op
        held: np.ndarray | None = None
        for each in self._conditions:
            mask = _holds_of_operations(each, now)
            if mask is not None:
                mask = mask != each.not_
                held = mask if held is None else held & mask
            elif not _holds_of_step(each, now):
                return []
        assert held is not None, "an alternative that speaks of events has a condition of theirs"
        which = np.flatnonzero(held)
        if not len(which):
            return []
        columns = (
            events.places_of_operations(which),
            which + first,
            events.block[which],
            events.sequence[which],
        )
        return [Place(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


def _may_hold(field: str, value: Any, now: Now) -> bool:
    """Can a value of ``block``, ``owner`` or ``seq`` hold of any operation of the step?"""
    match value:
        case Numbers(first, last):
            if first is None or first != last:
                return True
            return now.events.touches(first) if field == "block" else first in now.known.owners
        case Request(request, index):
            return bool(now.known.sequences_of(request, index))
        case Name(name):
            return bool(now.known.named(name))
    return True


# -- conditions: of the state, of a request that waits, of operations, of a decision ------------------------------------


def _holds_of_step(condition: Condition, now: Now) -> bool:
    known, step = now.known, now.events.sealed.step
    match condition.field:
        case "violation":
            held = now.violations > 0
        case "step":
            held = any(_lies(step, value) for value in condition.values)
        case "usage":
            held = _beyond(condition, known.used / known.num_blocks)
        case "free":
            held = _beyond(condition, known.num_blocks - known.used)
        case "hit_rate":
            # Of nothing that was asked there is no rate.
            held = known.hits.queries > 0 and _beyond(condition, known.hits.rate)
        case _:
            raise AssertionError(condition)
    return held != condition.not_


def _beyond(condition: Condition, value: float) -> bool:
    [bound] = condition.values
    assert isinstance(bound, Bound)
    return bound.holds(value)


def _holds_of_request(condition: Condition, request: int, since: int, now: Now) -> bool:
    if condition.field == "waiting":
        return _beyond(condition, now.events.sealed.sealed - since) != condition.not_
    if condition.field == "owner":
        held = any(_is_owner(value, request, None, now.known) for value in condition.values)
        return held != condition.not_
    return condition.not_ if condition.field in _OF_EVENTS_ALONE else _holds_of_step(condition, now)


_OF_EVENTS_ALONE: Final = _NOT_OF_DECISIONS | _NOT_OF_OPERATIONS | {"seq", "text"}


def _holds_of_operations(condition: Condition, now: Now) -> np.ndarray | None:
    """``[operations] bool``: of which does one of its values hold? None: it speaks of the state."""
    events = now.events
    match condition.field:
        case "op" if ANY in condition.values:
            return np.ones(len(events.kind), dtype=bool)
        case "op":
            return _among(events.kind, [int(Operation[str(value)]) for value in condition.values])
        case "cause":
            return _among(events.cause, [int(Cause[str(value)]) for value in condition.values])
        case "block":
            return _any(_block(value, now) for value in condition.values)
        case "seq":
            return _any(_between(events.sequence, value) for value in condition.values)
        case "content":
            return _any(_between(events.content, value) for value in condition.values)
        case "owner":
            return _any(_owned(value, now) for value in condition.values)
        case "hash" | "text":
            return _labelled(condition, now)
        case "decision" | "preempted":
            return np.zeros(len(events.kind), dtype=bool)
    return None


def _any(masks: Iterable[np.ndarray]) -> np.ndarray:
    first, *others = masks
    for mask in others:
        first = first | mask
    return first


def _among(values: np.ndarray, wanted: list[int]) -> np.ndarray:
    # Seldom more than a few: as many comparisons take less time than np.isin.
    if not wanted:
        return np.zeros(len(values), dtype=bool)
    return _any(values == each for each in wanted) if len(wanted) < 8 else np.isin(values, wanted)


def _between(values: np.ndarray, span: Any) -> np.ndarray:
    assert isinstance(span, Numbers)
    if span.from_ == span.to:
        return values == span.from_
    held = values != NONE
    if span.from_ is not None:
        held &= values >= span.from_
    if span.to is not None:
        held &= values <= span.to
    return held


def _lies(value: int, span: Any) -> bool:
    assert isinstance(span, Numbers)
    return (span.from_ is None or value >= span.from_) and (span.to is None or value <= span.to)


def _block(value: Any, now: Now) -> np.ndarray:
    events = now.events
    held = _between(events.block, value) | _between(events.source, value)
    if value.generation is None or not held.any():
        return held
    # A life begins with an allocation or as a copy's target, and the block's operations are of it from there on.
    born = (events.block == value.from_) & _among(events.kind, list(_BORN))
    return held & (now.lives[value.from_] + np.cumsum(born) == value.generation)


def _owned(value: Any, now: Now) -> np.ndarray:
    known, served = now.known, now.events.sequence
    match value:
        case Nobody():
            return served == NONE
        case Request(request, index):
            return _among(served, known.sequences_of(request, index))
        case Name(name):
            return _among(served, [each for of in known.named(name) for each in known.sequences_of(of, None)])
    raise AssertionError(value)


def _labelled(condition: Condition, now: Now) -> np.ndarray:
    """Which evict or label a content of such a hash or text?"""
    contents = now.events.content
    assert now.contents is not None
    known = now.contents
    wanted = []
    for content in np.unique(contents[contents != NONE]).tolist():
        for value in map(str, condition.values):
            is_hash = condition.field == "hash"
            if known.hash_of(content).startswith(value) if is_hash else known.begins(content, value):
                wanted.append(content)
    return _among(contents, wanted)


def _is_owner(value: Any, request: int, index: int | None, known: Known) -> bool:
    match value:
        case Nobody():
            return False
        case Request(number, wanted):
            return number == request and (wanted is None or wanted == index)
        case Name(name):
            return known.names.get(request) == name
    raise AssertionError(value)


def _holds_of_decision(condition: Condition, at: int, decision: Any, now: Now) -> bool:
    known = now.known
    sequence = getattr(decision, "sequence", None)
    match condition.field:
        case "decision":
            held = ANY in condition.values or decision.__struct_config__.tag in condition.values
        case "owner":
            index = known.sequences.get(decision.request, {}).get(sequence) if sequence is not None else None
            victim_of = getattr(decision, "victim_of", None)
            held = any(
                _is_owner(value, decision.request, index, known)
                or (victim_of is not None and _is_owner(value, victim_of, None, known))
                for value in condition.values
            )
        case "seq":
            held = sequence is not None and any(_lies(sequence, value) for value in condition.values)
        case "preempted":
            held = at in known.preempted and _beyond(condition, known.preempted[at])
        case "text":
            held = isinstance(decision, Submitted) and _is_asked(condition, decision.request, now)
        case "op" | "cause" | "block" | "content" | "hash":
            held = False
        case _:
            return _holds_of_step(condition, now)
    return held != condition.not_


def _is_asked(condition: Condition, request: int, now: Now) -> bool:
    """Does the prompt of a request that came in begin with such a text?"""
    contents = now.contents
    assert contents is not None
    prompts = [each.tokens for each in now.events.sealed.prompts if each.request == request]
    return any(contents.reads(tokens, str(value)) for tokens in prompts for value in condition.values)
