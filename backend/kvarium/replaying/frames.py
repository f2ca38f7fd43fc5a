"""The records of a recording as an engine would send them: byte for byte, from a keyframe on, without a hole.

    recorded    0 1 2 3 4 5 6 . . . . 11 12 13 14        7 to 10 came, and could not be stored
    sent        0 1 2 3 4 5 6 ────────gap K  13 14       K: the server's keyframe after record 12, which stands in for it

What a server received and could not store is a hole that no record tells of. A ``gap`` does, to the next keyframe; it is
numbered as the format says, ``last + 1``. The same makes a beginning in the middle.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.heads import read_head
from kvarium.recording.reader import Frame, Reader, StoredKeyframe
from kvarium_ledger import codec
from kvarium_ledger.records import Gap, Keyframe


class Span(NamedTuple):
    """Which records are replayed: from the keyframe ``begin`` (None: the session's first record) through ``last``."""

    begin: StoredKeyframe | None
    last: int


def span(reader: Reader, session: int, first_step: int | None, last_step: int | None) -> Span:
    """The records of the steps ``first_step`` to ``last_step``, from the last keyframe before on.

    Raises :class:`OutOfRangeError` where the recording does not hold one of these steps.
    """
    row = reader.session(session)
    if row["last_record"] is None:
        raise OutOfRangeError(f"session {row['id']} holds no record: there is nothing to replay")
    if first_step is not None and last_step is not None and first_step > last_step:
        raise OutOfRangeError(f"--from {first_step} is after --to {last_step}")
    last = int(row["last_record"]) if last_step is None else reader.records_of_step(session, last_step)[1]
    begin = None
    if first_step is not None:
        found = reader.keyframe_before(session, reader.records_of_step(session, first_step)[0])
        # Before the second record there is nothing to leave out.
        begin = found if found.record > row["first_record"] + 1 else None
    return Span(begin, last)


def replayed(reader: Reader, session: int, wanted: Span) -> Iterator[Frame]:
    """The frames of ``wanted``, in order, each record's number one more than the one before.

    Raises :class:`DamagedRecordingError` at a chunk that is not what was written.
    """
    previous, time = -1, 0
    if wanted.begin is not None:
        yield from _jump(previous, wanted.begin, "the replay begins here")
        previous = wanted.begin.record
    while previous < wanted.last:
        hole = False
        for frame in reader.frames(session, previous, wanted.last):
            record = frame.head.record
            assert record is not None
            if record != previous + 1 and not _explains(frame, previous):
                hole = True
                break
            yield frame
            previous, time = record, frame.head.time or time
        if not hole:
            return
        # The gap has a number of its own, and leaves out one record at least.
        keyframe = _keyframe_from(reader, session, previous + 3, wanted.last)
        if keyframe is None:
            if previous + 1 < wanted.last:
                yield _gap(previous + 1, wanted.last, time, "the recording could not be written")
            return
        yield from _jump(previous, keyframe, "the recording could not be written")
        previous = keyframe.record


def _explains(frame: Frame, previous: int) -> bool:
    """Is it a gap that tells of all that is missing after the record ``previous``?"""
    first = frame.head.first
    return frame.head.type == "gap" and first is not None and first <= previous + 1


def _jump(previous: int, keyframe: StoredKeyframe, reason: str) -> Iterator[Frame]:
    """A gap after the record ``previous``, and the keyframe."""
    decoded = codec.open_frame(keyframe.frame)
    if not isinstance(decoded, Keyframe) or decoded.record != keyframe.record:
        raise DamagedRecordingError(f"the keyframe at record {keyframe.record} is none")
    yield _gap(previous + 1, keyframe.record - 1, decoded.time, reason)
    yield Frame(read_head(keyframe.frame), keyframe.frame)


def _gap(first: int, record: int, time: int, reason: str) -> Frame:
    assert first < record, "a gap leaves out one record at least"
    frame = codec.seal(Gap(record=record, time=time, first=first, last=record - 1, reason=reason))
    return Frame(read_head(frame), frame)


def _keyframe_from(reader: Reader, session: int, record: int, last: int) -> StoredKeyframe | None:
    """The first keyframe from ``record`` on, up to ``last``: the server's, or one of the engine's."""
    for row in reader.keyframe_rows(session):
        if record <= row["record"] <= last:
            return reader.open_keyframe(row)
    for frame in reader.frames(session, record - 1, last):
        if frame.head.type == "keyframe":
            assert frame.head.record is not None
            return StoredKeyframe(frame.head.record, frame.bytes, len(frame.bytes))
    return None
