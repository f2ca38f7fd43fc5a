"""A vocabulary in which every token is a letter, so that what a null runner samples has text, and meets stop strings."""

from collections.abc import Sequence

from kvarium_engine.model.seeded_tokens import FIRST_TOKEN, VOCABULARY
from kvarium_engine.vocabulary import Message

LETTERS = "abcdef"


class Letters:
    """Token ``t`` reads as one of six letters; the marks before the first of them as nothing."""

    size = VOCABULARY
    has_chat_template = False

    def encode(self, text: str) -> list[int]:
        return [FIRST_TOKEN + LETTERS.index(letter) for letter in text]

    def chat(self, messages: Sequence[Message]) -> list[int]:
        raise ValueError("letters are no chat")

    def piece(self, token: int) -> str:
        return LETTERS[(token - FIRST_TOKEN) % len(LETTERS)] if token >= FIRST_TOKEN else ""
