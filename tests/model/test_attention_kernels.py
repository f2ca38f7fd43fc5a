"""The Triton kernels of attention, interpreted: random shapes, poison wherever nothing may be read, against float64."""

import random
from collections.abc import Iterator
from itertools import accumulate, product

import pytest
import torch

from kvarium_engine.kernels import triton_decode, triton_prefill
from kvarium_engine.kernels.variants import HEAD_DIMS
from tests.model.attention_cases import Case, cases, compare, expected, first_token_takes_all

pytestmark = pytest.mark.timeout(1800)
"""Of the full size, interpreted on a loaded machine."""


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


def prefilled(case: Case, out: torch.Tensor | None = None) -> torch.Tensor:
    return triton_prefill.prefill_attention(
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


def test_decodes_are_dense_attention(seed: int, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_decode, "SHORTEST", 32)  # so that short contexts are split too
    for number, case in enumerate(cases("decode", seed, 10 if size == "small" else None)):
        right, allowed = expected(case)
        for splits in ((1, 9), (None, 2))[number % 2]:
            out = None if splits == 2 else torch.full(case.query.shape, torch.nan, dtype=case.query.dtype)
            answer = decoded(case, splits, out)
            assert out is None or answer is out
            compare(case, right, allowed, answer, f"case {number}, {splits} splits")


def test_chunks_of_prompts_are_dense_attention(seed: int, size: str) -> None:
    for number, case in enumerate(cases("prefill", seed, 10 if size == "small" else None)):
        out = None if number % 2 else torch.full(case.query.shape, torch.nan, dtype=case.query.dtype)
        answer = prefilled(case, out)
        assert out is None or answer is out
        compare(case, *expected(case), answer, f"case {number}")


@pytest.mark.parametrize("fp8", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_stands_beside_a_first_token_that_takes_all_is_not_lost(
    dtype: torch.dtype, fp8: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value is zero, so that the answer is what float16 keeps of weights below 2⁻²⁴."""
    monkeypatch.setattr(triton_decode, "SHORTEST", 32)
    case = first_token_takes_all(dtype, fp8)
    right, allowed = expected(case)
    assert right.min() > 2.0**-24 and (right > 8 * allowed).all(), "nothing would be found missing"
    for splits in (1, 3):
        compare(case, right, allowed, decoded(case, splits), f"decoded, {splits} splits")
    compare(case, right, allowed, prefilled(case), "prefilled")


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
