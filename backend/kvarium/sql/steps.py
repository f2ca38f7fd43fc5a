"""The table ``step``: what its record says, what its operations sum up to, and the usage that the index knows."""

from typing import Any

import numpy as np

from kvarium.sql.builder import Builder, Columns, Session
from kvarium.sql.walk import Batch
from kvarium_ledger.columns import column, u32
from kvarium_ledger.decisions import Admitted, Preempted
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.operations import CARRIED_MASK, Cause, Operation

USAGE = ("active", "shared", "cached", "free", "running", "waiting")
"""What only a fold knows: it stands in the index, as far as that goes."""

_TOLD = {
    "step": "step",
    "record": "record",
    "op": "op",
    "started": "time",
    "time": "sealed",
    "schedule_ns": "schedule_ns",
    "forward_ns": "forward_ns",
    "sample_ns": "sample_ns",
    "seal_ns": "seal_ns",
    "tokens": "tokens",
    "budget": "budget",
}
_COUNTED = {kind.name: kind for kind in Operation if kind is not Operation.free} | {"freed": Operation.free}
_FILLED = {"prefill_tokens": Cause.prefill, "decode_tokens": Cause.decode}
_ASKED = ("queries", "hits")


class StepRows(Builder):
    """Builds ``step``. ``index`` are the columns of the index (:meth:`kvarium.recording.reader.Reader.steps`)."""

    def __init__(self, session: Session, columns: list[str], index: dict[str, list[Any]]) -> None:
        super().__init__(session, columns)
        self._index = (
            {name: np.array(index[name], dtype=np.int64) for name in ("step", *USAGE)} if index else {}
        )

    def build(self, batch: Batch) -> Columns:
        """A row a step."""
        steps = batch.steps
        columns: Columns = {}
        for name in self.columns:
            if name in _TOLD:
                columns[name] = np.array([getattr(step, _TOLD[name]) for step in steps], dtype=np.int64)
            elif name == "sampled":
                columns[name] = np.array([len(step.sampled) // 4 for step in steps], dtype=np.int64)
            elif name == "preempted":
                counts = [sum(isinstance(made, Preempted) for made in step.decisions) for step in steps]
                columns[name] = np.array(counts, dtype=np.int64)
            elif name in USAGE:
                columns[name] = self._usage(name, steps[0].step, len(steps))
        if _COUNTED.keys() & set(self.columns):
            columns |= self._counts(batch)
        if _FILLED.keys() & set(self.columns):
            columns |= self._filled(batch)
        if not set(_ASKED).isdisjoint(self.columns):
            columns |= self._asked(batch)
        return columns

    def _usage(self, name: str, first: int, count: int) -> np.ndarray:
        """Steps of a batch are numbered without a hole."""
        wanted = np.arange(first, first + count)
        known = self._index["step"]
        place = np.searchsorted(known, wanted)
        there = place < len(known)
        there[there] &= known[place[there]] == wanted[there]
        values = np.zeros(count, dtype=np.int64)
        values[there] = self._index[name][place[there]]
        return np.ma.masked_array(values, mask=~there)

    def _counts(self, batch: Batch) -> Columns:
        kinds = column(b"".join(step.operations.kind for step in batch.steps), "kind")
        lengths = [len(step.operations.kind) for step in batch.steps]
        which = np.repeat(np.arange(len(lengths)), lengths)
        table = np.bincount(which * 256 + kinds, minlength=256 * len(lengths)).reshape(-1, 256)
        return {name: table[:, int(kind)] for name, kind in _COUNTED.items() if name in self.columns}

    def _asked(self, batch: Batch) -> Columns:
        """What the prefix cache was asked for and had, as vLLM counts it."""
        counted = []
        for step in batch.steps:
            asked = HitStatistics()
            for made in step.decisions:
                if isinstance(made, Admitted):
                    asked.count(made)
            counted.append(asked)
        return {
            name: np.array([getattr(asked, name) for asked in counted], dtype=np.int64)
            for name in _ASKED
            if name in self.columns
        }

    def _filled(self, batch: Batch) -> Columns:
        """How many tokens the fills stand for, by their cause."""
        operations = [step.operations for step in batch.steps]
        kinds = column(b"".join(part.kind for part in operations), "kind")
        fills = kinds == int(Operation.fill)
        cause = column(b"".join(part.cause for part in operations), "cause")[fills]
        which = np.repeat(np.arange(len(operations)), [len(part.kind) for part in operations])[fills]
        after, before = (
            u32(b"".join(getattr(part, name) for part in operations))[
                kinds[CARRIED_MASK[name][kinds]] == int(Operation.fill)
            ]
            for name in ("filled_after", "filled_before")
        )
        grown = after.astype(np.int64) - before
        return {
            name: np.bincount(
                which, weights=grown * (cause == int(wanted)), minlength=len(operations)
            ).astype(np.int64)
            for name, wanted in _FILLED.items()
            if name in self.columns
        }
