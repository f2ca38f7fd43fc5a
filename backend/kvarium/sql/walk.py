"""The walk over a recording that makes tables: records in batches, with what builders must know of what came before.

keyframe ─ frames … │ steps of the batch, each with its text │ … gap ─ keyframe ─ …
                    └ about 2^17 operations; a gap or a keyframe always ends one
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from kvarium.errors import DamagedRecordingError
from kvarium.recording.block_operations import places
from kvarium.recording.reader import Frame, Reader
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Gap, Keyframe, Step, Text

_OPERATIONS: Final = 1 << 17
_BYTES: Final = 32 << 20

_decoder = msgspec.msgpack.Decoder(Step | Text | Keyframe | Gap)


@dataclass
class Batch:
    """Steps one behind the other, nothing lost between them; ``texts`` by their steps' numbers."""

    steps: list[Step] = field(default_factory=list)
    texts: dict[int, Text] = field(default_factory=dict)

    def per_step(self, values: list[int], counts: np.ndarray) -> np.ndarray:
        """``[sum of counts] int64``: a value a step, repeated as often as ``counts`` (``[steps]``) says."""
        return np.repeat(np.array(values, dtype=np.int64), counts)


class Sequences:
    """To which request a sequence belongs, by its id; -1 where that is not known."""

    def __init__(self) -> None:
        self._request = np.full(1024, -1, dtype=np.int64)

    def _put(self, sequence: int, request: int) -> None:
        if sequence >= 1 << 30:
            raise DamagedRecordingError(f"sequence {sequence} is out of any order")
        if sequence >= len(self._request):
            grown = np.full(2 * sequence + 1, -1, dtype=np.int64)
            grown[: len(self._request)] = self._request
            self._request = grown
        self._request[sequence] = request

    def load(self, keyframe: Keyframe) -> None:
        """Those that a keyframe tells."""
        for row in keyframe.sequences:
            self._put(row.sequence, row.request)

    def learn(self, batch: Batch) -> None:
        """Those that the decisions of a batch create: an id is never used again, so that order does not matter."""
        for step in batch.steps:
            for decision in step.decisions:
                if isinstance(decision, SequenceCreated):
                    self._put(decision.sequence, decision.request)

    def requests(self, sequence: np.ndarray) -> np.ndarray:
        """``[n] int64``: the requests of sequences (``[n]``), -1 where there is none."""
        known = sequence < len(self._request)
        return np.where(known, self._request[np.where(known, sequence, 0)], -1)


@dataclass(frozen=True)
class Steps:
    """A range of steps, both ends included; None: no end."""

    first: int | None = None
    last: int | None = None

    def holds(self, step: np.ndarray) -> np.ndarray:
        """``[n] bool``: which of the steps (``[n]``) lie in it?"""
        held = np.ones(len(step), dtype=bool)
        if self.first is not None:
            held &= step >= self.first
        if self.last is not None:
            held &= step <= self.last
        return held

    def joined(self, other: "Steps") -> "Steps":
        """The range that holds both."""
        first = None if self.first is None or other.first is None else min(self.first, other.first)
        last = None if self.last is None or other.last is None else max(self.last, other.last)
        return Steps(first, last)


class Walk:
    """Reads a session from the last keyframe before ``steps`` up to their end.

    Iterating gives each :class:`Batch`, :class:`Keyframe` and :class:`Gap` (also for records that are missing, without an
    entry of their own) in order. ``with_text``: text records too. ``block``: chunks whose operations do not touch this block
    may be left out. ``done`` of ``total`` records are read.
    """

    def __init__(
        self, reader: Reader, session: int, steps: Steps, with_text: bool, block: int | None = None
    ) -> None:
        row = reader.session(session)
        self._reader = reader
        self._session = session
        self._steps = steps
        self._with_text = with_text
        self._block = block
        self._num_blocks = int(row["num_blocks"])
        self._skipped = -1
        self._last = -1 if row["last_record"] is None else int(row["last_record"])
        self._first = -1 if row["first_record"] is None else int(row["first_record"])
        self.done = 0
        self.total = self._last - self._first + 1

    def __iter__(self) -> Iterator[Batch | Keyframe | Gap]:
        """Everything, in order."""
        if self._last < 0:
            return
        after, keyframe = self._begin()
        previous = after
        self.total = self._last - after
        if keyframe is not None:
            yield keyframe
        batch, operations, size = Batch(), 0, 0
        for frame in self._frames(after):
            number = frame.head.record or 0
            previous = max(previous, self._skipped)
            if number != previous + 1 and frame.head.type != "gap":
                yield batch
                batch, operations, size = Batch(), 0, 0
                yield Gap(
                    record=number, time=0, first=previous + 1, last=number - 1, reason="records are missing"
                )
            kind = frame.head.type
            if keyframe is None and previous == after and kind not in ("gap", "keyframe"):
                # The beginning was deleted: what the blocks were there is not known.
                yield Gap(record=number, time=0, first=0, last=after, reason="records are missing")
            previous = number
            self.done = number - after
            if kind == "step":
                if self._steps.last is not None and (frame.head.step or 0) > self._steps.last:
                    break
                if operations >= _OPERATIONS or size >= _BYTES:
                    yield batch
                    batch, operations, size = Batch(), 0, 0
                operations += frame.head.operations
                size += len(frame.bytes)
                step = self._decode(frame)
                assert isinstance(step, Step)
                batch.steps.append(step)
            elif kind == "text" and self._with_text:
                text = self._decode(frame)
                assert isinstance(text, Text)
                batch.texts[text.step] = text
                size += len(frame.bytes)
            elif kind in ("gap", "keyframe"):
                yield batch
                batch, operations, size = Batch(), 0, 0
                found = self._decode(frame)
                assert isinstance(found, (Gap, Keyframe))
                yield found
        yield batch

    def _frames(self, after: int) -> Iterator[Frame]:
        """The frames after a record, without those of chunks that are left out, the last of which is then ``_skipped``.

        Never left out is a chunk in or before which records are missing: what follows it begins anew, from a keyframe.
        """
        if self._block is None:
            yield from self._reader.frames(self._session, after, self._last)
            return
        previous = after
        known = after < 0 or after >= self._first
        for place in places(self._reader, self._session):
            if place.first > self._last:
                return
            if place.last <= after:
                continue
            known = known and place.first <= previous + 1
            complete = place.records == place.last - place.first + 1
            can_skip = known and complete and place.first > after + 1
            if can_skip and not place.may_touch(self._block, self._num_blocks):
                previous = self._skipped = min(place.last, self._last)
                continue
            through = min(place.last, self._last)
            begin = max(after, place.first - 1)
            for frame in self._reader.frames(self._session, begin, through):
                number = frame.head.record or 0
                if frame.head.type == "keyframe":
                    known = True
                elif frame.head.type == "gap" or number != previous + 1:
                    known = False
                previous = number
                yield frame

    def _begin(self) -> tuple[int, Keyframe | None]:
        """After which record to read, and the keyframe that holds the state there."""
        before = (
            None
            if self._steps.first is None or self._steps.first <= 0
            else self._reader.first_record_of_steps(self._session, self._steps.first)
        )
        if before is None or before <= self._first:
            return self._first - 1, None
        stored = self._reader.keyframe_before(self._session, before)
        keyframe = _decode(stored.frame, f"the keyframe at record {stored.record}")
        assert isinstance(keyframe, Keyframe)
        return stored.record, keyframe

    def _decode(self, frame: Frame) -> Step | Text | Keyframe | Gap:
        return _decode(frame.bytes, f"record {frame.head.record}")


def _decode(frame: bytes, what: str) -> Step | Text | Keyframe | Gap:
    """A frame whose bytes were checked as part of a chunk."""
    try:
        return _decoder.decode(memoryview(frame)[:-4])
    except msgspec.MsgspecError as error:
        raise DamagedRecordingError(f"{what}: {error}") from None


def told(values: np.ndarray) -> np.ndarray:
    """A u32 column (``[n]``) in which ``NONE`` is masked."""
    return np.ma.masked_array(values, mask=values == NONE)


def grouped(keys: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """``[n]``: for each of ``keys`` (``[n]``) the sum of ``amounts`` (``[n]``) of equal keys up to and with it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    running = np.cumsum(amounts[order], dtype=np.int64)
    begins = np.ones(len(keys), dtype=bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    places = np.flatnonzero(begins)
    before = np.repeat(running[places] - amounts[order][places], np.diff(np.append(places, len(keys))))
    sums = np.empty(len(keys), dtype=np.int64)
    sums[order] = running - before
    return sums


def sampled_of(step: Step) -> np.ndarray:
    """``[tokens] u32``: the sequences that got a token in a step."""
    return u32(step.sampled)
