"""The events of one sealed step, laid out once for all breakpoints.

    decisions      submitted   admitted                  preempted
    operations                            allocate fill            free
    place              0           1         2      3        4      5

A decision stands before the operation that it names; the place of each in its record is as a reader counts it.
"""

from functools import cached_property
from typing import Any

import numpy as np

from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.slices import PROMPT, TABLE, spread

_COPY = int(Operation.copy)
_LABELS = (int(Operation.evict), int(Operation.cache))
_OF_PROMPT = frozenset((Operation.evict, Operation.allocate, Operation.fill, Operation.cache))
_CAUSES_OF_PROMPT = frozenset((Cause.allocate, Cause.prefill, Cause.full))
_BORN = frozenset((PROMPT, int(Operation.allocate), _COPY))


class StepEvents:
    """What ``sealed`` did. Arrays are ``[operations]``."""

    def __init__(self, sealed: SealedStep) -> None:
        self.sealed = sealed
        self.decisions = sealed.decisions

    @cached_property
    def kinds(self) -> frozenset[int]:
        """The kinds that may be among its operations: known without laying them out."""
        found: set[int] = set()
        for told in self.sealed.told:
            if told[0] == PROMPT:
                found |= _OF_PROMPT
            else:
                found.add(int(Operation.free) if told[0] == TABLE else int(told[0]))
        return frozenset(found)

    @cached_property
    def causes(self) -> frozenset[int]:
        """The causes that may be among its operations: known as cheaply."""
        found: set[int] = set()
        for told in self.sealed.told:
            if told[0] == PROMPT:
                found |= _CAUSES_OF_PROMPT
            else:
                found.add(int(told[2]))
        return frozenset(found)

    def touches(self, block: int) -> bool:
        """Is an operation on this block, or a copy of it?"""
        for told in self.sealed.told:
            of = told[1]
            if of == block if isinstance(of, int) else block in of:
                return True
            if told[0] == _COPY and block in told[7][3]:
                return True
        return False

    def births(self, block: int) -> int:
        """How many lives of this block begin."""
        found = 0
        for told in self.sealed.told:
            if told[0] in _BORN:
                of = told[1]
                found += int(of == block) if isinstance(of, int) else of.count(block)
        return found

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        kinds: list[int] = []
        blocks: list[int] = []
        causes: list[int] = []
        sequences: list[int] = []
        sources: list[tuple[int, Any]] = []
        contents: list[tuple[int, Any]] = []
        for kind, of, cause, served, _, _, _, extra in spread(self.sealed.told):
            count = len(of)
            if kind == _COPY:
                sources.append((len(kinds), extra[3][0]))
            elif kind in _LABELS:
                contents.append((len(kinds), extra[0]))
            kinds += [kind] * count
            blocks += of
            causes += [cause] * count
            sequences += [served] * count if isinstance(served, int) else served
        source = np.full(len(kinds), NONE, dtype=np.uint32)
        content = np.full(len(kinds), NONE, dtype=np.uint32)
        for at, value in sources:
            source[at] = value
        for at, values in contents:
            content[at : at + len(values)] = values
        return {
            "kind": np.array(kinds, dtype=np.uint8),
            "block": np.array(blocks, dtype=np.uint32),
            "cause": np.array(causes, dtype=np.uint8),
            "sequence": np.array(sequences, dtype=np.uint32),
            "source": source,
            "content": content,
        }

    @property
    def kind(self) -> np.ndarray:
        """``u8``: what happened."""
        return self._columns["kind"]

    @property
    def block(self) -> np.ndarray:
        """``u32``: to which block."""
        return self._columns["block"]

    @property
    def cause(self) -> np.ndarray:
        """``u8``: why."""
        return self._columns["cause"]

    @property
    def sequence(self) -> np.ndarray:
        """``u32``: for which sequence; ``NONE``: for none."""
        return self._columns["sequence"]

    @property
    def source(self) -> np.ndarray:
        """``u32``: a copy's source; ``NONE`` of any other."""
        return self._columns["source"]

    @property
    def content(self) -> np.ndarray:
        """``u32``: what is evicted or cached; ``NONE`` of any other."""
        return self._columns["content"]

    @cached_property
    def _decided(self) -> np.ndarray:
        """``[decisions] int64``: how many operations of the step each decision stands behind, ascending."""
        ops: Any = [decision.op for decision in self.decisions]
        held = np.array(ops, dtype=np.int64) - self.sealed.op
        return np.maximum.accumulate(np.clip(held, 0, self.sealed.operations)) if ops else held

    def places_of_operations(self, which: np.ndarray) -> np.ndarray:
        """``[n] int64``: the places in their record of the operations ``which`` (``[n] int64``, their numbers in the step)."""
        return which + np.searchsorted(self._decided, which, side="right")

    def place_of_decision(self, at: int) -> int:
        """The place of a decision in its record."""
        return at + int(self._decided[at])
