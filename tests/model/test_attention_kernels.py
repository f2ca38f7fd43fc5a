"""The Triton kernels of attention, interpreted: random shapes, poison wherever nothing may be read, against float64."""

import random
from collections.abc import Iterator
from itertools import accumulate, islice, product

import pytest
import torch

from kvarium_engine.kernels import triton_decode, triton_prefill
from kvarium_engine.kernels.variants import HEAD_DIMS
from tests.model.attention_cases import Case, cases, compare, expected


@pytest.fixture(autouse=True)
def _poisoned_memory() -> Iterator[None]:
    """What is allocated holds NaN until it is written."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


def decoded(case: Case, splits: int | None = None, out: torch.Tensor | None = None) -> torch.Tensor:
    return triton_decode.decode_attention(
        case.query,
        case.key_pool,
        case.value_pool,
        case.tables,
        torch.tensor(case.lengths, dtype=torch.int32),
        case.scaling,
        case.window,
        case.softcap,
        case.scales,
        out,
        splits,
    )


def test_decodes_are_dense_attention(seed: int, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_decode, "SHORTEST", 32)  # so that short contexts are split too
    for number, case in enumerate(islice(cases("decode", seed), 200 if size == "full" else 10)):
        right, allowed = expected(case)
        for splits in ((1, 9), (None, 2))[number % 2]:
            out = None if splits == 2 else torch.full(case.query.shape, torch.nan, dtype=case.query.dtype)
            answer = decoded(case, splits, out)
            assert out is None or answer is out
            compare(case, right, allowed, answer, f"case {number}, {splits} splits")


def test_chunks_of_prompts_are_dense_attention(seed: int, size: str) -> None:
    for number, case in enumerate(islice(cases("prefill", seed), 200 if size == "full" else 10)):
        out = None if number % 2 else torch.full(case.query.shape, torch.nan, dtype=case.query.dtype)
        answer = triton_prefill.prefill_attention(
            case.query,
            case.key_pool,
            case.value_pool,
            case.tables,
            torch.tensor([0, *accumulate(case.counts)], dtype=torch.int32),
            torch.tensor(case.lengths, dtype=torch.int32),
            max(case.counts),
            case.scaling,
            case.window,
            case.softcap,
            case.scales,
            out,
        )
        assert out is None or answer is out
        compare(case, *expected(case), answer, f"case {number}")


@pytest.mark.parametrize(
    ("programs", "longest", "splits"),
    [
        (8, 32_768, 33),  # 8 × 33 programs are what 132 processors hold at once
        (2_048, 4_096, 1),  # they are busy eight times over
        (8, 300, 1),  # not worth starting another
        (8, 600, 2),
        (
            265,
            8_192,
            9,
        ),  # whole ones are two waves, of which the second is one program; ten waves of a ninth are less
    ],
)
def test_a_card_is_filled_by_splits(programs: int, longest: int, splits: int) -> None:
    assert triton_decode.splits_for(programs, longest, 132) == splits


def test_splits_are_never_too_short_nor_slower_than_none(rng: random.Random) -> None:
    for _ in range(300):
        programs, longest, processors = rng.randint(1, 5000), rng.randint(1, 200_000), rng.randint(1, 200)
        splits = triton_decode.splits_for(programs, longest, processors)
        assert splits == 1 or longest // splits >= triton_decode.SHORTEST
        places = processors * triton_decode.RESIDENT
        assert splits == 1 or programs * splits <= triton_decode.MOST_WAVES * places


def test_splits_are_divided_the_same_where_they_are_combined() -> None:
    """What combines them is told nothing of an FP8 cache."""
    for head_dim, itemsize in product(HEAD_DIMS, (2, 4)):
        made = [
            triton_decode.constants(head_dim, itemsize, fp8, triton_decode.ROWS[0])[0]
            for fp8 in (False, True)
        ]
        assert made[0] == made[1], f"head_dim {head_dim}, {itemsize} bytes"
