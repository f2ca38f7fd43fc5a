"""The true hashes of a session's contents, by the chain of their tokens: what records that tell text do not tell themselves."""

from typing import Final

import numpy as np

from kvarium.errors import DamagedRecordingError
from kvarium_ledger.columns import u32
from kvarium_ledger.hashes import HASH_BYTES, block_hash, root_hash
from kvarium_ledger.messages import Hello
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Contents, Text

_MOST: Final = 1 << 30
"""Contents are numbered from 0 on, without holes."""


class ContentHashes:
    """Hashes by their contents, as far as they are known. ``hello`` begins the session: it tells the chain's seed."""

    def __init__(self, hello: Hello) -> None:
        self._root = root_hash(str(hello.config.get("prefix_caching_hash_seed", "0")))
        self._block_size = hello.block_size
        self._bytes = np.zeros((1024, HASH_BYTES), dtype=np.uint8)
        self._size = np.zeros(1024, dtype=np.uint8)
        """``[contents]``: how many bytes of each are known: of a foreign engine's it may be fewer than of ours, or none."""

    def get(self, content: int) -> bytes | None:
        """The hash of a content; None: it is not known."""
        size = int(self._size[content]) if content < len(self._size) else 0
        return self._bytes[content, :size].tobytes() if size else None

    def put(self, content: int, value: bytes) -> None:
        """Note one. Raises :class:`DamagedRecordingError` for a number that no engine gives."""
        if content >= _MOST:
            raise DamagedRecordingError(f"content {content} is out of any order")
        if content >= len(self._size):
            more = 2 * content + 1 - len(self._size)
            self._bytes = np.concatenate((self._bytes, np.zeros((more, HASH_BYTES), dtype=np.uint8)))
            self._size = np.concatenate((self._size, np.zeros(more, dtype=np.uint8)))
        value = value[:HASH_BYTES]
        self._bytes[content, : len(value)] = np.frombuffer(value, dtype=np.uint8)
        self._size[content] = len(value)

    def note(self, contents: Contents) -> None:
        """Note the hashes that a record tells of its contents, if it does."""
        ids, told = u32(contents.content).tolist(), contents.hashes
        if len(told) == len(ids):
            for content, value in zip(ids, told, strict=True):
                self.put(content, value)

    def learn(self, contents: Contents, text: Text) -> None:
        """The hashes of the contents of a step, whose tokens ``text`` tells."""
        parents = dict(zip(u32(contents.content).tolist(), u32(contents.parent).tolist(), strict=False))
        keys = {content: each.keys for each in text.extra for content in u32(each.content).tolist()}
        tokens = u32(text.tokens)
        for place, content in enumerate(u32(text.content).tolist()):
            parent = parents.get(content)
            before = self._root if parent == NONE else None if parent is None else self.get(parent)
            words = tokens[place * self._block_size : (place + 1) * self._block_size]
            if before is not None and len(words) == self._block_size:
                self.put(content, block_hash(before, words.tolist(), keys.get(content)))

    def beginning(self, digits: str) -> np.ndarray:
        """``[contents] bool``: whose hash begins with these hexadecimal digits (at most 64, in small letters)?"""
        whole, half = bytes.fromhex(digits[: len(digits) & ~1]), digits[len(digits) & ~1 :]
        found: np.ndarray = self._size >= (len(digits) + 1) // 2
        found = found & (self._bytes[:, : len(whole)] == np.frombuffer(whole, dtype=np.uint8)).all(axis=1)
        if half:
            found = found & (self._bytes[:, len(whole)] >> 4 == int(half, 16))
        return found
