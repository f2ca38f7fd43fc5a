"""The contiguous pool, the baseline that paged memory is measured against: one run of blocks a sequence, set aside at once.

paged         r0 [ 4, 9, 0 ]   r1 [ 7, 2 ]         a block when one is needed, anywhere
contiguous    r0 [ 0, 1, 2, 3, 4, 5, 6, 7 ]        all that it may need, side by side, when it is admitted
                   ▲ written in place, from the left: the table grows into what is set aside

The blocks, their counts, tickets and operations are those of the paged pool, so that the ledger, its folds and the screen need
no word more. Only who is taken differs: not the head of the queue, but the first run of the arena that is long enough.
A queued block is thus in two places: in the queue with its ticket, and in a free run of the arena.

Nothing is shared: there is no prefix cache, no fork and no copy-on-write. Nothing lacks later: what was admitted is never
preempted.
"""

from collections.abc import Sequence

from kvarium_engine.memory.arena import Arena
from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.free_blocks import Taken
from kvarium_engine.memory.reservation import Reservation
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import Cause


class ContiguousPool(BlockPool):
    """A pool whose sequences hold one run of consecutive blocks each, as long as ``reservation`` says.

    ``arena`` has the free runs. Of the verbs those that take single blocks or share are refused.
    """

    def __init__(self, num_blocks: int, block_size: int, ledger: Ledger, reservation: Reservation) -> None:
        super().__init__(num_blocks, block_size, ledger)
        self.reservation = reservation
        self.arena = Arena(num_blocks)

    def reserved_blocks(self, prompt_tokens: int, max_tokens: int) -> int:
        """Blocks of the run that a sequence gets when it is admitted."""
        return blocks_for(self.reservation.tokens(prompt_tokens, max_tokens), self.block_size)

    def reserve(self, blocks: int, sequence: int) -> range:
        """Allocate the first run of ``blocks`` blocks that is free, for the entries 0, 1, ... of a sequence's table.

        The caller has checked that it fits (:meth:`Arena.fits`).
        """
        begin = self.arena.take(blocks)
        run = range(begin, begin + blocks)
        tickets = self.queue.remove_n(run)
        taken, _, filled, *_ = self._begin_lives(list(run), tickets, 0)
        self.ledger.allocate(taken, Cause.reserve, sequence, 0, tickets, filled)
        return run

    def let_go(self, table: list[int], cause: Cause, sequence: int) -> None:
        """A sequence's whole run ends: its blocks are freed tail first, and the run goes back to the arena."""
        begin = table[0]
        assert list(table) == list(range(begin, begin + len(table))), f"{list(table)} is no run of blocks"
        super().let_go(table, cause, sequence)
        self.arena.free(begin)
        assert self.arena.free_blocks == self.num_free, (
            f"{self.arena.free_blocks} blocks are free in the arena, {self.num_free} in the queue"
        )

    def take_one(self, fill: int = 0) -> tuple[int, float, int, int, int]:
        """Refused: blocks are given in runs."""
        raise AssertionError("1 blocks are asked of a contiguous pool one by one: it gives runs (reserve)")

    def take(self, n: int, fill: int = 0) -> Taken:
        """Refused: blocks are given in runs."""
        raise AssertionError(f"{n} blocks are asked of a contiguous pool one by one: it gives runs (reserve)")

    def fork(self, blocks: Sequence[int], sequence: int) -> None:
        """Refused: each sequence writes into its own run."""
        raise AssertionError(
            f"blocks {list(blocks)} of a contiguous pool can't be shared by sequence {sequence}"
        )
