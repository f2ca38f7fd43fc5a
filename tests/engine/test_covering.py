"""Which compilations are chosen: each value soon, then each pair of values, with few of them."""

import random
from itertools import combinations, product

from kvarium_engine.kernels.covering import covering


def pairs(settings: dict[str, object]) -> set[tuple[tuple[str, object], ...]]:
    return set(combinations(sorted(settings.items()), 2))


def test_each_pair_of_values_is_covered_by_few() -> None:
    values = {"a": range(6), "b": range(5), "c": range(3), "d": range(2), "e": range(2), "f": range(2)}
    every = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    chosen = [every[place] for place in covering(every)]
    assert set.union(*map(pairs, chosen)) == set.union(*map(pairs, every))
    assert 30 <= len(chosen) <= 36, "6 × 5 is the least there can be"
    assert len({tuple(each.items()) for each in chosen}) == len(chosen)


def test_each_value_comes_before_anything_comes_for_a_pair(rng: random.Random) -> None:
    for _ in range(50):
        # Kernels with settings of their own, and combinations that there are not.
        kernels = [
            {f"{kernel}{name}": range(rng.randrange(1, 6)) for name in range(rng.randrange(1, 5))}
            for kernel in "xyz"
        ]
        every = [
            dict(zip(values, each, strict=True))
            for values in kernels
            for each in product(*values.values())
            if rng.random() < 0.8
        ]
        rng.shuffle(every)
        all_values = {item for each in every for item in each.items()}
        all_pairs = {pair for each in every for pair in pairs(each)}
        first = [every[place] for place in covering(every, 0)]
        assert {item for each in first for item in each.items()} == all_values
        assert len(first) <= len(all_values)
        enough = covering(every, 12)
        assert len(enough) == max(len(first), min(12, len(covering(every))))
        assert covering(every)[: len(enough)] == enough
        assert {pair for place in covering(every) for pair in pairs(every[place])} == all_pairs
    assert covering([]) == []
