"""An SQLite file as a recording: how its connections are made, for writing and for reading.

Why ``synchronous=FULL``: the engine forgets what is acknowledged, so an acknowledged record must survive the loss of
power, and in WAL mode SQLite's NORMAL does not promise that. It costs one fsync a commit, and there are a handful of
commits a second.

Why ``auto_vacuum=INCREMENTAL``: what is removed is given back to the disk in small steps, while others read and write.

A file may come from anywhere, so reading trusts nothing in it: no trigger or view may run, no function that a schema names,
and nothing can be written (:func:`_allowed`, and :mod:`kvarium.recording.schema` before the first query).
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from kvarium.errors import KvariumError, NotARecordingError
from kvarium.recording import tables

_HEADER = b"SQLite format 3\x00"
_BUSY_SECONDS = 5.0
_MAX_VALUE_BYTES = 320 << 20
"""Longer values no recording has: a frame has at most 256 MiB."""

_READS = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)


def check_place(path: Path, option: str = "--db") -> None:
    """Raises :class:`KvariumError` when no file can be at ``path``, which ``option`` names."""
    if path.is_dir():
        raise KvariumError(f"{path} is a directory: {option} names a file, or a PostgreSQL URL")
    if path.exists() and not path.is_file():
        raise KvariumError(f"{path} is not a regular file: {option} names one, or a PostgreSQL URL")
    if not path.parent.is_dir():
        raise KvariumError(f"can't write the recording {path}: there is no directory {path.parent}")


def check_names(path: Path) -> None:
    """Raises :class:`KvariumError` when a file that is to be written has another name (a hard link).

    What is not in it yet lies beside the name by which it was written, and so does the lock: by the other name it is damaged.
    """
    names = path.stat().st_nlink if path.exists() else 1
    if names > 1:
        raise KvariumError(
            f"{path} has {names} names (hard links): written by one, it would be damaged for who opens it by another; remove the "
            f"others, or write to a copy: cp {path} COPY"
        )


def check_header(path: Path, where: str | None = None) -> None:
    """Raises :class:`KvariumError` when the file can't be read or is no SQLite file."""
    where = where or str(path)
    if path.is_dir():
        raise NotARecordingError(f"{where} is a directory, not a recording")
    if not path.exists():
        raise KvariumError(f"there is no file {where}")
    if not path.is_file():  # a pipe is never done with opening
        raise NotARecordingError(f"{where} is not a regular file: a recording is one")
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise KvariumError(f"can't read {where}: {error.strerror}") from None
    if start != _HEADER:
        found = "it is empty" if not start else "it is no SQLite file"
        raise NotARecordingError(f"{where} is not a recording of kvarium: {found}")


def is_new(path: Path) -> bool:
    """Is there nothing yet?"""
    return not path.exists() or path.stat().st_size == 0


def _bounded(
    _connection: sa.Connection,
    _cursor: Any,
    statement: str,
    arguments: Any,
    _context: Any,
    _executemany: bool,
) -> tuple[str, Any]:
    """Numbers are compared as 64 bits: a greater one is as good as the greatest, which no recording has."""
    least, greatest = -(1 << 63), (1 << 63) - 1
    return statement, tuple(
        min(max(value, least), greatest) if isinstance(value, int) else value for value in arguments
    )


def _reading(engine: sa.Engine) -> sa.Engine:
    """Who only asks may ask for any number (who writes one that does not fit is told)."""
    sa.event.listen(engine, "before_cursor_execute", _bounded, retval=True)
    return engine


def _engine(connect: Callable[[], sqlite3.Connection], begin: str) -> sa.Engine:
    # The driver's own transactions begin at the first write only: a read would not be a snapshot.
    engine = sa.create_engine(
        "sqlite+pysqlite://", creator=connect, poolclass=QueuePool, pool_size=8, max_overflow=40
    )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def writing_engine(path: Path) -> sa.Engine:
    """Connections that write the file ``path``, one at a time."""
    return _engine(lambda: _writable_connection(path), "BEGIN IMMEDIATE")


def query_engine(path: Path) -> sa.Engine:
    """Connections that only read the file ``path``, which this process writes too."""

    def connect() -> sqlite3.Connection:
        connection = _writable_connection(path)
        connection.execute("PRAGMA query_only=1")
        return connection

    return _reading(_engine(connect, "BEGIN"))


def _writable_connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None, cached_statements=64
    )
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA journal_size_limit=67108864")
    connection.execute("PRAGMA trusted_schema=0")
    return connection


def reading_engine(path: Path) -> sa.Engine:
    """Connections that only read the file ``path``, whatever else writes it, and trust nothing in it.

    Without a ``-wal`` beside it nothing is created beside it.
    """
    return _reading(_engine(lambda: reading_connection(path), "BEGIN"))


def reading_connection(path: Path) -> sqlite3.Connection:
    """One such connection."""
    wal = path.with_name(path.name + "-wal")
    uri = f"file:{quote(str(path.absolute()))}?mode=ro" + ("" if wal.exists() else "&immutable=1")
    connection = sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    for pragma in ("trusted_schema=0", "cell_size_check=1", "query_only=1", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_allowed)
    return connection


def _allowed(action: int, _one: str | None, _two: str | None, _db: str | None, through: str | None) -> int:
    """Reading, and not by way of a trigger or view."""
    return sqlite3.SQLITE_OK if action in _READS and through is None else sqlite3.SQLITE_DENY


def begin_file(connection: sqlite3.Connection) -> None:
    """What must be said before a new file has its first table."""
    connection.execute("PRAGMA page_size=8192")
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute(f"PRAGMA application_id={tables.APPLICATION_ID}")
