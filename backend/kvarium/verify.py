"""Verifying a recording: every byte's checksum, every record's place, every digest, every stored keyframe and the index.

A session that is being recorded is verified up to where its row goes: what is added meanwhile is not looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import DamagedRecordingError
from kvarium.indexer import Indexer
from kvarium.recording.block_operations import touched_rows
from kvarium.recording.database import explain
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader, StoredKeyframe, chunk_name
from kvarium.recording.touched import decode, missing
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.digest import differing
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Gap, Keyframe, Record, Step

_INDEX_ROWS = 20_000
_TOLD_TWICE = {name: name for name in ("num_blocks", "block_size", "allow_control")} | {"session": "id"}
"""What both the hello and the session's row tell: the field of one and the column of the other."""


@dataclass
class Findings:
    """What verifying a session found. ``messages`` says where each fault is."""

    records: int = 0
    operations: int = 0
    digest_mismatches: int = 0
    violations: int = 0
    gaps: int = 0
    messages: list[str] = field(default_factory=list)
    live: bool = False
    unreadable: bool = False
    """The database itself is damaged: what was found wrong is no fault of the engine's."""

    @property
    def good(self) -> bool:
        """Is every record there and right? A gap is a loss that the recording tells of; it is not whole all the same."""
        return self.records > 0 and not (self.digest_mismatches or self.violations or self.gaps)

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.good:
            return "verified"
        if self.unreadable:
            return "DAMAGED"
        return "WRONG" if self.digest_mismatches or self.violations else "INCOMPLETE"

    def summary(self) -> dict[str, int]:
        """The figures, as ``kvarium verify --json`` prints them."""
        return {
            "records": self.records,
            "operations": self.operations,
            "digest_mismatches": self.digest_mismatches,
            "violations": self.violations,
            "gaps": self.gaps,
        }

    def violate(self, message: str) -> None:
        """Something is not as it must be."""
        self.violations += 1
        self.messages.append(message)


class _IndexCheck:
    """Makes the index of steps, requests and landmarks again, and compares it with the one that is stored.

    Only for as long as nothing else is wrong: after that the two may differ for good reasons.
    """

    def __init__(self, reader: Reader, row: Row, requests: list[Row], findings: Findings) -> None:
        self._reader = reader
        self._session = int(row["number"])
        self._through = -1 if row["indexed_record"] is None else int(row["indexed_record"])
        self._stored_requests = {found["request"]: found for found in requests}
        self._requests: dict[int, Row] = {}
        self._findings = findings
        self._indexer = Indexer(self._session, [])
        self._compared = -1
        self._open = self._through >= 0

    def add(self, record: AnyRecord, fold: Fold) -> None:
        """The record that ``fold`` just applied."""
        if not self._open:
            return
        if self._findings.violations or self._findings.digest_mismatches:
            self._open = False
            return
        self._indexer.add(record, fold)
        if record.record >= self._through or len(self._indexer) >= _INDEX_ROWS:
            self._compare(record.record)
            if record.record >= self._through:
                self._compare_requests()
                self._open = False

    def skip(self) -> None:
        """Records are not there: the index can't be made again."""
        self._open = False

    def _compare(self, record: int) -> None:
        rows = self._indexer.take(record)
        self._requests |= {row["request"]: row for row in rows.requests}
        steps, landmarks = self._reader.indexed_rows(self._session, self._compared, record)
        self._compared = record
        older = {row["step"] for row in steps if row["queries"] is None and row["hits"] is None}
        for row in rows.steps:
            if row["step"] in older:
                # Indexed before a recording had them.
                row |= {"queries": None, "hits": None}
        self._differences("step", ("step",), steps, rows.steps)
        self._differences("landmark", ("step", "kind", "record"), landmarks, rows.landmarks)

    def _compare_requests(self) -> None:
        stored = list(self._stored_requests.values())
        found = []
        for number, row in self._requests.items():
            other = self._stored_requests.get(number)
            if other is not None and row["ended_step"] == row["submitted_step"]:
                # Whether the text record of a request that ended at once was still known depends on a restart.
                row |= {"prompt_record": other["prompt_record"]}
            found.append(row)
        self._differences("request", ("request",), stored, found)

    def _differences(self, what: str, key: tuple[str, ...], stored: list[Row], derived: list[Row]) -> None:
        def by_key(rows: list[Row]) -> dict[tuple[object, ...], Row]:
            return {
                tuple(row[name] for name in key): {
                    name: value for name, value in row.items() if name != "session"
                }
                for row in rows
            }

        there, right = by_key(stored), by_key(derived)
        for place in sorted(there.keys() | right.keys(), key=str):
            where = f"the index of {what} {' '.join(map(str, place))}"
            old, new = there.get(place), right.get(place)
            if old is None:
                self._findings.violate(f"{where} is missing")
            elif new is None:
                self._findings.violate(f"{where} is there, but the records tell of none")
            elif old != new:
                names = [name for name in new if old.get(name) != new[name]]
                told = ", ".join(f"{name} is {old.get(name)!r}, not {new[name]!r}" for name in names)
                self._findings.violate(f"{where}: {told}")


class _Verification:
    def __init__(self, reader: Reader, row: Row, requests: list[Row]) -> None:
        self.reader = reader
        self.session = session = int(row["number"])
        self.last = -1 if row["last_record"] is None else int(row["last_record"])
        self.lost = int(row["lost"])
        self.missing = 0
        self.findings = Findings(live=row["state"] == "live")
        self.index = _IndexCheck(reader, row, requests, self.findings)
        hello, _ = reader.hello(session)
        told = {name: getattr(hello, name) for name in _TOLD_TWICE}
        for name in [name for name in _TOLD_TWICE if told[name] != row[_TOLD_TWICE[name]]]:
            self.findings.violate(
                f"the session's {name} is {row[_TOLD_TWICE[name]]!r}, its hello says {told[name]!r}"
            )
        self.fold = Fold(hello.num_blocks, hello.block_size, undoable=False)
        self.at = -1
        self.steps = 0
        self.touched = touched_rows(reader, session)
        self.touches: list[np.ndarray] = []
        self.keyframes = self._readable_keyframes()

    def _readable_keyframes(self) -> dict[int, StoredKeyframe]:
        found: dict[int, StoredKeyframe] = {}
        for row in self.reader.keyframe_rows(self.session):
            if row["record"] > self.last:
                break
            try:
                keyframe = self.reader.open_keyframe(row)
                codec.open_frame(keyframe.frame)
            except codec.UnknownOperationError:
                raise
            except codec.FrameError as error:
                self.findings.violate(f"the keyframe at record {row['record']}: {error}")
            except DamagedRecordingError as error:
                self.findings.violate(str(error))
            else:
                found[keyframe.record] = keyframe
        return found

    def chunk(self, row: Row) -> None:
        try:
            frames = self.reader.open_chunk(row)
        except DamagedRecordingError as error:
            self.findings.violate(str(error))
            self._lose(row["last"])
            return
        self.touches = []
        for frame in frames:
            self._frame(frame)
        self._compare_touched(row)

    def _compare_touched(self, row: Row) -> None:
        """Whoever looks for a block opens only the chunks that are said to touch it."""
        data = self.touched.get(row["first"])
        if data is None:
            return
        what = f"the blocks of {chunk_name(row)}"
        try:
            absent = missing(decode(data, self.fold.state.blocks.num_blocks, what), self.touches)
        except DamagedRecordingError as error:
            self.findings.violate(str(error))
            return
        if absent is not None:
            self.findings.violate(f"{what}: block {absent} is touched there, and missing")

    def _frame(self, frame: Frame) -> None:
        number = frame.head.record
        assert number is not None
        if number != self.at + 1 and frame.head.type != "gap":
            self._miss(number - 1)
        self.at = number
        self.findings.records += 1
        try:
            record = codec.open_frame(frame.bytes)
        except codec.FrameError as error:
            self.findings.violate(f"record {number}: {error}")
            self.fold.loaded = False
            return
        if isinstance(record, Record):
            try:
                self._apply(record)
            except codec.UnknownOperationError:
                raise
            except codec.FrameError as error:
                self.findings.violate(f"record {number}: {error}")
                self.fold.loaded = False

    def _apply(self, record: AnyRecord) -> None:
        if isinstance(record, Step):
            self.findings.operations += len(record.operations.kind)
            self.steps += 1
            self.touches += [u32(record.operations.block), u32(record.operations.source)]
        elif isinstance(record, Gap):
            self.findings.gaps += 1
            lost = f"records {record.first} to {record.last} are lost"
            self.findings.messages.append(f"gap at record {record.record}: {lost}, {record.reason}")
        if not self.fold.loaded and not isinstance(record, (Keyframe, Gap)):
            # After a fault: go on from the next keyframe, so that one fault is not told a thousand times.
            self._recover(record.record)
            return
        for violation in self.fold.apply(record):
            if violation.kind in ("digest", "audit"):
                self.findings.digest_mismatches += 1
                self.findings.messages.append(str(violation))
            else:
                self.findings.violate(str(violation))
        self.index.add(record, self.fold)
        self._compare_keyframe(record.record)

    def _recover(self, record: int) -> None:
        keyframe = self.keyframes.get(record)
        if keyframe is not None:
            decoded = codec.open_frame(keyframe.frame)
            assert isinstance(decoded, Keyframe)
            self.fold.load(decoded)

    def _compare_keyframe(self, record: int) -> None:
        """A stored keyframe must be what folding gives, and its columns what its digest says."""
        keyframe = self.keyframes.get(record)
        if keyframe is None or not self.fold.loaded:
            return
        decoded = codec.open_frame(keyframe.frame)
        if not isinstance(decoded, Keyframe):
            self.findings.violate(f"the keyframe at record {record} is a {type(decoded).__name__.lower()}")
            return
        scratch = Fold(self.fold.state.blocks.num_blocks, self.fold.block_size, undoable=False)
        scratch.load(decoded)
        lanes = differing(scratch.lanes.digest(), self.fold.lanes.digest())
        if lanes or (decoded.step, decoded.op) != (self.fold.step, self.fold.op):
            self.findings.digest_mismatches += 1
            self.findings.messages.append(
                f"the keyframe at record {record} is not the state there: it differs in {', '.join(lanes) or 'place'}"
            )

    def _miss(self, last: int) -> None:
        """Records are not there; where the recorder says that it lost as many, that is a gap."""
        count = last - self.at
        message = f"records {self.at + 1} to {last} are missing"
        if self.missing + count <= self.lost:
            self.missing += count
            self.findings.gaps += 1
            self.findings.messages.append(f"{message}: they could not be written when they came")
        else:
            self.findings.violate(message)
        self._lose(last)

    def _lose(self, last: int) -> None:
        self.fold.loaded = False
        self.index.skip()
        self.at = last

    def finish(self, row: Row) -> None:
        told = (row["records"], row["operations"], row["steps"])
        found = (self.findings.records, self.findings.operations, self.steps)
        if told != found and not self.findings.violations:
            self.findings.violate(
                f"the session tells of {told[0]} records, {told[1]} operations and {told[2]} steps; "
                f"its chunks hold {found[0]}, {found[1]} and {found[2]}"
            )
        if self.at != self.last:
            self.findings.violate(f"records {self.at + 1} to {self.last} are missing at the end")
        if self.lost > self.missing and not self.findings.violations:
            self.findings.gaps += 1
            self.findings.messages.append(
                f"{self.lost - self.missing} records after record {self.last} are lost: they could not be written"
            )
        if not self.findings.records and not self.findings.messages:
            self.findings.messages.append("the session holds no record")


def verify(
    reader: Reader, session: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> Findings:
    """Read and fold a whole session. ``progress`` is told how many of how many records are done."""
    row, requests = reader.session_and_requests(session)
    verification = _Verification(reader, row, requests)
    first = row["first_record"]
    if first is not None and first > 0:
        verification.at = first - 1
    try:
        for message in reader.quick_check():
            verification.findings.violate(f"SQLite finds in the file: {message}")
        for chunk in reader.chunk_rows(session):
            if chunk["first"] > verification.last:
                # Meanwhile its engine may have come back to it.
                if not verification.findings.live and reader.session(session)["state"] != "live":
                    verification.findings.violate(
                        f"there are records from {chunk['first']} on, past the session's last, {verification.last}"
                    )
                break
            verification.chunk(chunk)
            progress(verification.findings.records, row["records"])
    except SQLAlchemyError as error:
        where = f" after record {verification.at}" if verification.findings.records else ""
        verification.findings.unreadable = True
        verification.findings.violate(f"the database can't be read{where}: {explain(error)}")
        return verification.findings
    except codec.UnknownOperationError as error:
        verification.findings.violate(f"record {verification.at}: {error}")
        return verification.findings
    verification.finish(row)
    return verification.findings
