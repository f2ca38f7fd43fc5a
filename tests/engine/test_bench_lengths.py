"""Lengths of a bench's requests: log-normal quantiles with the average that is asked for, each used as often as any other."""

from collections import Counter
from statistics import fmean

import pytest

from kvarium_engine.bench.lengths import (
    OUTPUT_SPREAD,
    PROMPT_SPREAD,
    Shape,
    all_pairs,
    drawn,
    quantiles,
    shapes_told,
    told,
)


@pytest.mark.parametrize(("prompt", "output"), [(19, 58), (161, 338)])
@pytest.mark.parametrize("count", [1, 3, 6, 64, 400])
def test_a_draw_of_any_size_has_the_averages(count: int, prompt: int, output: int, seed: int) -> None:
    shapes = drawn(seed, count, prompt, output)
    assert len(shapes) == count
    assert sorted(each.prompt for each in shapes) == quantiles(prompt, PROMPT_SPREAD, count)
    assert sorted(each.output for each in shapes) == quantiles(output, OUTPUT_SPREAD, count)
    assert fmean(each.prompt for each in shapes) == pytest.approx(prompt, rel=0.03)
    assert fmean(each.output for each in shapes) == pytest.approx(output, rel=0.03)


def test_a_seed_gives_the_same_and_another_one_other_pairs() -> None:
    assert drawn(3, 64, 161, 338) == drawn(3, 64, 161, 338)
    assert set(drawn(3, 64, 161, 338)) != set(drawn(4, 64, 161, 338))


def test_a_longest_request_bounds_all() -> None:
    shapes = drawn(0, 400, 161, 338, 700)
    assert max(map(sum, shapes)) == 700
    assert max(each.prompt for each in shapes) == 350
    assert min(min(each) for each in shapes) >= 1
    assert drawn(0, 10, 1, 1, 2) == [(1, 1)] * 10


def test_all_pairs_are_each_prompt_with_each_answer() -> None:
    shapes = all_pairs(8, 19, 58)
    assert len(shapes) == 64
    assert set(Counter(each.prompt for each in shapes).values()) == {8}
    assert sorted({each.output for each in shapes}) == quantiles(58, OUTPUT_SPREAD, 8)


def test_they_are_told() -> None:
    assert told([1, 2, 6]) == {"average": 3.0, "least": 1, "most": 6}
    assert shapes_told([Shape(1, 4), Shape(2, 7)]) == {
        "requests": 2,
        "prompt_tokens": 1.5,
        "output_tokens": 5.5,
        "lengths": [[1, 4], [2, 7]],
    }
