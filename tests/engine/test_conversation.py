"""Conversations as tokens: a further turn stands behind the very tokens of the answer, as the template would write it."""

from array import array
from collections.abc import Sequence

import pytest

from kvarium_engine.conversation import continuation, next_turn, opening
from kvarium_engine.model.null_runner import Bytes
from kvarium_engine.vocabulary import Message
from tests.engine.chatml import END, START, ChatML

EOS = frozenset({END})


def answered(vocabulary: ChatML, prompt: "array[int]", answer: str, ended: bool = True) -> "array[int]":
    return array("I", [*prompt, *vocabulary.encode(answer), *([END] if ended else [])])


@pytest.mark.parametrize("ended", [True, False], ids=["by its end token", "by its length"])
@pytest.mark.parametrize("system", ["", "Be brief."])
def test_a_continuation_is_what_the_template_makes_of_the_whole_conversation(
    ended: bool, system: str
) -> None:
    vocabulary = ChatML()
    first = opening(vocabulary, "Why?", system)
    second = continuation(vocabulary, answered(vocabulary, first, "Because.", ended), EOS, "And then?")
    third = continuation(vocabulary, answered(vocabulary, second, "Nothing", ended), EOS, "Oh.")
    messages = [Message("system", system)] if system else []
    messages += [Message("user", "Why?"), Message("assistant", "Because."), Message("user", "And then?")]
    assert second.tolist() == vocabulary.chat(messages)
    messages += [Message("assistant", "Nothing"), Message("user", "Oh.")]
    assert third.tolist() == vocabulary.chat(messages)


def test_the_tokens_of_an_answer_stay_as_they_are() -> None:
    """Here they are no text at all: nothing is decoded and encoded again."""
    tokens = [START, 20_000, 31_999, 7]
    assert continuation(ChatML(), tokens, EOS, "x").tolist() == tokens + next_turn(ChatML(), "x")


def test_an_end_token_that_is_not_the_templates_gives_way_to_the_templates() -> None:
    other = frozenset({END, 5})
    assert continuation(ChatML(), [9, 5], other, "x").tolist() == [9, *next_turn(ChatML(), "x")]


def test_a_message_that_looks_like_an_answer_is_no_hindrance() -> None:
    for message in ("Yes", "42", "", "assistant\nYes"):
        assert next_turn(ChatML(), message)[:2] == [END, *ChatML().encode("\n")]


class _Forgetful(ChatML):
    """Its template leaves answers out."""

    def chat(self, messages: Sequence[Message]) -> list[int]:
        return super().chat([message for message in messages if message.role != "assistant"])


def test_a_template_that_does_not_show_how_it_goes_on_is_refused() -> None:
    with pytest.raises(ValueError, match="does not show how a conversation goes on"):
        next_turn(_Forgetful(), "x")


class _WithStart(Bytes):
    """Puts a token before each text, as many tokenizers do."""

    def encode(self, text: str) -> list[int]:
        return [1, *super().encode(text)]


@pytest.mark.parametrize("vocabulary", [Bytes(), _WithStart()])
def test_without_a_template_it_is_plain_text_with_one_beginning(vocabulary: Bytes) -> None:
    first = opening(vocabulary, "Why?", "Be brief.")
    assert first.tolist() == vocabulary.encode("Be brief.\n\nQuestion: Why?\nAnswer:")
    tokens = [*first, 300, 301]
    assert continuation(vocabulary, tokens, EOS, "How?").tolist() == tokens + Bytes().encode(
        "\n\nQuestion: How?\nAnswer:"
    )
