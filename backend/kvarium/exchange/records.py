"""All records of a session, decoded, in order; what is missing is told as a gap."""

from collections.abc import Iterator

from kvarium.errors import DamagedRecordingError
from kvarium.recording.reader import Reader
from kvarium.sql.loading import Progress
from kvarium_ledger import codec
from kvarium_ledger.records import AnyRecord, Gap, Record


def all_records(reader: Reader, session: int, progress: Progress) -> Iterator[AnyRecord]:
    """Every record up to the last one that the session's row tells; ``progress`` is called with how many of how many."""
    row = reader.session(session)
    if row["last_record"] is None:
        return
    first, last = int(row["first_record"]), int(row["last_record"])
    previous = first - 1
    for frame in reader.frames(session, first - 1, last):
        number = frame.head.record or 0
        if number != previous + 1 and frame.head.type != "gap":
            yield Gap(
                record=number, time=0, first=previous + 1, last=number - 1, reason="records are missing"
            )
        previous = number
        try:
            record = codec.open_frame(frame.bytes)
        except codec.FrameError as error:
            raise DamagedRecordingError(f"record {number}: {error}") from None
        if not isinstance(record, Record):
            raise DamagedRecordingError(f"record {number} is a {type(record).__name__.lower()}")
        yield record
        progress(number - first + 1, last - first + 1)
