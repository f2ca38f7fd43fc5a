"""What requests ask of the sampler, through the whole engine with a small random model."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from kvarium_engine.model.batch import Batch
from kvarium_ledger.columns import u32 as column
from kvarium_ledger.decisions import Finished, Preempted, SequenceCreated
from kvarium_ledger.records import Step, Text
from tests.engine.mirrored import tokens
from tests.model.paged import Paged
from tests.model.tiny import made, small_llama

EOS = 1


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return made(small_llama())


def u32(raw: bytes) -> list[int]:
    return [int(value) for value in column(raw)]


def prompt(seed: int, count: int = 20) -> list[int]:
    return [token % 97 for token in tokens(seed, count)]


def raw_logits(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """The logits behind a prompt, of an engine that computes nothing else."""
    engine = Paged(model)
    seen: list[torch.Tensor] = []
    forward = engine.runner.forward

    def kept(batch: Batch) -> torch.Tensor:
        seen.append(forward(batch))
        return seen[-1]

    engine.runner.forward = kept  # type: ignore[method-assign]
    engine.answers(engine.ask(ids, 1))
    return seen[-1][-1].clone()


def plain_greedy(model: PreTrainedModel, ids: list[int], count: int, **how: Any) -> list[int]:
    """Greedy tokens, one forward a token, by vLLM's definitions of what changes the logits."""
    found: list[int] = []
    for _ in range(count):
        scores = raw_logits(model, ids + found)
        for token, bias in how.get("logit_bias", {}).items():
            scores[token] += bias
        for token in set(ids + found):
            penalty = how.get("repetition_penalty", 1.0)
            scores[token] = scores[token] / penalty if scores[token] > 0 else scores[token] * penalty
        for token in found:
            scores[token] -= how.get("frequency_penalty", 0.0)
        for token in set(found):
            scores[token] -= how.get("presence_penalty", 0.0)
        found.append(int(scores.argmax()))
    return found


@pytest.mark.parametrize(
    "how",
    [
        {"repetition_penalty": 1.7},
        {"presence_penalty": 2.0},
        {"frequency_penalty": 1.5},
        {"logit_bias": {5: 9.0, 6: -100.0}},
        {
            "repetition_penalty": 1.3,
            "presence_penalty": -1.0,
            "frequency_penalty": 2.0,
            "logit_bias": {9: 4.0},
        },
    ],
)
def test_greedy_tokens_are_those_of_a_plain_loop_whoever_runs_beside(
    model: PreTrainedModel, how: dict[str, Any]
) -> None:
    engine = Paged(model)
    answers = engine.answers(
        engine.ask(prompt(4), 12),
        engine.ask(prompt(3), 12, **how),
        engine.ask(prompt(5), 12, temperature=1.0, min_p=0.1),
    )
    assert answers[1][0] == plain_greedy(model, prompt(3), 12, **how)
    assert answers[1][0] != plain_greedy(model, prompt(3), 12)
    assert answers[0][0] == plain_greedy(model, prompt(4), 12)


def test_a_penalty_makes_greedy_words_repeat_less_also_after_a_preemption(model: PreTrainedModel) -> None:
    ask = {"repetition_penalty": 1.2, "frequency_penalty": 0.5}
    engine = Paged(model)
    [[expected]] = engine.answers(engine.ask(prompt(7, 30), 60, **ask))
    [[free]] = engine.answers(engine.ask(prompt(7, 30), 60))
    assert len(set(expected)) > len(set(free))
    tight = Paged(model, num_blocks=8)
    _, [answer] = tight.answers(tight.ask(prompt(8, 30), 60), tight.ask(prompt(7, 30), 60, **ask))
    assert tight.decisions(Preempted)
    assert answer == expected


def test_end_and_stop_tokens_are_not_sampled_before_min_tokens(model: PreTrainedModel) -> None:
    engine = Paged(model)
    early: dict[str, Any] = {"logit_bias": {EOS: 100.0}, "ignore_eos": False}
    [[answer]] = engine.answers(engine.ask(prompt(1), 30, **early))
    assert answer == [EOS]
    requests = [engine.ask(prompt(1), 30, min_tokens=least, **early) for least in (1, 9)]
    [[one], [nine]] = engine.answers(*requests)
    assert [answer.index(EOS) for answer in (one, nine)] == [1, 9]
    bias = {"logit_bias": {EOS: 99.0, 50: 100.0}, "stop_token_ids": (50,), "min_tokens": 4, "n": 2}
    [answers] = engine.answers(engine.ask(prompt(2), 30, **bias))
    for answer in answers:
        assert not {EOS, 50} & set(answer[:4])
        assert answer[4:] == [50]
    assert [f.stop_reason for f in engine.decisions(Finished)] == [None, None, None, 50]


def test_logprobs_tell_the_models_own_logits_of_those_that_ask(model: PreTrainedModel) -> None:
    engine = Paged(model)
    silent = engine.ask(prompt(1), 6)
    asks = engine.ask(
        prompt(2), 6, n=2, temperature=1.5, logprobs=3, repetition_penalty=1.5, logit_bias={7: 5.0}
    )
    only = engine.ask(prompt(3), 6, logprobs=0)
    _, answers, _ = engine.answers(silent, asks, only)
    told: dict[int, list[tuple[int, float, int, list[int], list[float]]]] = {}
    steps = {record.step: record for record in engine.records if isinstance(record, Step)}
    for text in engine.records:
        if not isinstance(text, Text):
            continue
        sequences, sampled = u32(steps[text.step].sampled), u32(text.sampled)
        columns, first = text.logprobs, 0
        top, values = u32(columns.top_token), np.frombuffer(columns.top_logprob, "<f4").tolist()
        for number, logprob, rank, count in zip(
            u32(columns.sampled),
            np.frombuffer(columns.logprob, "<f4").tolist(),
            u32(columns.rank),
            u32(columns.count),
            strict=True,
        ):
            last = first + count
            told.setdefault(sequences[number], []).append(
                (sampled[number], logprob, rank, top[first:last], values[first:last])
            )
            first = last
    owners = {c.sequence: (c.request, c.index) for c in engine.decisions(SequenceCreated)}
    assert {owners[sequence] for sequence in told} == {(1, 0), (1, 1), (2, 0)}
    for sequence, rows in told.items():
        request, index = owners[sequence]
        assert len(rows) == 6
        if request == 2:
            assert all(rank == 1 and top == [] for _, _, rank, top, _ in rows)
            continue
        assert [token for token, *_ in rows] == answers[index]
        for place, (token, logprob, rank, top, values) in enumerate(rows):
            expected = raw_logits(model, prompt(2) + answers[index][:place]).double().log_softmax(-1)
            assert logprob == pytest.approx(expected[token].item(), abs=1e-4)
            assert rank == int((expected >= expected[token]).sum())
            assert top == expected.topk(3).indices.tolist()
            assert values == pytest.approx(expected.topk(3).values.tolist(), abs=1e-4)
