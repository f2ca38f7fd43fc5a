"""Operations as arrays: the sparse columns of a record, checked once, and laid out for whoever needs them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kvarium_ledger.codec import FrameError, UnknownOperationError
from kvarium_ledger.operations import CARRIED_MASK, COLUMNS, NONE, Operation
from kvarium_ledger.records import VERSION, Operations

_SPARSE = ("ticket", "filled_before", "filled_after", "source", "content", "hits")
_KNOWN = np.zeros(256, dtype=bool)
_KNOWN[[int(kind) for kind in Operation]] = True


def column(raw: bytes, name: str) -> np.ndarray:
    """A column's bytes as ``[values]`` of its type. Raises :class:`FrameError` when they are no whole values."""
    dtype = COLUMNS[name]
    if len(raw) % dtype.itemsize:
        raise FrameError(f"column {name!r} has {len(raw)} bytes, not a multiple of {dtype.itemsize}")
    return np.frombuffer(raw, dtype=dtype)


def u32(raw: bytes) -> np.ndarray:
    """A column of u32 as ``[values]``. Raises :class:`FrameError` when the bytes are no whole values."""
    return column(raw, "block")


def _default_fill(name: str) -> float | int:
    return np.nan if name == "ticket" else 0


@dataclass(frozen=True)
class OperationColumns:
    """The columns of a record's operations as numpy arrays, sparse as they are stored.

    ``kind``, ``block``, ``cause`` and ``sequence`` have one value an operation; the others one for each operation
    that carries them, see :data:`kvarium_ledger.operations.CARRIED_BY`.
    """

    kind: np.ndarray
    block: np.ndarray
    cause: np.ndarray
    sequence: np.ndarray
    position: np.ndarray
    group: np.ndarray
    pin: np.ndarray
    ticket: np.ndarray
    filled_before: np.ndarray
    filled_after: np.ndarray
    source: np.ndarray
    content: np.ndarray
    hits: np.ndarray

    @classmethod
    def decode(cls, operations: Operations) -> "OperationColumns":
        """Check the lengths of all columns against ``kind``.

        Raises :class:`FrameError` where a column has too few or too many values and
        :class:`UnknownOperationError` for an operation that this version does not know.
        """
        kind = column(operations.kind, "kind")
        unknown = kind[~_KNOWN[kind]]
        if len(unknown):
            raise UnknownOperationError(
                f"operation {int(unknown[0])} is not known to version {VERSION} of the ledger: "
                "this session needs a newer kvarium"
            )
        arrays = {name: column(getattr(operations, name), name) for name in COLUMNS if name != "kind"}
        holders = int(CARRIED_MASK["position"][kind].sum())
        if not len(arrays["group"]):
            arrays["group"] = np.zeros(holders, dtype=COLUMNS["group"])
        expected = {"block": len(kind), "cause": len(kind), "sequence": len(kind)}
        expected |= {"position": holders, "group": holders}
        expected |= {name: int(CARRIED_MASK[name][kind].sum()) for name in _SPARSE}
        for name, count in expected.items():
            if len(arrays[name]) != count:
                raise FrameError(
                    f"column {name!r} has {len(arrays[name])} values, its operations carry {count}"
                )
        pins = int((arrays["position"] == NONE).sum())
        if len(arrays["pin"]) != pins:
            raise FrameError(f"column 'pin' has {len(arrays['pin'])} values, {pins} holders are pins")
        return cls(kind=kind, **arrays)

    def __len__(self) -> int:
        return len(self.kind)

    def mask(self, *kinds: Operation) -> np.ndarray:
        """``[operations] bool``: is it one of ``kinds``?"""
        # As an int: numpy looks for a dozen attributes on an enum's member.
        result = self.kind == int(kinds[0])
        for kind in kinds[1:]:
            result |= self.kind == int(kind)
        return result

    def expand(self, name: str) -> np.ndarray:
        """A sparse column as ``[operations]``: where an operation does not carry it, 0, or NaN for ``ticket``."""
        values: np.ndarray = getattr(self, name)
        if name in ("kind", "block", "cause", "sequence"):
            return values
        carries = CARRIED_MASK["position" if name == "group" else name][self.kind]
        full = np.full(len(self.kind), _default_fill(name), dtype=values.dtype)
        full[carries] = values
        return full

    def part(self, first: int, last: int) -> "OperationColumns":
        """The columns of the operations from ``first`` (included) to ``last`` (excluded), views of these."""
        arrays: dict[str, np.ndarray] = {}
        for name in COLUMNS:
            values: np.ndarray = getattr(self, name)
            if name == "pin":
                held = self.position[: self._carried("position", last)] == NONE
                before = int(held[: self._carried("position", first)].sum())
                arrays[name] = values[before : int(held.sum())]
            else:
                arrays[name] = values[self._carried(name, first) : self._carried(name, last)]
        return OperationColumns(**arrays)

    def _carried(self, name: str, index: int) -> int:
        """How many values of a column are of operations before ``index``."""
        if name in ("kind", "block", "cause", "sequence"):
            return index
        return int(CARRIED_MASK["position" if name == "group" else name][self.kind[:index]].sum())

    @cached_property
    def touched(self) -> np.ndarray:
        """The numbers of the blocks that any operation changes, ascending."""
        return np.unique(np.concatenate((self.block, self.source)))
