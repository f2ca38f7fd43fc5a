"""What a query reads, by DuckDB's own plan for it: tables, columns of each, a range of steps or a block where it gives one.

    SELECT block FROM block_event WHERE kind = 'evict' AND step BETWEEN 10 AND 20
    └ SEQ_SCAN block_event · Projections: block · Filters: ((step >= 10) AND (step <= 20)), (kind = 'evict')
    └ Read: block_event, columns block, kind, step, steps 10 to 20

The plan is made on empty tables of the same shape. Where it is not understood, more is read and never less.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb

from kvarium.sql.errors import explained
from kvarium.sql.schema import TABLES
from kvarium.sql.walk import Steps

_EXPLAIN: Final = "EXPLAIN (FORMAT JSON) "
_BLOCK: Final = re.compile(r"block = (\d{1,10})", re.ASCII)
_BOUND: Final = re.compile(r"step (>=|<=|>|<|=) (-?\d{1,15})", re.ASCII)


@dataclass
class Read:
    """What is read of one table; ``block``: only rows of this block (None: of all)."""

    columns: set[str] = field(default_factory=set)
    steps: Steps = field(default_factory=Steps)
    block: int | None = None

    def joined(self, other: "Read") -> "Read":
        """What holds both."""
        block = self.block if self.block == other.block else None
        return Read(self.columns | other.columns, self.steps.joined(other.steps), block)


def read_by(connection: duckdb.DuckDBPyConnection, sql: str, memory: str) -> dict[str, Read]:
    """What ``sql``, a checked statement, reads, by the names of the tables.

    Raises :class:`kvarium.sql.errors.QueryError` for what does not bind: unknown tables and columns, wrong types.
    """
    try:
        (row,) = connection.execute(_EXPLAIN + sql).fetchall()
    except duckdb.InterruptException:
        raise  # who interrupted it tells why
    except duckdb.Error as error:
        raise explained(error, sql, memory, _EXPLAIN) from None
    found: dict[str, Read] = {}
    for node in json.loads(row[1]):
        _collect(node, found)
    if re.search(r"\bpivot", sql, re.IGNORECASE):
        # It looks at the values themselves before there is a plan.
        for name in found:
            found[name] = Read(set(TABLES[name].names))
    return found


def _collect(node: dict[str, Any], found: dict[str, Read]) -> None:
    info = node.get("extra_info") or {}
    name = str(info.get("Table", "")).rpartition(".")[2].strip('"')
    if name in TABLES:
        filters = _listed(info.get("Filters"))
        columns = set(_listed(info.get("Projections"))) & set(TABLES[name].names)
        for text in filters:
            columns |= {column for column in TABLES[name].names if re.search(rf"\b{column}\b", text)}
        read = Read(columns, _range(filters), _block(filters) if name == "block_event" else None)
        before = found.get(name)
        found[name] = read if before is None else before.joined(read)
    for child in node.get("children", ()):
        _collect(child, found)


def _listed(value: object) -> list[str]:
    if value is None or value == "":
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _plain(filters: list[str]) -> list[str]:
    """What must all hold, each without text in it."""
    return [part for text in filters if "'" not in text for part in _conjuncts(text)]


def _block(filters: list[str]) -> int | None:
    """The one block that passes all filters, where one says so plainly."""
    told = [found[1] for part in _plain(filters) if (found := _BLOCK.fullmatch(part))]
    return int(told[0]) if told else None


def _range(filters: list[str]) -> Steps:
    """The steps that pass all filters, as far as they are plain bounds."""
    first: int | None = None
    last: int | None = None
    for bound in _plain(filters):
        found = _BOUND.fullmatch(bound)
        if found is None:
            continue
        sign, value = found[1], int(found[2])
        if sign in (">=", ">", "="):
            least = value + (sign == ">")
            first = least if first is None else max(first, least)
        if sign in ("<=", "<", "="):
            most = value - (sign == "<")
            last = most if last is None else min(last, most)
    return Steps(first, last)


def _conjuncts(text: str) -> list[str]:
    """The parts of ``((a) AND (b))`` that must all hold, without their parentheses; all of it where it is no such thing."""
    text = text.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    depth, start, parts = 0, 0, []
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and text.startswith(" AND ", place):
            parts.append(text[start:place])
            start = place + len(" AND ")
    if not parts:
        return [text]
    return [inner for part in (*parts, text[start:]) for inner in _conjuncts(part)]


def _closing(text: str) -> int:
    """Where the parenthesis closes that opens at the beginning."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return place
    return -1
