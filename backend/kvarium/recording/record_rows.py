"""What a session's records tell of its rows by themselves, without the state that folding makes: compared as they are read.

    chunks ──▶ Counters     records, steps, bytes … ──▶ the row of the session
      └──────▶ RecordRows   steps and landmarks     ──▶ the rows of the index, 20,000 at a time

Rows that are missing are no fault here: an index may end before its records do, and whoever folds them sees what lacks.
"""

from collections.abc import Sequence
from typing import Final

from kvarium.errors import DamagedRecordingError
from kvarium.indexer import landmarks_of, step_row
from kvarium.recording import tables
from kvarium.recording.chunks import LENGTH_BYTES
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader
from kvarium_ledger.records import AnyRecord, Step

_ROWS: Final = 20_000
_USAGE: Final = ("active", "shared", "cached", "free")
_SINCE_HITS: Final = ("queries", "hits")


class Counters:
    """Counts what a session's chunks hold."""

    def __init__(self) -> None:
        self._found: Row = dict.fromkeys(("first_record", "last_record", "last_step"))
        self._found |= dict.fromkeys(("records", "operations", "steps", "gaps", "bytes", "duration_ns"), 0)

    def add(self, chunk: Row, frames: Sequence[Frame]) -> None:
        """The next chunk, whose row tells its ranges rightly, and what is in it."""
        found, types = self._found, [frame.head.type for frame in frames]
        if found["first_record"] is None:
            found["first_record"] = chunk["first"]
        found["last_record"] = chunk["last"]
        found["records"] += len(frames)
        found["operations"] += sum(frame.head.operations for frame in frames)
        found["steps"] += types.count("step")
        found["gaps"] += types.count("gap")
        found["bytes"] += chunk["bytes"] - LENGTH_BYTES * len(frames)
        if chunk["last_step"] is not None:
            found["last_step"] = chunk["last_step"]
        if chunk["last_time"] is not None:
            found["duration_ns"] = chunk["last_time"]

    def compare(self, row: Row) -> None:
        """Raises :class:`DamagedRecordingError` where the session's row tells otherwise."""
        for name, value in self._found.items():
            if row[name] != value:
                what = name.replace("_", " ")
                raise DamagedRecordingError(f"its session tells of {what} {row[name]}, its chunks of {value}")


class RecordRows:
    """Makes what records tell of rows of steps and landmarks, and compares it with the rows that are stored."""

    def __init__(self, reader: Reader, row: Row) -> None:
        self._reader = reader
        self._session = int(row["number"])
        self._blocks = int(row["num_blocks"])
        self._violations = int(row["violations"])
        self._steps: dict[int, Row] = {}
        self._landmarks: dict[tuple[int, str], tuple[int, str | None]] = {}
        self._compared = -1

    def add(self, record: AnyRecord) -> None:
        """The next record. Raises :class:`DamagedRecordingError` as :meth:`finish` does."""
        row = None
        if isinstance(record, Step):
            row = self._steps[record.record] = step_row(record)
        for kind, count, message in landmarks_of(record, row):
            self._landmarks[record.record, kind] = (count, message)
        if len(self._steps) + len(self._landmarks) >= _ROWS:
            self._compare(record.record)

    def finish(self) -> None:
        """There are no more. Raises :class:`DamagedRecordingError` at a row that its record does not tell."""
        self._compare(tables.NUMBERS)

    def _compare(self, through: int) -> None:
        steps, landmarks = self._reader.indexed_rows(self._session, self._compared, through)
        for row in steps:
            self._step(row)
        for row in landmarks:
            self._landmark(row)
        self._steps.clear()
        self._landmarks.clear()
        self._compared = through

    def _step(self, row: Row) -> None:
        what = f"the index of step {row['step']}"
        told = self._steps.get(row["record"])
        if told is None:
            raise DamagedRecordingError(f"{what} is there, but record {row['record']} is no step")
        # Those that were indexed before a recording had them have none.
        without = _SINCE_HITS if all(row[name] is None for name in _SINCE_HITS) else ()
        for name, value in told.items():
            if name not in without and row[name] != value:
                raise DamagedRecordingError(f"{what}: {name} is {row[name]}, its record tells {value}")
        blocks = {name: row[name] for name in _USAGE}
        if sum(blocks.values()) != self._blocks:
            told_blocks = ", ".join(f"{count} {name}" for name, count in blocks.items())
            raise DamagedRecordingError(f"{what}: {told_blocks} blocks are not the pool's {self._blocks}")

    def _landmark(self, row: Row) -> None:
        kind, count = row["kind"], row["count"]
        what = f"the landmark {kind} at record {row['record']}"
        if kind == "violation":
            # Only folding tells them; no record has more than all together.
            if not 1 <= count <= self._violations:
                raise DamagedRecordingError(
                    f"{what}: it counts {count}, the session has {self._violations} violations"
                )
            return
        told = self._landmarks.get((row["record"], kind))
        if told is None:
            raise DamagedRecordingError(f"{what} is there, but the record tells of none")
        if (count, row["message"]) != told:
            raise DamagedRecordingError(
                f"{what}: it counts {count}, or its message is not the record's, which counts {told[0]}"
            )
