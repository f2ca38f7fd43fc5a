"""The events of one chunk, laid out to be searched: operations as columns, decisions and gaps in between.

    record 812     submitted   allocate 7   allocate 8   preempted   free 3        rows of the record, in the order in which they hold
    index          0           1            2            3           4
    op             9920        9920         9921         9922        9922          a decision holds before the operation that it names

So each event of a session has a place of its own: its record, and its index in it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kvarium.errors import DamagedRecordingError
from kvarium.recording.fast_forward import join_operations
from kvarium.recording.reader import Frame
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import AnyDecision, SequenceCreated
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Gap, Operations


@dataclass(frozen=True, order=True)
class Place:
    """Of an event: its record, and its index in it. As a bound it stands before that event."""

    record: int
    index: int


class Step(msgspec.Struct):
    """What is read of a step."""

    record: int
    step: int
    sealed: int
    op: int
    operations: Operations = Operations()
    decisions: list[AnyDecision] = []


class Decided(NamedTuple):
    """A decision and its place."""

    place: Place
    step: Step
    decision: AnyDecision


_step = msgspec.msgpack.Decoder(Step)
_gap = msgspec.msgpack.Decoder(Gap)


def decode_step(frame: bytes) -> Step:
    """A step of a frame whose bytes were checked. Raises :class:`FrameError`."""
    try:
        return _step.decode(memoryview(frame)[:-4])
    except msgspec.MsgspecError as error:
        raise FrameError(str(error)) from None


class Owners:
    """Whose each sequence is: its request and its index there, -1 where that is not known. A sequence's number is never used again."""

    def __init__(self) -> None:
        self._columns = np.full((2, 1024), -1, dtype=np.int64)

    def put(self, sequence: int, request: int, index: int) -> None:
        """Note one. Raises :class:`DamagedRecordingError` for a number that no engine gives."""
        if sequence >= 1 << 30:
            raise DamagedRecordingError(f"sequence {sequence} is out of any order")
        size = self._columns.shape[1]
        if sequence >= size:
            grown = np.full((2, 2 * sequence + 1), -1, dtype=np.int64)
            grown[:, :size] = self._columns
            self._columns = grown
        self._columns[:, sequence] = request, index

    def learn(self, steps: list[Step]) -> None:
        """Note those that steps create."""
        for step in steps:
            for decision in step.decisions:
                if isinstance(decision, SequenceCreated):
                    self.put(decision.sequence, decision.request, decision.index)

    @property
    def all(self) -> np.ndarray:
        """``[2, sequences] int64``: requests and indexes of all sequences that there may be."""
        return self._columns

    def of(self, sequence: np.ndarray) -> np.ndarray:
        """``[2, n] int64``: requests and indexes of sequences (``[n] u32``)."""
        known = sequence < self._columns.shape[1]
        return np.where(known, self._columns[:, np.where(known, sequence, 0)], -1)


class Sheet:
    """The events of a chunk, of which ``frames`` are those without text. Raises :class:`DamagedRecordingError` (``what`` names it)."""

    def __init__(self, frames: list[Frame], what: str) -> None:
        try:
            self.steps = [decode_step(frame.bytes) for frame in frames if frame.head.type == "step"]
            self.gaps = [
                _gap.decode(memoryview(frame.bytes)[:-4]) for frame in frames if frame.head.type == "gap"
            ]
            self.columns = OperationColumns.decode(join_operations([step.operations for step in self.steps]))
        except (FrameError, msgspec.MsgspecError) as error:
            raise DamagedRecordingError(f"{what}: {error}") from None
        counts = np.array([len(step.operations.kind) for step in self.steps], dtype=np.int64)
        self._ends = np.cumsum(counts)
        self._which = np.repeat(np.arange(len(counts)), counts)
        """``[operations]``: which of the steps each is of."""

    @property
    def bytes(self) -> int:
        """About how much memory it takes, all that is made of it on demand included."""
        decisions = sum(len(step.decisions) for step in self.steps)
        return 100 * len(self.columns) + 1000 * len(self.steps) + 500 * decisions + 5000

    def _of_steps(self, values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)[self._which]

    @cached_property
    def record(self) -> np.ndarray:
        """``[operations] int64``: the record of each."""
        return self._of_steps([step.record for step in self.steps])

    @cached_property
    def step(self) -> np.ndarray:
        """``[operations] int64``: the step of each."""
        return self._of_steps([step.step for step in self.steps])

    @cached_property
    def time(self) -> np.ndarray:
        """``[operations] int64``: when the step of each was sealed, in ns since the session's start."""
        return self._of_steps([step.sealed for step in self.steps])

    @cached_property
    def within(self) -> np.ndarray:
        """``[operations] int64``: 0, 1, 2, … within each step."""
        begins = np.concatenate(([0], self._ends[:-1]))
        return np.arange(len(self._which)) - begins[self._which]

    @cached_property
    def op(self) -> np.ndarray:
        """``[operations] int64``: the number of each in the session."""
        return self._of_steps([step.op for step in self.steps]) + self.within

    @cached_property
    def index(self) -> np.ndarray:
        """``[operations] int64``: the index of each in its record, behind the decisions that hold before it."""
        found = self.within.copy()
        for which, step in enumerate(self.steps):
            if step.decisions:
                begin = int(self._ends[which - 1]) if which else 0
                part = slice(begin, int(self._ends[which]))
                found[part] += np.searchsorted(_held(step), self.op[part], side="right")
        return found

    @cached_property
    def decisions(self) -> list[Decided]:
        """The decisions, in order."""
        found = []
        for step in self.steps:
            most = len(step.operations.kind)
            for at, (op, decision) in enumerate(zip(_held(step).tolist(), step.decisions, strict=True)):
                place = Place(step.record, at + min(max(op - step.op, 0), most))
                found.append(Decided(place, step, decision))
        return found

    @cached_property
    def source(self) -> np.ndarray:
        """``[operations] u32``: the source of a copy; ``NONE`` of any other operation."""
        found = np.full(len(self.columns), NONE, dtype=np.uint32)
        found[self.columns.mask(Operation.copy)] = self.columns.source
        return found

    @cached_property
    def content(self) -> np.ndarray:
        """``[operations] u32``: the content that is evicted or cached; ``NONE`` of any other operation."""
        found = np.full(len(self.columns), NONE, dtype=np.uint32)
        found[self.columns.mask(Operation.evict, Operation.cache)] = self.columns.content
        return found

    @cached_property
    def expanded(self) -> dict[str, np.ndarray]:
        """Sparse columns, laid out beside the operations."""
        names = ("position", "group", "ticket", "filled_before", "filled_after", "source", "content", "hits")
        return {name: self.columns.expand(name) for name in names}


def _held(step: Step) -> np.ndarray:
    """Before which operation each of a step's decisions holds, ascending: they stand in the order in which they were taken."""
    ops: Any = [decision.op for decision in step.decisions]
    return np.maximum.accumulate(np.array(ops, dtype=np.int64)) if ops else np.zeros(0, dtype=np.int64)
