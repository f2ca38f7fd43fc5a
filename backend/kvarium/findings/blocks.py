"""The blocks of the pool before and after each operation that uses, fills or frees one, without folding one by one.

block 7    allocate  fill 0→16  free      allocate  fill 0→3       sorted by block, in order
filled     0         16         16        0         3              what the last one that sets it says
used       yes       yes        no        yes       yes
"""

from typing import NamedTuple

import numpy as np

from kvarium.findings.part import Part
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Keyframe
from kvarium_ledger.state import BlockState


class Changes(NamedTuple):
    """Of the operations at ``place`` (all ``[changes]``): ``block``, and its fill and use ``before`` and ``after``."""

    place: np.ndarray
    block: np.ndarray
    kind: np.ndarray
    filled_before: np.ndarray
    filled_after: np.ndarray
    used_before: np.ndarray
    used_after: np.ndarray


class Blocks:
    """``filled``, ``used`` and ``content`` of all blocks after the last part."""

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.filled = np.zeros(num_blocks, dtype=np.int64)
        self.used = np.zeros(num_blocks, dtype=bool)
        self.content = np.full(num_blocks, NONE, dtype=np.uint32)

    def load(self, keyframe: Keyframe) -> None:
        """Take a whole state."""
        state = BlockState.bulk(self.num_blocks)
        state.load(keyframe.blocks)
        self.filled[:] = state.np_filled
        self.used[:] = state.np_count > 0
        self.content[:] = state.np_content

    def take(self, part: Part) -> Changes:
        """Follow a part. Its changes are in the order of blocks, and of each block in their own."""
        columns = part.columns
        setting = columns.mask(Operation.allocate, Operation.copy, Operation.fill)
        places = np.flatnonzero(setting | columns.mask(Operation.reuse, Operation.free))
        block = columns.block[places].astype(np.int64)
        order = np.argsort(block, kind="stable")
        places, block = places[order], block[order]
        kind = columns.kind[places]
        after = np.where(kind == int(Operation.allocate), 0, columns.expand("filled_after")[places]).astype(
            np.int64
        )
        sets = setting[places]
        number = np.arange(len(places))
        begins = np.ones(len(places), dtype=bool)
        begins[1:] = block[1:] != block[:-1]
        begin = np.maximum.accumulate(np.where(begins, number, 0))
        last = np.maximum.accumulate(np.where(sets, number, -1))
        own = last >= begin
        filled_after = np.where(own, after[np.where(own, last, 0)], self.filled[block])
        filled_before = np.empty_like(filled_after)
        filled_before[1:] = filled_after[:-1]
        filled_before[begins] = self.filled[block[begins]]
        used_after = kind != int(Operation.free)
        used_before = kind != int(Operation.allocate)
        used_before &= (kind != int(Operation.copy)) & (kind != int(Operation.reuse))
        ends = np.append(begins[1:], True) if len(places) else begins
        self.filled[block[ends]] = filled_after[ends]
        self.used[block[ends]] = used_after[ends]
        self._label(part)
        return Changes(places, block, kind, filled_before, filled_after, used_before, used_after)

    def _label(self, part: Part) -> None:
        places = part.labels
        columns = part.columns
        content = np.where(columns.kind[places] == int(Operation.cache), columns.content, np.uint32(NONE))
        # Of several the last one is kept.
        self.content[columns.block[places]] = content
