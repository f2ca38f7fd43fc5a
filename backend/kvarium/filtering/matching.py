"""Which events of a sheet meet a filter.

An operation meets what its columns say; a decision has no cause, block or content, so a term of those excludes it. A gap meets
every filter but those of steps, records and times that it lies outside of: what is looked for may have been in it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from kvarium.filtering.sheet import Decided, Sheet
from kvarium_ledger.filtering.moments import begins
from kvarium_ledger.filtering.terms import ANY, Clock, Filter, Name, Nobody, Numbers, Request, Term, Times
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Gap

_MOST: Final = 1 << 53


class Span(Numbers, frozen=True):
    """Times in ns since the session's start, both ends included."""


def spans(times: Times, start_utc_us: int) -> Span:
    """When a time is, of a session that started then (µs since 1970, and the wall clock is UTC)."""
    first = None if times.from_ is None else begins(times.from_, start_utc_us)
    last = None if times.to is None else begins(times.to, start_utc_us) + times.to.unit - 1
    if first is not None and last is not None and last < first and isinstance(times.to, Clock):
        # From before midnight to after it.
        last += 86_400 * 10**9
    return Span(first, last)


def ends_of(span: Numbers) -> tuple[int, int]:
    """Its ends, where there is none the farthest that there could be."""
    return (
        -_MOST if span.from_ is None else span.from_,
        _MOST if span.to is None else span.to,
    )


class Whose:
    """Whose events are wanted: what requests are called, by their numbers."""

    def __init__(self, names: Callable[[list[int]], dict[int, str]]) -> None:
        self._read = names
        self._known: dict[int, str] = {}

    def names(self, requests: list[int]) -> dict[int, str]:
        """The names of requests, as far as they are known."""
        absent = [request for request in requests if request >= 0 and request not in self._known]
        if absent:
            self._known |= self._read(absent)
        return self._known

    def are(self, owner: Any, requests: np.ndarray, indexes: np.ndarray) -> np.ndarray:
        """``[n] bool``: is it the owner? ``requests`` and ``indexes`` (``[n] int64``) are -1 where there is none."""
        match owner:
            case Nobody():
                return requests < 0
            case Request(request, None):
                return requests == request
            case Request(request, index):
                return (requests == request) & (indexes == index)
            case Name(name):
                distinct = np.unique(requests)
                names = self.names(distinct.tolist())
                named = [request for request in distinct.tolist() if names.get(request) == name]
                return np.isin(requests, named)
        raise AssertionError(owner)


class Matcher:
    """A filter that is applied to the sheets of one session.

    ``start_utc_us``: when that began. ``beginning`` tells of the beginning of a hash which contents' hashes begin so
    (``[contents] bool``), as far as they are known.
    """

    def __init__(
        self, filter: Filter, whose: Whose, start_utc_us: int, beginning: Callable[[str], np.ndarray]
    ) -> None:
        self.filter = tuple(
            term if term.field != "time" else _grounded(term, start_utc_us) for term in filter
        )
        self._whose = whose
        self._beginning = beginning
        fields = {term.field for term in filter}
        self.needs_owners = bool(fields & {"owner", "word"})
        self.needs_hashes = "hash" in fields
        self.needs_generations = any(
            isinstance(value, Numbers) and value.generation is not None
            for term in filter
            for value in term.values
        )

    # -- operations ---------------------------------------------------------------------------------------------------

    def operations(self, sheet: Sheet, owners: np.ndarray, generations: np.ndarray) -> np.ndarray:
        """``[operations] bool``. ``owners`` and ``generations`` (``[2, operations]``) are -1 where they are not known."""
        found = np.ones(len(sheet.columns), dtype=bool)
        for term in self.filter:
            held = np.zeros(len(found), dtype=bool)
            for value in term.values:
                held |= self._held(term, value, sheet, owners, generations)
            found &= held != term.not_
        return found

    def _held(
        self, term: Term, value: Any, sheet: Sheet, owners: np.ndarray, generations: np.ndarray
    ) -> np.ndarray:
        columns = sheet.columns
        none = np.zeros(len(columns), dtype=bool)
        match term.field:
            case "op":
                return ~none if value == ANY else columns.kind == int(Operation[value])
            case "decision":
                return none
            case "cause":
                return columns.cause == int(Cause[value])
            case "block":
                blocks = (columns.block, sheet.source)
                if value.generation is None:
                    return _between(blocks[0], value) | _between(blocks[1], value)
                return np.any(
                    [
                        _between(b, value) & (g == value.generation)
                        for b, g in zip(blocks, generations, strict=True)
                    ],
                    axis=0,
                )
            case "owner":
                return self._whose.are(value, *owners)
            case "seq":
                return _between(columns.sequence, value)
            case "content":
                return _between(sheet.content, value)
            case "hash":
                held = self._beginning(str(value))
                known = sheet.content < len(held)
                found: np.ndarray = known & held[np.where(known, sheet.content, 0)]
                return found
            case "word":
                return self._said(str(value).lower(), sheet, owners[0])
            case "time" | "step" | "record":
                return _between(getattr(sheet, term.field), value)
        raise AssertionError(term.field)

    def _said(self, word: str, sheet: Sheet, requests: np.ndarray) -> np.ndarray:
        """``[operations] bool``: is the word a part of what an operation is called, its cause, or whom it served?"""
        kinds = [int(kind) for kind in Operation if word in kind.name]
        causes = [int(cause) for cause in Cause if word in cause.name or word in cause.name.replace("_", " ")]
        distinct = np.unique(requests)
        names = self._whose.names(distinct.tolist())
        said = [
            request
            for request in distinct.tolist()
            if request >= 0 and (word in f"r{request}" or word in names.get(request, "").lower())
        ]
        return (
            np.isin(sheet.columns.kind, kinds)
            | np.isin(sheet.columns.cause, causes)
            | np.isin(requests, said)
        )

    # -- decisions ----------------------------------------------------------------------------------------------------

    def decision(self, decided: Decided, owners: Mapping[int, tuple[int, int]]) -> bool:
        """Does a decision meet it? ``owners`` has the request and the index of sequences."""
        return all(
            any(self._holds(term, value, decided, owners) for value in term.values) != term.not_
            for term in self.filter
        )

    def _holds(self, term: Term, value: Any, decided: Decided, owners: Mapping[int, tuple[int, int]]) -> bool:
        decision: Any = decided.decision
        step = decided.step
        match term.field:
            case "decision":
                return value == ANY or decision.__struct_config__.tag == value
            case "owner":
                sequence = getattr(decision, "sequence", None)
                index = -1 if sequence is None else owners.get(sequence, (-1, -1))[1]
                whom = np.array([decision.request, getattr(decision, "victim_of", -1)])
                return not isinstance(value, Nobody) and bool(
                    self._whose.are(value, whom, np.array([index, -1])).any()
                )
            case "seq":
                sequence = getattr(decision, "sequence", None)
                return sequence is not None and _lies(sequence, value)
            case "word":
                return self._is_said(str(value).lower(), decision)
            case "time":
                return _lies(step.sealed, value)
            case "step" | "record":
                return _lies(getattr(step, term.field), value)
        return False

    def _is_said(self, word: str, decision: Any) -> bool:
        names = self._whose.names([decision.request])
        told = [decision.__struct_config__.tag, f"r{decision.request}", names.get(decision.request)]
        told += [
            getattr(decision, name, None) for name in ("name", "reason", "message", "asked_by", "stop_reason")
        ]
        return any(word in str(each).lower() for each in told if each is not None)

    # -- gaps ---------------------------------------------------------------------------------------------------------

    def gap(self, gap: Gap) -> bool:
        """Is a gap told?"""
        for term in self.filter:
            if term.field == "record":
                held = any(_lies(gap.record, value) for value in term.values)
            elif term.field == "time":
                held = any(_lies(gap.time, value) for value in term.values)
            else:
                continue
            if held == term.not_:
                return False
        return True


def _grounded(term: Term, start_utc_us: int) -> Term:
    return Term(
        term.field,
        term.not_,
        tuple(spans(value, start_utc_us) for value in term.values if isinstance(value, Times)),
    )


def _between(values: np.ndarray, span: Numbers) -> np.ndarray:
    """``[n] bool``: which lie within? ``NONE`` does not."""
    first, last = ends_of(span)
    held: np.ndarray = (values >= first) & (values <= last)
    return held & (values != NONE) if values.dtype == np.uint32 else held


def _lies(value: int, span: Any) -> bool:
    first, last = ends_of(span)
    return first <= value <= last
