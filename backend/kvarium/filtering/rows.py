"""Events as they are told: named values, and only those that an event has."""

from typing import Any, Final

import msgspec
import numpy as np

from kvarium.filtering.sheet import Decided, Sheet
from kvarium.recording.index_rows import Row
from kvarium_ledger.operations import CARRIED_BY, CARRIED_MASK, NONE, Cause, Operation, Pin
from kvarium_ledger.records import Gap

_CARRIED: Final = ("ticket", "filled_before", "filled_after", "source", "content", "hits")


def operation_row(sheet: Sheet, at: int, owner: np.ndarray, generation: np.ndarray) -> Row:
    """An operation: ``owner`` is its request and its sequence's index, ``generation`` that of its block and of its source (-1: not known)."""
    columns = sheet.columns
    kind = Operation(int(columns.kind[at]))
    row: Row = {
        "record": int(sheet.record[at]),
        "index": int(sheet.index[at]),
        "step": int(sheet.step[at]),
        "op": int(sheet.op[at]),
        "time": int(sheet.time[at]),
        "kind": kind.name,
        "block": int(columns.block[at]),
        "generation": _known(generation[0]),
        "cause": name_of(Cause, int(columns.cause[at])),
        "sequence": _told(columns.sequence[at]),
        "request": _known(owner[0]),
        "sequence_index": _known(owner[1]),
    }
    if kind in CARRIED_BY["position"]:
        position = int(sheet.expanded["position"][at])
        if position == NONE:
            row["pin"] = name_of(Pin, int(columns.pin[_pins_before(sheet, at)]))
        else:
            row |= {"position": position, "group": int(sheet.expanded["group"][at])}
    for name in _CARRIED:
        if kind in CARRIED_BY[name]:
            row[name] = _told(sheet.expanded[name][at])
    if kind == Operation.copy:
        row["source_generation"] = _known(generation[1])
    return row


def decision_row(decided: Decided, of: dict[int, tuple[int, int]]) -> Row:
    """A decision, whole. ``of`` knows request and index of sequences."""
    decision: Any = decided.decision
    sequence = getattr(decision, "sequence", None)
    told = msgspec.to_builtins(decision, builtin_types=(bytes,))
    return {
        "record": decided.place.record,
        "index": decided.place.index,
        "step": decided.step.step,
        "op": decision.op,
        "time": decided.step.sealed,
        "kind": told["kind"],
        "decision": {
            name: value.hex() if isinstance(value, bytes) else value for name, value in told.items()
        },
        "sequence": sequence,
        "request": decision.request,
        "sequence_index": None if sequence is None else _known(of.get(sequence, (-1, -1))[1]),
    }


def gap_row(gap: Gap) -> Row:
    """Records that are lost."""
    return {
        "record": gap.record,
        "index": 0,
        "time": gap.time,
        "kind": "gap",
        "first": gap.first,
        "last": gap.last,
        "reason": gap.reason,
    }


def name_of(kind: type[Cause] | type[Pin], code: int) -> str | int:
    """A code's name; a code that a later version may have is told as it is."""
    return kind(code).name if code in kind.__members__.values() else code


def _known(value: Any) -> int | None:
    return None if int(value) < 0 else int(value)


def _told(value: Any) -> int | float | None:
    """A value of a column; None where it says that there is none."""
    number = value.item()
    return None if number == NONE or number != number else number


def _pins_before(sheet: Sheet, at: int) -> int:
    """How many holders before an operation are pins."""
    columns = sheet.columns
    holders = int(np.count_nonzero(CARRIED_MASK["position"][columns.kind[:at]]))
    return int(np.count_nonzero(columns.position[:holders] == NONE))
