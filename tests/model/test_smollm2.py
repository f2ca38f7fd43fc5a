"""The real model: 100 greedy tokens are those of transformers, alone, batched, with prefix hits and for three samples."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from kvarium_engine.model.loader import load_model
from kvarium_engine.model.tokenizer import Tokenizer, load_tokenizer
from kvarium_engine.vocabulary import Message
from kvarium_ledger.decisions import Finished
from tests.model.paged import Paged, generate

QUESTIONS = (
    "What is the capital of France?",
    "Write two sentences about a lighthouse keeper who collects clouds.",
    "Why does bread rise?",
    "Name three animals that sleep in winter, and say how each of them does it.",
    "Explain to a child what a cache is.",
)
SYSTEM = (
    "You are a friendly guide in a small museum of everyday things. You answer in plain words, you stay with what you "
    "know, and you never use more than a few sentences."
)


@pytest.fixture(scope="module")
def tokenizer(smollm2: Path) -> Tokenizer:
    found = load_tokenizer(smollm2)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def paged(smollm2: Path) -> PreTrainedModel:
    return load_model(smollm2, device=torch.device("cpu"))


@pytest.fixture(scope="module")
def prompts(tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.chat([Message("system", SYSTEM), Message("user", question)]) for question in QUESTIONS]


@pytest.fixture(scope="module")
def expected(smollm2: Path, prompts: list[list[int]]) -> list[list[int]]:
    plain = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32, attn_implementation="sdpa")
    return [generate(plain, prompt) for prompt in prompts]


@pytest.mark.timeout(600)
def test_its_greedy_tokens_are_those_of_transformers(
    paged: PreTrainedModel, prompts: list[list[int]], expected: list[list[int]]
) -> None:
    for prompt, tokens in zip(prompts, expected, strict=True):
        assert Paged(paged).greedy([prompt]) == [tokens], "alone, without a prefix hit"
    engine = Paged(paged, caching=False)
    assert engine.greedy(prompts) == expected, "batched, without a prefix hit"
    engine = Paged(paged, budget=64)
    assert engine.greedy(prompts) == expected, "batched, in chunks; all but the first hit the system prompt"
    assert engine.operations()["share", "prefix_hit"] > 0
    assert engine.greedy(prompts[::-1]) == expected[::-1], "batched, each hits its own earlier prompt"
    assert engine.operations()["reuse", "prefix_hit"] > 0
    engine.assert_nothing_leaks()


@pytest.mark.timeout(600)
def test_all_three_greedy_samples_are_those_of_transformers(
    paged: PreTrainedModel, prompts: list[list[int]], expected: list[list[int]]
) -> None:
    engine = Paged(paged)
    (answers,) = engine.answers(engine.ask(prompts[1], n=3))
    assert answers == [expected[1]] * 3
    assert engine.operations()["copy", "write"] == 2


def test_it_knows_the_capital_of_france(paged: PreTrainedModel, tokenizer: Tokenizer) -> None:
    engine = Paged(paged)
    asked = tokenizer.chat([Message("user", QUESTIONS[0])])
    (answers,) = engine.answers(engine.ask(asked, 30, ignore_eos=False))
    text = "".join(tokenizer.piece(token) for token in answers[0])
    assert text == "The capital of France is Paris.<|im_end|>"


def test_a_stop_string_ends_the_answer_where_it_is_whole(
    paged: PreTrainedModel, tokenizer: Tokenizer
) -> None:
    engine = Paged(paged, vocabulary=tokenizer)
    asked = tokenizer.chat([Message("user", QUESTIONS[0])])
    requests = [
        engine.ask(asked, 30, ignore_eos=False, stop=stops) for stops in (("ance is",), ("x", "Par"), ())
    ]
    answers = ["".join(map(tokenizer.piece, answer)) for [answer] in engine.answers(*requests)]
    assert answers == [
        "The capital of France is",
        "The capital of France is Paris",
        "The capital of France is Paris.<|im_end|>",
    ]
    assert {f.request: (f.reason, f.stop_reason) for f in engine.decisions(Finished)} == {
        0: ("stop", "ance is"),
        1: ("stop", "Par"),
        2: ("stop", None),
    }


def test_pieces_join_to_the_text(tokenizer: Tokenizer) -> None:
    text = 'In  2026, 3 cafés — and a 🦉 — said: "naïve"?\n\tYes.\n'
    tokens = tokenizer.encode(text)
    pieces = [tokenizer.piece(token) for token in tokens]
    assert any(piece.startswith("<0x") for piece in pieces)
    data = b"".join(
        bytes.fromhex(piece.replace("<0x", "").replace(">", ""))
        if piece.startswith("<0x")
        else piece.encode()
        for piece in pieces
    )
    assert data.decode() == text
    assert tokenizer.piece(1) == "<|im_start|>"
    assert [tokenizer.piece(token) for token in (-1, tokenizer.size)] == ["", ""]
