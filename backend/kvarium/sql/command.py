"""``kvarium sql``: a query on the command line."""

import contextlib
import csv
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvarium.errors import KvariumError
from kvarium.recording_options import AsJson, Db, SessionOrFile, reading_session, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvarium.recording.reader import Reader
    from kvarium.sql.query import Result

_SHOWN = 1000
_THREADS = 16
_LONGEST = 1e6
"""Seconds: what is longer no clock of the system's waits for."""

_LARGEST = 1e6
"""GiB: what is more no machine has."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sql)


def sql(
    session: SessionOrFile,
    statement: Annotated[
        str,
        typer.Argument(metavar="SELECT", help="The query, in DuckDB's SQL; - reads it from standard input."),
    ],
    db: Db = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, the names of the columns first.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Print at most N rows. Default: 1000 as a table, else all.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.01, max=_LONGEST, metavar="S", help="Give up after so many seconds.")
    ] = 300.0,
    memory_limit: Annotated[
        float,
        typer.Option(
            min=0.03, max=_LARGEST, metavar="GIB", help="Memory that the tables and the query may take."
        ),
    ] = 2.0,
) -> None:
    """Ask a recording with SQL: tables block_event, step, decision, request, sequence, content, token, landmark.

    `DESCRIBE block_event` as a query lists a table's columns; docs/sql.md explains them, with worked questions.
    """
    if as_json and as_csv:
        raise KvariumError("--json and --csv: choose one")
    from kvarium import terminal
    from kvarium.sql.query import Limits, Query
    from kvarium.sql.sandbox import bound_memory

    began = time.monotonic()
    text = _standard_input() if statement == "-" else statement
    limits = Limits(time_limit, int(memory_limit * (1 << 30)), min(os.cpu_count() or 1, _THREADS))
    bound_memory(limits.memory_bytes, limits.threads)
    with reading_session(session, db) as (reader, number):
        with _telling_of_options(), contextlib.ExitStack() as closing:
            with terminal.progress_bar("reading") as progress:
                # It is closed on an error too: a thread of DuckDB's must not outlive the interpreter, which aborts then.
                query = closing.enter_context(Query(reader, number, text, limits, progress))
                result = query.run()
            if as_csv:
                _print_csv(result, limit)
            elif as_json:
                _print_json(result, limit, began)
            else:
                _print_table(result, limit or _SHOWN)
        _tell_of_the_index(reader, number)


def _standard_input() -> str:
    """All of it; bytes that are no UTF-8 are told when the statement is looked at."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


@contextlib.contextmanager
def _telling_of_options() -> "Iterator[None]":
    """Who is at a limit may move it."""
    from kvarium.sql.errors import QueryError

    options = {"time": "--time-limit gives it longer", "memory": "--memory-limit gives it more"}
    try:
        yield
    except QueryError as error:
        if error.fault not in options:
            raise
        raise QueryError(error.fault, f"{error}; {options[error.fault]}") from None


def _taken(result: "Result", limit: int | None) -> tuple[list[list[Any]], bool]:
    """Up to ``limit`` rows, and are there more?"""
    from kvarium.sql.query import plain

    rows: list[list[Any]] = []
    for row in result.rows():
        if limit is not None and len(rows) == limit:
            return rows, True
        rows.append([plain(value) for value in row])
    return rows, False


def _print_json(result: "Result", limit: int | None, began: float) -> None:
    rows, truncated = _taken(result, limit)
    told = {"columns": result.columns, "types": result.types, "rows": rows, "truncated": truncated}
    say(json.dumps(told | {"elapsed_ms": round((time.monotonic() - began) * 1000)}))


def _print_csv(result: "Result", limit: int | None) -> None:
    from kvarium.sql.query import plain

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(result.columns)
    for place, row in enumerate(result.rows()):
        if place == limit:
            _tell_of_more(limit)
            break
        values = (plain(value) for value in row)
        writer.writerow([json.dumps(value) if isinstance(value, list | dict) else value for value in values])
    sys.stdout.flush()


def _print_table(result: "Result", limit: int) -> None:
    from kvarium import terminal

    rows, truncated = _taken(result, limit)
    lines = [["-" if value is None else terminal.shown(str(value)) for value in row] for row in rows]
    say(terminal.table([terminal.shown(name) for name in result.columns], lines))
    if truncated:
        _tell_of_more(limit)


def _tell_of_more(limit: int) -> None:
    print(f"only the first {limit} rows: --limit gives more", file=sys.stderr)


def _tell_of_the_index(reader: "Reader", session: int) -> None:
    """What the server's fold has not reached yet is not in all tables."""
    row = reader.session(session)
    if row["indexed_record"] != row["last_record"]:
        print(
            f"the index goes to record {row['indexed_record']} of {row['last_record']}: request, landmark and the usage in "
            "step end there",
            file=sys.stderr,
        )
