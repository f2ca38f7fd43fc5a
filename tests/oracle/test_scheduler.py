"""Scheduler, KV-cache manager and pool together: the same requests, and the same decisions at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.oracle.lockstep import run_many

LEAST = {
    "driven": 50_000,
    "block operations": 50_000,
    "evictions": 2_500,
    "preemptions": 250,
    "hits in the middle": 250,
}
"""What a full run must have seen of each, by either policy: twice that in all. A small one sees a fifth."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_every_step_is_vllms(policy: str, seed: int, size: str, told: Callable[..., None]) -> None:
    part = 5 if size == "small" else 1
    wanted = {name: least // part for name, least in LEAST.items()}
    counts: Counter[str] = Counter()
    while any(counts[name] < least for name, least in wanted.items()):
        first = seed + counts["runs"]
        counts += run_many(policy, range(first, first + 2), steps=20)
        assert counts["runs"] < 5000, counts
    told(
        f"in lock step, {policy}",
        counts,
        *LEAST,
        "hits on blocks in use",
        "tokens queried",
        "tokens hit",
        "tokens hit when resumed",
        "aborts",
        "resets",
        "steps",
        "runs",
    )
