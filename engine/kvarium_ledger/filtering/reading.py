"""Reads a filter, up to the first thing that can't be read."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from kvarium_ledger.filtering.moments import read_moment
from kvarium_ledger.filtering.nearest import nearest
from kvarium_ledger.filtering.terms import (
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
HEAD: Final = re.compile(r"([A-Za-z_]+):")
"""A field's name, before its values."""
_NUMBER: Final = re.compile(r"[0-9]{1,15}")
_LIFE: Final = re.compile(r"(.*)#([0-9]{1,15})")
_HEX: Final = re.compile(r"[0-9a-f]{1,64}")
_OWNER: Final = re.compile(r"r?([0-9]{1,15})(?:\.([0-9]{1,15}))?")


class UnreadableFilterError(ValueError):
    """A filter that can't be read; ``fault`` says where and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.why)
        self.fault = fault


class Said(NamedTuple):
    """A value as it stands there, at the characters from ``at`` to ``end``. What is ``quoted`` is never a number or a keyword."""

    text: str
    at: int
    end: int
    quoted: bool


def fail(
    at: int, end: int, why: Any, said: str, field: str | None = None, near: str | None = None
) -> NoReturn:
    """Raises :class:`UnreadableFilterError`: the characters from ``at`` to ``end`` can't be read."""
    raise UnreadableFilterError(Fault(at, end, why, said, field, near))


def _is_space(text: str, at: int) -> bool:
    return at >= len(text) or text[at] in _SPACES


def past_spaces(text: str, at: int) -> int:
    """The next place where something stands."""
    while at < len(text) and text[at] in _SPACES:
        at += 1
    return at


def read_filter(text: str) -> Filter:
    """The terms of a filter. Raises :class:`UnreadableFilterError`."""
    found: list[Term] = []
    at = 0
    while True:
        at = past_spaces(text, at)
        if at >= len(text):
            return tuple(found)
        begin = at
        excludes = text[at] == "-"
        at += excludes
        if _is_space(text, at):
            fail(begin, at, "empty", "-")
        head = HEAD.match(text, at)
        if head is None:
            word = read_value(text, at, in_list=False)
            if not word.text:
                fail(word.at, word.end, "empty", "")
            found.append(Term("word", excludes, (word.text,)))
            at = word.end
            continue
        field = next((each for each in FIELDS if each == head[1].lower()), None)
        if field is None:
            fail(at, at + len(head[1]), "field", head[1], near=nearest(head[1].lower(), FIELDS))
        values, at = read_values(text, begin, at + len(head[1]), head[1], field)
        found.append(Term(field, excludes, tuple(READERS[field](said, field) for said in values)))


def read_values(
    text: str, begin: int, at: int, head: str, field: str, closes: str = ""
) -> tuple[list[Said], int]:
    """The values of the ``field`` that ``head`` names, from its colon on, and where they end. Raises :class:`UnreadableFilterError`."""
    values: list[Said] = []
    while not values or text[at : at + 1] == ",":
        said = read_value(text, at + 1, in_list=True, closes=closes)
        if not said.text and not said.quoted:
            fail(begin, said.end, "empty", head, field)
        values.append(said)
        at = said.end
    return values, at


def read_value(text: str, at: int, in_list: bool, closes: str = "") -> Said:
    """What stands at a place, up to a space or one of the signs ``closes`` (or a comma, in a list).

    Raises :class:`UnreadableFilterError`.
    """

    def is_over(end: int) -> bool:
        return _is_space(text, end) or text[end] in closes or (in_list and text[end] == ",")

    end = at
    if text[at : at + 1] != '"':
        while not is_over(end):
            if text[end] == '"':
                fail(end, end + 1, "quote", text[at : end + 1])
            end += 1
        return Said(text[at:end], at, end, False)
    said = ""
    end += 1
    while text[end : end + 1] != '"':
        if text[end : end + 2] in ('\\"', "\\\\"):
            end += 1
        if end >= len(text):
            fail(at, len(text), "open", text[at:])
        said += text[end]
        end += 1
    end += 1
    if not is_over(end):
        fail(end, end + 1, "quote", text[at : end + 1])
    return Said(said, at, end, True)


# -- values -------------------------------------------------------------------------------------------------------------


def _name(said: Said, field: str) -> str:
    names: Sequence[str] = NAMES[field]
    wanted = re.sub("[ -]", "_", said.text.lower())
    if wanted not in names:
        fail(said.at, said.end, "name", said.text, field, nearest(wanted, names))
    return wanted


def _ends(said: str) -> tuple[str, str]:
    """The two ends of a range, "" where there is none. One value is both."""
    first, dots, last = said.partition("..")
    return (first, last) if dots else (said, said)


def _numbers(said: Said, field: str) -> Numbers:
    text, at, end, quoted = said
    life = _LIFE.fullmatch(text) if field == "block" else None
    first, last = _ends(text if life is None else life[1])
    is_range = ".." in text and bool(first or last)
    if is_range:
        fits = all(not each or _NUMBER.fullmatch(each) for each in (first, last))
    else:
        fits = _NUMBER.fullmatch(first) is not None
    if quoted or not fits:
        fail(at, end, "number", text, field)
    from_ = int(first) if first else None
    to = int(last) if last else None
    if life is not None and is_range:
        fail(at, end, "generation", text, field)
    if from_ is not None and to is not None and from_ > to:
        fail(at, end, "order", text, field)
    return Numbers(from_, to, None if life is None else int(life[2]))


def _owner(said: Said, field: str) -> Owner:
    if not said.text:
        fail(said.at, said.end, "empty", "", field)
    if said.text == "none" and not said.quoted:
        return Nobody(True)
    numbered = None if said.quoted else _OWNER.fullmatch(said.text)
    if numbered is None:
        return Name(said.text)
    return Request(int(numbered[1]), None if numbered[2] is None else int(numbered[2]))


def _hash(said: Said, field: str) -> str:
    wanted = said.text.lower().removeprefix("0x")
    if _HEX.fullmatch(wanted) is None:
        fail(said.at, said.end, "hex", said.text, field)
    return wanted


def _times(said: Said, field: str) -> Times:
    first, last = _ends(said.text)
    from_ = read_moment(first) if first else None
    to = read_moment(last) if last else None
    is_read = (not first or from_ is not None) and (not last or to is not None)
    if not is_read or (from_ is None and to is None):
        fail(said.at, said.end, "time", said.text, field)
    if from_ is not None and to is not None and _is_reversed(from_, to):
        fail(said.at, said.end, "order", said.text, field)
    return Times(from_, to)


def _is_reversed(from_: Moment | Clock, to: Moment | Clock) -> bool:
    days = [each.day if isinstance(each, Clock) else "" for each in (from_, to)]
    if days[0] is None or days[1] is None or (days[0] == "") != (days[1] == ""):
        # A clock without a day may go on past midnight.
        return False
    return days[0] > days[1] or (days[0] == days[1] and from_.ns > to.ns)


READERS: Final[dict[Field, Callable[[Said, str], Value]]] = {
    "op": _name,
    "decision": _name,
    "cause": _name,
    "block": _numbers,
    "owner": _owner,
    "seq": _numbers,
    "content": _numbers,
    "hash": _hash,
    "step": _numbers,
    "record": _numbers,
    "time": _times,
}
"""How the values of a field are read."""
