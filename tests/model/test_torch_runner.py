"""The paged engine with a small random model: its tokens are those of transformers, however the work is cut up."""

import pytest
import torch
from transformers import MistralConfig, PreTrainedModel, Qwen2Config

from kvarium_engine.model.torch_runner import TorchRunner
from tests.model.paged import (
    Paged,
    check_broadcast,
    check_logits,
    check_second_owner,
    check_tokens,
    generate,
    random_prompt,
)
from tests.model.tiny import made, small_llama


@pytest.fixture(scope="module")
def paged() -> PreTrainedModel:
    return made(small_llama())


@pytest.fixture(scope="module")
def plain() -> PreTrainedModel:
    return made(small_llama(), attention="sdpa")


PROMPTS = [random_prompt(seed, count) for seed, count in enumerate((1, 5, 16, 17, 32, 40, 77))]


def test_greedy_tokens_are_those_of_transformers_alone(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    for asked in PROMPTS:
        assert Paged(paged).greedy([asked]) == [generate(plain, asked)]


@pytest.mark.parametrize("block_size", [1, 4, 16, 64])
def test_greedy_tokens_are_those_of_transformers_in_a_batch(
    paged: PreTrainedModel, plain: PreTrainedModel, block_size: int
) -> None:
    engine = Paged(paged, num_blocks=2048 // block_size, block_size=block_size)
    assert engine.greedy(PROMPTS) == [generate(plain, asked) for asked in PROMPTS]
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("budget", [3, 16, 33])
def test_a_prompt_in_chunks_gives_the_same_tokens(
    paged: PreTrainedModel, plain: PreTrainedModel, budget: int
) -> None:
    assert Paged(paged, budget=budget).greedy(PROMPTS, 30) == [generate(plain, p, 30) for p in PROMPTS]


def test_a_prefix_hit_gives_the_same_tokens(paged: PreTrainedModel, plain: PreTrainedModel) -> None:
    common = random_prompt(50, 48)
    first, second = common + random_prompt(51, 9), common + random_prompt(52, 20)
    engine = Paged(paged)
    expected = [generate(plain, first), generate(plain, second)]
    assert engine.greedy([first]) == expected[:1]
    assert engine.greedy([second]) == expected[1:]
    assert engine.operations()["reuse", "prefix_hit"] == 3
    assert engine.greedy([first, second]) == expected
    assert engine.operations()["share", "prefix_hit"] == 3


def test_all_of_three_greedy_samples_are_the_same_and_blocks_were_copied(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    asked = random_prompt(60, 41)
    engine = Paged(paged)
    (answers,) = engine.answers(engine.ask(asked, n=3))
    assert answers == [generate(plain, asked)] * 3
    operations = engine.operations()
    assert operations["copy", "write"] == 2
    assert operations["share", "fork"] == 6
    engine.assert_nothing_leaks()


def test_preempted_requests_go_on_with_the_same_tokens(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    prompts = [random_prompt(70 + i, 20 + i) for i in range(6)]
    engine = Paged(paged, num_blocks=24)
    assert engine.greedy(prompts) == [generate(plain, asked) for asked in prompts]
    assert engine.operations()["free", "preempted"] > 0
    assert engine.operations()["evict", "allocate"] > 0


def test_samples_that_are_preempted_and_fork_again_go_on_with_the_same_tokens(paged: PreTrainedModel) -> None:
    asked = [random_prompt(80 + i, 21) for i in range(3)]

    def run(num_blocks: int) -> tuple[list[list[list[int]]], bool]:
        engine = Paged(paged, num_blocks=num_blocks)
        requests = [engine.ask(p, 60, n=2, temperature=1.0, seed=i) for i, p in enumerate(asked)]
        return engine.answers(*requests), engine.operations()["free", "preempted"] > 0

    roomy, preempted_there = run(256)
    tight, preempted_here = run(18)
    assert (preempted_there, preempted_here) == (False, True)
    assert tight == roomy
    assert roomy[0][0] != roomy[0][1]


def test_a_sampled_token_depends_on_its_seed_and_not_on_who_runs_beside_it(paged: PreTrainedModel) -> None:
    asked = random_prompt(90, 30)
    alone = Paged(paged)
    (answer,) = alone.answers(alone.ask(asked, 40, temperature=1.0, seed=7))
    crowd = Paged(paged)
    others = [crowd.ask(random_prompt(91 + i, 10 * i + 3), 40, temperature=1.0, seed=i) for i in range(4)]
    again = crowd.answers(*others, crowd.ask(asked, 40, temperature=1.0, seed=7))[-1]
    other = Paged(paged)
    (third,) = other.answers(other.ask(asked, 40, temperature=1.0, seed=8))
    assert again == answer
    assert third != answer


def test_requests_without_a_seed_follow_the_engines(paged: PreTrainedModel) -> None:
    def run(seed: int) -> list[list[int]]:
        engine = Paged(paged, seed=seed)
        requests = [engine.ask(random_prompt(95, 8), 30, temperature=1.0) for _ in range(2)]
        return [answer[0] for answer in engine.answers(*requests)]

    first, second = run(1)
    assert first != second
    assert run(1) == [first, second]
    assert run(2)[0] != first


@pytest.mark.parametrize(
    "config",
    [
        MistralConfig(sliding_window=11, **small_llama().to_dict() | {"model_type": "mistral"}),
        Qwen2Config(**small_llama().to_dict() | {"model_type": "qwen2", "attention_bias": True}),
    ],
    ids=["mistral with a sliding window", "qwen2 with biases"],
)
def test_other_architectures_give_their_own_tokens(config: object) -> None:
    paged, plain = made(config), made(config, attention="eager")  # type: ignore[arg-type]
    prompts = [random_prompt(100 + i, 9 + 12 * i) for i in range(3)]
    assert Paged(paged, budget=24).greedy(prompts, 60) == [generate(plain, p, 60) for p in prompts]


def test_a_model_that_attends_otherwise_is_refused(plain: PreTrainedModel) -> None:
    with pytest.raises(ValueError, match="attends by 'sdpa'"):
        TorchRunner(plain, None, "test", 8)


def test_100_greedy_tokens_are_those_without_any_cache(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    check_tokens(paged, plain)


def test_logits_are_close_to_those_of_one_forward_and_slots_that_are_not_filled_are_not_read(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    check_logits(paged, plain)


def test_a_blocks_next_owner_reads_nothing_of_the_one_before(
    paged: PreTrainedModel, plain: PreTrainedModel
) -> None:
    check_second_owner(paged, plain)


def test_kv_heads_are_broadcast_and_never_copied() -> None:
    check_broadcast()


def test_a_step_whose_logits_are_no_numbers_ends_its_requests_and_the_engine_goes_on(
    paged: PreTrainedModel, plain: PreTrainedModel, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Paged(paged)
    lost = engine.ask(random_prompt(120, 33), 50)
    engine.step(3)
    engine.runner.cache.pool[:, :, lost.live[0].table[0]] = torch.nan
    engine.step()
    assert lost.state is None
    assert "the logits are not numbers" in caplog.text
    assert engine.operations()["evict", "failed_step"] == 0
    asked = random_prompt(121, 20)
    assert engine.greedy([asked], 20) == [generate(plain, asked, 20)]
