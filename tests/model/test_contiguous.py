"""The same requests through paged and through contiguous memory: the same tokens, whatever is reserved."""

import pytest
from transformers import PreTrainedModel

from kvarium_engine.memory.reservation import RESERVE
from kvarium_ledger.decisions import Waiting
from tests.engine.mirrored import tokens
from tests.model.paged import Paged, generate
from tests.model.tiny import made, small_llama

LENGTHS = (1, 15, 16, 17, 40, 77)


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return made(small_llama())


@pytest.fixture(scope="module")
def plain() -> PreTrainedModel:
    return made(small_llama(), attention="sdpa")


def prompt(seed: int, count: int) -> list[int]:
    return [token % 95 + 2 for token in tokens(seed, count)]


def answers(model: PreTrainedModel, reserve: str | None, budget: int = 2048) -> list[list[list[int]]]:
    """Greedy and seeded requests, with one sample and with three, in a pool that lets only some run at once."""
    engine = Paged(model, num_blocks=48, budget=budget, length=192, reserve=reserve, caching=False)
    requests = []
    for seed, length in enumerate(LENGTHS):
        for n in (1, 3):
            requests.append(engine.ask(prompt(seed, length), 40, n=n))
            requests.append(engine.ask(prompt(seed, length), 40, n=n, temperature=1.0, top_p=0.95, seed=seed))
    found = engine.answers(*requests)
    waits = {wait.reason for wait in engine.decisions(Waiting)}
    assert "blocks" in waits, "memory is short"
    engine.assert_nothing_leaks()
    return found


@pytest.mark.parametrize("budget", [2048, 50])
def test_paged_and_contiguous_memory_give_the_same_tokens(
    model: PreTrainedModel, plain: PreTrainedModel, budget: int
) -> None:
    paged = answers(model, None, budget)
    greedy = [generate(plain, prompt(seed, length), 40) for seed, length in enumerate(LENGTHS)]
    assert [answer[0] for answer in paged[::4]] == greedy
    assert len({tuple(answer) for answer in paged[-1]}) == 3, "three samples differ"
    for reserve in RESERVE:
        assert answers(model, reserve, budget) == paged, reserve


def test_a_run_that_another_request_has_used_before_is_written_anew(
    model: PreTrainedModel, plain: PreTrainedModel
) -> None:
    engine = Paged(model, num_blocks=12, length=192, reserve="max")
    for seed in range(4):
        asked = prompt(50 + seed, 60 - 13 * seed)
        assert engine.greedy([asked]) == [generate(plain, asked)]
    assert engine.operations()["allocate", "reserve"] == 48
