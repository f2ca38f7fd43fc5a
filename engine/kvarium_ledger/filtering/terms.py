"""What a filter of events says, once it is read.

    op:evict,free -cause:reset block:42#3 owner:r17 step:100..200 time:12.5s..14s "prefix hit"
    └─ field      └─ excludes  └─ one life of a block                └─ a range   └─ a free word

All terms must hold; of a term's values one.
"""

from typing import Any, Final, Literal

import msgspec

from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.operations import Cause, Operation

ANY: Final = "any"
"""Any operation, or any decision."""

OPERATIONS: Final = tuple(kind.name for kind in Operation)
CAUSES: Final = tuple(cause.name for cause in Cause)
DECISIONS: Final = (
    "submitted",
    "admitted",
    "sequence_created",
    "scheduled",
    "waiting",
    "preempted",
    "sequence_dropped",
    "hypothesis",
    "finished",
    "aborted",
    "refused",
)
"""The kinds of decisions, in the order of a request's life."""

assert set(DECISIONS) == {kind.__struct_config__.tag for kind in AnyDecision.__args__}

Field = Literal[
    "op", "decision", "cause", "block", "owner", "seq", "content", "hash", "step", "record", "time"
]
FIELDS: Final[tuple[Field, ...]] = (
    "op",
    "decision",
    "cause",
    "block",
    "owner",
    "seq",
    "content",
    "hash",
    "step",
    "record",
    "time",
)
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "op": (*OPERATIONS, ANY),
    "decision": (*DECISIONS, ANY),
    "cause": CAUSES,
}
"""The fields whose values are names out of a list."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part common to all values."""


class Numbers(Part, frozen=True):
    """Numbers from one to another, both included (None: no end), or one life of a block."""

    from_: int | None = msgspec.field(name="from")
    to: int | None
    generation: int | None = None


class Request(Part, frozen=True):
    """A request, or its sequence of an index."""

    request: int
    index: int | None = None


class Name(Part, frozen=True):
    """The request to which its user gave this name."""

    name: str


class Nobody(Part, frozen=True):
    """No request."""

    none: Literal[True]


Owner = Request | Name | Nobody


class Moment(Part, frozen=True):
    """A time of the session in ns, as exact as it was written: ``unit`` ns long."""

    ns: int
    unit: int


class Clock(Part, frozen=True):
    """A time of the wall clock: ns since midnight, of a day or of none in particular."""

    day: str | None
    ns: int
    unit: int


class Times(Part, frozen=True):
    """Times from one to another, both included (None: no end)."""

    from_: Moment | Clock | None = msgspec.field(name="from")
    to: Moment | Clock | None


Value = str | Numbers | Owner | Times


class Term(msgspec.Struct, frozen=True):
    """One of ``values`` holds; or, with ``not_``, none does. A free word has the field ``word``."""

    field: Field | Literal["word"]
    not_: bool = msgspec.field(name="not")
    values: tuple[Value, ...]


Filter = tuple[Term, ...]


Why = Literal[
    "field", "name", "number", "time", "hex", "order", "generation", "empty", "quote", "open",
    "condition", "comparison", "share", "count", "duration", "parenthesis", "never", "many", "deep",
    "always", "long",
]  # fmt: skip
"""Why something can't be read. Those of the second line are of predicates alone (:mod:`.predicates`)."""


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """What can't be read, at the characters from ``at`` to ``end``. ``nearest`` is what may have been meant."""

    at: int
    end: int
    why: Why
    said: str
    field: str | None = None
    nearest: str | None = None


def plain(filter: Filter) -> Any:
    """A filter as it stands in the vectors that both languages share."""
    return msgspec.to_builtins(filter)
