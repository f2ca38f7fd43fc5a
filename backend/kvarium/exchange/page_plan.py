"""What of a session goes into a page, from which state it begins, and about how large it will be.

    whole     first record … last record, as they are
    a part    state made here ─ record of step A … record of step B and its text      numbers stay those of the session

A part begins with a keyframe that bears the number of the record before its first step, so that whoever reads it sees the same
state there as in the whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from kvarium import terminal
from kvarium.errors import DamagedRecordingError, InvalidValueError, OutOfRangeError
from kvarium.heads import stored_head
from kvarium.recording import tables
from kvarium.recording.export import copied
from kvarium.recording.fast_forward import FastState
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import rows_of, value_of
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.records import VERSION, Keyframe

MOST_BYTES = 512 << 20
"""Larger pages are refused: a browser holds a page in memory, and few open one of half a gibibyte well."""

_GROWTH = 1.25 * 4 / 3
"""A stored byte takes about so many in the page: zlib packs less tightly than zstd, and base64 has 4 characters for 3 bytes."""

_PACKED = 0.3 * 4 / 3
"""A byte of a frame takes no more there: a live engine's small chunks are stored less tightly than the page's large parts."""


@dataclass(frozen=True)
class Part:
    """The steps that a page holds, both included, of a session whose last one is ``last_step``."""

    from_step: int
    to_step: int
    last_step: int


@dataclass(frozen=True)
class Plan:
    """A page of the records ``first`` to ``last``. ``base`` is the state before them, where they do not begin with one."""

    session: int
    row: Row
    hello: bytes
    text_recorded: bool
    first: int
    last: int
    part: Part | None
    base: Keyframe | None
    about_bytes: int
    """About so many it will take, beside the page itself and the answers."""


@contextmanager
def at_rest(reader: Reader, session: int, folder: Path) -> Iterator[tuple[Reader, int]]:
    """The session with an index that goes to its end: itself, or a copy in ``folder`` where it still grows."""
    row = reader.session(session)
    if row["state"] != "live" and row["indexed_record"] == row["last_record"]:
        yield reader, session
        return
    with copied(reader, session, folder) as copy:
        yield copy


def plan_page(reader: Reader, session: int, from_step: int | None = None, to_step: int | None = None) -> Plan:
    """What goes into a page of the steps ``from_step`` to ``to_step`` (None: the session's first and last).

    Raises :class:`OutOfRangeError` for steps that are not there, :class:`InvalidValueError` for a session without a step and for
    a page that would be too large: in words that are right whether a command or an address asked for it. That the first one is
    not after the last is for these to see, before anything is opened.
    """
    assert from_step is None or to_step is None or from_step <= to_step, (from_step, to_step)
    row = reader.session(session)
    hello, frame = reader.hello(session)
    if hello.version > VERSION:
        raise InvalidValueError(
            f"session {row['id']} has version {hello.version} of the ledger, this kvarium knows {VERSION}: use a newer one"
        )
    if row["last_step"] is None:
        raise InvalidValueError(f"session {row['id']} holds no step: there is nothing to replay")
    last_step = int(row["last_step"])
    begin, first = _first_step(reader, session), int(row["first_record"])
    end, last = last_step, int(row["last_record"])
    base = None
    if to_step is not None and to_step < last_step:
        end, last = to_step, reader.records_of_step(session, to_step)[1]
    for step in (from_step, to_step):
        if step is not None and step > last_step:
            raise OutOfRangeError(f"step {step} is not in the recording, which ends with step {last_step}")
    if from_step is not None and from_step > begin:
        begin = from_step
        first = reader.records_of_step(session, from_step)[0]
        base = _state_before(reader, session, int(row["num_blocks"]), first)
    part = Part(begin, end, last_step) if base is not None or end < last_step else None
    about = _about_bytes(reader, session, first, last)
    if about > MOST_BYTES:
        fits = max(1, (end - begin + 1) * 3 * MOST_BYTES // (4 * about))
        raise InvalidValueError(
            f"the page would take about {terminal.size(about)}, and more than {terminal.size(MOST_BYTES)} open badly in a browser: "
            f"take a part of it; its last {fits} steps are those from step {end - fits + 1} on"
        )
    return Plan(session, row, frame, hello.record_text == "full", first, last, part, base, about)


def _first_step(reader: Reader, session: int) -> int:
    columns = tables.step.c
    with reader.database.engine.connect() as connection:
        found = value_of(connection, sa.select(sa.func.min(columns.step)).where(columns.session == session))
    return 0 if found is None else int(found)


def _about_bytes(reader: Reader, session: int, first: int, last: int) -> int:
    """About how many bytes the records ``first`` to ``last`` take in a page, their keyframes among them."""
    chunk, keyframe = tables.chunk.c, tables.keyframe.c
    chunks = sa.select(chunk.first, chunk.last, sa.func.length(chunk.data), chunk.bytes).where(
        chunk.session == session, chunk.last >= first, chunk.first <= last
    )
    keyframes = sa.select(sa.func.length(keyframe.data), keyframe.bytes).where(
        keyframe.session == session, keyframe.record >= first, keyframe.record < last
    )
    stored = told = 0
    with reader.database.engine.connect() as connection:
        for data, size in rows_of(connection, keyframes):
            stored, told = stored + data, told + size
        for begin, end, data, size in rows_of(connection, chunks):
            # Of a chunk at an end of the part only some records are taken.
            taken, of = min(last, end) - max(first, begin) + 1, max(end - begin + 1, 1)
            stored, told = stored + data * taken // of, told + size * taken // of
    return int(min(stored * _GROWTH, told * _PACKED))


def _state_before(reader: Reader, session: int, num_blocks: int, record: int) -> Keyframe:
    """The state after the record before ``record``, which is that of a step."""
    frames = Seeker(reader, 0).seek(session, record, record, 0)
    state: FastState | None = None
    passed: list[tuple[str, int, bytes]] = []
    try:
        for frame in frames:
            head = stored_head(frame)
            if head.type == "keyframe" and head.record != record:
                keyframe = codec.open_frame(frame)
                assert isinstance(keyframe, Keyframe)
                state, passed = FastState(keyframe, num_blocks), []
            elif head.type == "gap":
                state, passed = None, []
            elif head.record is not None and head.record < record:
                passed.append((head.type, head.record, frame))
        if state is None:
            raise OutOfRangeError(
                f"what was before record {record} is lost in a gap: begin a few steps later"
            )
        state.advance(passed)
    except (codec.FrameError, ValueError, IndexError, OverflowError) as error:
        raise DamagedRecordingError(
            f"before record {record} there is one that can't be applied: {error}"
        ) from None
    return state.keyframe()
