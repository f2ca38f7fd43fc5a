"""The operations of one block, found without reading the others: only chunks are opened that may hold one.

    touched    3 7 12 │ 1 2 │ 7 9 │ (none) │ 2 4        block 7
    chunk      opened │  ─  │ opened │ opened │  ─

A chunk without a row there (from before format 3, or with a record that nobody understood) is opened, and so is one whose row
is damaged.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.recording import tables, touched
from kvarium.recording.fast_forward import join_operations
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader, chunk_name
from kvarium.recording.row_types import dicts_of, rows_of
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import CARRIED_BY, CARRIED_MASK, NONE, Cause, Operation, Pin
from kvarium_ledger.records import Operations

_PORTION: Final = 64
_CARRIED: Final = ("ticket", "filled_before", "filled_after", "source", "content", "hits")


class Place(NamedTuple):
    """A chunk without its frames: its records and operations, and which blocks those touch (None: not known)."""

    first: int
    last: int
    records: int
    first_op: int | None
    last_op: int | None
    blocks: bytes | None

    def may_touch(self, block: int, num_blocks: int) -> bool:
        """Could one of its operations change the block? It is False only where none does."""
        if self.first_op is None:
            return False
        return self.blocks is None or touched.holds(self.blocks, block, num_blocks)


def places(
    reader: Reader, session: int, descending: bool = False, before_op: int | None = None, after_op: int = -1
) -> Iterator[Place]:
    """The chunks with operations before ``before_op`` and after ``after_op``, and those without any, in order."""
    columns = tables.chunk.c
    chosen: list[sa.ColumnElement[Any]] = [
        columns.first,
        columns.last,
        columns.records,
        columns.first_op,
        columns.last_op,
    ]
    source: sa.FromClause = tables.chunk
    if tables.has_table(tables.touched, reader.database.format):
        same = sa.and_(tables.touched.c.session == columns.session, tables.touched.c.first == columns.first)
        source = tables.chunk.outerjoin(tables.touched, same)
        chosen.append(tables.touched.c.blocks)
    else:
        chosen.append(sa.null().label("blocks"))
    query = sa.select(*chosen).select_from(source).where(columns.session == session)
    query = query.where(sa.or_(columns.last_op.is_(None), columns.last_op > after_op))
    if before_op is not None:
        query = query.where(sa.or_(columns.first_op.is_(None), columns.first_op < before_op))
    query = query.order_by(columns.first.desc() if descending else columns.first).limit(_PORTION)
    beyond: sa.ColumnElement[bool] = sa.true()
    while True:
        with reader.database.engine.connect() as connection:
            rows = rows_of(connection, query.where(beyond))
        for row in rows:
            yield Place(*row)
        if len(rows) < _PORTION:
            return
        beyond = columns.first < rows[-1][0] if descending else columns.first > rows[-1][0]


def touched_rows(reader: Reader, session: int) -> dict[int, bytes]:
    """What tells which blocks the chunks touch, by their first records."""
    return {place.first: place.blocks for place in places(reader, session) if place.blocks is not None}


class _Step(msgspec.Struct):
    """What is read of a step."""

    record: int
    step: int
    sealed: int
    op: int
    operations: Operations = Operations()


_decoder = msgspec.msgpack.Decoder(_Step)


def read_block_operations(
    reader: Reader, session: int, block: int, before: int | None, after: int | None, limit: int
) -> dict[str, Any]:
    """``operations``, at most ``limit`` that change ``block``, and whether there are ``more``.

    Before the operation ``before`` (not with it), the newest first; or after ``after``, the oldest first. Of a copy both blocks
    are told. Raises :class:`OutOfRangeError` for a block that the pool does not have.
    """
    assert (before is None) != (after is None)
    num_blocks = int(reader.session(session)["num_blocks"])
    if block >= num_blocks:
        raise OutOfRangeError(
            f"block {block} is not in the pool, which has {num_blocks}: 0 to {num_blocks - 1}"
        )
    found: list[Row] = []
    descending = before is not None
    for place in places(reader, session, descending, before, -1 if after is None else after):
        if not place.may_touch(block, num_blocks):
            continue
        rows = _of_chunk(reader, session, place, block)
        if before is not None:
            found += [row for row in reversed(rows) if row["op"] < before]
        else:
            assert after is not None
            found += [row for row in rows if row["op"] > after]
        if len(found) > limit:
            break
    return {"operations": found[:limit], "more": len(found) > limit}


def _of_chunk(reader: Reader, session: int, place: Place, block: int) -> list[Row]:
    columns = tables.columns_of(tables.chunk, reader.database.format)
    query = sa.select(*columns).where(tables.chunk.c.session == session, tables.chunk.c.first == place.first)
    with reader.database.engine.connect() as connection:
        rows = dicts_of(connection, query)
    if not rows:
        # The session was removed meanwhile.
        return []
    (row,) = rows
    frames = [
        frame
        for frame in reader.open_chunk(row, with_text=False)
        if frame.head.type == "step" and frame.head.operations
    ]
    if not frames:
        return []
    try:
        steps = [_decoder.decode(memoryview(frame.bytes)[:-4]) for frame in frames]
        operations = OperationColumns.decode(join_operations([step.operations for step in steps]))
    except (msgspec.MsgspecError, FrameError) as error:
        raise DamagedRecordingError(f"{chunk_name(row)}: {error}") from None
    return _rows(steps, frames, operations, block)


def _rows(steps: list[_Step], frames: list[Frame], operations: OperationColumns, block: int) -> list[Row]:
    ends = np.cumsum([frame.head.operations for frame in frames])
    copied = np.flatnonzero(operations.mask(Operation.copy))[operations.source == block]
    touching = np.union1d(np.flatnonzero(operations.block == block), copied)
    pinned = operations.position == NONE
    found = []
    for at in touching.tolist():
        which = int(np.searchsorted(ends, at, side="right"))
        step = steps[which]
        kind = Operation(int(operations.kind[at]))
        row: Row = {
            "record": step.record,
            "step": step.step,
            "op": step.op + at - (int(ends[which - 1]) if which else 0),
            "time": step.sealed,
            "kind": kind.name,
            "block": int(operations.block[at]),
            "cause": _name(Cause, int(operations.cause[at])),
            "sequence": _told(operations.sequence[at]),
        }
        if kind in CARRIED_BY["position"]:
            holder = _before(operations, "position", at)
            if pinned[holder]:
                row["pin"] = _name(Pin, int(operations.pin[np.count_nonzero(pinned[:holder])]))
            else:
                row |= {name: int(getattr(operations, name)[holder]) for name in ("position", "group")}
        for name in _CARRIED:
            if kind in CARRIED_BY[name]:
                row[name] = _told(getattr(operations, name)[_before(operations, name, at)])
        found.append(row)
    return found


def _before(operations: OperationColumns, name: str, at: int) -> int:
    """How many operations before the one ``at`` carry a sparse column: the place of its value there."""
    return int(np.count_nonzero(CARRIED_MASK[name][operations.kind[:at]]))


def _name(kind: type[Cause] | type[Pin], code: int) -> str | int:
    """A code's name; a code that a later version may have is told as it is."""
    return kind(code).name if code in kind.__members__.values() else code


def _told(value: Any) -> int | float | None:
    """A value of a column; None where it says that there is none."""
    number = value.item()
    return None if number == NONE or number != number else number
