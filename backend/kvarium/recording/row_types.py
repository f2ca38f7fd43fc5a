"""Rows of a recording, read and checked: SQLite keeps in any column whatever it was given, and a file may come from anybody.

    query ──▶ rows ──▶ is each number a whole one below 2^53, each text a text? ──▶ the reader
                        └ no: the table, the row and the value are told

A value that is to be bytes is checked by who opens it, and goes on past a chunk, a keyframe or a set of blocks that is none.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError
from kvarium.recording import tables
from kvarium.recording.index_rows import Row
from kvarium_ledger.codec import MOST_BLOCKS

_BOUND: Final = 1 << 53
_RIGHT: Final[tuple[tuple[type[Any], type, str], ...]] = (
    (sa.Integer, int, "whole number below 2^53"),
    (sa.Boolean, bool, "yes or no"),
    (sa.String, str, "text"),
    (sa.LargeBinary, bytes, "bytes"),
)


def rows_of(connection: sa.Connection, query: sa.Select[Any]) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    """The rows of a query. Raises :class:`DamagedRecordingError` for a value that its column can't have."""
    rows = connection.execute(query).all()
    check_rows(query, rows)
    return rows


def dicts_of(connection: sa.Connection, query: sa.Select[Any]) -> list[Row]:
    """The rows of a query by the names of its columns; raises as :func:`rows_of` does."""
    return [dict(row._mapping) for row in rows_of(connection, query)]


def first_of(connection: sa.Connection, query: sa.Select[Any]) -> sa.Row[*tuple[Any, ...]] | None:
    """The first row of a query, or None; raises as :func:`rows_of` does. The query has its own ``LIMIT``."""
    return next(iter(rows_of(connection, query)), None)


def value_of(connection: sa.Connection, query: sa.Select[Any]) -> Any:
    """The first value of the first row of a query, or None; raises as :func:`rows_of` does."""
    row = first_of(connection, query)
    return None if row is None else row[0]


def check_rows(
    query: sa.Select[Any], rows: Sequence[sa.Row[*tuple[Any, ...]]], with_bytes: bool = False
) -> None:
    """What :func:`rows_of` checks, for rows of ``query`` that are read in portions, and ``with_bytes`` what is to be bytes, too."""
    if not rows:
        return
    columns = list(query.selected_columns)
    for place, column in enumerate(columns):
        for kind, right, what in _RIGHT:
            if not isinstance(column.type, kind) or (right is bytes and not with_bytes):
                continue
            allowed = {right, type(None)} if getattr(column, "nullable", True) else {right}
            values = [row[place] for row in rows]
            # Whole columns first: of a million steps each value is looked at by C alone.
            if set(map(type, values)) <= allowed and (right is not int or _are_bounded(values)):
                continue
            wrong = next(
                at
                for at, value in enumerate(values)
                if type(value) not in allowed or (right is int and not _are_bounded([value]))
            )
            raise DamagedRecordingError(
                f"{_name_of(columns, rows[wrong])}: its {_column_name(column)} is {values[wrong]!r:.60}, which is no {what}"
            )


def _are_bounded(values: list[int | None]) -> bool:
    numbers = [value for value in values if value is not None]
    return not numbers or (min(numbers) > -_BOUND and max(numbers) < _BOUND)


def _column_name(column: sa.ColumnElement[Any]) -> str:
    return str(getattr(column, "name", None) or "value")


def _name_of(columns: Sequence[sa.ColumnElement[Any]], row: sa.Row[*tuple[Any, ...]]) -> str:
    """A row by its table and its key, as far as the query asks for that."""
    table = next(
        (found for column in columns if isinstance(found := getattr(column, "table", None), sa.Table)), None
    )
    if table is None:
        return "the recording"
    key = ", ".join(
        f"{column.name} {row[place]!r:.30}"
        for place, column in enumerate(columns)
        if getattr(column, "table", None) is table and getattr(column, "primary_key", False)
    )
    return f"the table {table.name}" + (f", row {key}" if key else "")


def check_session(row: Row) -> None:
    """Raises :class:`DamagedRecordingError` where a session's row can't be true, so that its pool or its records can't be looked at."""
    what = f"the table session, row number {row['number']}"
    for name, most in (("num_blocks", MOST_BLOCKS), ("block_size", tables.MAX_BLOCK_SIZE)):
        if not 0 < row[name] <= most:
            raise DamagedRecordingError(f"{what}: its {name} is {row[name]}, and not 1 to {most}")
    first, last = row["first_record"], row["last_record"]
    if (first is None) != (last is None) or (last is not None and not 0 <= first <= last):
        raise DamagedRecordingError(f"{what}: its records are {first} to {last}")


@contextlib.contextmanager
def damage_told(what: str) -> Iterator[None]:
    """A reader that goes through rows and records of anybody's: values that are of no use to it are damage of the recording.

    Raises :class:`DamagedRecordingError`; ``what`` names what was read.
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError, LookupError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise DamagedRecordingError(f"{what} is not as kvarium stores it: {text}") from None
