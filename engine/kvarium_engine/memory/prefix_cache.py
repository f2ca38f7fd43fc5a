"""The prefix cache: which block holds a prefix.

A full block is labelled by its **content**: the ids of its tokens *and* of all tokens before it. Contents are interned:

    content 0  (none, "You are a help")          ── block 3
      content 1  (0, "ful assistant. ")          ── block 9, block 12
        content 2  (1, "What is the capi")       ── block 4
        content 7  (1, "Tell me a story ")       ── no block: evicted, and still known

The key (parent content, tokens) says the same as vLLM's chained hash, only exactly and without hashing every block with
SHA-256: two blocks have the same content if and only if the whole chains are equal. Extra keys (a LoRA's name, a cache
salt) stand in the key of a first block, and so, by its parent, of every block behind it. The hash itself is made when it
is asked for: the decision ``admitted`` names the one that was missed. Where text is not recorded, it is told for every
content, and then made as contents are interned.

As in vLLM, blocks of equal content are not merged, since block tables only grow: the one that was labelled first is hit.

Known contents take memory, so the map keeps two generations of at least ``remember`` contents each: when the young
one is full, it becomes the old one, and of the former old one only contents that a block holds stay. A content that is
met again after it was forgotten gets a new id, with the same hash.
"""

from collections.abc import Sequence

from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.operations import NONE

TOKEN_BYTES = 4
Key = tuple[int, bytes]
"""(parent content, the block's token ids as u32, and of a first block its extra keys behind them)."""


class PrefixCache:
    """Contents and the blocks that hold them.

    ``seed`` is the string that the hash chain begins with (vLLM: PYTHONHASHSEED). ``remember``: how many contents
    a generation keeps. ``hashing``: the hash of every content that a block holds is known (:meth:`hash_of`).
    """

    def __init__(
        self, block_size: int, seed: str = "0", remember: int = 1 << 18, hashing: bool = False
    ) -> None:
        self.block_size = block_size
        self.hashing = hashing
        self.next_content = 0
        self._stride = block_size * TOKEN_BYTES
        self._root = root_hash(seed)
        self._remember = remember
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._blocks: dict[int, int | list[int]] = {}
        self._hashes: dict[int, bytes] = {}

    # -- contents -----------------------------------------------------------------------------------------------

    def intern(self, parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> tuple[int, bool]:
        """The content of a full block with these ``tokens`` (u32) behind ``parent`` (``NONE``: the first block).

        The second value says that the id is new: the ledger must hear of it before its first use.
        """
        content, new = self._intern((parent, tokens + keys.raw if parent == NONE else tokens))
        if self.hashing and content not in self._hashes:
            before = self._root if parent == NONE else self._hashes[parent]
            self._hashes[content] = block_hash(
                before, memoryview(tokens).cast("I"), keys.at(first=parent == NONE)
            )
        return content, new

    def _intern(self, key: Key) -> tuple[int, bool]:
        content = self._young.get(key)
        if content is not None:
            return content, False
        content = self._old.pop(key, None)
        new = content is None
        if content is None:
            content = self.next_content
            self.next_content += 1
        self._young[key] = content
        if len(self._young) >= self._remember:
            self._turn()
        return content, new

    def _turn(self) -> None:
        held = self._blocks
        self._old = {key: content for key, content in self._old.items() if content in held}
        self._old.update(self._young)
        self._young = {}

    def forget_unheld(self) -> None:
        """Forget the contents that no block holds: after records were lost, their ids must not come back."""
        held = self._blocks
        self._young = {key: content for key, content in self._young.items() if content in held}
        self._old = {key: content for key, content in self._old.items() if content in held}

    def hash_of(self, content: int) -> bytes | None:
        """The hash (32 bytes) of a content that was just interned, or that a block holds; None unless ``hashing``."""
        return self._hashes[content] if self.hashing else None

    def held(self) -> list[tuple[int, int]]:
        """(content, parent) of every content that a block holds, in the order of their ids."""
        held = self._blocks
        pairs = [(self._old[key], key[0]) for key in self._old if self._old[key] in held]
        pairs += [(self._young[key], key[0]) for key in self._young if self._young[key] in held]
        return sorted(pairs)

    # -- blocks -------------------------------------------------------------------------------------------------

    def lookup(self, tokens: bytes, most: int, keys: ExtraKeys = NO_KEYS) -> tuple[list[int], list[int]]:
        """The longest cached prefix of ``tokens`` (u32), of at most ``most`` full blocks: its blocks and contents."""
        blocks: list[int] = []
        contents: list[int] = []
        young, old, held, stride = self._young.get, self._old.get, self._blocks.get, self._stride
        parent = NONE
        for start in range(0, most * stride, stride):
            key = (parent, tokens[start : start + stride] if start else tokens[:stride] + keys.raw)
            content = young(key)
            if content is None:
                content = old(key)
                if content is None:
                    break
            block = held(content)
            if block is None:
                break
            blocks.append(block if type(block) is int else block[0])  # type: ignore[index]
            contents.append(content)
            parent = content
        return blocks, contents

    def holds(self, parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> bool:
        """Does a block hold these ``tokens`` (u32) behind ``parent``?"""
        key = (parent, tokens + keys.raw if parent == NONE else tokens)
        content = self._young.get(key, self._old.get(key))
        return content is not None and content in self._blocks

    def add(self, content: int, block: int) -> None:
        """``block`` now holds ``content``."""
        found = self._blocks.get(content)
        if found is None:
            self._blocks[content] = block
        elif isinstance(found, int):
            self._blocks[content] = [found, block]
        else:
            found.append(block)

    def discard(self, content: int, block: int) -> None:
        """``block`` no longer holds ``content``."""
        found = self._blocks[content]
        if isinstance(found, int):
            assert found == block, f"content {content} is held by block {found}, not {block}"
            del self._blocks[content]
            self._hashes.pop(content, None)
        else:
            found.remove(block)
            if len(found) == 1:
                self._blocks[content] = found[0]

    def missed_hash(self, tokens: bytes, contents: Sequence[int], keys: ExtraKeys = NO_KEYS) -> bytes:
        """The hash (32 bytes) of the block that follows the cached prefix ``contents`` of ``tokens`` (u32)."""
        hashes = self._hashes
        known = len(contents)
        while known and contents[known - 1] not in hashes:
            known -= 1
        value = hashes[contents[known - 1]] if known else self._root
        for i in range(known, len(contents)):
            value = hashes[contents[i]] = self._hash(value, tokens, i, keys)
        return self._hash(value, tokens, len(contents), keys)

    def _hash(self, parent: bytes, tokens: bytes, position: int, keys: ExtraKeys) -> bytes:
        """The hash of the block at ``position`` of ``tokens`` (u32), behind the one whose hash is ``parent``."""
        start = position * self._stride
        ids = memoryview(tokens[start : start + self._stride]).cast("I")
        return block_hash(parent, ids, keys.at(first=position == 0))

    def __len__(self) -> int:
        return len(self._blocks)
