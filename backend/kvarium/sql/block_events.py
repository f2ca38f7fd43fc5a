"""The table ``block_event``: the operations of a batch end to end, each sparse column laid out beside what carries it."""

from collections.abc import Callable

import numpy as np

from kvarium.errors import DamagedRecordingError
from kvarium.recording.fast_forward import join_operations
from kvarium.sql.builder import Builder, Columns, Session
from kvarium.sql.walk import Batch, grouped, told
from kvarium_ledger import block_columns
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import CARRIED_MASK, NONE, Operation
from kvarium_ledger.records import Gap, Keyframe


class Generations:
    """The generation of every block where the walk is: that of a keyframe, plus the births since.

    After lost records nobody knows it until the next keyframe; then it is masked.
    """

    def __init__(self, num_blocks: int) -> None:
        self._now = np.zeros(num_blocks, dtype=np.int64)
        self._known = True

    def load(self, keyframe: Keyframe) -> None:
        """Take those of a keyframe."""
        told = block_columns.decode("generation", keyframe.blocks.generation, len(self._now))
        self._now[:] = 0 if told is None else told
        self._known = True

    def lose(self) -> None:
        """Records are lost."""
        self._known = False

    def pass_on(self, operations: OperationColumns) -> np.ndarray:
        """``[operations]``: the generation of each one's block as it leaves it."""
        block = operations.block
        if len(block) and int(block.max()) >= len(self._now):
            raise DamagedRecordingError(
                f"an operation names block {int(block.max())}, the pool has {len(self._now)}"
            )
        births = operations.mask(Operation.allocate, Operation.copy).astype(np.int64)
        found = self._now[block] + grouped(block, births)
        np.add.at(self._now, block, births)
        return found if self._known else np.ma.masked_array(found, mask=True)


class BlockEvents(Builder):
    """Builds ``block_event``."""

    def __init__(self, session: Session, columns: list[str]) -> None:
        super().__init__(session, columns)
        self._generations = Generations(session.num_blocks)
        self._make: dict[str, Callable[[Batch, OperationColumns, np.ndarray], np.ndarray]] = {
            "op": lambda batch, _, counts: (
                batch.per_step([step.op for step in batch.steps], counts) + _within(counts)
            ),
            "step": lambda batch, _, counts: batch.per_step([step.step for step in batch.steps], counts),
            "record": lambda batch, _, counts: batch.per_step([step.record for step in batch.steps], counts),
            "time": lambda batch, _, counts: batch.per_step([step.sealed for step in batch.steps], counts),
            "kind": lambda _, operations, __: operations.kind,
            "block": lambda _, operations, __: operations.block,
            "generation": lambda _, operations, __: self._generations.pass_on(operations),
            "cause": lambda _, operations, __: operations.cause,
            "sequence": lambda _, operations, __: told(operations.sequence),
            "request": lambda _, operations, __: self._requests(operations),
            "group": lambda _, operations, __: _group(operations),
            "pin": lambda _, operations, __: _pin(operations),
        }

    def keyframe(self, keyframe: Keyframe) -> None:
        """The generations of its blocks."""
        try:
            self._generations.load(keyframe)
        except FrameError as error:
            raise DamagedRecordingError(f"the keyframe at record {keyframe.record}: {error}") from None

    def gap(self, gap: Gap) -> None:
        """Nobody knows the generations until the next keyframe."""
        self._generations.lose()

    def build(self, batch: Batch) -> Columns:
        """The operations of a batch."""
        counts = np.array([len(step.operations.kind) for step in batch.steps], dtype=np.int64)
        try:
            operations = OperationColumns.decode(join_operations([step.operations for step in batch.steps]))
        except FrameError as error:
            first, last = batch.steps[0].record, batch.steps[-1].record
            raise DamagedRecordingError(f"records {first} to {last}: {error}") from None
        return {
            name: self._make[name](batch, operations, counts)
            if name in self._make
            else _carried(operations, name)
            for name in self.columns
        }

    def _requests(self, operations: OperationColumns) -> np.ndarray:
        found = self.session.sequences.requests(operations.sequence)
        return np.ma.masked_array(found, mask=found < 0)


def _within(counts: np.ndarray) -> np.ndarray:
    """0, 1, 2, … anew for each of ``counts``."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)


def _absent(operations: OperationColumns, name: str) -> np.ndarray:
    """``[operations] bool``: where an operation does not carry a sparse column, or carries nothing in it."""
    values = operations.expand(name)
    nothing = np.isnan(values) if name == "ticket" else values == NONE
    return ~CARRIED_MASK[name][operations.kind] | nothing


def _carried(operations: OperationColumns, name: str) -> np.ndarray:
    return np.ma.masked_array(operations.expand(name), mask=_absent(operations, name))


def _group(operations: OperationColumns) -> np.ndarray:
    """The group of a table entry; masked where no entry is set or cleared."""
    return np.ma.masked_array(operations.expand("group"), mask=_absent(operations, "position"))


def _pin(operations: OperationColumns) -> np.ndarray:
    """The pin that is set or cleared; masked where it is a table entry, or nothing."""
    is_pin = CARRIED_MASK["position"][operations.kind] & (operations.expand("position") == NONE)
    values = np.zeros(len(operations), dtype=np.uint8)
    values[is_pin] = operations.pin
    return np.ma.masked_array(values, mask=~is_pin)
