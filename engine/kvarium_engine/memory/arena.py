"""The arena of a contiguous cache: runs of consecutive blocks, first fit.

    block   0        8    11       16            24      28      32
            ┌────────┬────┬────────┬─────────────┬───────┬───────┐
            │ taken  │free│ taken  │    free     │ taken │ free  │      free: 3 + 8 + 4 = 15 blocks
            └────────┴────┴────────┴─────────────┴───────┴───────┘      largest run: 8
                       3                8                    4

A run of 4 goes to block 16, the lowest address where it fits; one of 9 goes nowhere, though 15 blocks are free: that is
external fragmentation.

The free runs are leaves of a tree of maxima, each at the block where it begins, with its length::

                    8                      the root: the largest run
            8               4
        3       8       0       4          downwards to the left wherever that is long enough: the first fit
       0 3     8 0     0 0     4 0

Beside it a map tells where the free run that ends at a block begins (a boundary tag), so that a freed run finds both of
its neighbours at once. So taking and freeing a run of any length cost O(log blocks), however many runs there are.
"""

from array import array


class Arena:
    """``num_blocks`` consecutive blocks, all free at the start. ``free_blocks`` counts the free ones."""

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise ValueError(f"an arena has at least one block, not {num_blocks}")
        self.num_blocks = num_blocks
        self.free_blocks = 0
        self._leaves = 1 << (num_blocks - 1).bit_length()
        self._longest = array("I", bytes(8 * self._leaves))
        """A heap-ordered tree: node i has the children 2i and 2i + 1; the leaf of block b is ``_leaves + b``."""
        self._begins: dict[int, int] = {}
        """Of each free run, by the block behind its last one: its first block."""
        self._taken: dict[int, int] = {}
        """Of each taken run, by its first block: its length."""
        self._insert(0, num_blocks)

    @property
    def largest(self) -> int:
        """Blocks of the largest free run."""
        return self._longest[1]

    def runs(self) -> list[tuple[int, int]]:
        """All free runs as (first block, blocks), by address."""
        return [(begin, end - begin) for end, begin in sorted(self._begins.items())]

    def fits(self, count: int, blocks: int) -> bool:
        """Is there room for ``count`` runs of ``blocks`` blocks each? They need not be neighbours."""
        taken: list[int] = []
        while len(taken) < count and self.largest >= blocks:
            taken.append(self.take(blocks))
        for run in taken:
            self.free(run)
        return len(taken) == count

    def take(self, blocks: int) -> int:
        """Take a run of ``blocks`` blocks where it fits first; returns its first block.

        The caller has checked that it fits: asserted here, and nothing is changed when not.
        """
        longest, leaves = self._longest, self._leaves
        assert 0 < blocks <= self.largest, (
            f"a run of {blocks} blocks: the largest free one has {self.largest}"
        )
        node = 1
        while node < leaves:
            node *= 2
            if longest[node] < blocks:
                node += 1
        begin = node - leaves
        length = longest[node]
        self._remove(begin, length)
        if length > blocks:
            self._insert(begin + blocks, length - blocks)
        self._taken[begin] = blocks
        return begin

    def free(self, begin: int) -> None:
        """The taken run that begins at block ``begin`` is free again, in one run with the free neighbours it has."""
        blocks = self._taken.pop(begin, 0)
        assert blocks, f"no run that was taken begins at block {begin}"
        end = begin + blocks
        before = self._begins.get(begin)
        if before is not None:
            self._remove(before, begin - before)
            begin = before
        behind = self._longest[self._leaves + end] if end < self.num_blocks else 0
        if behind:
            self._remove(end, behind)
            end += behind
        self._insert(begin, end - begin)

    def _insert(self, begin: int, blocks: int) -> None:
        self._begins[begin + blocks] = begin
        self.free_blocks += blocks
        self._set(begin, blocks)

    def _remove(self, begin: int, blocks: int) -> None:
        del self._begins[begin + blocks]
        self.free_blocks -= blocks
        self._set(begin, 0)

    def _set(self, begin: int, blocks: int) -> None:
        """The leaf of ``begin`` becomes ``blocks``; so do the maxima above it, as far as that changes them."""
        longest = self._longest
        node = self._leaves + begin
        longest[node] = blocks
        while node > 1:
            node //= 2
            most = max(longest[2 * node], longest[2 * node + 1])
            if longest[node] == most:
                break
            longest[node] = most
