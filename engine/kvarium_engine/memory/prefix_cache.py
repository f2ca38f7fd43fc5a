"""The prefix cache: which block holds a prefix.

A full block is labelled by its **content**: the ids of its tokens *and* of all tokens before it. Contents are interned:

    content 0  (none, "You are a help")          ── block 3
      content 1  (0, "ful assistant. ")          ── block 9, block 12
        content 2  (1, "What is the capi")       ── block 4
        content 7  (1, "Tell me a story ")       ── no block: evicted, and still known

Contents that were new at once, as those of a prompt, are a **run**: the first one has a key, and the tokens of the others stand
behind it as they are, so that a prompt that comes again is looked up once and then compared. In a run each is the parent
of the next one, and their ids follow one another.

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

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

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
    ``holders``: the block that holds a content, or all that do, the one that was labelled first first. ``hashes``: those
    that are known of contents that a block holds.
    """

    def __init__(
        self, block_size: int, seed: str = "0", remember: int = 1 << 18, hashing: bool = False
    ) -> None:
        self.block_size = block_size
        self.hashing = hashing
        self.next_content = 0
        self._stride = block_size * TOKEN_BYTES
        self.root = root_hash(seed)
        """The hash before every first block's."""
        self._remember = remember
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._met = 0
        """Contents of the young generation."""
        self._runs: dict[int, bytes] = {}
        """Of the first of contents that were interned at once: the tokens of the others, whose ids follow its own."""
        self._heads: list[int] = []
        """Those first ones, ascending."""
        self.holders: dict[int, int | list[int]] = {}
        self.hashes: dict[int, bytes] = {}

    # -- contents -----------------------------------------------------------------------------------------------

    def intern(self, parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> tuple[int, bool]:
        """The content of a full block with these ``tokens`` (u32) behind ``parent`` (``NONE``: the first block).

        The second value says that the id is new: the ledger must hear of it before its first use.
        """
        key = (parent, tokens + keys.raw if parent == NONE and keys.raw else tokens)
        content = self._young.get(key)
        new = False
        if content is None:
            content = self._again(key)
            if content is None:
                new = True
                self._young[key] = content = self.next_content
                self.next_content = content + 1
                self._met += 1
            if self._met >= self._remember:
                self._turn()
        if self.hashing:
            self._hash_all(parent, tokens, [content], keys)
        return content, new

    def intern_n(self, parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> tuple[list[int], int]:
        """The same of the blocks of many ``tokens``: their contents, and how many of the last ones are new.

        Behind a new content all are new, and their ids follow one another.
        """
        young, runs, stride = self._young, self._runs, self._stride
        contents: list[int] = []
        key, before, at, end = (parent, tokens), parent, 0, len(tokens)
        while at < end:
            key = (before, tokens[at : at + stride])
            if before == NONE and keys.raw:
                key = (NONE, key[1] + keys.raw)
            found = young.get(key)
            if found is None:
                found = self._again(key)
                if found is None:
                    break
            contents.append(found)
            before = found
            at += stride
            run = runs.get(found)
            if run is not None:
                alike = len(run) // stride if tokens.startswith(run, at) else self._alike(run, tokens[at:])
                contents += range(found + 1, found + 1 + alike)
                before += alike
                at += alike * stride
        new = (end - at) // stride
        if new:
            content = self.next_content
            self.next_content = content + new
            contents += range(content, content + new)
            young[key] = content
            self._met += new
            if new > 1:
                runs[content] = tokens[at + stride :]
                self._heads.append(content)
        if self._met >= self._remember:
            self._turn()
        if self.hashing:
            self._hash_all(parent, tokens, contents, keys)
        return contents, new

    def _again(self, key: Key) -> int | None:
        """A content that the young map has not: of the old one, which is young again, or in the middle of a run."""
        content = self._old.pop(key, None)
        if content is None:
            return self._in_run(*key) if key[0] != NONE else None
        self._young[key] = content
        self._met += 1 + len(self._runs.get(content, b"")) // self._stride
        return content

    def _in_run(self, parent: int, tokens: bytes) -> int | None:
        """The content with these ``tokens`` behind a ``parent`` that is in a run."""
        at = bisect_right(self._heads, parent) - 1
        if at < 0 or parent == NONE:
            return None
        head = self._heads[at]
        start = (parent - head) * self._stride
        found = self._runs[head][start : start + self._stride]
        return parent + 1 if found == tokens else None

    def _alike(self, run: bytes, tokens: bytes) -> int:
        """How many blocks from the first on are the same in ``run`` and ``tokens``."""
        stride = self._stride
        most = min(len(run), len(tokens))
        if run[:most] == tokens[:most]:
            return most // stride
        at = 0
        while run[at : at + stride] == tokens[at : at + stride]:
            at += stride
        return at // stride

    def _hash_all(self, parent: int, tokens: bytes, contents: list[int], keys: ExtraKeys) -> None:
        """The hashes of ``contents``, where they are not known."""
        before = self.root if parent == NONE else self.hashes[parent]
        ids = memoryview(tokens).cast("I")
        for position, content in enumerate(contents):
            found = self.hashes.get(content)
            if found is None:
                own = ids[position * self.block_size : (position + 1) * self.block_size]
                found = block_hash(before, own, keys.at(first=parent == NONE and not position))
                self.hashes[content] = found
            before = found

    def _turn(self) -> None:
        self._old = self._held(self._old)
        self._old.update(self._young)
        self._young = {}
        self._met = 0
        self._heads = sorted(self._runs)

    def forget_unheld(self) -> None:
        """Forget the contents that no block holds: after records were lost, their ids must not come back."""
        self._young, self._old = self._held(self._young), self._held(self._old)
        self._heads = sorted(self._runs)

    def _held(self, known: dict[Key, int]) -> dict[Key, int]:
        """Of ``known`` contents those that a block holds, each by its own key: their runs are taken apart."""
        held, stride = self.holders, self._stride
        kept: dict[Key, int] = {}
        for key, content in known.items():
            if content in held:
                kept[key] = content
            run = self._runs.pop(content, b"")
            for at in range(0, len(run), stride):
                content += 1
                if content in held:
                    kept[content - 1, run[at : at + stride]] = content
        return kept

    def hash_of(self, content: int) -> bytes | None:
        """The hash (32 bytes) of a content that was just interned, or that a block holds; None unless ``hashing``."""
        return self.hashes[content] if self.hashing else None

    def hashes_of(self, contents: Iterable[int]) -> list[bytes]:
        """The same of several; none unless ``hashing``."""
        return [self.hashes[content] for content in contents] if self.hashing else []

    def held(self) -> list[tuple[int, int]]:
        """(content, parent) of every content that a block holds, in the order of their ids."""
        held = self.holders
        pairs = [(content, key[0]) for known in (self._old, self._young) for key, content in known.items()]
        for head, run in self._runs.items():
            pairs += [(each + 1, each) for each in range(head, head + len(run) // self._stride)]
        return sorted(pair for pair in pairs if pair[0] in held)

    def known(self) -> Iterator[tuple[int, int, bytes, bytes]]:
        """(content, parent, token ids as u32, a first block's extra keys as CBOR) of every content that is not forgotten."""
        stride = self._stride
        for known in (self._old, self._young):
            for (parent, tokens), content in known.items():
                yield content, parent, tokens[:stride], tokens[stride:]
        for head, run in self._runs.items():
            for each, at in enumerate(range(0, len(run), stride), head):
                yield each + 1, each, run[at : at + stride], b""

    # -- blocks -------------------------------------------------------------------------------------------------

    def lookup(self, tokens: bytes, most: int, keys: ExtraKeys = NO_KEYS) -> tuple[list[int], list[int]]:
        """The longest cached prefix of ``tokens`` (u32), of at most ``most`` full blocks: its blocks and contents."""
        blocks: list[int] = []
        contents: list[int] = []
        young, old, held, stride = self._young, self._old, self.holders, self._stride
        parent, at, end = NONE, 0, most * stride
        while at < end:
            key = (parent, tokens[at : at + stride])
            if not at and keys.raw:
                key = (NONE, key[1] + keys.raw)
            content = young.get(key)
            if content is None:
                content = old.get(key)
                if content is None:
                    content = self._in_run(*key) if at else None
                    if content is None:
                        break
            block = held.get(content)
            if block is None:
                break
            blocks.append(block if type(block) is int else block[0])  # type: ignore[index]
            contents.append(content)
            parent, at = content, at + stride
            run = self._runs.get(content) if at < end else None
            if run is not None:
                alike = self._alike(run, tokens[at:end])
                for parent in range(content + 1, content + 1 + alike):
                    block = held.get(parent)
                    if block is None:
                        return blocks, contents
                    blocks.append(block if type(block) is int else block[0])  # type: ignore[index]
                    contents.append(parent)
                at += alike * stride
        return blocks, contents

    def holds(self, parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> bool:
        """Does a block hold these ``tokens`` (u32) behind ``parent``?"""
        key = (parent, tokens + keys.raw if parent == NONE else tokens)
        content = self._young.get(key, self._old.get(key))
        if content is None:
            content = self._in_run(parent, tokens)
        return content is not None and content in self.holders

    def add(self, content: int, block: int) -> None:
        """``block`` now holds ``content``."""
        found = self.holders.setdefault(content, block)
        if found != block:
            if isinstance(found, int):
                self.holders[content] = [found, block]
            else:
                found.append(block)

    def discard(self, content: int, block: int) -> None:
        """``block`` no longer holds ``content``."""
        found = self.holders.pop(content)
        if found != block:
            self.put_back(content, found, block)
        elif self.hashes:
            self.hashes.pop(content, None)

    def put_back(self, content: int, found: int | list[int], block: int) -> None:
        """Of the holders of ``content`` that were ``found``, all but ``block`` still hold it."""
        assert not isinstance(found, int), f"content {content} is held by block {found}, not {block}"
        found.remove(block)
        self.holders[content] = found if len(found) > 1 else found[0]

    def forget_hashes(self, contents: Iterable[int]) -> None:
        """Blocks lost these ``contents``: the hashes of those that nobody holds now are made again if need be."""
        if not self.hashes:
            return
        for content in contents:
            if content not in self.holders:
                self.hashes.pop(content, None)

    def missed_hash(self, tokens: bytes, contents: Sequence[int], keys: ExtraKeys = NO_KEYS) -> bytes:
        """The hash (32 bytes) of the block that follows the cached prefix ``contents`` of ``tokens`` (u32)."""
        hashes = self.hashes
        known = len(contents)
        while known and contents[known - 1] not in hashes:
            known -= 1
        value = hashes[contents[known - 1]] if known else self.root
        for i in range(known, len(contents)):
            value = hashes[contents[i]] = self._hash(value, tokens, i, keys)
        return self._hash(value, tokens, len(contents), keys)

    def _hash(self, parent: bytes, tokens: bytes, position: int, keys: ExtraKeys) -> bytes:
        """The hash of the block at ``position`` of ``tokens`` (u32), behind the one whose hash is ``parent``."""
        start = position * self._stride
        ids = memoryview(tokens[start : start + self._stride]).cast("I")
        return block_hash(parent, ids, keys.at(first=position == 0))

    def __len__(self) -> int:
        return len(self.holders)
