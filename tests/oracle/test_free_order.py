"""``free_order=lru`` departs from vLLM in one thing alone: at which end freed blocks without a label enter the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.oracle.foreign import DifferenceError
from tests.oracle.lockstep import run, run_many
from tests.oracle.scenario import generate


@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_all_else_is_vllms(policy: str, seed: int, size: str, told: Callable[..., None]) -> None:
    """vLLM, with that one line changed, is kvarium's ``lru`` at every step."""
    least = 3_000 if size == "small" else 30_000
    counts: Counter[str] = Counter()
    while counts["block operations"] < least or counts["preemptions"] < least // 100:
        assert counts["runs"] < 2000, counts
        first = seed + counts["runs"]
        counts += run_many(policy, range(first, first + 5), 20, "lru")
    told(
        f"free_order=lru, {policy}",
        counts,
        "driven",
        "block operations",
        "evictions",
        "preemptions",
        "steps",
        "runs",
    )


def test_the_first_difference_from_vllm_as_it_is_is_the_place_of_a_freed_block() -> None:
    found: Counter[str] = Counter()
    for seed in range(12):
        try:
            run(generate(seed, "fcfs", 20), "lru", unlike=True)
        except DifferenceError as error:
            found[str(error).split(":")[0]] += 1
    assert set(found) == {"free queue"}
    assert found["free queue"] >= 6
