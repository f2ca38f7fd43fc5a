"""A tokenizer of transformers as a vocabulary.

A token's piece is found by what it adds to a text: the decoder is given an anchor token and then both, so that a
SentencePiece token keeps the blank before its word. Byte-level tokens that are only a part of a character are told by
their bytes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from kvarium_engine.errors import UsageError
from kvarium_engine.vocabulary import Message, byte_piece

_BYTES = {char: byte for byte, char in bytes_to_unicode().items()}
"""The characters by which byte-level BPE writes bytes."""


class Tokenizer:
    """The vocabulary of a model, by its tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.size = len(tokenizer)
        self.has_chat_template = bool(getattr(tokenizer, "chat_template", None))
        self._special = set(tokenizer.all_special_ids)
        self._byte_level = _is_byte_level(tokenizer)
        self._anchor = tokenizer.encode("a", add_special_tokens=False)
        self._anchor_text = self._decode(self._anchor)

    def _decode(self, tokens: list[int]) -> str:
        text: str = self.tokenizer.decode(tokens, clean_up_tokenization_spaces=False)
        return text

    def encode(self, text: str) -> list[int]:
        """The token ids of a raw text, with what the tokenizer puts before it."""
        tokens: list[int] = self.tokenizer.encode(text)
        return tokens

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The token ids of a conversation, up to where the next answer begins. Raises :class:`ValueError`."""
        if not self.has_chat_template:
            raise ValueError("this model has no chat template")
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            text: Any = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template is a program: it may raise anything
            raise ValueError(f"the chat template refuses this: {error}") from None
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def piece(self, token: int) -> str:
        """The text of one token."""
        if not 0 <= token < self.size:
            return ""
        name = self.tokenizer.convert_ids_to_tokens(token)
        if not isinstance(name, str):
            return ""
        if token in self._special:
            return name
        if self._byte_level:
            if all(char in _BYTES for char in name):
                return byte_piece(bytes(_BYTES[char] for char in name))
            return name  # an added token is written as it is
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return byte_piece(bytes([int(name[3:5], 16)]))
        return self._decode([*self._anchor, token])[len(self._anchor_text) :]


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Does the tokenizer write bytes as printable characters (GPT-2's way)?"""
    vocabulary = tokenizer.get_vocab()
    return "Ġthe" in vocabulary or ("Ġ" in vocabulary and "▁" not in vocabulary)


def load_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer in ``folder``; None where there is none. Raises :class:`UsageError` for one that can't be loaded."""
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        return None
    transformers.logging.set_verbosity_error()
    try:
        tokenizer = Tokenizer(AutoTokenizer.from_pretrained(folder, local_files_only=True))
    except Exception as error:
        raise UsageError(f"the tokenizer in {folder} can't be loaded: {error}") from None
    if tokenizer.has_chat_template:
        try:
            tokenizer.chat([Message("user", "Hello")])
        except ValueError as error:
            raise UsageError(f"the model in {folder} can't hold a conversation: {error}") from None
    return tokenizer
