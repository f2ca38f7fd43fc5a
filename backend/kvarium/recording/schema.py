"""What a recording's file may hold besides rows: the tables and indexes of its format, and nothing else.

A file can carry SQL of its own (triggers, views, virtual tables, generated columns, checks) that runs when somebody
queries it. So before the first query of ours, what the file declares is compared with what a recording of its format
declares, word by word.
"""

import re
import sqlite3
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from kvarium.errors import NotARecordingError
from kvarium.recording import migration, tables

_MAX_OBJECTS = 100
_MAX_SQL = 20_000
_WORD = re.compile(r'"[^"]*"|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|\S')


class SchemaObject(NamedTuple):
    """A row of ``sqlite_master``: ``words`` are those of its SQL, without regard to case, quotes and spaces."""

    type: str
    name: str
    table: str
    words: tuple[str, ...]


def _objects(connection: sqlite3.Connection) -> list[SchemaObject]:
    query = f"SELECT type, name, tbl_name, substr(sql, 1, {_MAX_SQL}) FROM sqlite_master LIMIT {_MAX_OBJECTS}"
    try:
        rows = connection.execute(query).fetchall()
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(f"malformed database schema: {error}") from None
    return [
        SchemaObject(
            str(kind),
            str(name),
            str(table),
            tuple(word.strip('"').lower() for word in _WORD.findall(str(sql or ""))),
        )
        for kind, name, table, sql in rows
    ]


@cache
def expected(format: int) -> frozenset[SchemaObject]:
    """What a recording of a format declares."""
    engine = sa.create_engine("sqlite://", poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            if format == tables.FORMAT:
                migration.create(connection)
            else:
                migration.migrate(connection, str(format))
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            # A recording from before there were migrations has no stamp, and may be of no other format.
            return frozenset(
                found for found in _objects(raw) if format > 1 or found.table != tables.alembic_version.name
            )
    finally:
        engine.dispose()


def _told(found: SchemaObject) -> str:
    kind = "virtual table" if found.words[1:2] == ("virtual",) else found.type
    return f"the {kind} {found.name[:60]!r}"


def check_kinds(connection: sqlite3.Connection, where: str) -> None:
    """Raises :class:`NotARecordingError` at anything that could run SQL of its own: to be called before any query."""
    for found in _objects(connection):
        plain = found.type == "index" or (found.type == "table" and found.words[:2] == ("create", "table"))
        if not plain:
            raise NotARecordingError(
                f"{where} is not a recording of kvarium as kvarium writes it: it has {_told(found)}"
            )


def check_schema(connection: sqlite3.Connection, format: int, where: str) -> None:
    """Raises :class:`NotARecordingError` where the file declares other than a recording of ``format`` does."""
    right = expected(format)
    there = set(_objects(connection))
    if there == right:
        return
    names = {found.name for found in right}
    strange = sorted(found for found in there - right if found.name not in names)
    changed = sorted(found for found in there - right if found.name in names)
    if strange:
        what = f"it has {_told(strange[0])}, which does not belong there"
    elif changed:
        what = f"{_told(changed[0])} is declared otherwise than in format {format}"
    else:
        what = f"{_told(min(right - there))} is missing"
    raise NotARecordingError(f"{where} is not a recording of kvarium as kvarium writes it: {what}")
