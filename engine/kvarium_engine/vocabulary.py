"""A vocabulary: text to token ids and back, as far as the engine and its ledger need it.

    "What is"  ──encode──▶  [1780, 314]                          raw text
    [user: What is …]  ──chat──▶  [1, 4093, 198, 1780, …]        the model's chat template, ready for the answer
    314  ──piece──▶  " is"                                       one token's text, for who reads the ledger

A token may be only a part of a character. Its piece is then its bytes, ``<0xE2>`` each: who joins pieces to a text
decodes runs of those as UTF-8. The empty piece says that a token has no text of its own.
"""

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
