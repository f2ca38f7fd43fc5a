"""What can go wrong with a query, each in one line that says what to do."""

import json
from typing import Literal

import duckdb

from kvarium.errors import KvariumError

Fault = Literal["sql", "refused", "time", "memory"]
"""What is wrong: the statement; what it asks for is not allowed here; it took too long; it needs too much memory."""


class QueryError(KvariumError):
    """A query that failed. ``line`` and ``column`` (from 1) say where in the statement, if DuckDB tells it."""

    def __init__(
        self, fault: Fault, message: str, line: int | None = None, column: int | None = None
    ) -> None:
        where = "" if line is None else f" (line {line}, column {column})"
        super().__init__(message + where)
        self.fault: Fault = fault
        self.line = line
        self.column = column


def too_large(memory: str) -> QueryError:
    """The query needs more than ``memory``, the limit for people."""
    return QueryError(
        "memory",
        f"the query needs more than {memory} of memory: read fewer steps (WHERE step BETWEEN a AND b), name the columns "
        "that you need instead of *, or group before you sort",
    )


def explained(error: duckdb.Error, sql: str, memory: str, prefix: str = "") -> QueryError:
    """DuckDB's error as one line, with the place in ``sql`` (it was given ``prefix`` before that).

    ``memory`` is the limit, for people.
    """
    told = _told(error)
    kind = str(told.get("exception_type", "")) or type(error).__name__
    message = " ".join(str(told.get("exception_message", error)).split())
    # Where memory ends while DuckDB copies a plan, it calls that a failure to serialize: a query that only reads has no other.
    if isinstance(error, duckdb.OutOfMemoryException | duckdb.SerializationException):
        return too_large(memory)
    fault: Fault = "refused" if isinstance(error, duckdb.PermissionException) else "sql"
    if fault == "refused":
        message += ": a query sees the recording's tables, and nothing else"
    position = told.get("position")
    if not isinstance(position, str) or not position.isdigit():
        return QueryError(fault, f"{kind} error: {message}")
    # DuckDB counts bytes.
    before = sql.encode()[: max(0, int(position) - len(prefix))].decode(errors="replace")
    line = before.count("\n") + 1
    return QueryError(fault, f"{kind} error: {message}", line, len(before) - before.rfind("\n"))


def _told(error: duckdb.Error) -> dict[str, object]:
    """What DuckDB says as JSON (``errors_as_json``), behind the kind of the error."""
    _, _, rest = str(error).partition(": ")
    try:
        found = json.loads(rest)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
