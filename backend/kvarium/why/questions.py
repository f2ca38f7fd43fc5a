"""The questions that can be asked, and the link by which each is known: one list for the command line, the API and every page.

    Evicted(op=9920)                     why/evicted?op=9920
    PreemptedAt(request="r17", step=90)  why/preempted?of=r17&step=90
    LeaksAt(baseline=0, step=90)         why/leaks?step=90             what is as by default is left out
    FindingsIn()                         findings

A link is the address behind ``/api/sessions/ID/``. The page writes it the same way (frontend/src/store/links.ts).
"""

from typing import Annotated, Final
from urllib.parse import parse_qsl, quote

import msgspec

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

_ALL: Final[tuple[type[Question], ...]] = (Evicted, PreemptedAt, WaitsAt, MissedAt, MemoryAt, LeaksAt)
_CALLED: Final = {"request": "of"}
"""What a field is called in a link, where that is not its name."""


def link_of(question: Question) -> str:
    """The one way in which the link of a question is written: its fields in their order, but for those that are as by default."""
    if isinstance(question, FindingsIn):
        return "findings"
    told = [
        f"{_CALLED.get(field.name, field.name)}={quote(str(value), safe='')}"
        for field in msgspec.structs.fields(question)
        if (value := getattr(question, field.name)) != field.default
    ]
    tag = question.__struct_config__.tag
    return f"why/{tag}" + (f"?{'&'.join(told)}" if told else "")


def question_of(link: str) -> Question | None:
    """The question whose link that is; None: it is none's."""
    path, _, query = link.partition("?")
    if path == "findings":
        return FindingsIn()
    kind = next((each for each in _ALL if path == f"why/{each.__struct_config__.tag}"), None)
    if kind is None:
        return None
    names = {called: name for name, called in _CALLED.items()}
    told = {names.get(name, name): value for name, value in parse_qsl(query)}
    try:
        return msgspec.convert({"type": kind.__struct_config__.tag} | told, kind, strict=False)
    except msgspec.ValidationError:
        return None
