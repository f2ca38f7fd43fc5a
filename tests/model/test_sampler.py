"""The sampler draws from the distribution that temperature, top-k and top-p describe, by seeds alone."""

import math
import random
from array import array

import pytest
import torch

from kvarium_engine.model import sampler
from kvarium_engine.model.adjust import Adjustment, adjusted
from kvarium_engine.model.logprobs import Asked, logprobs_of
from kvarium_engine.model.sampler import Draw, sample, seed_of, waiting_times


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


# -- min-p ----------------------------------------------------------------------------------------------------------


def test_min_p_leaves_the_tokens_that_are_likely_enough_beside_the_likeliest() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()

    def drawn(min_p: float, temperature: float = 1.0) -> list[bool]:
        draws = [draw(i, temperature)._replace(min_p=min_p) for i in range(4_000)]
        tokens = sample(logits[None], [0] * len(draws), draws)
        return [token in tokens for token in range(4)]

    assert drawn(0) == drawn(0.09) == [True, True, True, True]
    assert drawn(0.11) == drawn(0.29) == [True, True, True, False]
    assert drawn(0.31) == [True, True, False, False]
    assert drawn(1) == [True, False, False, False]
    # Behind the temperature, as in vLLM: the shares are then as 0.5² to 0.15².
    assert drawn(0.11, temperature=0.5) == [True, True, False, False]


# -- what requests change in their logits ------------------------------------------------------------------------------


def plain(logits: list[float], how: Adjustment) -> list[float]:
    """vLLM's definitions, token by token."""
    prompt, output = list(how.tokens[: how.prompt]), list(how.tokens[how.prompt :])
    scores = []
    for token, score in enumerate(logits):
        if token in how.barred:
            score = -math.inf
        score += how.bias.get(token, 0.0)
        if token in prompt or token in output:
            score = score / how.repetition if score > 0 else score * how.repetition
        score -= how.frequency * output.count(token)
        score -= how.presence * (token in output)
        scores.append(score)
    return scores


def adjustments(generator: random.Random, vocabulary: int) -> Adjustment:
    def maybe(value: float, off: float) -> float:
        return generator.choice([value, off])

    tokens = array("I", (generator.randrange(vocabulary) for _ in range(generator.randrange(1, 30))))
    return Adjustment(
        tokens,
        generator.randint(1, len(tokens)),
        tuple(generator.sample(range(vocabulary), generator.randrange(4))),
        {generator.randrange(vocabulary): generator.uniform(-9, 9) for _ in range(generator.randrange(4))},
        maybe(generator.uniform(0.5, 2), 1.0),
        maybe(generator.uniform(-2, 2), 0.0),
        maybe(generator.uniform(-2, 2), 0.0),
    )


def test_adjusted_logits_are_those_of_vllms_definitions() -> None:
    generator = random.Random(7)
    for _ in range(40):
        rows = generator.randint(1, 9)
        logits = torch.tensor([[generator.gauss(0, 3) for _ in range(23)] for _ in range(rows)])
        before = logits.clone()
        hows = [adjustments(generator, 23) for _ in range(rows)]
        expected = torch.tensor(
            [plain(row, how) for row, how in zip(logits.tolist(), hows, strict=True)], dtype=torch.float32
        )
        torch.testing.assert_close(adjusted(logits, hows), expected, rtol=1e-5, atol=1e-5)
        assert torch.equal(logits, before), "the model's own logits stay: others sample of them"


def test_a_prompt_counts_for_repetition_alone() -> None:
    logits = torch.tensor([[2.0, -2.0, 2.0, -2.0]])
    tokens = array("I", [0, 1, 2, 3, 3])
    both = Adjustment(tokens, 2, repetition=2.0)
    assert adjusted(logits, [both]).tolist() == [[1, -4, 1, -4]]
    outputs = Adjustment(tokens, 2, frequency=0.5, presence=0.25)
    assert adjusted(logits, [outputs]).tolist() == [[2, -2, 1.25, -3.25]]
    fresh = Adjustment(tokens, 5, frequency=0.5, presence=0.25)
    assert adjusted(logits, [fresh]).tolist() == logits.tolist()


def test_half_precision_logits_are_changed_in_single_precision() -> None:
    logits = torch.tensor([[1.0, 1.0]], dtype=torch.bfloat16)
    found = adjusted(logits, [Adjustment(array("I", [0, 1]), 1, frequency=0.001)])
    assert found.dtype == torch.float32
    assert found.tolist() == [[1.0, pytest.approx(0.999)]]


def test_tokens_that_the_logits_do_not_have_can_not_be_barred_and_hurt_nobody() -> None:
    logits = torch.zeros(2, 3)
    hows = [Adjustment(array("I", [0]), 1, barred=(3, 1), bias={3: 9.0}), Adjustment(array("I", [0]), 1)]
    assert adjusted(logits, hows).tolist() == [[0, -math.inf, 0], [0, 0, 0]]


def test_greedy_and_drawn_tokens_follow_the_adjusted_logits() -> None:
    logits = torch.tensor([[3.0, 2.0, 1.0]])
    barred = Adjustment(array("I", [0]), 1, barred=(0,))
    biased = Adjustment(array("I", [0]), 1, bias={2: 50.0})
    for how, token in ((None, 0), (barred, 1), (biased, 2)):
        assert sample(logits, [0], [draw(0, temperature=0)._replace(adjustment=how)]) == [token]
    draws = [draw(i)._replace(adjustment=biased if i % 2 else barred) for i in range(200)]
    tokens = sample(logits, [0] * 200, draws)
    assert set(tokens[1::2]) == {2}
    assert set(tokens[::2]) == {1, 2}


def test_a_token_depends_on_its_own_request_alone_whoever_asks_for_what_beside_it() -> None:
    generator = random.Random(9)
    logits = torch.tensor([[generator.gauss(0, 2) for _ in range(50)] for _ in range(8)])
    draws = [
        draw(i, temperature=(0, 0.7, 1.3)[i % 3], top_k=(0, 9)[i % 2], seed=i)._replace(
            min_p=(0.0, 0.05)[i % 2], adjustment=adjustments(generator, 50) if i % 4 else None
        )
        for i in range(8)
    ]
    together = sample(logits, list(range(8)), draws)
    assert together == [sample(logits, [i], [draws[i]])[0] for i in range(8)]
    plain_ones = [i for i in range(8) if draws[i].adjustment is None]
    assert [together[i] for i in plain_ones] == sample(logits, plain_ones, [draws[i] for i in plain_ones])


def plain_choice(logits: list[float], how: Draw) -> int:
    """vLLM's order on one row: adjust, greedy or temperature, min-p, top-k, top-p; who comes first is drawn."""
    scores = plain(logits, how.adjustment) if how.adjustment else logits
    if how.temperature == 0:
        return scores.index(max(scores))
    scores = [(score - max(scores)) / how.temperature for score in scores]

    def chances() -> list[float]:
        total = sum(math.exp(score) for score in scores)
        return [math.exp(score) / total for score in scores]

    least = how.min_p * max(chances())
    scores = [
        score if chance >= least else -math.inf for score, chance in zip(scores, chances(), strict=True)
    ]
    if how.top_k:
        kept = sorted(scores, reverse=True)[: how.top_k]
        scores = [score if score >= kept[-1] else -math.inf for score in scores]
    found, before = chances(), 0.0
    for token in sorted(range(len(found)), key=lambda token: -found[token]):
        if before >= how.top_p:
            scores[token] = -math.inf
        before += found[token]
    seed = seed_of(how.seed, how.sequence_index, how.position)
    times = waiting_times([seed], len(scores), torch.device("cpu"))[0].tolist()
    return max(range(len(scores)), key=lambda token: chances()[token] / times[token])


def test_tokens_are_those_of_a_plain_reference_of_the_whole_way() -> None:
    generator = random.Random(11)
    drawn: set[int] = set()
    for case in range(150):
        rows = generator.randint(1, 6)
        logits = torch.tensor([[generator.gauss(0, 2) for _ in range(30)] for _ in range(rows)])
        draws = [
            Draw(
                generator.choice([0.0, 0.6, 1.0, 1.4]),
                generator.choice([0, 0, 3, 12]),
                generator.choice([1.0, 1.0, 0.9, 0.4]),
                case,
                generator.randrange(3),
                generator.randrange(100),
                generator.choice([0.0, 0.0, 0.02, 0.3]),
                generator.choice([None, adjustments(generator, 30)]),
            )
            for _ in range(rows)
        ]
        expected = [plain_choice(row, how) for row, how in zip(logits.tolist(), draws, strict=True)]
        assert sample(logits, range(rows), draws) == expected
        drawn |= set(expected)
    assert len(drawn) == 30


def test_what_is_left_out_to_save_time_changes_no_token(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A large vocabulary, row by row and only those that may win, against all at once and all of them."""
    generator = random.Random(seed)
    for spread in (0.02, 1.0, 4.0):  # nearly even: a few are not enough for top-p; and a few that have it all
        logits = spread * torch.randn(8, 6000, generator=torch.Generator().manual_seed(seed))
        logits[:, 100:140] = logits[:, 100:101]  # equal ones
        draws = [
            Draw(
                generator.choice([0.0, 0.7, 1.0, 1.3]),
                generator.choice([0, 0, 1, 50, 700]),
                generator.choice([1.0, 0.999, 0.9, 0.1]),
                generator.getrandbits(60),
                0,
                generator.randrange(1000),
                generator.choice([0.0, 0.0, 0.05]),
            )
            for _ in range(8)
        ]
        found = sample(logits, range(8), draws)
        with monkeypatch.context() as patch:
            patch.setattr(sampler, "_SMALL", 1 << 30)
            patch.setattr(sampler, "_AT_ONCE", 1 << 30)
            assert sample(logits, range(8), draws) == found


def test_a_seed_gives_the_tokens_that_it_has_always_given() -> None:
    logits = torch.sin(torch.arange(5000) * 0.37).mul(4)[None]
    draws = [draw(i, seed=i * 7919) for i in range(6)]
    draws += [draw(i, top_k=40, top_p=0.8, seed=i * 7919) for i in range(4)]
    assert sample(logits, [0] * 10, draws) == [53, 3043, 4081, 4284, 2550, 1108, 2093, 4810, 259, 4878]


# -- log probabilities --------------------------------------------------------------------------------------------------


def test_logprobs_are_natural_logs_of_the_softmax_with_ranks_and_the_likeliest() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0, -1.0], [0.0, 0.0, 5.0, 5.0]])
    first, second, alone = logprobs_of(logits, [Asked(0, 0, 2, 2), Asked(3, 1, 2, 1), Asked(4, 0, 1, 0)])
    total = math.log(sum(math.exp(value) for value in (1, 3, 2, -1)))
    assert (first.number, first.rank, list(first.top_tokens)) == (0, 2, [1, 2])
    assert first.logprob == pytest.approx(2 - total, abs=1e-5)
    assert first.top_logprobs == pytest.approx([3 - total, 2 - total], abs=1e-5)
    assert (second.number, second.rank, len(second.top_tokens)) == (3, 2, 1), "one that is as likely counts"
    assert (alone.number, alone.rank, list(alone.top_tokens)) == (4, 1, [])
    assert alone.logprob == pytest.approx(3 - total, abs=1e-5)
