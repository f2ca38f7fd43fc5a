"""Verifying a recording: every byte's checksum, every record's place, every digest, every stored keyframe."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import DamagedRecordingError
from kvarium.recording.database import explain
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader, StoredKeyframe
from kvarium_ledger import codec
from kvarium_ledger.digest import differing
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Gap, Keyframe, Record, Step


@dataclass
class Findings:
    """What verifying a session found. ``messages`` says where each fault is."""

    records: int = 0
    operations: int = 0
    digest_mismatches: int = 0
    violations: int = 0
    gaps: int = 0
    messages: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Is every record there and right? A gap is a loss that the recording tells of; it is not whole all the same."""
        return not (self.digest_mismatches or self.violations or self.gaps)

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.good:
            return "verified"
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


class _Verification:
    def __init__(self, reader: Reader, session: int) -> None:
        self.reader = reader
        self.session = session
        self.findings = Findings()
        hello, _ = reader.hello(session)
        self.fold = Fold(hello.num_blocks, hello.block_size, undoable=False)
        self.at = -1
        self.steps = 0
        self.keyframes = self._readable_keyframes()

    def _readable_keyframes(self) -> dict[int, StoredKeyframe]:
        found: dict[int, StoredKeyframe] = {}
        for row in self.reader.keyframe_rows(self.session):
            try:
                keyframe = self.reader.open_keyframe(row)
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
        for frame in frames:
            self._frame(frame)

    def _frame(self, frame: Frame) -> None:
        number = frame.head.record
        assert number is not None
        if number != self.at + 1 and frame.head.type != "gap":
            self.findings.violate(f"records {self.at + 1} to {number - 1} are missing")
            self._lose(number - 1)
        self.at = number
        self.findings.records += 1
        try:
            record = codec.open_frame(frame.bytes)
        except codec.FrameError as error:
            self.findings.violate(f"record {number}: {error}")
            self.fold.loaded = False
            return
        if isinstance(record, Record):
            self._apply(record)

    def _apply(self, record: AnyRecord) -> None:
        if isinstance(record, Step):
            self.findings.operations += len(record.operations.kind)
            self.steps += 1
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

    def _lose(self, last: int) -> None:
        self.fold.loaded = False
        self.at = last

    def finish(self, row: Row) -> None:
        told = (row["records"], row["operations"], row["steps"])
        found = (self.findings.records, self.findings.operations, self.steps)
        if told != found and not self.findings.violations:
            self.findings.violate(
                f"the session tells of {told[0]} records, {told[1]} operations and {told[2]} steps; "
                f"its chunks hold {found[0]}, {found[1]} and {found[2]}"
            )
        last = row["last_record"] if row["last_record"] is not None else -1
        if self.at != last:
            self.findings.violate(f"records {self.at + 1} to {last} are missing at the end")


def verify(
    reader: Reader, session: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> Findings:
    """Read and fold a whole session. ``progress`` is told how many of how many records are done."""
    row = reader.session(session)
    verification = _Verification(reader, session)
    first = row["first_record"]
    if first is not None and first > 0:
        verification.at = first - 1
    try:
        for chunk in reader.chunk_rows(session):
            verification.chunk(chunk)
            progress(verification.findings.records, row["records"])
    except SQLAlchemyError as error:
        verification.findings.violate(
            f"the database can't be read after record {verification.at}: {explain(error)}"
        )
        return verification.findings
    except codec.UnknownOperationError as error:
        verification.findings.violate(f"record {verification.at}: {error}")
        return verification.findings
    verification.finish(row)
    return verification.findings
