"""A part of a recording as the findings look at it: steps without a gap between them, and their operations end to end."""

from functools import cached_property

import numpy as np

from kvarium.recording.fast_forward import join_operations
from kvarium.sql.walk import Batch, Sequences
from kvarium.why.past import Past
from kvarium.why.places import Moment, Who
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Step, Text


class Part:
    """``columns`` are all operations of ``steps``, of which ``step_of`` (``[operations] int64``) tells the place in ``steps``.

    ``requests`` (``[operations] int64``) are those that they serve, -1 where there is none.
    """

    def __init__(self, batch: Batch, sequences: Sequences) -> None:
        self.steps: list[Step] = batch.steps
        self.texts: dict[int, Text] = batch.texts
        self.columns = OperationColumns.decode(join_operations([step.operations for step in batch.steps]))
        counts = np.array([len(step.operations.kind) for step in batch.steps], dtype=np.int64)
        self.step_of = np.repeat(np.arange(len(batch.steps)), counts)
        self.first = batch.steps[0].op
        self.requests = sequences.requests(self.columns.sequence)

    def moment(self, place: int) -> Moment:
        """Of the operation at a place."""
        return moment(self.steps[int(self.step_of[place])], self.first + place)

    def who(self, past: Past, place: int) -> Who | None:
        """Whom it serves."""
        request = int(self.requests[place])
        return past.who(None if request < 0 else request, int(self.columns.sequence[place]))

    def per_step(self, places: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """``[steps] int64``: the sums of ``amounts`` of the operations at ``places``, a step."""
        sums = np.bincount(self.step_of[places], weights=amounts, minlength=len(self.steps))
        return sums.astype(np.int64)

    @cached_property
    def labels(self) -> np.ndarray:
        """The places of operations that label a block or take its label."""
        return np.flatnonzero(self.columns.mask(Operation.cache, Operation.evict))


def moment(step: Step, op: int | None = None) -> Moment:
    """Of an operation of a step, or of its beginning."""
    return Moment(record=step.record, step=step.step, op=step.op if op is None else op, time=step.sealed)
