"""Beam search through the whole engine: tokens, order and scores of the answers are those of transformers' own."""

from itertools import product
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from kvarium_engine.scheduling.request import Request
from tests.engine.mirrored import tokens
from tests.model.paged import Paged
from tests.model.tiny import made, small_llama

EOS = [1, 5, 9, 14, 23, 31, 40, 52, 66, 71]
"""So many end tokens that a model with random weights meets some."""

Answers = list[tuple[list[int], float]]


def prompt(seed: int, count: int = 20) -> list[int]:
    return [token % 97 for token in tokens(seed, count)]


def searched(
    model: PreTrainedModel, ids: list[int], width: int, max_tokens: int, n: int, eos: Any = None, **how: Any
) -> Answers:
    """The answers of transformers' beam search, the best first, each cut behind its first end token."""
    ends = set() if eos is None else {eos} if isinstance(eos, int) else set(eos)
    model.generation_config.eos_token_id = eos
    row = torch.tensor([ids])
    with torch.inference_mode():
        out = model.generate(
            row,
            attention_mask=torch.ones_like(row),
            num_beams=width,
            num_return_sequences=n,
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_scores=True,
            **how,
        )
    answers: Answers = []
    for line, score in zip(out.sequences[:, len(ids) :].tolist(), out.sequences_scores.tolist(), strict=True):
        end = next((place for place, token in enumerate(line) if token in ends), max_tokens - 1)
        answers.append((line[: end + 1], score))
    return answers


def answers(request: Request) -> Answers:
    return [(each.tokens.tolist(), each.score) for each in request.answers[: request.params.n]]


def assert_same(mine: Answers, theirs: Answers) -> None:
    assert [line for line, _ in mine] == [line for line, _ in theirs]
    assert [score for _, score in mine] == pytest.approx([score for _, score in theirs], rel=2e-5)


@pytest.fixture(scope="module")
def paged() -> PreTrainedModel:
    model = made(small_llama())
    model.generation_config.eos_token_id = EOS
    return model


@pytest.fixture(scope="module")
def plain() -> PreTrainedModel:
    return made(small_llama(), attention="sdpa")


@pytest.mark.parametrize("ignore_eos", [False, True])
@pytest.mark.parametrize("width", [2, 4, 6])
def test_answers_are_those_of_transformers(
    paged: PreTrainedModel, plain: PreTrainedModel, width: int, ignore_eos: bool
) -> None:
    engine = Paged(paged)
    asked = []
    for number, (penalty, early, n) in enumerate(
        product((0.5, 1.0, 2.0), (False, True, "never"), (1, width))
    ):
        how = {"length_penalty": penalty, "early_stopping": early}
        request = engine.ask(
            prompt(number, 9 + number), 24, n=n, beam_width=width, ignore_eos=ignore_eos, **how
        )
        asked.append((request, how))
    engine.run()
    reasons = set()
    for request, how in asked:
        ids, eos = request.prompt.tolist(), None if ignore_eos else EOS
        assert_same(answers(request), searched(plain, ids, width, 24, request.params.n, eos, **how))
        reasons |= {answer.reason for answer in request.answers}
    assert reasons == ({"length"} if ignore_eos else {"stop", "length"}) or width == 2
    engine.assert_nothing_leaks()
