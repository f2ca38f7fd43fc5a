"""The entries of all tables as columns, and what operations change in them, without walking these.

entries ─┐
changes ─┼─▶ ordered by sequence, group and position ─▶ the last of each place stands, unless it is gone
changes ─┘
"""

import numpy as np

from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import CARRIED_MASK, NONE, Operation
from kvarium_ledger.records import TableColumns

GAINS = np.zeros(256, dtype=bool)
"""By operation: does its holder gain a block?"""
GAINS[[Operation.allocate, Operation.reuse, Operation.share, Operation.copy]] = True


class TableEntries:
    """Table entries, or changes of them in order: where ``gone``, the entry ends."""

    def __init__(
        self,
        sequence: np.ndarray,
        group: np.ndarray,
        position: np.ndarray,
        block: np.ndarray,
        gone: np.ndarray | None = None,
    ) -> None:
        self.sequence = sequence
        self.group = group
        self.position = position
        self.block = block
        self.gone = np.zeros(len(block), dtype=bool) if gone is None else gone

    @classmethod
    def touched(cls, columns: OperationColumns, alive: np.ndarray) -> "TableEntries":
        """What operations change in the tables of sequences that are alive at the end."""
        holders = CARRIED_MASK["position"][columns.kind]
        sequence = columns.sequence[holders]
        kept = columns.position != NONE
        kept &= alive[np.minimum(sequence, len(alive) - 1)]
        kept &= sequence < len(alive)
        return cls(
            sequence[kept],
            columns.group[kept],
            columns.position[kept],
            columns.block[holders][kept],
            ~GAINS[columns.kind[holders][kept]],
        )

    @classmethod
    def last_of(cls, pieces: "list[TableEntries]", alive: np.ndarray) -> "TableEntries":
        """The entries that stand after all changes, ordered by sequence, group and position."""
        names = ("sequence", "group", "position", "block", "gone")
        columns = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names}
        sequence = columns["sequence"]
        kept = (sequence < len(alive)) & alive[np.minimum(sequence, len(alive) - 1)]
        columns = {name: column[kept] for name, column in columns.items()}
        key = columns["sequence"].astype(np.uint64) << np.uint64(32) | columns["position"]
        if columns["group"].any():
            # A stable sort by position, then group, then sequence.
            order = np.lexsort((columns["position"], columns["group"], columns["sequence"]))
            key ^= columns["group"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        else:
            order = np.argsort(key, kind="stable")
        key = key[order]
        last = np.ones(len(key), dtype=bool)
        last[:-1] = key[1:] != key[:-1]
        chosen = order[last]
        chosen = chosen[~columns["gone"][chosen]]
        return cls(*(columns[name][chosen] for name in names[:4]))

    def columns(self) -> TableColumns:
        return TableColumns(
            sequence=self.sequence.astype("<u4").tobytes(),
            group=self.group.astype("u1").tobytes() if self.group.any() else b"",
            position=self.position.astype("<u4").tobytes(),
            block=self.block.astype("<u4").tobytes(),
        )
