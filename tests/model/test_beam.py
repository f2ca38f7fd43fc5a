"""Beam search through the whole engine: tokens, order and scores of the answers are those of transformers' own."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from kvarium_engine.model.loader import load_model
from kvarium_engine.model.tokenizer import load_tokenizer
from kvarium_engine.scheduling.request import Request
from kvarium_ledger.decisions import Finished, Preempted
from tests.engine.mirrored import tokens
from tests.model.paged import Paged
from tests.model.tiny import made, small_llama

EOS = [5, 23, 71]
"""Several, so that a model with random weights meets some of them."""

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
    return [(each.tokens.tolist(), each.score) for each in request.hypotheses[: request.params.n]]


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
    reasons: set[str] = set()
    for request, how in asked:
        ids, eos = request.prompt.tolist(), None if ignore_eos else EOS
        assert_same(answers(request), searched(plain, ids, width, 24, request.params.n, eos, **how))
        reasons |= {answer.reason for answer in request.hypotheses}
    assert reasons == ({"length"} if ignore_eos else {"stop", "length"})
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("size", [1, 4, 16])
def test_block_sizes_prefix_hits_and_other_requests_beside_change_nothing(
    paged: PreTrainedModel, plain: PreTrainedModel, size: int, caching: bool
) -> None:
    engine = Paged(paged, num_blocks=2048 // size, block_size=size, caching=caching, budget=32)
    asked = []
    for number in range(4):
        ids = prompt(0, 18) + prompt(number, 3 + 2 * number)
        asked.append(engine.ask(ids, 16, n=2, beam_width=2 + number, ignore_eos=False))
        engine.ask(ids, 12, n=3, temperature=1.0, logprobs=2)
        engine.ask(prompt(90 + number, 30), 9, logprobs=0)
        engine.step(2)
    engine.run()
    for request in asked:
        width = request.params.beam_width
        assert width is not None
        assert_same(answers(request), searched(plain, request.prompt.tolist(), width, 16, 2, EOS))
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("caching", [True, False])
def test_searches_that_are_preempted_give_the_same_answers(
    paged: PreTrainedModel, plain: PreTrainedModel, caching: bool
) -> None:
    engine = Paged(paged, num_blocks=44, block_size=4, caching=caching, budget=32)
    asked = [engine.ask(prompt(i, 11 + i), 30, n=4, beam_width=4, ignore_eos=True) for i in range(3)]
    engine.ask(prompt(7, 15), 25, n=3, temperature=1.0)
    engine.run()
    assert len(engine.decisions(Preempted)) >= 2
    for request in asked:
        assert_same(answers(request), searched(plain, request.prompt.tolist(), 4, 30, 4))
    engine.assert_nothing_leaks()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"min_tokens": 7}, {"min_new_tokens": 7}),
        ({"repetition_penalty": 1.7}, {"repetition_penalty": 1.7}),
        (
            {"logit_bias": {7: 3.0, 30: -2.5}, "repetition_penalty": 0.8},
            {"sequence_bias": {(7,): 3.0, (30,): -2.5}, "repetition_penalty": 0.8},
        ),
    ],
)
def test_what_changes_log_probabilities_does_so_as_in_transformers(
    paged: PreTrainedModel, plain: PreTrainedModel, mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    engine = Paged(paged)
    asked = [engine.ask(prompt(i), 14, n=4, beam_width=4, ignore_eos=False, **mine) for i in range(5)]
    engine.run()
    unchanged = []
    for request in asked:
        assert_same(answers(request), searched(plain, request.prompt.tolist(), 4, 14, 4, EOS, **theirs))
        unchanged.append(answers(request) == searched(plain, request.prompt.tolist(), 4, 14, 4, EOS))
    assert not all(unchanged)


def test_stop_ids_are_further_end_tokens(paged: PreTrainedModel, plain: PreTrainedModel) -> None:
    engine = Paged(paged)
    asked = [
        engine.ask(prompt(i), 20, n=3, beam_width=3, ignore_eos=True, stop_token_ids=(9, 40, 52))
        for i in range(6)
    ]
    engine.run()
    reasons = set()
    for request in asked:
        assert_same(answers(request), searched(plain, request.prompt.tolist(), 3, 20, 3, [9, 40, 52]))
        reasons |= {(answer.reason, answer.stop_reason) for answer in request.hypotheses}
    assert ("stop", 9) in reasons or ("stop", 40) in reasons or ("stop", 52) in reasons
    assert {finished.stop_reason for finished in engine.decisions(Finished)} <= {9, 40, 52, None}


def test_a_vocabulary_smaller_than_the_candidates_is_searched_whole() -> None:
    config = small_llama(vocab_size=7)
    engine = Paged(made(config))
    request = engine.ask([1, 2, 3], 4, n=6, beam_width=6, ignore_eos=True)
    engine.run()
    assert len(request.hypotheses) == 6
    assert len({tuple(answer.tokens) for answer in request.hypotheses}) == 6
    engine.assert_nothing_leaks()


def test_the_real_model_searches_as_transformers_does(smollm2: Path, size: str) -> None:
    tokenizer = load_tokenizer(smollm2)
    assert tokenizer is not None
    engine = Paged(load_model(smollm2, device=torch.device("cpu")), caching=True)
    questions = ("The capital of France is", "Three animals that sleep in winter are")
    widths = (2, 4, 6)
    asked = [
        engine.ask(tokenizer.encode(question), 14, n=width, beam_width=width, ignore_eos=False)
        for question in questions[: 1 if size == "small" else None]
        for width in widths
    ]
    engine.run()
    eos = engine.runner.eos_tokens
    plain = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32, attn_implementation="sdpa")
    for request in asked:
        width = request.params.beam_width
        assert width is not None
        theirs = searched(plain, request.prompt.tolist(), width, 14, width, sorted(eos))
        assert_same(answers(request), theirs)
    engine.assert_nothing_leaks()
