"""The tables ``decision`` and ``sequence``: what the scheduler decided, and each sequence from its beginning to its end."""

from typing import Any

import numpy as np

from kvarium.sql.builder import Builder, Columns, Session, floats, numbers, objects
from kvarium.sql.schema import DECISION
from kvarium.sql.walk import Batch, sampled_of
from kvarium_ledger.decisions import (
    Aborted,
    AnyDecision,
    Finished,
    Refused,
    SequenceCreated,
    SequenceDropped,
)
from kvarium_ledger.records import Keyframe, Step

_KINDS = {kind: str(kind.__struct_config__.tag) for kind in AnyDecision.__args__}


class Decisions(Builder):
    """Builds ``decision``: a row a decision; what its kind does not tell is NULL."""

    def build(self, batch: Batch) -> Columns:
        """The decisions of a batch."""
        decisions = [decision for step in batch.steps for decision in step.decisions]
        counts = np.array([len(step.decisions) for step in batch.steps], dtype=np.int64)
        whose = {"step": "step", "record": "record", "time": "sealed"}
        columns: Columns = {}
        for name in self.columns:
            if name in whose:
                columns[name] = batch.per_step([getattr(step, whose[name]) for step in batch.steps], counts)
            elif name == "kind":
                columns[name] = objects([_KINDS[type(decision)] for decision in decisions])
            else:
                kind = DECISION.column(name).type
                columns[name] = _column(kind, [getattr(decision, name, None) for decision in decisions])
        return columns


def _column(kind: str, values: list[Any]) -> np.ndarray:
    if kind == "BIGINT":
        return numbers(values)
    if kind == "DOUBLE":
        return floats(values)
    if kind == "BOOLEAN":
        return objects(values)
    return objects([text_of(value) for value in values])


def text_of(value: object) -> str | None:
    """A value of any kind in a column of texts: a hash in hexadecimal; a stop id as its digits."""
    if isinstance(value, bytes):
        return value.hex()
    return None if value is None else str(value)


class SequenceLives(Builder):
    """Builds ``sequence``, of the whole recording: a sequence ends when it is dropped, or with its request."""

    needs_all = True

    def __init__(self, session: Session, columns: list[str]) -> None:
        super().__init__(session, columns)
        self._rows: dict[int, dict[str, Any]] = {}
        self._alive: dict[int, list[int]] = {}

    def keyframe(self, keyframe: Keyframe) -> None:
        """After a gap: sequences whose beginning, or whose end, is not recorded."""
        there = {row.sequence for row in keyframe.sequences}
        for request, sequences in self._alive.items():
            for sequence in sequences:
                if sequence not in there and self._rows[sequence].get("ending") is None:
                    self._rows[sequence]["ending"] = "lost"
            self._alive[request] = [sequence for sequence in sequences if sequence in there]
        for row in keyframe.sequences:
            if row.sequence not in self._rows:
                self._create(row.sequence, row.request, row.index, row.parent)

    def _create(self, sequence: int, request: int, index: int, parent: int | None) -> dict[str, Any]:
        row: dict[str, Any] = {"sequence": sequence, "request": request, "index": index, "parent": parent}
        self._rows[sequence] = row | {"sampled": 0}
        self._alive.setdefault(request, []).append(sequence)
        return self._rows[sequence]

    def build(self, batch: Batch) -> Columns:
        """Nothing yet: the rows are known at the end."""
        for step in batch.steps:
            for decision in step.decisions:
                self._decide(step, decision)
            for sequence in sampled_of(step).tolist():
                row = self._rows.get(sequence)
                if row is not None:
                    row["sampled"] += 1
        return {}

    def _decide(self, step: Step, decision: AnyDecision) -> None:
        if isinstance(decision, SequenceCreated):
            row = self._create(decision.sequence, decision.request, decision.index, decision.parent)
            row |= {"created_op": decision.op, "created_step": step.step, "created_time": step.sealed}
        elif isinstance(decision, SequenceDropped):
            if decision.sequence in self._rows:
                self._end(step, decision, [decision.sequence])
        elif isinstance(decision, (Finished, Aborted, Refused)):
            self._end(step, decision, self._alive.pop(decision.request, []))

    def _end(
        self, step: Step, decision: SequenceDropped | Finished | Aborted | Refused, sequences: list[int]
    ) -> None:
        end = {
            "ended_op": decision.op,
            "ended_step": step.step,
            "ended_time": step.sealed,
            "ending": "dropped" if isinstance(decision, SequenceDropped) else _KINDS[type(decision)],
            "reason": getattr(decision, "reason", None),
            "stop_reason": text_of(getattr(decision, "stop_reason", None)),
        }
        for sequence in sequences:
            row = self._rows[sequence]
            if row.get("ended_step") is None:
                row |= end

    def finish(self) -> Columns:
        """All of them."""
        rows = [self._rows[sequence] for sequence in sorted(self._rows)]
        texts = ("ending", "reason", "stop_reason")
        return {
            name: (objects if name in texts else numbers)([row.get(name) for row in rows])
            for name in self.columns
        }
