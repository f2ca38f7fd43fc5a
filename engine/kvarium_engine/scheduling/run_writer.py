"""Slots in memory that was set aside: a sequence's table grows into its own run, and nothing is allocated on the way.

reserved at admission    table [ ]              ahead 16 … 23
40 tokens computed       table [ 16, 17, 18 ]   ahead 19 … 23        the next slot: block 18, offset 8
"""

from collections.abc import Iterable

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_ledger.operations import Cause


class RunWriter(SlotWriter):
    """Assigns slots in the runs of a contiguous pool."""

    def blocks_needed(self, wants: Iterable[tuple[Sequence, int]]) -> int:
        """None ever: all that a sequence may write is its own already, so that nobody is preempted for it."""
        size = self.pool.block_size
        for sequence, tokens in wants:
            needed = blocks_for(sequence.computed + tokens, size)
            reserved = len(sequence.table) + len(sequence.ahead)
            assert needed <= reserved, f"{sequence} needs {needed} blocks, but reserved {reserved}"
        return 0

    def _grow(self, sequence: Sequence) -> int:
        self._enter(sequence, 1)
        return sequence.table[-1]

    def _allocate(self, sequence: Sequence, tokens: int, cause: Cause) -> None:
        self._enter(sequence, blocks_for(tokens, self.pool.block_size) - len(sequence.table))

    @staticmethod
    def _enter(sequence: Sequence, blocks: int) -> None:
        """The next ``blocks`` blocks of the run become entries of the table that is computed through."""
        sequence.table += sequence.ahead[:blocks]
        sequence.ahead = sequence.ahead[blocks:]
