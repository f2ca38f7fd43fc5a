"""Reading a recording: frames, keyframes and the index.

Reads are snapshots and take no lock that a writer would wait for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.heads import Head, stored_head
from kvarium.recording import tables
from kvarium.recording.catalogue import Catalogue, requests_of
from kvarium.recording.chunks import decompress, open_frames
from kvarium.recording.database import Database
from kvarium.recording.index_rows import STEP_COLUMNS, Row
from kvarium.recording.kept import Kept
from kvarium.recording.row_types import dicts_of, first_of, rows_of, value_of
from kvarium_ledger import codec

_KEPT_BYTES: Final = 16 << 20
"""Of chunks that were opened so much is kept. A live engine's are small, some each second, and each is asked for again and again."""

_FRAME_BYTES: Final = 400
"""What a frame takes in memory beside its bytes."""

_ROWS_BYTES: Final = 1 << 20
_ROWS: Final = 64
"""So many rows of chunks are read at once, of about so many bytes at most: reading one costs as much as opening a small chunk."""


class Frame(NamedTuple):
    """A stored frame and its head."""

    head: Head
    bytes: bytes


class StoredKeyframe(NamedTuple):
    """A keyframe's place, its frame, and how many bytes that takes as it is stored."""

    record: int
    frame: bytes
    stored_bytes: int


def chunk_name(row: Row) -> str:
    """How a chunk is named in an error."""
    return f"the chunk of records {row['first']} to {row['last']}"


def _bytes_of(row: Row) -> int:
    """Stored bytes of a chunk's row, whatever stands there."""
    return len(row["data"]) if isinstance(row["data"], bytes) else 0


class Reader(Catalogue):
    """Reads the recording ``database``: its sessions, and of each what was recorded."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._opened: Kept[tuple[Any, ...], tuple[Row, list[Frame]]] = Kept(_KEPT_BYTES)

    # -- frames -----------------------------------------------------------------------------------------------------

    def frames(
        self, session: int, after: int = -1, through: int | None = None, with_text: bool = True
    ) -> Iterator[Frame]:
        """The frames of records after ``after`` (and up to ``through``), chunk by chunk.

        Without text those of text records are left out where they stand apart, which takes about half the time.
        Raises :class:`DamagedRecordingError` at a chunk that is not what was written; who wants to go on past it
        uses :meth:`chunk_rows` and :meth:`open_chunk`.
        """
        for row in self.chunk_rows(session, after):
            if through is not None and row["first"] > through:
                return
            for frame in self.open_chunk(row, with_text):
                record = frame.head.record
                assert record is not None
                if record <= after:
                    continue
                if through is not None and record > through:
                    return
                yield frame

    def chunk_rows(self, session: int, after: int = -1) -> Iterator[Row]:
        """The rows of chunks that hold records after ``after``, in order; at first one is read, then some at a time."""
        columns = tables.chunk.c
        within = (
            sa.select(columns.first, columns.last)
            .where(columns.session == session, columns.first <= after)
            .order_by(columns.first.desc())
            .limit(1)
        )
        with self.database.engine.connect() as connection:
            holding = first_of(connection, within)
        begin = holding[0] if holding is not None and holding[1] > after else after + 1
        portion = 1
        while True:
            query = (
                sa.select(*tables.columns_of(tables.chunk, self.database.format))
                .where(columns.session == session, columns.first >= begin)
                .order_by(columns.first)
                .limit(portion)
            )
            with self.database.engine.connect() as connection:
                rows = dicts_of(connection, query)
            for row in rows:
                if row["first"] < begin:
                    continue  # a damaged row before it claims these records
                yield row
                # However damaged the row is, it must not be read again.
                begin = max(row["first"], row["last"]) + 1
            if len(rows) < portion:
                return
            largest = max(_bytes_of(row) for row in rows)
            portion = max(1, min(2 * portion, _ROWS, _ROWS_BYTES // max(1, largest)))

    def open_chunk(self, row: Row, with_text: bool = True) -> list[Frame]:
        """The frames of a chunk. Raises :class:`DamagedRecordingError` when it is not what was written."""
        key = (row["session"], row["first"], with_text)
        opened = self._opened.get(key)
        if opened is not None and opened[0] == row:
            # Of the same row, its bytes among it, the same frames come.
            return opened[1]
        what = chunk_name(row)
        try:
            frames = [Frame(stored_head(frame), frame) for frame in open_frames(row, what, with_text)]
        except codec.FrameError as error:
            raise DamagedRecordingError(f"{what}: {error}") from None
        if any(frame.head.record is None for frame in frames):
            raise DamagedRecordingError(f"{what}: it holds something that is no record")
        if with_text:
            ends = (frames[0].head.record, frames[-1].head.record, len(frames)) if frames else (None, None, 0)
            if ends != (row["first"], row["last"], row["records"]):
                raise DamagedRecordingError(f"{what}: it holds {ends[2]} records, {ends[0]} to {ends[1]}")
        size = sum(len(frame.bytes) + _FRAME_BYTES for frame in frames)
        self._opened.put(key, (row, frames), _bytes_of(row) + size)
        return frames

    def frames_after(self, session: int, after: int, limit_bytes: int) -> list[bytes]:
        """Frames of records after ``after``, at least one if there is any, until they have ``limit_bytes``."""
        found: list[bytes] = []
        size = 0
        for frame in self.frames(session, after):
            found.append(frame.bytes)
            size += len(frame.bytes)
            if size >= limit_bytes:
                break
        return found

    # -- places -------------------------------------------------------------------------------------------------------

    def records_of_step(self, session: int, step: int) -> tuple[int, int]:
        """The record of a step and its last one (its text's, where there is one)."""
        columns = tables.chunk.c
        query = (
            sa.select(columns.first)
            .where(columns.session == session, columns.first_step <= step, columns.last_step >= step)
            .limit(1)
        )
        with self.database.engine.connect() as connection:
            # A number that no recording holds may be one that no database takes.
            first = value_of(connection, query) if step < tables.NUMBERS else None
        if first is None:
            row = self.session(session)
            held = (
                "holds no step yet" if row["last_step"] is None else f"holds steps up to {row['last_step']}"
            )
            raise OutOfRangeError(f"step {step} is not in the recording, which {held}")
        record: int | None = None
        for frame in self.frames(session, first - 1):
            if record is not None:
                if frame.head.type == "text" and frame.head.step == step:
                    return record, frame.head.record or record
                return record, record
            if frame.head.type == "step" and frame.head.step == step:
                record = frame.head.record
        if record is None:
            raise OutOfRangeError(f"step {step} is not in the recording: it lies in a gap")
        return record, record

    def first_record_of_steps(self, session: int, step: int) -> int | None:
        """A record at or before the first step from ``step`` on: the first of its chunk. None: there is no such step."""
        columns = tables.chunk.c
        query = sa.select(sa.func.min(columns.first)).where(
            columns.session == session, columns.last_step >= step
        )
        with self.database.engine.connect() as connection:
            return value_of(connection, query)

    def keyframe_record_before(self, session: int, record: int) -> int | None:
        """The record of the last keyframe that the index holds before a record; None: it holds none."""
        columns = tables.keyframe.c
        query = sa.select(sa.func.max(columns.record)).where(
            columns.session == session, columns.record < record
        )
        with self.database.engine.connect() as connection:
            return value_of(connection, query)

    def keyframe_before(self, session: int, record: int) -> StoredKeyframe:
        """The last keyframe stored before a record; the first one for the records at the very start."""
        columns = tables.keyframe.c
        before = (
            sa.select(tables.keyframe)
            .where(columns.session == session, columns.record < record)
            .order_by(columns.record.desc())
            .limit(1)
        )
        at = sa.select(tables.keyframe).where(columns.session == session, columns.record == record)
        with self.database.engine.connect() as connection:
            rows = dicts_of(connection, before) or dicts_of(connection, at)
        if not rows:
            return self._keyframe_among_frames(session, record)
        return self.open_keyframe(rows[0])

    def keyframe_rows(self, session: int) -> Iterator[Row]:
        """The rows of all stored keyframes, in order, one read at a time."""
        columns = tables.keyframe.c
        after = -1
        while True:
            query = (
                sa.select(tables.keyframe)
                .where(columns.session == session, columns.record > after)
                .order_by(columns.record)
                .limit(1)
            )
            with self.database.engine.connect() as connection:
                rows = dicts_of(connection, query)
            if not rows:
                return
            yield rows[0]
            after = rows[0]["record"]

    def open_keyframe(self, row: Row) -> StoredKeyframe:
        """A stored keyframe. Raises :class:`DamagedRecordingError` when it is not what was written."""
        what = f"the keyframe at record {row['record']}"
        frame = decompress(row["data"], row["bytes"], row["checksum"], what)
        return StoredKeyframe(row["record"], frame, len(row["data"]))

    def _keyframe_among_frames(self, session: int, record: int) -> StoredKeyframe:
        """Where the index holds no keyframe (a killed server), one of the engine's serves."""
        found: StoredKeyframe | None = None
        for frame in self.frames(session, -1, record):
            assert frame.head.record is not None
            if frame.head.type == "keyframe" and (found is None or frame.head.record < record):
                found = StoredKeyframe(frame.head.record, frame.bytes, len(frame.bytes))
        if found is None:
            raise OutOfRangeError(f"record {record} is before the recording's first keyframe")
        return found

    def bytes_between(self, session: int, after: int, before: int) -> int:
        """About how many bytes of frames lie after the record ``after`` and before ``before``."""
        columns = tables.chunk.c
        # Whatever is stored there: the database's own sum may be a float, PostgreSQL's is a decimal.
        total = sa.cast(sa.func.coalesce(sa.func.sum(columns.bytes), 0), sa.BigInteger)
        query = sa.select(total).where(
            # The second says no more than the third, but bounds the search.
            columns.session == session,
            columns.first > after,
            columns.first < before,
            columns.last < before,
        )
        with self.database.engine.connect() as connection:
            return int(value_of(connection, query))

    # -- the index --------------------------------------------------------------------------------------------------

    def steps(self, session: int, first: int = 0, last: int | None = None) -> dict[str, list[Any]]:
        """The columns of the steps ``first`` to ``last``, as far as the index goes; None is what is not recorded."""
        table = tables.step
        there = [
            column for column in tables.columns_of(table, self.database.format) if column.name in STEP_COLUMNS
        ]
        query = (
            sa.select(*there).where(table.c.session == session, table.c.step >= first).order_by(table.c.step)
        )
        if last is not None:
            query = query.where(table.c.step <= last)
        with self.database.engine.connect() as connection:
            rows = rows_of(connection, query)
        columns = zip(*rows, strict=True) if rows else ([] for _ in there)
        found = {column.name: list(values) for column, values in zip(there, columns, strict=True)}
        return {name: found.get(name, [None] * len(rows)) for name in STEP_COLUMNS}

    def step_at(self, session: int, record: int) -> int:
        """The last step that was indexed up to a record (-1: none)."""
        columns = tables.step.c
        query = sa.select(sa.func.max(columns.step)).where(
            columns.session == session, columns.record <= record
        )
        with self.database.engine.connect() as connection:
            found = value_of(connection, query)
        return -1 if found is None else int(found)

    def landmarks(self, session: int, kinds: Sequence[str] | None = None) -> list[Row]:
        """A row a step and kind, as folding gives them; of these kinds, or (None) of all."""
        table = tables.landmark
        query = (
            sa.select(table.c.step, table.c.record, table.c.kind, table.c.count, table.c.message)
            .where(table.c.session == session)
            .order_by(table.c.step, table.c.record)
        )
        if kinds is not None:
            query = query.where(table.c.kind.in_(kinds))
        with self.database.engine.connect() as connection:
            return dicts_of(connection, query)

    def requests(self, session: int) -> list[Row]:
        """A row a request, in the order of submission."""
        with self.database.engine.connect() as connection:
            return dicts_of(connection, requests_of(session))

    def indexed_rows(self, session: int, after: int, through: int) -> tuple[list[Row], list[Row]]:
        """The rows of steps and of landmarks whose records lie after ``after``, up to ``through``, by record.

        A column that the recording's format has not is None in each.
        """
        found = []
        with self.database.engine.connect() as connection:
            for table in (tables.step, tables.landmark):
                there = tables.columns_of(table, self.database.format)
                absent = dict.fromkeys(set(table.c.keys()) - {column.name for column in there})
                query = (
                    sa.select(*(column for column in there if column.name != "session"))
                    .where(table.c.session == session, table.c.record > after, table.c.record <= through)
                    .order_by(table.c.record)
                )
                found.append([row | absent for row in dicts_of(connection, query)])
        return found[0], found[1]

    def quick_check(self) -> list[str]:
        """What SQLite itself finds wrong with the file; nothing where the recording is no file."""
        if self.database.path is None:
            return []
        with self.database.engine.connect() as connection:
            rows = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(20)")]
        lines = [" ".join(line.split()) for row in rows for line in row.splitlines()]
        return [line for line in lines if line and line != "ok"]

    def pieces(self, session: int) -> dict[int, str]:
        """The pieces of the vocabulary that the session told."""
        table = tables.piece
        query = sa.select(table.c.token, table.c.piece).where(table.c.session == session)
        with self.database.engine.connect() as connection:
            return {token: piece for token, piece in rows_of(connection, query)}  # noqa: C416
