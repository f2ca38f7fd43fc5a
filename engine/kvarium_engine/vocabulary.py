"""A vocabulary: text to token ids and back, as far as the engine and its ledger need it.

    "What is"  ──encode──▶  [1780, 314]                          raw text
    [user: What is …]  ──chat──▶  [1, 4093, 198, 1780, …]        the model's chat template, ready for the answer
    314  ──piece──▶  " is"                                       one token's text, for who reads the ledger

A token may be only a part of a character. Its piece is then its bytes, ``<0xE2>`` each: who joins pieces to a text
decodes runs of those as UTF-8. The empty piece says that a token has no text of its own.
"""

import codecs
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """One turn of a conversation. ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


class Vocabulary(Protocol):
    """What a runner's tokens mean. Tokens from ``size`` on have no piece."""

    size: int
    has_chat_template: bool

    def encode(self, text: str) -> list[int]:
        """The token ids of a raw text, with what the tokenizer puts before it."""
        ...

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The token ids of a conversation, up to where the assistant's next answer begins.

        Raises :class:`ValueError` when there is no chat template, or when it refuses these messages.
        """
        ...

    def piece(self, token: int) -> str:
        """The text of one token below ``size``."""
        ...


def byte_piece(data: bytes) -> str:
    """The piece of a token that is made of bytes: its text, or each byte as ``<0xE2>`` where that is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in data)


_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")


class TextDecoder:
    """Joins the pieces of tokens to a text, one token after the other."""

    __slots__ = ("_bytes", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """The text that ``token`` adds: a character that is not complete waits for its other bytes."""
        vocabulary = self._vocabulary
        piece = vocabulary.piece(token) if token < vocabulary.size else ""
        if not piece:
            return ""
        if _BYTES.fullmatch(piece):
            return self._bytes.decode(bytes.fromhex(piece.replace("<0x", "").replace(">", "")))
        return self._bytes.decode(b"", final=True) + piece
