"""The tiny model of llama2.c: its known text comes out of the paged engine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.model.llama2c import BOS, Llama2cTokens, load_llama2c
from tests.model.paged import Paged, check_tokens, generate

KNOWN = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a "
    "big, red ball. She wanted to play with it, but it was too high.\nLily's mom said, \"Lily, let's go to the park.\" "
    "Lily was sad and didn't know what to do. She said, \"I want to play with your ball, but I can't find it.\"\n"
    "Lily was sad"
)


@pytest.fixture(scope="module")
def stories(shared_data: Callable[[str], Path]) -> Path:
    return shared_data("stories260K.bin")


@pytest.fixture(scope="module")
def tokens(shared_data: Callable[[str], Path]) -> Llama2cTokens:
    return Llama2cTokens(shared_data("tok512.bin"), 512)


def test_its_known_text_comes_out(stories: Path, tokens: Llama2cTokens) -> None:
    engine = Paged(load_llama2c(stories), num_blocks=32)
    (answer,) = engine.greedy([[BOS]], 220)
    text = "".join(tokens.piece(token) for token in answer)
    assert text.removeprefix(" ").startswith(KNOWN)


def test_its_tokens_are_those_of_transformers(stories: Path, tokens: Llama2cTokens) -> None:
    plain = load_llama2c(stories, attention="sdpa")
    prompts = [tokens.encode(text) for text in ("Lily's mom", "One day, a dog", "The sun was", "")]
    expected = [generate(plain, prompt) for prompt in prompts]
    paged = load_llama2c(stories)
    assert Paged(paged).greedy(prompts) == expected
    assert [Paged(paged).greedy([prompt])[0] for prompt in prompts] == expected


def test_text_goes_to_tokens_and_back(tokens: Llama2cTokens) -> None:
    text = "Once upon a time, there was a café.\n"
    encoded = tokens.encode(text)
    assert encoded[:2] == [BOS, tokens.encode("Once")[1]]
    assert "".join(tokens.piece(token) for token in encoded[1:]).replace("<0xC3><0xA9>", "é") == " " + text
    assert len(encoded) < 16


def test_files_that_are_none_are_refused_in_one_line(tmp_path: Path, stories: Path) -> None:
    empty = tmp_path / "empty.bin"
    empty.write_bytes(b"abc")
    with pytest.raises(UsageError, match="has 3 bytes"):
        load_llama2c(empty)
    short = tmp_path / "short.bin"
    short.write_bytes(stories.read_bytes()[:5000])
    with pytest.raises(UsageError, match="is cut off"):
        load_llama2c(short)
    words = tmp_path / "words.bin"
    words.write_bytes(b"\0" * 200)
    with pytest.raises(UsageError, match="no model of llama2"):
        load_llama2c(words)
    with pytest.raises(UsageError, match="no vocabulary of llama2"):
        Llama2cTokens(words, 512)


def test_what_an_earlier_request_left_does_not_change_its_tokens(stories: Path) -> None:
    model = load_llama2c(stories)
    right = Paged(model, num_blocks=32).greedy([[BOS]], 60)
    engine = Paged(model, num_blocks=32)
    engine.answers(engine.ask([BOS, 300, 301], 40))
    assert engine.greedy([[BOS]], 60) == right


def test_100_of_its_tokens_are_those_without_any_cache(stories: Path) -> None:
    check_tokens(load_llama2c(stories), load_llama2c(stories, attention="sdpa"))
