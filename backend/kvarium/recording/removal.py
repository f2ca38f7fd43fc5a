"""Removing sessions, so that their room is given back, while others read and a server records.

mark   the session is not to be seen any more (state "removing"); a crash from here on is made good by the next one
rows   go in portions, so that records that arrive meanwhile wait a moment only
end    the session's row goes, and a row in ``removed`` tells of it
room   SQLite: the free pages go back to the disk: in portions where the file is made for that
       (auto_vacuum=INCREMENTAL, since format 2), else by a VACUUM when no server records into it.
       PostgreSQL: a plain VACUUM; its room is used again, and given back as PostgreSQL sees fit
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sqlalchemy as sa

from kvarium.errors import ConflictError, KvariumError, UnknownSessionError
from kvarium.recording import tables
from kvarium.recording.database import Database
from kvarium.recording.index_rows import Row
from kvarium.recording.row_types import dicts_of

Transact = Callable[[Callable[[sa.Connection], Any]], Any]
"""Runs a function of a connection in a transaction of its own, and gives what that gives."""

_PORTION = {tables.chunk.name: 16, tables.keyframe.name: 4}
_ROWS = 4000
_PAGES = 512


@dataclass
class Removal:
    """What a removal did: which sessions went; bytes given back to the disk, and those that are free inside the file."""

    sessions: list[str] = field(default_factory=list)
    freed: int = 0
    reusable: int = 0


def read_removed(database: Database) -> list[Row]:
    """What is told of sessions that were removed, the last one first."""
    if database.format < tables.NOTES_SINCE:
        return []
    table = tables.removed
    query = sa.select(*(column for column in table.c if column.name != "number"))
    with database.engine.connect() as connection:
        return dicts_of(connection, query.order_by(table.c.number.desc()))


def direct(database: Database) -> Transact:
    """Transactions of one's own, where nobody else writes."""

    def transact(change: Callable[[sa.Connection], Any]) -> Any:
        with database.writing().begin() as connection:
            return change(connection)

    return transact


def unfinished(connection: sa.Connection) -> list[int]:
    """Sessions whose removal was begun and not ended."""
    query = sa.select(tables.session.c.number).where(tables.session.c.state == tables.REMOVING)
    return list(connection.execute(query).scalars())


def mark(connection: sa.Connection, number: int, reason: str) -> None:
    """From now on the session is not to be seen. Raises :class:`ConflictError` for a live one."""
    columns = tables.session.c
    state = connection.execute(sa.select(columns.state).where(columns.number == number)).scalar()
    if state is None or state == tables.REMOVING:
        raise UnknownSessionError(f"session {number} is not there any more")
    if state == "live":
        raise ConflictError("the session is being recorded: end its engine first")
    connection.execute(
        sa.update(tables.session).where(columns.number == number).values(state=tables.REMOVING, reason=reason)
    )


def remove_marked(transact: Transact, number: int) -> str:
    """Remove the rows of a marked session, portion by portion; its id."""
    for table in (tables.chunk, *tables.INDEX_TABLES):
        while transact(partial(_delete_portion, table=table, number=number)):
            pass
    return str(transact(lambda connection: _end(connection, number)))


def _delete_portion(connection: sa.Connection, table: sa.Table, number: int) -> bool:
    """Delete some rows of a session, the first ones; False: there were no more."""
    session, key = table.primary_key.columns.values()[:2]
    place = _PORTION.get(table.name, _ROWS) - 1
    # Rows that share the key's value (landmarks of one step) go together.
    query = sa.select(key).where(session == number).order_by(key).offset(place).limit(1)
    last = connection.execute(query).scalar()
    statement = sa.delete(table).where(session == number)
    connection.execute(statement if last is None else statement.where(key <= last))
    return last is not None


def _end(connection: sa.Connection, number: int) -> str:
    columns = tables.session.c
    row = connection.execute(sa.select(tables.session).where(columns.number == number)).mappings().one()
    connection.execute(sa.delete(tables.note).where(tables.note.c.session == number))
    connection.execute(sa.delete(tables.session).where(columns.number == number))
    told = {
        name: row[name] for name in ("id", "started_utc_us", "steps", "operations", "stored_bytes", "reason")
    }
    connection.execute(sa.insert(tables.removed), told | {"removed_utc_us": time.time_ns() // 1000})
    return str(row["id"])


# -- giving back the room ---------------------------------------------------------------------------------------------------


def give_back(database: Database, transact: Transact, alone: bool) -> tuple[int, int]:
    """Give free room back to the disk: bytes given back, and bytes that stay free inside the file.

    ``alone``: nobody records into it, so that it may be written anew where that is needed.
    """
    if database.path is None:
        before = _postgres_size(database)
        _vacuum_postgres(database)
        return max(0, before - _postgres_size(database)), 0
    size, free, incremental = _pages(database)
    before = free
    if incremental:
        while free and transact(_vacuum_some) < free:
            _, free, _ = _pages(database)
    elif alone and free:
        _on_own_connection(database, "PRAGMA auto_vacuum=INCREMENTAL", "VACUUM")
    # The file becomes shorter when what was written about it is moved into it.
    _on_own_connection(database, f"PRAGMA wal_checkpoint({'TRUNCATE' if alone else 'PASSIVE'})")
    _, free, _ = _pages(database)
    return max(0, before - free) * size, free * size


def _pages(database: Database) -> tuple[int, int, bool]:
    """Bytes a page, free pages, and whether pages can be given back one by one."""
    with database.engine.connect() as connection:
        values = [
            int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_size", "freelist_count", "auto_vacuum")
        ]
    return values[0], values[1], values[2] == 2


def _vacuum_some(connection: sa.Connection) -> int:
    """Give some pages back; how many free ones are left."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    # A page a step of the statement, though its rows have no columns: SQLAlchemy would not go through them.
    raw.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
    return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())


def _on_own_connection(database: Database, *statements: str) -> None:
    """Statements that run in no transaction."""
    raw = database.writing().raw_connection()
    try:
        for statement in statements:
            raw.cursor().execute(statement).fetchall()
    except sqlite3.Error as error:
        raise KvariumError(
            f"the sessions are removed from {database.where}, but their room could not be given back: {error}"
        ) from None
    finally:
        raw.close()


def _postgres_size(database: Database) -> int:
    with database.engine.connect() as connection:
        query = "SELECT pg_database_size(current_database())"
        return int(connection.exec_driver_sql(query).scalar_one())


def _vacuum_postgres(database: Database) -> None:
    with database.writing().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in (tables.chunk, *tables.INDEX_TABLES):
            connection.exec_driver_sql(f'VACUUM "{table.name}"')
