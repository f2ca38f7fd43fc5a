"""The contents in the cache: how many blocks hold each, and which were lost and labelled again.

content 12    label b7   evict b7   label b3       sorted by content, in order
holders       1          0: lost    1: again       it was lost, and somebody computed it once more
"""

from typing import Final, NamedTuple

import numpy as np

from kvarium.errors import DamagedRecordingError
from kvarium.findings.part import Part
from kvarium.sql.walk import grouped
from kvarium_ledger.columns import u32
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Keyframe

_MOST: Final = 1 << 27
"""No session interns more: 16 bytes each."""


class Again(NamedTuple):
    """Labels of contents that allocations had taken from the last block that held them: their places, and the operations of the losses."""

    place: np.ndarray
    content: np.ndarray
    lost: np.ndarray


class Contents:
    """By content: ``holders``, ``parent`` and the operation by which it was ``lost`` (-1: by none, or not for an allocation)."""

    def __init__(self) -> None:
        self.holders = np.zeros(1024, dtype=np.int32)
        self.parent = np.full(1024, NONE, dtype=np.uint32)
        self._lost = np.full(1024, -1, dtype=np.int64)

    def _reserve(self, bound: int) -> None:
        if bound > _MOST:
            raise DamagedRecordingError(f"content {bound - 1} is out of any order")
        if bound <= len(self.holders):
            return
        more = max(bound, 2 * len(self.holders)) - len(self.holders)
        self.holders = np.append(self.holders, np.zeros(more, dtype=np.int32))
        self.parent = np.append(self.parent, np.full(more, NONE, dtype=np.uint32))
        self._lost = np.append(self._lost, np.full(more, -1, dtype=np.int64))

    def load(self, keyframe: Keyframe, held: np.ndarray) -> None:
        """Take a whole state, in which blocks hold the contents ``held``; what was lost before may have been labelled again."""
        told = u32(keyframe.contents.content)
        self._reserve(keyframe.next_content)
        self.parent[told] = u32(keyframe.contents.parent)
        self.holders[:] = 0
        self._lost[:] = -1
        np.add.at(self.holders, held[held != NONE], 1)

    def take(self, part: Part) -> Again:
        """Follow a part."""
        for step in part.steps:
            content = u32(step.contents.content)
            if len(content):
                self._reserve(int(content.max()) + 1)
                self.parent[content] = u32(step.contents.parent)
        places, columns = part.labels, part.columns
        content = columns.content.astype(np.int64)
        if not len(content):
            return Again(places, content, content)
        self._reserve(int(content.max()) + 1)
        labels = columns.kind[places] == int(Operation.cache)
        amounts = np.where(labels, 1, -1)
        after = self.holders[content] + grouped(content, amounts)
        order = np.argsort(content, kind="stable")
        places, content, labels, after = places[order], content[order], labels[order], after[order]
        begins = np.ones(len(content), dtype=bool)
        begins[1:] = content[1:] != content[:-1]
        for_allocation = columns.cause[places] == int(Cause.allocate)
        lost = np.where(~labels & (after == 0) & for_allocation, part.first + places, -1)
        before = np.empty_like(lost)
        before[1:] = lost[:-1]
        before[begins] = self._lost[content[begins]]
        again = labels & (after == 1) & (before >= 0)
        ends = np.append(begins[1:], True)
        self.holders[content[ends]] = after[ends]
        self._lost[content[ends]] = lost[ends]
        return Again(places[again], content[again], before[again])
