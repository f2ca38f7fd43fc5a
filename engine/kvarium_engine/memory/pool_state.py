"""What a pool knows of its blocks: a value a block in each column.

Plain lists of numbers: of one block at a time they are read and written twice as fast as an ``array``, and the garbage
collector has only the lists themselves to look at. What is done to all blocks at once (an audit, a keyframe) is done on a copy of
them as arrays.
"""

import numpy as np

from kvarium_ledger.operations import NONE
from kvarium_ledger.state import BlockState


class PoolState:
    """``generation``, ``count``, ``content``, ``filled``, ``hits`` (whole numbers) and ``ticket``, by the numbers of the blocks."""

    __slots__ = ("content", "count", "filled", "generation", "hits", "ticket")

    def __init__(self, num_blocks: int) -> None:
        self.generation = [0] * num_blocks
        self.count = [0] * num_blocks
        self.content = [NONE] * num_blocks
        self.filled = [0] * num_blocks
        self.hits = [0] * num_blocks
        self.ticket: list[float] = [float("nan")] * num_blocks

    def as_arrays(self) -> BlockState:
        """The same as a follower has it."""
        found = BlockState.bulk(len(self.count))
        for name in self.__slots__:
            column: np.ndarray = getattr(found, f"np_{name}")
            column[:] = getattr(self, name)
        return found
