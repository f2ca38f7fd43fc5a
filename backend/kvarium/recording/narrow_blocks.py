"""The blocks of a state in columns as narrow as a keyframe's, and what some of them became.

    told       ▐▐▐▐▐▐▐▐▐▐▐▐  bytes of a stop's keyframe: 12 to 14 MB of a million blocks
    changes    · ·    · ·    of the chunks since, some thousand blocks each
    narrow     ▐▐▐▐▐▐▐▐▐▐▐▐  one copy of them, the changes laid over it: what a seek sends, as it lies there

Whole words of it (28 MB) are made only where somebody goes on from the state.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kvarium_ledger import block_columns
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import BlockColumns
from kvarium_ledger.state import BlockState


class Changes(NamedTuple):
    """What some ``blocks`` (u32) became: a column each of :data:`~kvarium_ledger.block_columns.BLOCK_COLUMNS`, narrow."""

    blocks: np.ndarray
    values: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, state: BlockState, blocks: np.ndarray) -> "Changes":
        """What they are now."""
        return cls(
            blocks, tuple(_narrow(name, getattr(state, f"np_{name}")[blocks]) for name in BLOCK_COLUMNS)
        )

    @classmethod
    def merged(cls, parts: "Sequence[Changes]", num_blocks: int) -> "Changes":
        """What ``parts`` come to, one after the other: of a block that several change, the last."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(np.empty(0, dtype=np.uint32), tuple(np.empty(0, dtype="u1") for _ in BLOCK_COLUMNS))
        blocks = np.concatenate([part.blocks for part in parts])
        last = np.full(num_blocks, -1, dtype=np.int32)
        last[blocks] = np.arange(len(blocks), dtype=np.int32)
        found = np.flatnonzero(last >= 0).astype(np.uint32)
        chosen = last[found]
        return cls(
            found,
            tuple(
                _joined([part.values[place] for part in parts])[chosen] for place in range(len(BLOCK_COLUMNS))
            ),
        )

    def columns(self) -> dict[str, np.ndarray]:
        """The values by the names of their columns."""
        return dict(zip(BLOCK_COLUMNS, self.values, strict=True))

    @property
    def size(self) -> int:
        """How many bytes of memory it takes."""
        return self.blocks.nbytes + sum(column.nbytes for column in self.values)


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns end to end in a type that holds all: tickets as f64 where one of them is."""
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [block_columns.wide(column) for column in columns]
    return np.concatenate(columns)


def _narrow(name: str, values: np.ndarray) -> np.ndarray:
    """Values of some blocks in their narrowest type: there is no default, as nobody knows which blocks they are."""
    if name == "ticket":
        words = block_columns.whole_tickets(values)
        return values if words is None else words
    return values.astype(np.min_scalar_type(int(values.max(initial=0))), copy=False)


class NarrowBlocks:
    """The columns of all blocks: those of a keyframe (``told``), and ``changes`` laid over them one after the other."""

    def __init__(self, told: BlockColumns, num_blocks: int, changes: Sequence[Changes]) -> None:
        self.num_blocks = num_blocks
        self._columns = {
            name: _laid(
                name,
                block_columns.told(name, getattr(told, name), num_blocks),
                num_blocks,
                [(each.blocks, each.values[place]) for each in changes],
            )
            for place, name in enumerate(BLOCK_COLUMNS)
        }

    @property
    def content(self) -> np.ndarray:
        """``[num_blocks]``, unsigned: the content of each block (``NONE``: none)."""
        content = self._columns["content"]
        return np.full(self.num_blocks, NONE, dtype="<u4") if content is None else content

    def columns(self) -> dict[str, np.ndarray]:
        """As a keyframe carries them; one that is its default for every block is left out."""
        return {name: column for name, column in self._columns.items() if column is not None}

    def told(self) -> BlockColumns:
        """As a keyframe carries them, a copy."""
        return BlockColumns(**{name: column.tobytes() for name, column in self.columns().items()})

    def widened(self) -> BlockState:
        """The same as a state to go on from."""
        state = BlockState.bulk(self.num_blocks)
        state.fill(
            {
                name: None if column is None else block_columns.wide(column)
                for name, column in self._columns.items()
            }
        )
        return state


def _laid(
    name: str, told: np.ndarray | None, num_blocks: int, changes: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray | None:
    if not changes:
        return told
    if told is None:
        told = block_columns.default(name, num_blocks)
    types = {told.dtype, *(values.dtype for _, values in changes)}
    if len({dtype.kind for dtype in types}) > 1:
        # Tickets, some of which no i32 tells.
        column = block_columns.wide(told).astype("<f8")
        changes = [(blocks, block_columns.wide(values)) for blocks, values in changes]
    else:
        column = told.astype(max(types, key=lambda dtype: dtype.itemsize))
    for blocks, values in changes:
        column[blocks] = values
    return block_columns.narrowed(name, column)
