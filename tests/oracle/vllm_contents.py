"""Contents by vLLM's hashes: a number for each hash that a block has.

vLLM knows a block's content by its chained hash; the ledger by a number, told once with its parent and its tokens. As vLLM
forgets a hash when the last block that has it is evicted, so does this; met again, it gets a new number.
"""

from __future__ import annotations

from collections import Counter

from kvarium_ledger.operations import NONE


class VllmContents:
    """The numbers of the hashes that blocks have. ``next`` is the next number, ``parents`` the parent of each."""

    def __init__(self) -> None:
        self.next = 0
        self.parents: dict[int, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._hashes: dict[int, bytes] = {}
        self._blocks: Counter[int] = Counter()

    def number(self, value: bytes) -> int:
        """The number of a hash; ``NONE``: no block has it."""
        return self._numbers.get(value, NONE)

    def hold(self, value: bytes, parent: int) -> tuple[int, bool]:
        """One more block has the hash ``value``: its number, and whether it is a new one."""
        content = self._numbers.get(value)
        new = content is None
        if content is None:
            content = self.next
            self.next += 1
            self._numbers[value], self._hashes[content], self.parents[content] = content, value, parent
        self._blocks[content] += 1
        return content, new

    def let_go(self, content: int) -> None:
        """One block less has a content. A table may still name it, as the parent of the next."""
        self._blocks[content] -= 1
        if not self._blocks[content]:
            del self._blocks[content], self.parents[content]
            del self._numbers[self._hashes.pop(content)]
