"""What a route is sent as JSON: an object of known names, or a sentence that says what is wrong with it.

bytes ──▶ JSON ──▶ an object ──▶ its names and their values      each step tells of its own: the value, and what it may be
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from fastapi import HTTPException, Request

T = TypeVar("T", bound=msgspec.Struct)

MOST_BYTES: Final = 1 << 20
_SHOWN: Final = 100
"""Characters of a value that are told."""

_LIMIT = re.compile(
    r"Expected `(?P<kind>[^`]+)` (?P<sign>>=|<=|>|<) (?P<limit>\S+) - at `\$\.(?P<name>[^`]+)`"
)
_LENGTH = re.compile(r"Expected `[^`]+` of length (?P<sign>>=|<=) (?P<limit>\d+) - at `\$\.(?P<name>[^`]+)`")
_KIND = re.compile(r"Expected `(?P<kind>[^`]+)`, got `(?P<got>[^`]+)` - at `\$\.(?P<name>[^`]+)`")
_NUMBER = re.compile(r'"(?P<name>\w+)"\s*:\s*(?P<number>-?\d[\d.]*(?:[eE]\+?\d+)?)', re.ASCII)
_MISSING = re.compile(r"Object missing required field `(?P<name>\w+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_SURROGATE = re.compile(r"\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[dD][c-fC-F][0-9a-fA-F]{2})")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u]")

_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


async def read(request: Request, kind: type[T], what: str) -> T:
    """The body of a request as ``kind``, which ``what`` is called: 413 where it is too long, 422 where it is no such thing."""
    try:
        return decoded(await received(request), kind, what)
    except ValueError as error:
        raise HTTPException(422, str(error)) from None


async def received(request: Request, most: int = MOST_BYTES) -> bytes:
    """The bytes of a body, of which there may be ``most``: else 413."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise HTTPException(413, f"the body has more than {most} bytes, the most that is taken here")
    return bytes(data)


def decoded(body: bytes, kind: type[T], what: str) -> T:
    """A body as ``kind``. Raises :class:`ValueError` with what is wrong."""
    try:
        values = msgspec.json.decode(body)
        twice = _twice(body)
    except RecursionError:
        raise ValueError("the body is nested too deep") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(_no_json(str(error), body)) from None
    if not isinstance(values, dict):
        raise ValueError(
            f"{what} is an object of {', '.join(kind.__struct_fields__)}, not {short(_json(values))}"
        )
    if twice is not None:
        raise ValueError(f"{short(twice)} is given more than once in {what}: give it once")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(explain(error, kind, what, values)) from None


def _twice(body: bytes) -> str | None:
    """A name that an object of a body has twice, of which decoders take the last."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            found.append(next(name for i, name in enumerate(names) if name in names[:i]))

    json.loads(body, object_pairs_hook=look, parse_int=str, parse_float=str)
    return found[0] if found else None


def _no_json(told: str, body: bytes) -> str:
    """Why a body is no JSON that anything can be made of."""
    text = body.decode(errors="replace")
    if not body.strip():
        return "the body is empty, where JSON was expected"
    if "out of range" in told:
        for number in _NUMBER.finditer(text):
            if math.isinf(float(number["number"])):
                return f"{short(number['name'])} is {short(number['number'])}: the number is too large"
        return "a number in the body is too large"
    if alone := _SURROGATE.search(_PAIR.sub("", text)):
        return (
            f"the body has {alone[0]} alone, which is half of a character: give both halves, or leave it out"
        )
    if "UTF-8" in told or "utf-8" in told:
        return "the body is no text: JSON is sent as UTF-8"
    if "truncated" in told:
        return "the body ends in the middle of its JSON"
    return f"the body is no JSON: {told.removeprefix('JSON is malformed: ')}"


def explain(error: msgspec.ValidationError, kind: type[T], what: str, values: Mapping[str, Any]) -> str:
    """What is wrong with ``values``, which were to be a ``kind``: the name, what it must be, and what it is.

    The validator's own words stand where they are not known here.
    """
    told = str(error)

    def value(path: str) -> str:
        given = values.get(re.split(r"[.\[]", path)[0])
        return "" if isinstance(given, list | dict) else f", not {short(_json(given))}"

    if "at `$.early_stopping`" in told:
        return f'early_stopping must be false, true or "never"{value("early_stopping")}'
    if found := _LIMIT.match(told):
        bound = found["limit"]
        limit = (
            f"{_SIGNS[found['sign']]} {bound if bound.lstrip('-').isdecimal() else f'{float(bound):.15g}'}"
        )
        return f"{found['name']} must be {limit}{value(found['name'])}"
    if found := _LENGTH.match(told):
        given = values.get(found["name"])
        has = f": it has {len(given):,}" if isinstance(given, str) else ""
        limit = f"{int(found['limit']):,} character{'' if found['limit'] == '1' else 's'}"
        return f"{found['name']} must have {_SIGNS[found['sign']]} {limit}{has}"
    if found := _KIND.match(told):
        kinds = [
            _KINDS.get(each.strip(), each) for each in found["kind"].split("|") if each.strip() != "null"
        ]
        return f"{found['name']} must be {' or '.join(kinds)}{value(found['name'])}"
    if found := _MISSING.match(told):
        return f"{what} needs {found['name']}"
    if found := _UNKNOWN.match(told):
        takes = ", ".join(kind.__struct_fields__) or "no arguments"
        return f"{what} takes no {short(found['name'])}, but {takes}"
    return told


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def short(text: str) -> str:
    """A text as a line holds it, however long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
