"""Which decodes are captured as CUDA graphs, and to which size a batch is padded."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvarium_engine.errors import UsageError
from kvarium_engine.model.capture_sizes import chosen_sizes, default_sizes, padded_size, parse_sizes
from kvarium_engine.options import Options, resolve


@given(max_num_seqs=st.integers(1, 2000))
def test_every_batch_that_runs_is_padded_a_little(max_num_seqs: int) -> None:
    sizes = default_sizes(max_num_seqs)
    assert list(sizes) == sorted(set(sizes)) and sizes[-1] == min(max_num_seqs, 512)
    for batch in range(1, sizes[-1] + 1):
        size = padded_size(sizes, batch)
        assert size in sizes and batch <= size < batch + (8 if batch <= 256 else 16)
    assert padded_size(sizes, sizes[-1] + 1) is None


def test_the_sizes_are_those_of_vllm() -> None:
    assert default_sizes(256) == (1, 2, 4, *range(8, 257, 8))
    assert default_sizes(512)[-17:] == (256, *range(272, 513, 16))
    assert default_sizes(20) == (1, 2, 4, 8, 16, 20)


def test_sizes_that_are_given_are_taken_as_they_are() -> None:
    assert chosen_sizes("8, 1,8,4", False, 8) == (1, 4, 8)
    assert chosen_sizes(None, True, 8) == ()
    assert padded_size((3, 7), 4) == 7


@pytest.mark.parametrize("text", ["", "1,,2", "a", "1;2", "-1", "1.5", "²", "9999999999"])
def test_what_is_no_list_of_sizes_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_sizes(text)
    assert repr(text) in str(told.value)


@pytest.mark.parametrize(
    ("asked", "eager", "message"),
    [
        ("0,4", False, "must be at least 1 each, not 0"),
        ("4,9", False, "9 is more than the 8 sequences that run at once"),
        ("4", True, "--enforce-eager captures nothing, but --cudagraph-capture-sizes 4 is given"),
    ],
)
def test_sizes_that_can_not_be_are_refused(asked: str, eager: bool, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen_sizes(asked, eager, 8)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"enforce_eager": True}, "--enforce-eager"),
        ({"cudagraph_capture_sizes": "4"}, "--cudagraph-capture-sizes"),
    ],
)
def test_without_a_model_there_is_nothing_to_capture(given: dict[str, bool | str], option: str) -> None:
    with pytest.raises(UsageError, match=f"{option} is a model's: give one with --model"):
        resolve(Options(**given))  # type: ignore[arg-type]


@pytest.mark.model
def test_without_a_card_sizes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kvarium_engine.options.card_there", lambda: False)
    with pytest.raises(
        UsageError, match="--cudagraph-capture-sizes 4 is of CUDA graphs, and there is no CUDA device"
    ):
        resolve(Options(model=str(tmp_path), cudagraph_capture_sizes="4"))
