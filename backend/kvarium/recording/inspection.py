"""Inspecting a file that somebody brought, before it is let in: everything in it, and nothing of it is ever run.

    header      page size, pages and length agree; kvarium's application id
    schema      the tables and indexes of its format, word by word; no trigger, view, virtual table or generated column
    pages       SQLite's own integrity_check: every page once, every index as its table
    values      each of its column's type, numbers from 0 (or what row_rules.py tells) to below 2^53, text that is text,
                states and kinds that there are, all of the one session; the format's stamps, and nothing beside them
    session     its hello, whose version is known here; a pool that a machine can hold
    chunks      checksum, size (never more than is told, nor than fits), every frame decoded, in order, as its row tells
    counters    what the session's row counts is what the chunks hold
    index       a row of a step or landmark is what its record tells by itself
    touched     no block that a chunk's operations touch is missing there
    keyframes   the same, and each is a state of this pool

What it can't tell is whether the records are *lawful*, nor whether that of the index is right which only folding makes
(usage, requests): whoever folds them sees that, record by record (``kvarium verify``). Time and memory are bounded by the file's size.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import DamagedRecordingError, KvariumError, NotARecordingError
from kvarium.recording import schema, sqlite_file, tables, touched
from kvarium.recording.block_operations import touched_rows
from kvarium.recording.chunks import ranges
from kvarium.recording.database import Database, explain, readable_sqlite
from kvarium.recording.index_rows import Row
from kvarium.recording.notes import MAX_NOTES
from kvarium.recording.reader import Frame, Reader, chunk_name
from kvarium.recording.record_rows import Counters, RecordRows
from kvarium.recording.row_rules import condition, stamp_fault
from kvarium_ledger import block_columns, codec
from kvarium_ledger.codec import MOST_BLOCKS
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import VERSION, Contents, Keyframe, Record, SequenceState, Step, Text

_EXPANSION = 200
_FREE_EXPANSION = 256 << 20
"""Frames may have so many bytes, and then so many times what the file has: past that it is a bomb."""

_FREE_CONTENTS = 1 << 26
"""So many contents are nobody's fault: a session may have been recorded from its middle on."""

_SECONDS, _SECONDS_A_MIB = 60.0, 1.0
_STATES = ("live", "ended", "interrupted")
_TICKS = 20_000


class RefusedFileError(NotARecordingError):
    """A file that is not let in, and why."""


@contextmanager
def _told(path_name: str) -> Iterator[None]:
    """Whatever goes wrong in here is a fault of the file's, told in one line."""
    try:
        yield
    except RefusedFileError:
        raise
    except DamagedRecordingError as error:
        raise RefusedFileError(f"{path_name} is damaged: {error}") from None
    except KvariumError as error:
        raise RefusedFileError(" ".join(str(error).split())[:1000]) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise RefusedFileError(f"{path_name} can't be read: {explain(error)[:500]}") from None
    except (codec.FrameError, msgspec.MsgspecError, ValueError, IndexError, OverflowError) as error:
        raise RefusedFileError(f"{path_name} is damaged: {' '.join(str(error).split())[:500]}") from None
    except (RecursionError, MemoryError) as error:
        raise RefusedFileError(f"{path_name} is damaged: {type(error).__name__}") from None


def inspect(path: Path, name: str, cancelled: threading.Event | None = None) -> str:
    """Inspect the file ``path``, which a person knows as ``name``; the id of its one session.

    Raises :class:`RefusedFileError` with the reason. Nothing is written, to the file or beside it.
    """
    with _told(name):
        return _Inspection(path, name, cancelled).run()


class _Inspection:
    def __init__(self, path: Path, name: str, cancelled: threading.Event | None) -> None:
        self.path = path
        self.name = name
        self.cancelled = cancelled
        self.size = path.stat().st_size
        self.until = time.monotonic() + _SECONDS + _SECONDS_A_MIB * self.size / (1 << 20)
        self.expanded = 0

    def refuse(self, reason: str) -> RefusedFileError:
        return RefusedFileError(f"{self.name} {reason}")

    def check_time(self) -> None:
        if self.cancelled is not None and self.cancelled.is_set():
            raise self.refuse("was not inspected to its end: nobody waits for it any more")
        if time.monotonic() > self.until:
            raise self.refuse("takes longer to inspect than any recording of its size")

    def run(self) -> str:
        sqlite_file.check_header(self.path, self.name)
        self.header()
        database = readable_sqlite(self.path, self.name)
        try:
            self.pages(database.format)
            return self.contents(database)
        finally:
            database.close()

    # -- the file ---------------------------------------------------------------------------------------------------

    def header(self) -> None:
        with self.path.open("rb") as file:
            start = file.read(100)
        if len(start) < 100:
            raise self.refuse("is cut off within its first 100 bytes")
        page = int.from_bytes(start[16:18], "big")
        page = 65_536 if page == 1 else page
        pages = int.from_bytes(start[28:32], "big")
        if page < 512 or page & (page - 1):
            raise self.refuse(f"is damaged: a page of {page} bytes is none")
        if int.from_bytes(start[68:72], "big") != tables.APPLICATION_ID:
            raise self.refuse("is an SQLite file, but kvarium did not write it")
        if pages * page != self.size:
            how = "cut off" if pages * page > self.size else "longer than it should be"
            raise self.refuse(f"is {how}: its header tells of {pages * page} bytes, it has {self.size}")
        if start[18] not in (1, 2) or start[19] not in (1, 2) or start[20] or start[56:60] != b"\0\0\0\1":
            raise self.refuse(
                "is not as kvarium writes it: its header tells of other pages or another encoding"
            )

    def pages(self, format: int) -> None:
        """Check the pages, then the values in them. (What is declared was compared when it was opened.)"""
        connection = sqlite_file.reading_connection(self.path)
        connection.set_progress_handler(self._over_time, _TICKS)
        try:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found is None or found[0] != "ok":
                told = " ".join(str(found and found[0]).split())
                raise self.refuse(f"is damaged: SQLite finds {told[:300]}")
            self.values(connection, format)
        except sqlite3.OperationalError:
            self.check_time()
            raise
        finally:
            connection.close()

    def _over_time(self) -> bool:
        return time.monotonic() > self.until or (self.cancelled is not None and self.cancelled.is_set())

    # -- values -----------------------------------------------------------------------------------------------------

    def values(self, connection: sqlite3.Connection, format: int) -> None:
        numbers = connection.execute("SELECT number FROM session LIMIT 2").fetchall()
        if len(numbers) != 1:
            count = connection.execute("SELECT count(*) FROM session").fetchone()[0]
            what = "holds no session" if not count else f"holds {count} sessions"
            raise self.refuse(f"{what}: one file is one session (`kvarium sessions export` makes such files)")
        present = {found.name for found in schema.expected(format)}
        fault = stamp_fault(connection, format)
        if fault is not None:
            raise self.refuse(f"is damaged: {fault}")
        for table in tables.metadata.sorted_tables:
            if table.name in present:
                self._table(connection, table, format, numbers[0][0])

    def _table(self, connection: sqlite3.Connection, table: sa.Table, format: int, number: object) -> None:
        cases, texts = [], []
        for column in tables.columns_of(table, format):
            quoted = f'"{column.name}"'
            right = condition(table, column, quoted)
            if column.name == "session":
                right = f"{quoted} IS :number"
            if isinstance(column.type, sa.String):
                texts.append(quoted)
            cases.append(f"WHEN NOT ({right}) THEN '{column.name}'")
        query = (
            f'SELECT CASE {" ".join(cases)} END AS wrong FROM "{table.name}" WHERE wrong IS NOT NULL LIMIT 1'
        )
        wrong = connection.execute(query, {"number": number}).fetchone()
        if wrong is not None:
            raise self.refuse(f"is damaged: a value of {table.name}.{wrong[0]} is none of that column's")
        if texts:
            # Text that is no UTF-8 shows when it is fetched.
            present = " OR ".join(f"{name} IS NOT NULL" for name in texts)
            for _ in connection.execute(f'SELECT {", ".join(texts)} FROM "{table.name}" WHERE {present}'):
                pass

    # -- what is in it ------------------------------------------------------------------------------------------------

    def contents(self, database: Database) -> str:
        reader = Reader(database)
        rows = reader.sessions()
        if not rows:
            raise self.refuse("holds no session: its one session was being removed")
        row = rows[0]
        self.session(reader, row)
        if database.format >= tables.NOTES_SINCE:
            with database.engine.connect() as connection:
                notes = connection.execute(sa.select(sa.func.count()).select_from(tables.note)).scalar_one()
            if notes > MAX_NOTES:
                raise self.refuse(f"has {notes} notes, at most {MAX_NOTES} belong to a session")
        self.chunks(reader, row)
        self.keyframes(reader, row)
        return str(row["id"])

    def session(self, reader: Reader, row: Row) -> None:
        if not tables.SESSION_ID.fullmatch(row["id"]) or row["id"].startswith("."):
            raise self.refuse(f"is damaged: {row['id'][:80]!r} is no session's id")
        if row["state"] not in _STATES:
            raise self.refuse(f"is damaged: {row['state'][:20]!r} is no state of a session")
        blocks, slots = MOST_BLOCKS, tables.MAX_BLOCK_SIZE
        if not (0 < row["num_blocks"] <= blocks and 0 < row["block_size"] <= slots):
            raise self.refuse(
                f"tells of a pool of {row['num_blocks']} blocks of {row['block_size']} slots: "
                f"at most {blocks} blocks of {slots} can be looked at"
            )
        hello, _ = reader.hello(row["number"])
        if hello.version > VERSION:
            raise self.refuse(
                f"was recorded with version {hello.version} of the ledger, this kvarium reads up to {VERSION}: "
                "use a newer kvarium"
            )
        told = (hello.session, hello.num_blocks, hello.block_size)
        if told != (row["id"], row["num_blocks"], row["block_size"]):
            raise self.refuse("is damaged: its session is not the one of its hello")

    def expand(self, bytes: int) -> None:
        self.expanded += max(0, bytes)
        most = _FREE_EXPANSION + _EXPANSION * self.size
        if self.expanded > most:
            raise self.refuse(
                f"is a decompression bomb: its frames would have more than {most} bytes, it has {self.size}"
            )

    def chunks(self, reader: Reader, row: Row) -> None:
        last: int | None = None
        counters = Counters()
        index = RecordRows(reader, row)
        stored = touched_rows(reader, row["number"])
        for chunk in reader.chunk_rows(row["number"]):
            self.check_time()
            # Its columns, taken apart and put together: at most twice.
            self.expand(2 * chunk["bytes"])
            frames = reader.open_chunk(chunk)
            what = chunk_name(chunk)
            touches: list[np.ndarray] = []
            for name, value in ranges([frame.head for frame in frames]).items():
                if chunk[name] != value:
                    raise DamagedRecordingError(f"{what}: its row tells {name} {chunk[name]}, it has {value}")
            for frame in frames:
                number = frame.head.record
                assert number is not None
                if last is not None and number <= last:
                    raise DamagedRecordingError(f"{what}: record {number} follows record {last}")
                last = number
                touches += self.frame(frame, row["num_blocks"], index)
            counters.add(chunk, frames)
            blocks = stored.pop(chunk["first"], None)
            if blocks is not None:
                told_blocks = touched.decode(blocks, row["num_blocks"], f"the blocks of {what}")
                absent = touched.missing(told_blocks, touches)
                if absent is not None:
                    raise DamagedRecordingError(
                        f"the blocks of {what}: block {absent} is touched there, and missing"
                    )
        counters.compare(row)
        index.finish()
        if row["indexed_record"] is not None and not -1 <= row["indexed_record"] <= (
            -1 if last is None else last
        ):
            raise DamagedRecordingError("its index goes on past its records")

    def keyframes(self, reader: Reader, row: Row) -> None:
        for stored in reader.keyframe_rows(row["number"]):
            self.check_time()
            self.expand(stored["bytes"])
            keyframe = codec.open_frame(reader.open_keyframe(stored).frame)
            if not isinstance(keyframe, Keyframe) or keyframe.record != stored["record"]:
                raise DamagedRecordingError(f"the keyframe at record {stored['record']} is none")
            for name in ("step", "op", "time"):
                if stored[name] != getattr(keyframe, name):
                    raise DamagedRecordingError(
                        f"the keyframe at record {stored['record']}: its row tells {name} {stored[name]}, "
                        f"it has {getattr(keyframe, name)}"
                    )
            self.state(keyframe, row["num_blocks"])

    def frame(self, frame: Frame, num_blocks: int, index: RecordRows) -> list[np.ndarray]:
        """Check a record; the columns of the blocks that it touches."""
        what = f"record {frame.head.record}"
        record = codec.open_frame(frame.bytes)
        if not isinstance(record, Record) or record.record != frame.head.record:
            raise DamagedRecordingError(f"{what} is none")
        index.add(record)
        if isinstance(record, Step):
            columns = OperationColumns.decode(record.operations)
            self.blocks(columns.block, num_blocks, what)
            self.blocks(columns.source, num_blocks, what)
            u32(record.sampled)
            _check_parents(record.contents, what)
            self.content_ids(u32(record.contents.content), 0, what)
            for decision in record.decisions:
                if isinstance(decision, SequenceCreated):
                    _check_parent(decision, what)
            return [columns.block, columns.source]
        if isinstance(record, Text):
            for column in (record.content, record.tokens, record.sampled, record.pieces.token):
                u32(column)
            for prompt in record.prompts:
                u32(prompt.tokens)
            if len(u32(record.pieces.token)) != len(record.pieces.piece):
                raise DamagedRecordingError(f"{what}: its pieces are not as many as their tokens")
        elif isinstance(record, Keyframe):
            self.state(record, num_blocks)
        return []

    def state(self, keyframe: Keyframe, num_blocks: int) -> None:
        """Its columns are as long as they must be, and what they name is there."""
        what = f"the keyframe at record {keyframe.record}"
        for name in block_columns.BLOCK_COLUMNS:
            try:
                block_columns.told(name, getattr(keyframe.blocks, name), num_blocks)
            except codec.FrameError as error:
                raise DamagedRecordingError(f"{what}: {error}") from None
        held, pins = keyframe.tables, keyframe.pins
        entries = len(u32(held.block))
        if (len(u32(held.sequence)), len(u32(held.position))) != (entries, entries):
            raise DamagedRecordingError(f"{what}: the columns of its tables differ in length")
        if len(held.group) not in (0, entries) or len(pins.pin) != len(u32(pins.block)):
            raise DamagedRecordingError(f"{what}: the columns of its tables or pins differ in length")
        for column in (held.block, pins.block):
            self.blocks(u32(column), num_blocks, what)
        _check_parents(keyframe.contents, what)
        for sequence in keyframe.sequences:
            _check_parent(sequence, what)
        self.content_ids(u32(keyframe.contents.content), keyframe.next_content, what)

    def blocks(self, blocks: np.ndarray, num_blocks: int, what: str) -> None:
        if len(blocks) and int(blocks.max()) >= num_blocks:
            raise DamagedRecordingError(f"{what} tells of block {int(blocks.max())} of {num_blocks}")

    def content_ids(self, ids: np.ndarray, following: int, what: str) -> None:
        """Contents are numbered without a gap, and whoever follows them takes memory for each."""
        most = max(following, int(ids.max()) + 1 if len(ids) else 0)
        if most > _FREE_CONTENTS + self.size:
            raise DamagedRecordingError(
                f"{what} tells of {most} contents, more than such a file can have told"
            )


def _check_parents(contents: Contents, what: str) -> None:
    """A content's parent is older than it: who follows parents comes to an end."""
    ids, parents = u32(contents.content), u32(contents.parent)
    if len(ids) != len(parents) or bool(np.any((parents != NONE) & (parents >= ids))):
        raise DamagedRecordingError(f"{what}: a content's parent is not older than it")


def _check_parent(sequence: SequenceCreated | SequenceState, what: str) -> None:
    if sequence.parent is not None and sequence.parent >= sequence.sequence:
        raise DamagedRecordingError(f"{what}: a sequence's parent is not older than it")
