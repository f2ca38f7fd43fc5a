"""The tables that SQL sees, column by column: the words are the ledger's and the screen's.

``docs/sql.md`` tells the same to people; a test compares the two. All numbers are BIGINT, so that differences of them
may be negative; times are ns since the session's start. NULL is what does not apply, or is not recorded.
"""

from dataclasses import dataclass
from typing import Final

from kvarium_ledger.operations import Cause, Operation, Pin

ENUMS: Final[dict[str, list[str]]] = {
    "operation": [kind.name for kind in Operation],
    "cause": [cause.name for cause in Cause],
    "pin": [pin.name for pin in Pin],
}
"""The types of DuckDB that stand for codes of the ledger, with their values in the order of the codes."""

FIRST_CODE: Final[dict[str, int]] = {
    "operation": min(Operation),
    "cause": min(Cause),
    "pin": min(Pin),
}
"""The code of the first value of each."""


@dataclass(frozen=True)
class Column:
    """A column: its ``name``, and its ``type`` in DuckDB's words (or one of :data:`ENUMS`)."""

    name: str
    type: str = "BIGINT"


@dataclass(frozen=True)
class Table:
    """A table with its columns in order."""

    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """The column ``name``."""
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]


def _table(name: str, *columns: str) -> Table:
    """Columns are told as ``"name TYPE"``; without a type they are BIGINT."""
    split = (column.partition(" ") for column in columns)
    return Table(name, tuple(Column(column, kind or "BIGINT") for column, _, kind in split))


_WHERE = ("op", "step", "record", "time")

BLOCK_EVENT = _table(
    "block_event",
    *_WHERE,
    "kind operation",
    "block",
    "generation",
    "cause cause",
    "sequence",
    "request",
    "group",
    "position",
    "pin pin",
    "ticket DOUBLE",
    "filled_before",
    "filled_after",
    "source",
    "content",
    "hits",
)

STEP = _table(
    "step",
    "step",
    "record",
    "op",
    "started",
    "time",
    "schedule_ns",
    "forward_ns",
    "sample_ns",
    "seal_ns",
    "tokens",
    "budget",
    "prefill_tokens",
    "decode_tokens",
    "sampled",
    "active",
    "shared",
    "cached",
    "free",
    "running",
    "waiting",
    "allocate",
    "evict",
    "reuse",
    "share",
    "copy",
    "fill",
    "cache",
    "release",
    "freed",
    "preempted",
    "queries",
    "hits",
)

DECISION = _table(
    "decision",
    *_WHERE,
    "kind VARCHAR",
    "request",
    "sequence",
    "state_before VARCHAR",
    "place_before DOUBLE",
    "state_after VARCHAR",
    "place_after DOUBLE",
    "name VARCHAR",
    "prompt_tokens",
    "max_tokens",
    "n",
    "priority",
    "precedence",
    "beam_width",
    "lora_name VARCHAR",
    "cache_salt VARCHAR",
    "tokens",
    "hit",
    "cap_applied BOOLEAN",
    "missed VARCHAR",
    "index",
    "parent",
    "reason VARCHAR",
    "stop_reason VARCHAR",
    "token",
    "score DOUBLE",
    "start",
    "needs",
    "free",
    "largest",
    "behind",
    "victim_of",
    "blocks",
    "asked_by VARCHAR",
    "message VARCHAR",
    "has",
    "unit VARCHAR",
)

REQUEST = _table(
    "request",
    "request",
    "name VARCHAR",
    "state VARCHAR",
    "reason VARCHAR",
    "stop_reason VARCHAR",
    "message VARCHAR",
    "prompt_tokens",
    "max_tokens",
    "n",
    "priority",
    "precedence",
    "beam_width",
    "lora_name VARCHAR",
    "hit_tokens",
    "output_tokens",
    "preemptions",
    "submitted_record",
    "submitted_step",
    "submitted_time",
    "admitted_step",
    "admitted_time",
    "first_token_time",
    "ended_step",
    "ended_time",
)

SEQUENCE = _table(
    "sequence",
    "sequence",
    "request",
    "index",
    "parent",
    "created_op",
    "created_step",
    "created_time",
    "ended_op",
    "ended_step",
    "ended_time",
    "ending VARCHAR",
    "reason VARCHAR",
    "stop_reason VARCHAR",
    "sampled",
)

CONTENT = _table(
    "content",
    "content",
    "parent",
    "step",
    "record",
    "time",
    "tokens BIGINT[]",
    "extra VARCHAR",
    "hash VARCHAR",
)

TOKEN = _table(
    "token",
    *_WHERE,
    "sequence",
    "request",
    "number",
    "token",
    "piece VARCHAR",
    "logprob DOUBLE",
    "rank",
)

LANDMARK = _table("landmark", "step", "record", "kind VARCHAR", "count", "message VARCHAR")

TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (BLOCK_EVENT, STEP, DECISION, REQUEST, SEQUENCE, CONTENT, TOKEN, LANDMARK)
}
"""All tables by their names."""
