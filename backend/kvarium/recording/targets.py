"""What a seek may aim at, and the step that is meant by it.

op ────▶ the step with     its first operation ≤ op ≤ its last
time ──▶ the last step of  its record was sealed ≤ time ≤ the recording's end
"""

from collections.abc import Sequence

import sqlalchemy as sa

from kvarium.errors import OutOfRangeError
from kvarium.heads import stored_head
from kvarium.recording import tables
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import first_of, rows_of, value_of


def step_of_operation(reader: Reader, session: int, op: int) -> int:
    """The step that holds an operation of the session. Raises :class:`OutOfRangeError` where no stored one does."""
    columns = tables.chunk.c
    query = (
        sa.select(columns.first, columns.last)
        .where(columns.session == session, columns.first_op <= op, columns.last_op >= op)
        .limit(1)
    )
    with reader.database.engine.connect() as connection:
        # A number that no recording holds may be one that no database takes.
        chunk = first_of(connection, query) if op < tables.NUMBERS else None
    if chunk is not None:
        for frame in reader.frames(session, chunk.first - 1, chunk.last):
            head = frame.head
            if head.type == "step" and head.op is not None and head.op <= op < head.op + head.operations:
                assert head.step is not None
                return head.step
    with reader.database.engine.connect() as connection:
        last = value_of(connection, sa.select(sa.func.max(columns.last_op)).where(columns.session == session))
    if last is not None and op <= last:
        raise OutOfRangeError(f"operation {op} is not in the recording: it lies in a gap")
    held = "holds no operation yet" if last is None or last < 0 else f"holds operations up to {last}"
    raise OutOfRangeError(f"operation {op} is not in the recording, which {held}")


def step_at_time(reader: Reader, session: int, time: int) -> int:
    """The last step whose record was sealed at a time, in ns since the session's start: its state stood then.

    Raises :class:`OutOfRangeError` before the first step was sealed and past the recording's end.
    """
    end = reader.session(session)["duration_ns"]
    if time > end:
        raise OutOfRangeError(f"time {time} ns is not in the recording, which ends at {end} ns")
    columns = tables.chunk.c
    query = (
        sa.select(columns.first, columns.last)
        .where(columns.session == session, columns.first_step.is_not(None), columns.first_time <= time)
        .order_by(columns.first.desc())
    )
    with reader.database.engine.connect() as connection:
        chunks = rows_of(connection, query)
    for chunk in chunks:
        found: int | None = None
        for frame in reader.frames(session, chunk.first - 1, chunk.last):
            head = frame.head
            # Of a step, a head's time is when it was sealed.
            if head.type == "step" and head.time is not None and head.time <= time:
                found = head.step
        if found is not None:
            return found
    raise OutOfRangeError(f"time {time} ns is before the end of the recording's first step")


def step_after(frames: Sequence[bytes], record: int, begin: int) -> int:
    """The last step (-1: none yet) of the state after ``record``, of frames that follow one whose last step was ``begin``."""
    for frame in reversed(frames):
        head = stored_head(frame)
        if head.type in ("step", "keyframe") and head.record is not None and head.record <= record:
            assert head.step is not None
            return head.step
    return begin
