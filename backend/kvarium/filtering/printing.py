"""Writes a filter so that it is read as the same."""

import re
from typing import Final

from kvarium_ledger.filtering.moments import print_moment
from kvarium_ledger.filtering.terms import Filter, Name, Nobody, Numbers, Request, Term, Times, Value

_NO_NAME: Final = re.compile(r'none|r?[0-9]{1,15}(\.[0-9]{1,15})?|.*[ \t\r\n,"].*|', re.DOTALL)
_NO_WORD: Final = re.compile(r'-.*|.*[ \t\r\n"].*|[A-Za-z_]+:.*', re.DOTALL)


def print_filter(filter: Filter) -> str:
    """A filter as it is typed."""
    return " ".join(_print_term(term) for term in filter)


def _print_term(term: Term) -> str:
    sign = "-" if term.not_ else ""
    if term.field == "word":
        return sign + " ".join(_quoted(str(word), _NO_WORD) for word in term.values)
    return f"{sign}{term.field}:{','.join(_print_value(value) for value in term.values)}"


def _print_value(value: Value) -> str:
    match value:
        case str():
            return value
        case Numbers():
            if value.generation is not None:
                return f"{value.from_}#{value.generation}"
            return _range(_number(value.from_), _number(value.to))
        case Request():
            return f"r{value.request}" if value.index is None else f"r{value.request}.{value.index}"
        case Name():
            return _quoted(value.name, _NO_NAME)
        case Nobody():
            return "none"
        case Times():
            ends = ("" if each is None else print_moment(each) for each in (value.from_, value.to))
            return _range(*ends)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"


def _quoted(text: str, unless: re.Pattern[str]) -> str:
    """Text, in quotes where it could be taken for something else."""
    if unless.fullmatch(text) is None:
        return text
    return '"' + re.sub(r'["\\]', r"\\\g<0>", text) + '"'
