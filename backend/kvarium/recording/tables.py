"""The tables of a recording, the same in SQLite and PostgreSQL.

``session`` and ``chunk`` are the recording; what follows them, up to ``piece``, is an index that can be made again by folding
the chunks:

    session    one row a session: its Hello, its state, how far it goes
    chunk      frames as received, laid out and compressed, with the range of records, steps, operations and times
    touched    a row a chunk: which blocks its operations touch (a chunk without one may touch any)
    keyframe   whole states from which a seek begins, made by the server's fold or by the engine
    step       a row a step: usage, tokens, operations by kind
    landmark   a row a step and kind: what a timeline marks
    request    a row a request
    content    which records tell the tokens of which contents (the tokens themselves are in the chunks)
    piece      the vocabulary, as far as it was needed
    note       what people wrote beside a step, and the marks A and B that they set
    removed    a row for each session that was removed: that it was there, when it went and why

A change here is a new format: a migration (migrations/) makes it in the recordings that are there.

All numbers are below 2^53. A ``session`` column elsewhere is ``session.number``, so that a row costs two bytes for it.
"""

import re
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from kvarium.recording.index_rows import STEP_COLUMNS

FORMAT: Final = 4
"""The version of these tables, kept in the table ``kvarium``. A newer one is refused by name."""

NOTES_SINCE: Final = 2
"""The first format with the tables ``note`` and ``removed``."""

TOUCHED_SINCE: Final = 3
"""The first format with ``chunk.layout`` and the table ``touched``."""

HITS_SINCE: Final = 4
"""The first format with ``step.queries`` and ``step.hits``."""

MAX_BLOCK_SIZE: Final = 1 << 20
"""A block has no more slots."""

NUMBERS: Final = 1 << 53
"""Every number of a recording is below it."""

REMOVING: Final = "removing"
"""The state of a session that is being removed: it is not to be seen any more."""

SESSION_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What may be a session's id: it is a UUID, and stands in addresses and file names."""

APPLICATION_ID: Final = 0x4B564152
"""SQLite's ``application_id`` of a recording: "KVAR"."""

metadata = MetaData()

kvarium = Table(
    "kvarium", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False)
)


# Alembic's own: the same number as the format.
alembic_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def _number() -> Column[int]:
    """A row's own number, given by the database."""
    return Column(
        "number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )


def _big(name: str, default: int | None = None) -> Column[int]:
    """A number below 2^53, nullable unless there is a default."""
    if default is None:
        return Column(name, BigInteger)
    return Column(name, BigInteger, nullable=False, default=default)


session = Table(
    "session",
    metadata,
    _number(),
    Column("id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    # live, ended (the engine said goodbye), interrupted (it did not, and is not there), or removing (not to be seen any more)
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False, default=""),
    _big("started_utc_us", 0),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("device", Text, nullable=False),
    _big("num_blocks", 0),
    _big("block_size", 0),
    Column("allow_control", Boolean, nullable=False),
    # the engine's Hello, its bytes
    Column("hello", LargeBinary, nullable=False),
    # what is committed in chunks
    _big("first_record"),
    _big("last_record"),
    _big("last_step"),
    _big("records", 0),
    _big("operations", 0),
    _big("steps", 0),
    _big("duration_ns", 0),
    _big("bytes", 0),
    _big("stored_bytes", 0),
    _big("gaps", 0),
    # records that were received but could not be stored (a full disk)
    _big("lost", 0),
    # the index holds everything up to this record, and nothing after it
    _big("indexed_record"),
    _big("violations", 0),
    Column("violation", Text),
)

chunk = Table(
    "chunk",
    metadata,
    _big("session", 0),
    _big("first", 0),
    _big("last", 0),
    _big("records", 0),
    _big("first_step"),
    _big("last_step"),
    _big("first_op"),
    _big("last_op"),
    _big("first_time"),
    _big("last_time"),
    _big("bytes", 0),
    # CRC-32 of the compressed bytes
    _big("checksum", 0),
    # the frames, laid out as ``layout`` tells; ``bytes`` is what kvarium_ledger.codec.pack makes of them
    Column("data", LargeBinary, nullable=False),
    # kvarium.recording.layout: 0 plain, 1 columns end to end, text apart
    Column("layout", BigInteger, nullable=False, server_default="0"),
    PrimaryKeyConstraint("session", "first"),
)
Index("chunk_step", chunk.c.session, chunk.c.last_step)
Index("chunk_time", chunk.c.session, chunk.c.last_time)

# Apart from the chunks: whoever looks for a block reads these alone.
touched = Table(
    "touched",
    metadata,
    _big("session", 0),
    _big("first", 0),
    # kvarium.recording.touched
    Column("blocks", LargeBinary, nullable=False),
    PrimaryKeyConstraint("session", "first"),
)

keyframe = Table(
    "keyframe",
    metadata,
    _big("session", 0),
    _big("record", 0),
    _big("step", 0),
    _big("op", 0),
    _big("time", 0),
    # engine or fold
    Column("origin", Text, nullable=False),
    _big("bytes", 0),
    _big("checksum", 0),
    # zstd of the frame
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("session", "record"),
)

step = Table(
    "step",
    metadata,
    _big("session", 0),
    *(_big(name, None if name in ("queries", "hits") else 0) for name in STEP_COLUMNS),
    PrimaryKeyConstraint("session", "step"),
    sqlite_with_rowid=False,
)

landmark = Table(
    "landmark",
    metadata,
    _big("session", 0),
    _big("step", 0),
    # evict, copy, preempted, refused, violation, gap or note
    Column("kind", Text, nullable=False),
    _big("record", 0),
    _big("count", 0),
    Column("message", Text),
    PrimaryKeyConstraint("session", "step", "kind", "record"),
    sqlite_with_rowid=False,
)

request = Table(
    "request",
    metadata,
    _big("session", 0),
    _big("request", 0),
    Column("name", Text, nullable=False),
    # waiting, running, preempted, finished, aborted or refused
    Column("state", Text, nullable=False),
    # of a finished one: stop, length, capacity or error
    Column("reason", Text),
    Column("message", Text),
    _big("prompt_tokens", 0),
    _big("max_tokens", 0),
    _big("n", 1),
    _big("priority", 0),
    # found in the prefix cache at the first admission
    _big("hit_tokens", 0),
    _big("output_tokens", 0),
    _big("preemptions", 0),
    _big("submitted_record"),
    _big("submitted_step"),
    _big("submitted_time"),
    _big("admitted_step"),
    _big("admitted_time"),
    _big("first_token_time"),
    _big("ended_step"),
    _big("ended_time"),
    # the text record that holds the prompt
    _big("prompt_record"),
    PrimaryKeyConstraint("session", "request"),
    sqlite_with_rowid=False,
)

content = Table(
    "content",
    metadata,
    _big("session", 0),
    # contents first..last (ids grow by one) were interned by records first_record..last_record
    _big("first", 0),
    _big("last", 0),
    _big("first_record", 0),
    _big("last_record", 0),
    PrimaryKeyConstraint("session", "first"),
    sqlite_with_rowid=False,
)

piece = Table(
    "piece",
    metadata,
    _big("session", 0),
    _big("token", 0),
    Column("piece", Text, nullable=False),
    PrimaryKeyConstraint("session", "token"),
    sqlite_with_rowid=False,
)

note = Table(
    "note",
    metadata,
    _number(),
    _big("session", 0),
    # the place: a step, its record, and, where one operation is meant, that
    _big("step", 0),
    _big("record", 0),
    _big("op"),
    Column("text", Text, nullable=False),
    # A or B, each at most once a session; or a plain note
    Column("mark", Text),
    Column("colour", Text),
    _big("created_utc_us", 0),
)
Index("note_session", note.c.session, note.c.step)

removed = Table(
    "removed",
    metadata,
    _number(),
    Column("id", Text, nullable=False),
    _big("started_utc_us", 0),
    _big("steps", 0),
    _big("operations", 0),
    _big("stored_bytes", 0),
    _big("removed_utc_us", 0),
    # who asked for it, or which limit it was
    Column("reason", Text, nullable=False),
)

INDEX_TABLES: Final = (touched, keyframe, step, landmark, request, content, piece)
"""The tables that folding the chunks would make again."""

_SINCE: Final = {
    "chunk.layout": TOUCHED_SINCE,
    "touched": TOUCHED_SINCE,
    "note": NOTES_SINCE,
    "removed": NOTES_SINCE,
    "step.queries": HITS_SINCE,
    "step.hits": HITS_SINCE,
}


def has_table(table: Table, format: int) -> bool:
    """Is a table there in recordings of a format?"""
    return _SINCE.get(table.name, 1) <= format


def columns_of(table: Table, format: int) -> list[Column[Any]]:
    """The columns that a table has in recordings of a format."""
    return [column for column in table.c if _SINCE.get(f"{table.name}.{column.name}", 1) <= format]
