"""Transcripts: the prompt of a request and the tokens that each of its sequences sampled, up to one record.

    submitted ─ prompt ─ created r21.0 ─ 271 318 │ created r21.1 (a fork) ─ 99 … ─ ended
    └ the index knows the record                 └ it takes over what its parent sampled before this step
                                                   (after its prompt, or in mid-generation, as beams do)

Only what lies between the submission and the wanted record (or the request's end) is read. Who samples in a step is
told by the step's record, which tokens by the text record behind it: a token bears the number of the step's record.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from kvarium.errors import OutOfRangeError
from kvarium.recording import tables
from kvarium.recording.hypotheses import RankedHypothesis, ranked
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import rows_of, value_of
from kvarium.recording.sampled import Sampled, SequenceEnding, likely, line_of
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import (
    Aborted,
    Finished,
    Hypothesis,
    Refused,
    SequenceCreated,
    SequenceDropped,
    Submitted,
)
from kvarium_ledger.messages import Scalar
from kvarium_ledger.records import Control, Gap, Keyframe, RequestState, Step, Text

NOT_RECORDED = "the text of this session is not recorded (--record-text none or hash, or --strip-text)"


class Ending(msgspec.Struct, kw_only=True):
    """How a request ended, by which record and step: ``finished`` (with a reason), ``aborted`` or ``refused``."""

    record: int
    step: int
    kind: str
    reason: str | None = None
    message: str | None = None
    stop_reason: int | str | None = None
    """The stop id or the stop string that was met."""


class Facts(msgspec.Struct, kw_only=True):
    """What never changes of a request."""

    name: str
    prompt_tokens: int
    max_tokens: int
    n: int
    priority: int
    beam_width: int | None = None
    lora_name: str | None = None


class Transcript(msgspec.Struct, kw_only=True):
    """A request's text as of ``record``. ``why`` says what is not known: ``prompt`` or all ``tokens`` are None then.

    ``submitted`` is the record that tells of it first, ``ending`` how it ended, if it did by then. ``gaps`` are the
    records that are lost between its submission and ``record``, first and last of each.
    """

    request: int
    record: int
    submitted: int
    facts: Facts | None = None
    ending: Ending | None = None
    prompt: list[int] | None = None
    text: str | None = None
    why: str | None = None
    gaps: list[tuple[int, int]] = []
    submit: dict[str, Scalar] | None = None
    """The arguments of the command that submitted it, as they are recorded; None: there was none, or it is not recorded."""
    sequences: list[Sampled] = []
    hypotheses: list[RankedHypothesis] = []
    """All that a beam search had found by then, the best first: the first ``n`` are its answers when it has ended."""

    def of(self, sequence: int) -> dict[str, Any]:
        """The answer for one sequence, with what it took over from its parent."""
        own = {each.sequence: each for each in self.sequences}.get(sequence)
        if own is None:
            raise OutOfRangeError(f"sequence {sequence} is not there at record {self.record}")
        line = line_of(self.sequences, sequence)
        tokens = None if own.tokens is None else [branch.tokens[i] for branch, i in line if branch.tokens]
        records = [branch.records[i] for branch, i in line]
        logprobs = [branch.likely(i) for branch, i in line]
        told: dict[str, Any] = {
            "sequence": sequence,
            "request": self.request,
            "index": own.index,
            "record": self.record,
            "prompt": self.prompt,
            "text": self.text,
            "tokens": tokens,
            "records": records,
            "gaps": self.gaps,
        }
        if any(logprobs):
            told["logprobs"] = logprobs
        return told if self.why is None else told | {"why": self.why}


def read_transcript(reader: Reader, session: int, request: int, record: int | None = None) -> Transcript:
    """The transcript of a request as of ``record`` (None: the last committed one)."""
    through = _through(reader, session, record)
    start = _submission(reader, session, request, through)
    return _read(reader, session, request, start, through)


def read_sequence(reader: Reader, session: int, sequence: int, record: int | None = None) -> dict[str, Any]:
    """Prompt and tokens of one sequence as of ``record`` (None: the last committed one)."""
    through = _through(reader, session, record)
    found = _search(reader, session, SequenceCreated, sequence, through)
    if found is None:
        raise OutOfRangeError(f"there is no sequence {sequence} up to record {through}")
    created, request = found
    start = _submission(reader, session, request, through, created)
    return _read(reader, session, request, start, through).of(sequence)


def _through(reader: Reader, session: int, record: int | None) -> int:
    row = reader.session(session)
    first, last = row["first_record"], row["last_record"]
    if last is None:
        raise OutOfRangeError("the recording holds no records yet")
    if record is None:
        return int(last)
    if not first <= record <= last:
        raise OutOfRangeError(f"record {record} is not in the recording, which holds {first} to {last}")
    return record


# -- where a request begins ---------------------------------------------------------------------------------------------


def _submission(
    reader: Reader, session: int, request: int, through: int, otherwise: int | None = None
) -> int:
    """The record that tells of a request first: its submission, or ``otherwise`` where that is lost."""
    table = tables.request
    query = sa.select(table.c.submitted_record).where(
        table.c.session == session, table.c.request == request, table.c.submitted_record.is_not(None)
    )
    with reader.database.engine.connect() as connection:
        record = value_of(connection, query)
    if record is None:
        # The index follows the records, and may not be there yet.
        found = _search(reader, session, Submitted, request, through)
        record = otherwise if found is None else found[0]
    if record is None or record > through:
        raise OutOfRangeError(f"there is no request {request} up to record {through}")
    return int(record)


def _search(
    reader: Reader,
    session: int,
    kind: type[Submitted | SequenceCreated],
    number: int,
    through: int,
) -> tuple[int, int] | None:
    """The record that tells of a request or sequence first, and the request. Their numbers only grow: bisection."""
    low, high = int(reader.session(session)["first_record"]), through
    while low <= high:
        begin: int | None = None
        told: list[tuple[int, int, int]] = []
        end = high
        for row in reader.chunk_rows(session, (low + high) // 2 - 1):
            if row["first"] > high:
                break
            begin = row["first"] if begin is None else begin
            end = row["last"]
            told = list(_told(reader, row, kind, through))
            if told:
                break
        if told and number > told[-1][0]:
            low = end + 1
        elif told and number >= told[0][0]:
            return next(((record, of) for found, record, of in told if found == number), None) or _after_gap(
                reader, session, kind, number, through
            )
        else:
            high = min((low + high) // 2 if begin is None else begin, high) - 1
    return _after_gap(reader, session, kind, number, through)


def _told(
    reader: Reader, row: Row, kind: type[Submitted | SequenceCreated], through: int
) -> Iterator[tuple[int, int, int]]:
    """What a chunk tells of its kind: number, record and request."""
    for frame in reader.open_chunk(row):
        if frame.head.type != "step" or (frame.head.record or 0) > through:
            continue
        step = codec.open_frame(frame.bytes)
        assert isinstance(step, Step)
        for decision in step.decisions:
            if isinstance(decision, kind):
                number = decision.sequence if isinstance(decision, SequenceCreated) else decision.request
                yield number, step.record, decision.request


def _after_gap(
    reader: Reader, session: int, kind: type[Submitted | SequenceCreated], number: int, through: int
) -> tuple[int, int] | None:
    """What began in a gap is told by the keyframe behind it."""
    table = tables.landmark
    query = (
        sa.select(table.c.record)
        .where(table.c.session == session, table.c.kind == "gap", table.c.record <= through)
        .order_by(table.c.record)
    )
    with reader.database.engine.connect() as connection:
        gaps = [int(record) for (record,) in rows_of(connection, query)]
    for gap in gaps:
        for frame in reader.frames(session, gap, through):
            if frame.head.type != "keyframe":
                continue
            keyframe = codec.open_frame(frame.bytes)
            assert isinstance(keyframe, Keyframe)
            if kind is Submitted and any(row.request == number for row in keyframe.requests):
                return keyframe.record, number
            for row in keyframe.sequences:
                if kind is SequenceCreated and row.sequence == number:
                    return keyframe.record, row.request
            break
    return None


def _facts(row: Submitted | RequestState) -> Facts:
    return Facts(
        name=row.name,
        prompt_tokens=row.prompt_tokens,
        max_tokens=row.max_tokens,
        n=row.n,
        priority=row.priority,
        beam_width=row.beam_width,
        lora_name=row.lora_name,
    )


# -- what was sampled -----------------------------------------------------------------------------------------------------


def _read(reader: Reader, session: int, request: int, start: int, through: int) -> Transcript:
    collected = _Collector(request, start, through)
    previous = start - 1
    # The text of the last step is the record behind it.
    for frame in reader.frames(session, start - 1, through + 1):
        number = frame.head.record
        assert number is not None
        if number > previous + 1 and frame.head.type != "gap":
            collected.lost(previous + 1, number - 1)
        previous = number
        if frame.head.type in ("step", "text", "gap", "keyframe") and not collected.take(
            codec.open_frame(frame.bytes)
        ):
            break
    hello, _ = reader.hello(session)
    transcript = collected.transcript(hello.record_text == "full")
    transcript.submit = _submit(reader, session, request, start)
    return transcript


def _submit(reader: Reader, session: int, request: int, start: int) -> dict[str, Scalar] | None:
    """What the command asked for that became a request: it was answered between the step before and its own, ``start``."""
    columns = tables.step.c
    query = sa.select(sa.func.max(columns.record)).where(columns.session == session, columns.record < start)
    with reader.database.engine.connect() as connection:
        before = value_of(connection, query)
    for frame in reader.frames(session, -1 if before is None else before, start):
        if frame.head.type != "control":
            continue
        control = codec.open_frame(frame.bytes)
        assert isinstance(control, Control)
        if control.name == "submit" and control.error is None and control.args.get("request") == request:
            return control.args
    return None


class _Collector:
    """Collects what records tell of one request."""

    def __init__(self, request: int, start: int, through: int) -> None:
        self._request = request
        self._submitted = start
        self._through = through
        self._prompt: list[int] | None = None
        self._text: str | None = None
        self._gaps: list[tuple[int, int]] = []
        self._sequences: dict[int, Sampled] = {}
        self._found: list[tuple[Hypothesis, Step]] = []
        self._step: Step | None = None
        self._facts: Facts | None = None
        self._ending: Ending | None = None

    def lost(self, first: int, last: int) -> None:
        """These records are not there."""
        if first <= self._through:
            self._gaps.append((first, last))

    def take(self, record: object) -> bool:
        """The next record; False when nothing that follows can matter."""
        if isinstance(record, Text):
            if self._step is not None and record.step == self._step.step:
                self._texts(record, self._step)
            return self._ending is None
        if self._ending is not None or getattr(record, "record", 0) > self._through:
            return False
        if isinstance(record, Step):
            self._steps(record)
        elif isinstance(record, Gap):
            self.lost(record.first, record.last)
        elif isinstance(record, Keyframe):
            for told in record.requests:
                if told.request == self._request:
                    self._facts = self._facts or _facts(told)
            for row in record.sequences:
                if row.request == self._request and row.sequence not in self._sequences:
                    self._create(row.sequence, row.index, row.parent, record.record)
        return True

    def _create(self, sequence: int, index: int, parent: int | None, record: int) -> None:
        self._sequences[sequence] = Sampled(sequence=sequence, index=index, parent=parent, created=record)

    def _steps(self, step: Step) -> None:
        self._step = step
        for decision in step.decisions:
            if getattr(decision, "request", None) != self._request:
                continue
            if isinstance(decision, Submitted):
                self._facts = _facts(decision)
            elif isinstance(decision, SequenceCreated):
                self._create(decision.sequence, decision.index, decision.parent, step.record)
            elif isinstance(decision, SequenceDropped):
                dropped = self._sequences.get(decision.sequence)
                if dropped is not None:
                    dropped.ending = SequenceEnding(
                        record=step.record, reason=decision.reason, stop_reason=decision.stop_reason
                    )
            elif isinstance(decision, Hypothesis):
                self._found.append((decision, step))
            elif isinstance(decision, (Finished, Aborted, Refused)):
                self._ending = Ending(
                    record=step.record,
                    step=step.step,
                    kind=type(decision).__name__.lower(),
                    reason=getattr(decision, "reason", None),
                    message=getattr(decision, "message", None),
                    stop_reason=getattr(decision, "stop_reason", None),
                )
        for sequence in u32(step.sampled).tolist():
            found = self._sequences.get(sequence)
            if found is not None:
                found.sample(step.record)

    def _texts(self, text: Text, step: Step) -> None:
        for prompt in text.prompts:
            if prompt.request == self._request and prompt.tokens:
                self._prompt, self._text = u32(prompt.tokens).tolist(), prompt.text
        last: dict[int, int] = {}
        told = likely(text.logprobs) if text.logprobs.sampled else {}
        sampled = zip(u32(step.sampled).tolist(), u32(text.sampled).tolist(), strict=False)
        for number, (sequence, token) in enumerate(sampled):
            found = self._sequences.get(sequence)
            if found is not None:
                assert found.tokens is not None
                place = last.get(sequence, bisect_left(found.records, step.record) - 1) + 1
                found.tokens[place] = token
                if number in told:
                    found.tell(place, told[number])
                last[sequence] = place

    def transcript(self, is_recorded: bool) -> Transcript:
        """All that was found."""
        why = None
        if not is_recorded:
            why = NOT_RECORDED
        elif self._prompt is None:
            lost = ", ".join(f"{first} to {last}" for first, last in self._gaps[:3])
            why = (
                f"the prompt is not recorded: records {lost} are lost"
                if lost
                else "the prompt is not recorded yet"
            )
        sequences = list(self._sequences.values())
        if not is_recorded:
            for each in sequences:
                each.tokens = None
        return Transcript(
            request=self._request,
            record=self._through,
            submitted=self._submitted,
            facts=self._facts,
            ending=self._ending,
            prompt=self._prompt,
            text=self._text,
            why=why,
            gaps=self._gaps,
            sequences=sequences,
            hypotheses=ranked(self._found, sequences),
        )
