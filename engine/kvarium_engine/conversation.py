"""A conversation as tokens: how it begins, and how it goes on behind what the model really said.

    opening        system, user ──chat template──▶  <|im_start|>system … <|im_start|>user … <|im_start|>assistant⏎
    (the model)                                     The tide follows the Moon.
    continuation   user                             <|im_end|>⏎<|im_start|>user … <|im_start|>assistant⏎

A continuation never turns the answer into text and back: the tokens that are there stay, so that their blocks are hit
in the prefix cache, and only the *next turn* is put behind them. What a template writes between an answer and the next
turn is found by asking it for one conversation with two different answers: behind them, both are the same.

Without a chat template (``vocabulary.has_chat_template``) a conversation is plain text with questions and answers.
"""

from array import array
from collections.abc import Sequence

from kvarium_engine.vocabulary import Message, Vocabulary

_ANSWERS = ("Yes", "42")
"""Two answers that end with different tokens, and with none that would melt into what follows it."""


def opening(vocabulary: Vocabulary, message: str, system: str = "") -> "array[int]":
    """The prompt of a conversation's first turn. Raises :class:`ValueError` where the template refuses it."""
    if not vocabulary.has_chat_template:
        return array("I", vocabulary.encode((system and system + "\n\n") + _plain(message)))
    messages = [Message("system", system)] if system else []
    return array("I", vocabulary.chat([*messages, Message("user", message)]))


def continuation(
    vocabulary: Vocabulary, tokens: Sequence[int], eos_tokens: frozenset[int], message: str
) -> "array[int]":
    """The prompt of a further turn, behind the ``tokens`` of a sequence that has ended: its prompt and its answer.

    A token that ended the answer is left out, as the template writes its own end of a turn. Raises :class:`ValueError`
    where the template does not say how a conversation goes on.
    """
    found = array("I", tokens)
    if found and found[-1] in eos_tokens:
        found.pop()
    found.extend(next_turn(vocabulary, message))
    return found


def next_turn(vocabulary: Vocabulary, message: str) -> list[int]:
    """What follows an answer: the end of its turn, the user's next one, and the beginning of the next answer."""
    if not vocabulary.has_chat_template:
        lead, tokens = vocabulary.encode(""), vocabulary.encode("\n\n" + _plain(message))
        return tokens[len(lead) :] if tokens[: len(lead)] == lead else tokens
    one, other = (
        vocabulary.chat([Message("user", "Hi"), Message("assistant", answer), Message("user", message)])
        for answer in _ANSWERS
    )
    common = 0
    while common < min(len(one), len(other)) and one[-1 - common] == other[-1 - common]:
        common += 1
    if not 0 < common < len(one):
        raise ValueError("the model's chat template does not show how a conversation goes on after an answer")
    return one[len(one) - common :]


def _plain(message: str) -> str:
    return f"Question: {message}\nAnswer:"
