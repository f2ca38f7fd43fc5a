"""Reads what an engine is to stop at: conditions in the terms of a filter of events, and some of the engine's own.

    op:evict owner:r17                    an event that meets both
    block:42#3 or usage>90%               either
    waiting>2s -(owner:r1 or owner:r2)    not

A predicate is kept as *alternatives*, in each of which all conditions must hold. What they hold of is the alternative's
*subject*:

    event      an operation or a decision of the step: ``op``, ``owner``, ``preempted`` …; of each one that meets it, one hit
    request    one that waits after the step: ``waiting`` and ``owner``; a hit when it begins to hold of that request
    step       the state after the step: ``usage``, ``free``, ``hit_rate``, ``violation``, ``step``; a hit when it begins to hold

so that an engine that goes on at 95 % does not stop again at once.
"""

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, cast

from kvarium_ledger.filtering.moments import read_moment
from kvarium_ledger.filtering.nearest import nearest
from kvarium_ledger.filtering.reading import HEAD, READERS, Said, fail, past_spaces, read_value, read_values
from kvarium_ledger.filtering.terms import DECISIONS, OPERATIONS, Moment, Value

PREDICATE_FIELDS: Final = (
    "op", "decision", "cause", "block", "owner", "seq", "content", "step", "hash", "text",
)  # fmt: skip
"""The fields that have values. ``request`` is ``owner`` and ``sequence`` is ``seq``."""
GAUGES: Final = ("usage", "free", "hit_rate", "waiting", "preempted")
"""What is compared with a number."""
VIOLATION: Final = "violation"
CONDITIONS: Final = (*PREDICATE_FIELDS, *GAUGES, VIOLATION)
"""All that a predicate knows."""

MOST_ALTERNATIVES: Final = 64
MOST_CHARACTERS: Final = 2000
MOST_DEPTH: Final = 32
"""Of a predicate: parentheses within each other, each of which takes a few of Python's own frames."""

_SPELLINGS: Final = {"request": "owner", "sequence": "seq"}
_OF_OPERATIONS: Final = frozenset({"op", "cause", "block", "content", "hash"})
_OF_DECISIONS: Final = frozenset({"decision", "preempted"})
_OF_EVENTS: Final = _OF_OPERATIONS | _OF_DECISIONS | {"owner", "seq", "text"}

_COMPARISON: Final = re.compile(r"([A-Za-z_]+)[ \t]*(>=|<=|>|<)[ \t]*([^ \t\r\n()]*)")
_WORD: Final = re.compile(r"[^ \t\r\n()]+")
_DECIMAL: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")

Subject = Literal["event", "request", "step"]
Sign = Literal[">", "<", ">=", "<="]


class Bound(NamedTuple):
    """A number that something is compared with: a share of 1, a count, or ns."""

    sign: Sign
    number: float

    def holds(self, value: float) -> bool:
        """Is the value beyond it?"""
        match self.sign:
            case ">":
                return value > self.number
            case "<":
                return value < self.number
            case ">=":
                return value >= self.number
            case _:
                return value <= self.number


_ALWAYS: Final = frozenset(
    {("usage", Bound(">=", 0)), ("usage", Bound("<=", 1)), ("free", Bound(">=", 0))},
)
"""What holds after every step. (A rate of which nothing was asked yet has no number, so ``hit_rate`` is none of them.)"""


class Condition(NamedTuple):
    """One of ``values`` holds of a ``field``, or, with ``not_``, none does; it stands at the characters ``at`` to ``end``."""

    field: str
    not_: bool
    values: tuple[Value | Bound, ...]
    at: int
    end: int


Alternative = tuple[Condition, ...]


class Predicate(NamedTuple):
    """One of ``alternatives`` holds; ``text`` is as it was typed."""

    text: str
    alternatives: tuple[Alternative, ...]


def subject_of(alternative: Alternative) -> Subject:
    """What an alternative's conditions hold of."""
    fields = {condition.field for condition in alternative}
    if "waiting" in fields:
        return "request"
    return "event" if fields & _OF_EVENTS else "step"


def read_predicate(text: str) -> Predicate:
    """A predicate. Raises :class:`kvarium_ledger.filtering.reading.UnreadableFilterError`, whose fault says where and why."""
    if len(text) > MOST_CHARACTERS:
        fail(MOST_CHARACTERS, len(text), "long", "")
    reader = _Reader(text)
    tree = reader.either()
    if reader.at < len(text):
        fail(reader.at, reader.at + 1, "parenthesis", ")")
    alternatives = _alternatives(tree, False, text)
    for alternative in alternatives:
        _check_possible(alternative, text)
    return Predicate(text, tuple(alternatives))


class _Joined(NamedTuple):
    """Parts of which all (or, with ``any_``, one) must hold, or, with ``not_``, the contrary."""

    any_: bool
    not_: bool
    parts: "list[Condition | _Joined]"


class _Reader:
    """Reads a text from ``at`` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._depth = 0

    def _word(self) -> str:
        self.at = past_spaces(self.text, self.at)
        found = _WORD.match(self.text, self.at)
        return "" if found is None else found[0]

    def either(self, not_: bool = False) -> _Joined:
        parts: list[Condition | _Joined] = [self._all()]
        while self._word().lower() == "or":
            self.at += 2
            parts.append(self._all())
        return _Joined(True, not_, parts)

    def _all(self) -> _Joined:
        parts: list[Condition | _Joined] = []
        while True:
            word = self._word().lower()
            if word == "and" and parts:
                self.at += 3
            elif word == "or" or self.at >= len(self.text) or self.text[self.at] == ")":
                if not parts:
                    fail(self.at, self.at + len(word), "empty", "")
                return _Joined(False, False, parts)
            parts.append(self._one())

    def _one(self) -> Condition | _Joined:
        not_ = False
        begin = self.at = past_spaces(self.text, self.at)
        while self.text[self.at : self.at + 1] == "-" or self._word().lower() == "not":
            self.at += 1 if self.text[self.at] == "-" else 3
            not_ = not not_
        if self.text[self.at : self.at + 1] != "(":
            return self._condition(begin, not_)
        opened = self.at
        if self._depth >= MOST_DEPTH:
            fail(opened, opened + 1, "deep", "(")
        self.at += 1
        self._depth += 1
        found = self.either(not_)
        self._depth -= 1
        if self.text[self.at : self.at + 1] != ")":
            fail(opened, opened + 1, "parenthesis", "(")
        self.at += 1
        return found

    def _condition(self, begin: int, not_: bool) -> Condition:
        text, at = self.text, self.at
        compared = _COMPARISON.match(text, at)
        if compared is not None and (compared[1].lower() in GAUGES or ":" not in self._word()):
            return self._comparison(compared, begin, not_)
        head = HEAD.match(text, at)
        if head is None:
            return self._bare(begin, not_)
        name = head[1].lower()
        field = _SPELLINGS.get(name, name)
        if field in GAUGES:
            fail(at, at + len(head[1]), "comparison", head[1], field)
        if field not in PREDICATE_FIELDS:
            fail(at, at + len(head[1]), "field", head[1], near=nearest(name, PREDICATE_FIELDS))
        said, self.at = read_values(text, begin, at + len(head[1]), head[1], field, closes=")")
        read = _READERS[field]
        return Condition(field, not_, tuple(read(each, field) for each in said), begin, self.at)

    def _comparison(self, found: re.Match[str], begin: int, not_: bool) -> Condition:
        name = found[1].lower()
        if name not in GAUGES:
            fail(found.start(1), found.end(1), "field", found[1], near=nearest(name, GAUGES))
        if not found[3]:
            fail(begin, found.end(), "empty", found[1], name)
        said = Said(found[3], found.start(3), found.end(3), False)
        bound = Bound(cast(Sign, found[2]), _NUMBERS[name](said))
        self.at = found.end()
        if not not_ and (name, bound) in _ALWAYS:
            fail(begin, self.at, "always", self.text[begin : self.at])
        return Condition(name, not_, (bound,), begin, self.at)

    def _bare(self, begin: int, not_: bool) -> Condition:
        text, at = self.text, self.at
        if text[at : at + 1] == '"':
            said = read_value(text, at, in_list=False, closes=")")
            fail(said.at, said.end, "condition", said.text, near=f"text:{text[said.at : said.end]}")
        word = self._word()
        if not word:
            fail(begin, max(self.at, begin + 1), "empty", "")
        if word.lower() in GAUGES:
            fail(at, at + len(word), "comparison", word, word.lower())
        if word.lower() != VIOLATION:
            fail(at, at + len(word), "condition", word, near=_meant(word.lower()))
        self.at += len(word)
        return Condition(VIOLATION, not_, (), begin, self.at)


def _meant(word: str) -> str | None:
    """What somebody may have meant by a word alone."""
    for field, names in (("op", OPERATIONS), ("decision", DECISIONS)):
        if word in names:
            return f"{field}:{word}"
    if re.fullmatch(r"r[0-9]{1,15}(\.[0-9]{1,15})?", word):
        return f"owner:{word}"
    return (
        f"block:{word}" if re.fullmatch(r"[0-9]{1,15}(#[0-9]{1,15})?", word) else nearest(word, (VIOLATION,))
    )


# -- values -------------------------------------------------------------------------------------------------------------


def _text(said: Said, field: str) -> str:
    if not said.text:
        fail(said.at, said.end, "empty", "", field)
    return said.text


_READERS: Final[dict[str, Callable[[Said, str], Value]]] = {
    field: READERS[field] for field in PREDICATE_FIELDS if field in READERS
} | {"text": _text}


def _share(said: Said) -> float:
    percent = said.text.endswith("%")
    number = said.text.removesuffix("%")
    found = float(number) / (100 if percent else 1) if _DECIMAL.fullmatch(number) else 2.0
    if found > 1:
        fail(said.at, said.end, "share", said.text)
    return found


def _count(said: Said) -> float:
    if re.fullmatch(r"[0-9]{1,15}", said.text) is None:
        fail(said.at, said.end, "count", said.text)
    return int(said.text)


def _duration(said: Said) -> float:
    found = read_moment(said.text) if said.text[:1].isdecimal() and ":" not in said.text else None
    if not isinstance(found, Moment):
        fail(said.at, said.end, "duration", said.text)
    return found.ns


_NUMBERS: Final[dict[str, Callable[[Said], float]]] = {
    "usage": _share,
    "free": _count,
    "hit_rate": _share,
    "waiting": _duration,
    "preempted": _count,
}


# -- alternatives -------------------------------------------------------------------------------------------------------


def _alternatives(part: Condition | _Joined, not_: bool, text: str) -> list[Alternative]:
    """The alternatives of a part, or of its contrary. Raises where there are too many."""
    if isinstance(part, Condition):
        return [(part._replace(not_=part.not_ != not_),)]
    contrary = part.not_ != not_
    each = [_alternatives(inner, contrary, text) for inner in part.parts]
    if part.any_ != contrary:
        found = [alternative for some in each for alternative in some]
    else:
        found = [()]
        for some in each:
            if len(found) * len(some) > MOST_ALTERNATIVES:
                fail(0, len(text), "many", "")
            found = [before + alternative for before in found for alternative in some]
    if len(found) > MOST_ALTERNATIVES:
        fail(0, len(text), "many", "")
    return found


def _check_possible(alternative: Alternative, text: str) -> None:
    """Raises where two conditions speak of different things, so that they never hold at once."""
    wanted = [condition for condition in alternative if not condition.not_]
    for condition in alternative:
        others = frozenset[str]()
        if condition.field == "waiting":
            others = _OF_EVENTS - {"owner"}
        elif condition.field in _OF_OPERATIONS and not condition.not_:
            others = _OF_DECISIONS
        for other in wanted:
            if other.field in others:
                first, last = sorted((condition, other), key=lambda each: each.at)
                fail(last.at, last.end, "never", text[last.at : last.end], text[first.at : first.end])
