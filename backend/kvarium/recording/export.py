"""One session as one SQLite file, with nothing beside it."""

import re
import sqlite3
import threading
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.follower import Follower
from kvarium.recording import tables
from kvarium.recording.database import explain, writable_sqlite
from kvarium.recording.reader import Reader
from kvarium.recording.writer import Writer
from kvarium_ledger.messages import Hello

_ROWS, _BLOBS = 1000, 16
_SNAPSHOT = "this file is a copy that was taken while the session was live"


def file_name(name: str, session_id: str) -> str:
    """What to call the file of a session."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    return f"{safe or 'kvarium'}-{session_id[:8]}.db"


class ExportCancelledError(KvariumError):
    """Nobody waits for the copy any more."""


def _check(cancelled: threading.Event | None) -> None:
    if cancelled is not None and cancelled.is_set():
        raise ExportCancelledError("the copy was given up: nobody waits for it, or the server ends")


def export_session(
    reader: Reader, session: int, folder: Path, cancelled: threading.Event | None = None
) -> Path:
    """Copy a session into a new file in ``folder``, as it is now, and bring its index to its end."""
    row = reader.session(session)
    path = folder / file_name(row["name"], row["id"])
    try:
        _copy(reader, session, path, cancelled)
        _finish(path, reader.hello(session)[0], cancelled)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise KvariumError(f"can't write the copy {path}: {explain(error)}") from None
    return path


def _copy(reader: Reader, session: int, path: Path, cancelled: threading.Event | None) -> None:
    target = writable_sqlite(path)
    try:
        # One transaction of reading: all tables are of one moment.
        with reader.database.engine.connect() as source, target.writing().begin() as sink:
            chosen = sa.select(tables.session).where(tables.session.c.number == session)
            row = dict(source.execute(chosen).mappings().one())
            if row["state"] == "live":
                row |= {"state": "interrupted", "reason": _SNAPSHOT}
            sink.execute(sa.insert(tables.session), row)
            for table in _tables_of(reader):
                columns = tables.columns_of(table, reader.database.format)
                query = sa.select(*columns).where(table.c.session == session)
                options = {"yield_per": _BLOBS if "data" in table.c else _ROWS}
                rows = source.execute(query, execution_options=options)
                for part in rows.mappings().partitions():
                    _check(cancelled)
                    sink.execute(sa.insert(table), [dict(found) for found in part])
    finally:
        target.close()


def _tables_of(reader: Reader) -> tuple[sa.Table, ...]:
    found = (tables.chunk, *tables.INDEX_TABLES, tables.note)
    return tuple(table for table in found if tables.has_table(table, reader.database.format))


def _finish(path: Path, hello: Hello, cancelled: threading.Event | None) -> None:
    """Index what the session's mirror had not reached yet, and leave one file in rollback mode."""
    database = writable_sqlite(path)
    try:
        reader = Reader(database)
        row = reader.sessions()[0]
        if row["last_record"] is not None and row["indexed_record"] != row["last_record"]:
            writer = Writer(database)
            writer.start()
            follower = Follower(row["number"], hello, reader, writer)
            follower.start()
            while follower.running:
                follower.join(0.1)
                if cancelled is not None and cancelled.is_set():
                    follower.stop(0.0)
            writer.stop()
            _check(cancelled)
    finally:
        database.close()
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        connection.close()
