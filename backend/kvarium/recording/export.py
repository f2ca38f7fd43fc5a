"""One session as one SQLite file, with nothing beside it."""

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError, UnwritableError
from kvarium.follower import Follower
from kvarium.heads import stored_head
from kvarium.recording import tables
from kvarium.recording.chunks import BATCH_BYTES, Batch, SealedChunk
from kvarium.recording.database import explain, open_for_reading, writable_sqlite
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import check_rows, check_session, dicts_of
from kvarium.recording.statements import insert_chunk
from kvarium.recording.stripping import Strip, Stripper
from kvarium.recording.writer import Writer
from kvarium_ledger import codec
from kvarium_ledger.messages import Hello

_ROWS, _BLOBS = 1000, 16
_SNAPSHOT = "this file is a copy that was taken while the session was live"


def file_name(name: str, session_id: str, strip: Strip | None = None) -> str:
    """What to call the file of a session: one without its text is told from one with it."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    left = "" if strip is None else f"-text-{strip.text}"
    return f"{safe or 'kvarium'}-{session_id[:8]}{left}.db"


class ExportCancelledError(KvariumError):
    """Nobody waits for the copy any more."""


def _check(cancelled: threading.Event | None) -> None:
    if cancelled is not None and cancelled.is_set():
        raise ExportCancelledError("the copy was given up: nobody waits for it, or the server ends")


def export_session(
    reader: Reader,
    session: int,
    folder: Path,
    cancelled: threading.Event | None = None,
    strip: Strip | None = None,
) -> Path:
    """Copy a session into a new file in ``folder``, as it is now, and bring its index to its end.

    With ``strip`` the copy's records have no text, and its index is made anew of them: nothing of text was ever in the file.
    Raises :class:`UnwritableError` when the copy can't be written.
    """
    row = reader.session(session)
    path = folder / file_name(row["name"], row["id"], strip)
    hello = reader.hello(session)[0]
    try:
        if strip is None:
            _copy(reader, session, path, cancelled)
        else:
            _copy_without_text(reader, session, path, strip, cancelled)
            hello = strip.greeting(hello)
        _finish(path, hello, cancelled)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise UnwritableError(f"can't write the copy {path}", explain(error)) from None
    return path


@contextmanager
def copied(
    reader: Reader, session: int, folder: Path, strip: Strip | None = None
) -> Iterator[tuple[Reader, int]]:
    """A copy of a session in ``folder`` as it is now, and its number in it; the copy goes at the end."""
    path = export_session(reader, session, folder, strip=strip)
    database = open_for_reading(str(path))
    try:
        copy = Reader(database)
        yield copy, int(copy.sessions()[0]["number"])
    finally:
        database.close()
        path.unlink()


def _copy(reader: Reader, session: int, path: Path, cancelled: threading.Event | None) -> None:
    target = writable_sqlite(path)
    try:
        # One transaction of reading: all tables are of one moment.
        with reader.database.engine.connect() as source, target.writing().begin() as sink:
            sink.execute(sa.insert(tables.session), _session_row(source, session))
            for table in _tables_of(reader):
                _copy_table(reader, table, session, source, sink, cancelled)
    finally:
        target.close()


def _session_row(source: sa.Connection, session: int) -> Row:
    chosen = sa.select(tables.session).where(tables.session.c.number == session)
    (row,) = dicts_of(source, chosen)
    check_session(row)
    return row | {"state": "interrupted", "reason": _SNAPSHOT} if row["state"] == "live" else row


def _copy_table(
    reader: Reader,
    table: sa.Table,
    session: int,
    source: sa.Connection,
    sink: sa.Connection,
    cancelled: threading.Event | None,
) -> None:
    columns = tables.columns_of(table, reader.database.format)
    query = sa.select(*columns).where(table.c.session == session)
    options = {"yield_per": _BLOBS if "data" in table.c else _ROWS}
    for part in _parts(reader, source, query, options):
        _check(cancelled)
        check_rows(query, part, with_bytes=True)
        sink.execute(sa.insert(table), [dict(found._mapping) for found in part])


def _parts(
    reader: Reader, source: sa.Connection, query: sa.Select[Any], options: dict[str, Any]
) -> Iterator[Sequence[sa.Row[Any]]]:
    """Rows, many at a time. What can't be read is no fault of the copy's place."""
    try:
        rows = source.execute(query, execution_options=options).partitions()
        while part := next(rows, None):
            yield part
    except SQLAlchemyError as error:
        raise KvariumError(f"{reader.database.where} can't be read: {explain(error)}") from None


_NOTHING_STORED: Row = {
    "first_record": None,
    "last_record": None,
    "last_step": None,
    "records": 0,
    "operations": 0,
    "steps": 0,
    "duration_ns": 0,
    "bytes": 0,
    "stored_bytes": 0,
    "gaps": 0,
    "indexed_record": None,
    "violations": 0,
    "violation": None,
}


def _copy_without_text(
    reader: Reader, session: int, path: Path, strip: Strip, cancelled: threading.Event | None
) -> None:
    """The session's records up to the last one that is committed now, and its notes; the index comes of the records."""
    hello, _ = reader.hello(session)
    target = writable_sqlite(path)
    try:
        with reader.database.engine.connect() as source, target.writing().begin() as sink:
            row = _session_row(source, session)
            greeting = codec.seal(strip.greeting(hello))
            sink.execute(sa.insert(tables.session), row | _NOTHING_STORED | {"hello": greeting})
            if row["last_record"] is not None:
                found = reader.frames(session, through=int(row["last_record"]))
                for batch in _batches(session, Stripper(hello, strip).frames(found)):
                    _check(cancelled)
                    insert_chunk(sink, SealedChunk(batch))
            if not strip.notes and tables.has_table(tables.note, reader.database.format):
                _copy_table(reader, tables.note, session, source, sink, cancelled)
    finally:
        target.close()


def _batches(session: int, frames: Iterator[bytes]) -> Iterator[Batch]:
    """Frames by chunks: no chunk holds records on both sides of missing ones."""
    batch = Batch(session, 0.0)
    for frame in frames:
        head = stored_head(frame)
        follows = not batch.heads or head.record == (batch.heads[-1].record or 0) + 1
        if batch.bytes >= BATCH_BYTES or not follows:
            yield batch
            batch = Batch(session, 0.0)
        batch.add(frame, head)
    if batch.heads:
        yield batch


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
