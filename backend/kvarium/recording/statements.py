"""What the writer says to the database, each as one function of a connection."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from kvarium.errors import KvariumError
from kvarium.recording import tables
from kvarium.recording.catalogue import LOST_SERVER
from kvarium.recording.chunks import SealedChunk
from kvarium.recording.index_rows import IndexRows, Row
from kvarium_ledger.messages import Hello


@dataclass(frozen=True)
class Opened:
    """A session's row: its number here, and what is committed of it (-1: nothing)."""

    number: int
    last_record: int
    counters: Row


def mark_interrupted(connection: sa.Connection) -> None:
    """A session that is live in the database, while no server runs, lost its server."""
    connection.execute(
        sa.update(tables.session)
        .where(tables.session.c.state == "live")
        .values(state="interrupted", reason=LOST_SERVER)
    )


def open_session(connection: sa.Connection, hello: Hello, frame: bytes) -> Opened:
    """Make a session live. Raises :class:`KvariumError` when another engine goes by its id."""
    columns = tables.session.c
    known = (
        connection.execute(sa.select(tables.session).where(columns.id == hello.session)).mappings().first()
    )
    if known is not None:
        if known["state"] == tables.REMOVING:
            raise KvariumError(f"session {hello.session} is being removed: start its engine anew")
        if (known["num_blocks"], known["block_size"]) != (hello.num_blocks, hello.block_size):
            raise KvariumError(
                f"session {hello.session} has {known['num_blocks']} blocks of {known['block_size']} slots, "
                f"this engine has {hello.num_blocks} of {hello.block_size}"
            )
        connection.execute(
            sa.update(tables.session)
            .where(columns.number == known["number"])
            .values(state="live", reason="", hello=frame, allow_control=hello.allow_control)
        )
    else:
        connection.execute(
            sa.insert(tables.session).values(
                id=hello.session,
                name=hello.name,
                state="live",
                started_utc_us=hello.utc_us,
                engine=hello.engine,
                model=hello.model,
                runner=hello.runner,
                device=hello.device,
                num_blocks=hello.num_blocks,
                block_size=hello.block_size,
                allow_control=hello.allow_control,
                hello=frame,
            )
        )
        known = (
            connection.execute(sa.select(tables.session).where(columns.id == hello.session)).mappings().one()
        )
    last = known["last_record"]
    return Opened(known["number"], -1 if last is None else last, dict(known))


def insert_chunk(connection: sa.Connection, chunk: SealedChunk) -> None:
    """Store a chunk, and count it in its session."""
    connection.execute(sa.insert(tables.chunk), chunk.row)
    if chunk.touched is not None:
        connection.execute(sa.insert(tables.touched), chunk.touched)
    _count(connection, chunk)


def _count(connection: sa.Connection, chunk: SealedChunk) -> None:
    columns = tables.session.c
    changes: dict[str, Any] = {
        "first_record": sa.func.coalesce(columns.first_record, chunk.first),
        "last_record": chunk.last,
        "records": columns.records + chunk.records,
        "operations": columns.operations + chunk.operations,
        "steps": columns.steps + chunk.steps,
        "bytes": columns.bytes + chunk.bytes,
        "stored_bytes": columns.stored_bytes + chunk.stored_bytes,
        "gaps": columns.gaps + chunk.gaps,
    }
    if chunk.last_step is not None:
        changes["last_step"] = chunk.last_step
    if chunk.last_time is not None:
        changes["duration_ns"] = chunk.last_time
    connection.execute(sa.update(tables.session).where(columns.number == chunk.session).values(**changes))


def session_lost(connection: sa.Connection, session: int, lost: int) -> None:
    """Records that were received and could not be stored."""
    if lost:
        columns = tables.session.c
        connection.execute(
            sa.update(tables.session).where(columns.number == session).values(lost=columns.lost + lost)
        )


def session_state(connection: sa.Connection, session: int, state: str, reason: str) -> None:
    """The session is ``live``, ``ended`` or ``interrupted`` now."""
    connection.execute(
        sa.update(tables.session).where(tables.session.c.number == session).values(state=state, reason=reason)
    )


def insert_index(connection: sa.Connection, rows: IndexRows) -> None:
    """Bring a session's index to ``rows.through``."""
    for table, values in (
        (tables.keyframe, rows.keyframes),
        (tables.step, rows.steps),
        (tables.landmark, rows.landmarks),
        (tables.content, rows.contents),
    ):
        if values:
            connection.execute(sa.insert(table), values)
    _upsert(connection, tables.request, ("session", "request"), rows.requests)
    _upsert(connection, tables.piece, ("session", "token"), rows.pieces)
    columns = tables.session.c
    changes: dict[str, Any] = {"indexed_record": rows.through}
    if rows.violations:
        changes["violations"] = columns.violations + rows.violations
        changes["violation"] = sa.func.coalesce(columns.violation, rows.violation)
    connection.execute(sa.update(tables.session).where(columns.number == rows.session).values(**changes))


def _upsert(connection: sa.Connection, table: sa.Table, key: tuple[str, ...], values: list[Row]) -> None:
    if not values:
        return
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)
    changed = {column.name: insert.excluded[column.name] for column in table.c if column.name not in key}
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=changed), values)
