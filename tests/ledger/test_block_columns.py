"""A keyframe's columns come back as they were, whatever their width, and take no more than their values need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvarium_ledger import block_columns
from kvarium_ledger.codec import FrameError
from kvarium_ledger.operations import NONE
from kvarium_ledger.state import BlockState

WORDS = st.one_of(
    st.integers(0, 3), st.integers(0, 255), st.integers(0, 65535), st.integers(0, 2**32 - 1), st.just(NONE)
)
TICKETS = st.one_of(
    st.just(float("nan")),
    st.integers(-(2**31), 2**31).map(float),
    st.integers(-(2**53), 2**53).map(float),
    st.sampled_from([-0.0, 0.5, -(2.0**31), 2.0**31 - 1]),
)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    """Equal to the bit, but for NaNs, which are one."""
    nan = np.isnan(left) & np.isnan(right)
    return bool(((left.view("<u8") == right.view("<u8")) | nan).all())


@given(st.lists(WORDS, min_size=1, max_size=40), st.sampled_from(["generation", "content"]))
def test_a_column_of_words_comes_back(values: list[int], name: str) -> None:
    column = np.array(values, dtype=np.uint32)
    state = BlockState(len(values))
    getattr(state, f"np_{name}")[:] = column
    raw = getattr(state.columns(), name)
    assert len(raw) <= 4 * len(values)
    other = BlockState(len(values))
    other.np_generation[:] = 7
    other.load(state.columns())
    assert np.array_equal(getattr(other, f"np_{name}"), column)


@given(st.lists(TICKETS, min_size=1, max_size=40))
def test_tickets_come_back_to_the_bit(values: list[float]) -> None:
    state = BlockState(len(values))
    state.np_ticket[:] = values
    other = BlockState(len(values))
    other.np_ticket[:] = 3.5
    other.load(state.columns())
    assert same(other.np_ticket, state.np_ticket)
    assert other.sums() == state.sums()


@pytest.mark.parametrize(
    ("name", "values", "width"),
    [
        ("count", [1, 255], 1),
        ("count", [1, 256], 2),
        ("filled", [0, 65536], 4),
        ("content", [0, 0], 1),
        ("content", [5, NONE], 4),
        ("content", [NONE, NONE], 0),
        ("hits", [0, 0], 0),
        ("ticket", [-3.0, float("nan")], 4),
        ("ticket", [0.0, 1.0], 0),
        ("ticket", [1.0, 0.0], 4),
        ("ticket", [0.0, 2.0**31], 8),
        ("ticket", [0.0, -(2.0**31)], 8),
        ("ticket", [-0.0, 1.0], 8),
    ],
)
def test_a_column_is_as_wide_as_its_values_need(name: str, values: list[float], width: int) -> None:
    column = np.array(values, dtype="<f8" if name == "ticket" else "<u4")
    assert len(block_columns.encode(name, column)) == width * len(values)


@pytest.mark.parametrize(("name", "size"), [("count", 9), ("count", 24), ("ticket", 6), ("ticket", 13)])
def test_a_column_of_another_length_is_refused_with_what_is_lawful(name: str, size: int) -> None:
    lawful = "3, 6, 12" if name == "count" else "12, 24"
    with pytest.raises(FrameError, match=f"column '{name}' has {size} bytes, a pool of 3 has {lawful}"):
        block_columns.decode(name, bytes(size), 3)
