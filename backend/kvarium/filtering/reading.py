"""Reads a filter, up to the first thing that can't be read."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from kvarium.filtering.moments import read_moment
from kvarium.filtering.nearest import nearest
from kvarium.filtering.terms import (
    FIELDS,
    NAMES,
    Clock,
    Fault,
    Field,
    Filter,
    Moment,
    Name,
    Nobody,
    Numbers,
    Owner,
    Request,
    Term,
    Times,
    Value,
)

_SPACES: Final = " \t\r\n"
_HEAD: Final = re.compile(r"([A-Za-z_]+):")
_NUMBER: Final = re.compile(r"[0-9]{1,15}")
_LIFE: Final = re.compile(r"(.*)#([0-9]{1,15})")
_OWNER: Final = re.compile(r"r?([0-9]{1,15})(?:\.([0-9]{1,15}))?")


class UnreadableFilterError(ValueError):
    """A filter that can't be read; ``fault`` says where and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.why)
        self.fault = fault


class _Said(NamedTuple):
    """A value as it stands there. What is quoted is never a number or a keyword."""

    text: str
    at: int
    end: int
    quoted: bool


def _fail(
    at: int, end: int, why: Any, said: str, field: Field | None = None, near: str | None = None
) -> NoReturn:
    raise UnreadableFilterError(Fault(at, end, why, said, field, near))


def _is_space(text: str, at: int) -> bool:
    return at >= len(text) or text[at] in _SPACES


def read_filter(text: str) -> Filter:
    """The terms of a filter. Raises :class:`UnreadableFilterError`."""
    found: list[Term] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _SPACES:
            at += 1
        if at >= len(text):
            return tuple(found)
        begin = at
        excludes = text[at] == "-"
        at += excludes
        if _is_space(text, at):
            _fail(begin, at, "empty", "-")
        head = _HEAD.match(text, at)
        if head is None:
            word = _value(text, at, in_list=False)
            if not word.text:
                _fail(word.at, word.end, "empty", "")
            found.append(Term("word", excludes, (word.text,)))
            at = word.end
            continue
        field = next((each for each in FIELDS if each == head[1].lower()), None)
        if field is None:
            _fail(at, at + len(head[1]), "field", head[1], near=nearest(head[1].lower(), FIELDS))
        at += len(head[1])
        values: list[_Said] = []
        while not values or text[at : at + 1] == ",":
            said = _value(text, at + 1, in_list=True)
            if not said.text and not said.quoted:
                _fail(begin, said.end, "empty", head[1], field)
            values.append(said)
            at = said.end
        found.append(Term(field, excludes, tuple(_READERS[field](said, field) for said in values)))


def _value(text: str, at: int, in_list: bool) -> _Said:
    """What stands at a place, up to a space (or a comma, in a list)."""
    end = at
    if text[at : at + 1] != '"':
        while not _is_space(text, end) and not (in_list and text[end] == ","):
            if text[end] == '"':
                _fail(end, end + 1, "quote", text[at : end + 1])
            end += 1
        return _Said(text[at:end], at, end, False)
    said = ""
    end += 1
    while text[end : end + 1] != '"':
        if text[end : end + 2] in ('\\"', "\\\\"):
            end += 1
        if end >= len(text):
            _fail(at, len(text), "open", text[at:])
        said += text[end]
        end += 1
    end += 1
    if not (_is_space(text, end) or (in_list and text[end] == ",")):
        _fail(end, end + 1, "quote", text[at : end + 1])
    return _Said(said, at, end, True)


# -- values -------------------------------------------------------------------------------------------------------------


def _name(said: _Said, field: Field) -> str:
    names: Sequence[str] = NAMES[field]
    wanted = re.sub("[ -]", "_", said.text.lower())
    if wanted not in names:
        _fail(said.at, said.end, "name", said.text, field, nearest(wanted, names))
    return wanted


def _ends(said: str) -> tuple[str, str]:
    """The two ends of a range, "" where there is none. One value is both."""
    first, dots, last = said.partition("..")
    return (first, last) if dots else (said, said)


def _numbers(said: _Said, field: Field) -> Numbers:
    text, at, end, quoted = said
    life = _LIFE.fullmatch(text) if field == "block" else None
    first, last = _ends(text if life is None else life[1])
    is_range = ".." in text and bool(first or last)
    if is_range:
        fits = all(not each or _NUMBER.fullmatch(each) for each in (first, last))
    else:
        fits = _NUMBER.fullmatch(first) is not None
    if quoted or not fits:
        _fail(at, end, "number", text, field)
    from_ = int(first) if first else None
    to = int(last) if last else None
    if life is not None and is_range:
        _fail(at, end, "generation", text, field)
    if from_ is not None and to is not None and from_ > to:
        _fail(at, end, "order", text, field)
    return Numbers(from_, to, None if life is None else int(life[2]))


def _owner(said: _Said, field: Field) -> Owner:
    if not said.text:
        _fail(said.at, said.end, "empty", "", field)
    if said.text == "none" and not said.quoted:
        return Nobody(True)
    numbered = None if said.quoted else _OWNER.fullmatch(said.text)
    if numbered is None:
        return Name(said.text)
    return Request(int(numbered[1]), None if numbered[2] is None else int(numbered[2]))


def _times(said: _Said, field: Field) -> Times:
    first, last = _ends(said.text)
    from_ = read_moment(first) if first else None
    to = read_moment(last) if last else None
    is_read = (not first or from_ is not None) and (not last or to is not None)
    if not is_read or (from_ is None and to is None):
        _fail(said.at, said.end, "time", said.text, field)
    if from_ is not None and to is not None and _is_reversed(from_, to):
        _fail(said.at, said.end, "order", said.text, field)
    return Times(from_, to)


def _is_reversed(from_: Moment | Clock, to: Moment | Clock) -> bool:
    days = [each.day if isinstance(each, Clock) else "" for each in (from_, to)]
    if days[0] is None or days[1] is None or (days[0] == "") != (days[1] == ""):
        # A clock without a day may go on past midnight.
        return False
    return days[0] > days[1] or (days[0] == days[1] and from_.ns > to.ns)


_READERS: Final[dict[Field, Callable[[_Said, Field], Value]]] = {
    "op": _name,
    "decision": _name,
    "cause": _name,
    "block": _numbers,
    "owner": _owner,
    "seq": _numbers,
    "content": _numbers,
    "step": _numbers,
    "record": _numbers,
    "time": _times,
}
