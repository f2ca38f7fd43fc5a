"""What contents stand for: their hashes and their text, from the tokens that the ledger was told.

Needed only while a breakpoint asks for a hash or a text: those of contents that were there before are taken from the prefix
cache's table of them.
"""

from collections.abc import Sequence

from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.vocabulary import TextDecoder, Vocabulary
from kvarium_ledger.hashes import block_hash, texts_of
from kvarium_ledger.operations import NONE
from kvarium_ledger.step_text import ExtraKeys, PlainContents

_MOST = 1 << 20
"""When so many are known, those are forgotten that the prefix cache has forgotten."""


class KnownContents:
    """The contents that the prefix cache knows, and those that come. ``vocabulary`` gives tokens their text."""

    def __init__(self, cache: PrefixCache | None, vocabulary: Vocabulary | None) -> None:
        self._cache = cache
        self._vocabulary = vocabulary
        self._known: dict[int, tuple[int, bytes]] = {}
        """Parent and token ids (u32), by content."""
        self._keys: dict[int, ExtraKeys] = {}
        """The extra keys of first blocks that have some."""
        self._hashes: dict[int, bytes] = {}
        self._load()

    def _load(self) -> None:
        for found in (self._known, self._keys, self._hashes):
            found.clear()
        if self._cache is not None:
            for content, parent, tokens, raw in self._cache.known():
                self._known[content] = (parent, tokens)
                if raw:
                    self._keys[content] = tuple(tuple(key) for key in texts_of(raw))

    def learn(self, told: Sequence[PlainContents]) -> None:
        """A step interned contents."""
        for first, parent, count, tokens, extra, _, _ in told:
            if parent == NONE and extra is not None:
                self._keys[first] = extra
            stride = len(tokens) // count
            before = parent
            for at in range(count):
                own = tokens[at * stride : (at + 1) * stride]
                self._known[first + at] = (before, own)
                before = first + at
        if len(self._known) > _MOST:
            self._load()

    def _chain(self, content: int) -> list[int] | None:
        """A content and those before it, the first one first; None: they are not all known."""
        found = []
        while content != NONE:
            if content not in self._known:
                return None
            found.append(content)
            content = self._known[content][0]
        return found[::-1]

    def hash_of(self, content: int) -> str:
        """A content's hash in hexadecimal digits; empty: it is not known."""
        chain = self._chain(content)
        if chain is None or self._cache is None:
            return ""
        value, keys = self._cache.root, self._keys.get(chain[0])
        for each in chain:
            known = self._hashes.get(each)
            if known is None:
                tokens = memoryview(self._known[each][1]).cast("I")
                known = self._hashes[each] = block_hash(value, tokens, keys or None)
            # The salt stands in the first block's alone.
            keys = keys and tuple(key for key in keys if key[0] == "lora")
            value = known
        return value.hex()

    def begins(self, content: int, text: str) -> bool:
        """Does the text that a content stands for, from its prompt's beginning, begin with this one?"""
        chain = self._chain(content)
        if chain is None:
            return False
        return self.reads(b"".join(self._known[each][1] for each in chain), text)

    def reads(self, tokens: bytes, text: str) -> bool:
        """Does the text of these tokens (u32) begin with this one?"""
        if self._vocabulary is None:
            return False
        decoder, said = TextDecoder(self._vocabulary), ""
        for token in memoryview(tokens).cast("I"):
            said += decoder.add(token)
            if len(said) >= len(text) or not text.startswith(said):
                break
        return said.startswith(text)
