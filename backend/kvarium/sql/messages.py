"""What a server and a query's process say to one another. Without DuckDB, which only the process loads."""

from typing import Any

import msgspec


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is asked. ``database`` is a file or a URL (with its password: so it is no argument)."""

    database: str
    session: int
    sql: str
    limit: int
    seconds: float
    memory_bytes: int
    threads: int


class Rows(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer. ``truncated``: there are more rows than were asked for, or than an answer may hold."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Why there is no answer. ``fault`` None: it is no fault of the query's."""

    message: str
    fault: str | None = None
    line: int | None = None
    column: int | None = None


Outcome = Rows | Failure
