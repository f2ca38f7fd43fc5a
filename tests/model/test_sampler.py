"""The sampler draws from the distribution that temperature, top-k and top-p describe, by seeds alone."""

import math
import random

import pytest
import torch

from kvarium_engine.model.sampler import Draw, sample, waiting_times


def draw(position: int, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 3) -> Draw:
    return Draw(temperature, top_k, top_p, seed, 0, position)


def counted(logits: torch.Tensor, draws: int, **how: float) -> list[float]:
    """How often each token is drawn, as shares."""
    tokens = sample(logits[None], [0] * draws, [draw(i, **how) for i in range(draws)])  # type: ignore[arg-type]
    return [tokens.count(token) / draws for token in range(len(logits))]


def test_waiting_times_are_exponential_and_depend_on_seed_and_token_alone() -> None:
    times = waiting_times([1, 2, 2**64 - 1], 30_000, torch.device("cpu"))
    assert torch.equal(times[:2, :500], waiting_times([1, 2], 500, torch.device("cpu")))
    assert (times > 0).all()
    for row in times:
        tenths = [
            ((row >= -math.log(1 - i / 10)) & (row < -math.log(1 - (i + 1) / 10 + 1e-12))).sum().item()
            for i in range(10)
        ]
        chi = sum((count - 3000) ** 2 / 3000 for count in tenths)
        assert chi < 27.9  # 9 degrees of freedom: one in a thousand
    assert abs(torch.corrcoef(times)[0, 1]) < 0.02


def test_the_last_bits_of_the_logits_hardly_ever_change_what_is_drawn() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(400, 20_000, generator=generator)
    noisy = logits * (1 + 1e-6 * torch.randn(400, 20_000, generator=generator))
    draws = [draw(i) for i in range(400)]
    pairs = zip(sample(logits, range(400), draws), sample(noisy, range(400), draws), strict=True)
    assert sum(one != other for one, other in pairs) <= 1


def test_temperature_0_takes_the_largest() -> None:
    logits = torch.tensor([[0.0, 3.0, 2.9], [5.0, -1.0, 4.0]])
    assert sample(logits, [0, 1, 1, 0], [draw(i, temperature=0) for i in range(4)]) == [1, 0, 0, 1]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_shares_are_those_of_the_softmax(temperature: float) -> None:
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0, -torch.inf])
    shares = counted(logits, 20_000, temperature=temperature)
    expected = (logits / temperature).softmax(0).tolist()
    chi = sum((s - e) ** 2 / e for s, e in zip(shares, expected, strict=True) if e) * 20_000
    assert chi < 16.3  # 3 degrees of freedom: one in a thousand
    assert shares[4] == 0


def test_top_k_leaves_the_k_likeliest_with_their_proportions() -> None:
    shares = counted(torch.tensor([1.0, 0.0, 3.0, 2.0]), 20_000, top_k=2)
    assert shares[0] == shares[1] == 0
    assert shares[2] / shares[3] == pytest.approx(math.e, rel=0.06)


def test_top_p_leaves_the_smallest_set_that_reaches_p() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    assert [share > 0 for share in counted(logits, 5_000, top_p=0.79)] == [True, True, False, False]
    assert [share > 0 for share in counted(logits, 5_000, top_p=0.81)] == [True, True, True, False]
    assert counted(logits, 100, top_p=1e-9)[0] == 1


def test_a_tiny_temperature_does_not_overflow() -> None:
    assert counted(torch.tensor([1.0, 1.1, -3e4]), 50, temperature=1e-12) == [0, 1, 0]


def test_each_of_a_batch_is_drawn_by_its_own_rules() -> None:
    generator = random.Random(5)
    logits = torch.tensor([[generator.gauss(0, 2) for _ in range(50)] for _ in range(6)])
    draws = [
        draw(i, temperature=(0, 0.7, 1.3)[i % 3], top_k=(0, 5)[i % 2], top_p=(1, 0.5)[i % 2], seed=i)
        for i in range(6)
    ]
    together = sample(logits, list(range(6)), draws)
    assert together == [sample(logits, [i], [draws[i]])[0] for i in range(6)]


def test_logits_that_are_no_numbers_are_not_sampled() -> None:
    with pytest.raises(FloatingPointError, match="NaN"):
        sample(torch.tensor([[0.0, torch.nan]]), [0], [draw(0, temperature=0)])
