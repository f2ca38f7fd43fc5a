"""The four benches as a person starts them, with the real model where tokens matter: JSON as told, and what holds on any machine.

At full size, as each takes a minute; two of them with fewer requests than their small form. What is counted is tested beside it,
with small models and without any.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from kvarium_engine.bench import block_size, cache, sharing, waste
from kvarium_engine.bench.cache import WAYS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Bench = Callable[..., dict[str, Any]]


@pytest.fixture
def bench(smollm2: Path) -> Bench:
    """Runs a bench with ``--json`` and gives what it printed."""
    app = Typer()
    for named in (block_size, cache, sharing, waste):
        named.add(app)

    def run(*arguments: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def rising(values: list[float]) -> bool:
    return all(first < second for first, second in itertools.pairwise(values))


def test_sharing(bench: Bench) -> None:
    facts = bench("sharing", "--size", "small")
    assert facts["model"] == "smollm2-135m"
    assert [profile["name"] for profile in facts["profiles"]] == ["alpaca", "sharegpt"]
    for profile in facts["profiles"]:
        assert [row["n"] for row in profile["parallel"]] == [2, 4, 6]
        assert [row["width"] for row in profile["beam"]] == [2, 4, 6]
        samples = [row["saving_percent"] for row in profile["parallel"]]
        beams = [row["saving_percent"] for row in profile["beam"]]
        assert rising(samples)
        assert rising(beams)
        assert all(beam > sample for beam, sample in zip(beams, samples, strict=True))
        for found, what in ((samples, "parallel"), (beams, "beam")):
            low, high = profile["paper"][what]
            assert 0.8 * low < found[0] < found[-1] < 1.2 * high


def test_waste_and_the_throughput_of_each(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(waste.SIZES, "small", waste.Sizes(64, 4, 64, 32, 12, 20))
    facts = bench("waste", "--size", "small", "--model", "smollm2-135m")
    systems = {system["reserve"]: system for system in facts["systems"]}
    assert list(systems) == [None, "max", "power-of-two", "exact"]
    order = [systems[name] for name in ("max", "power-of-two", "exact", None)]
    for what in ("most_requests", "output_tokens_per_step", "tokens_percent"):
        assert rising([system[what] for system in order]), what
    assert order[-1]["output_tokens_per_s"] > order[0]["output_tokens_per_s"]
    assert len({system["output_tokens"] for system in order}) == 1


def test_block_sizes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(block_size.SIZES, "small", block_size.Sizes(1024, 12, 2, 60, 30, 8, 4))
    facts = bench("block-size", "--size", "small", "--model", "smollm2-135m")
    rows = facts["block_sizes"]
    assert [row["block_size"] for row in rows] == list(block_size.BLOCK_SIZES)
    assert {row["num_gpu_blocks"] * row["block_size"] for row in rows} == {facts["slots"]}
    assert rows[0]["tail_waste_percent"] == 0
    assert rising([row["tail_waste_percent"] for row in rows])
    assert rising([-row["table_entries"] for row in rows[:-1]])
    assert rows[0]["hit_rate_percent"] > rows[-1]["hit_rate_percent"] >= 0
    assert all(row["step_ms"] > 1 for row in rows), "a model's steps, not only the scheduler's"


def test_a_cache_is_flat_from_32_to_512_tokens_and_none_grows(bench: Bench) -> None:
    facts = bench("cache")
    assert facts["tokens_equal"] is True
    entries = {way["way"]: way for way in facts["entries"]["ways"]}
    assert facts["entries"]["length"] == 8192
    assert [entries[way]["copied"] for way in WAYS] == [0, 33_550_336, 0, 0]
    held = {way["way"]: way["bytes"] for way in facts["bytes"]["ways"]}
    assert facts["dtype"] == "float32"
    assert facts["bytes"]["formula"] == 2 * 30 * 3 * 64 * 512 * 4
    assert held == dict.fromkeys(WAYS, facts["bytes"]["formula"]) | {"no cache": 0}
    steps = {way["way"]: way for way in facts["steps"]["ways"]}
    assert facts["steps"]["lengths"] == [32, 64, 128, 256, 512]
    # Sixteen times as many tokens: without a cache most of that in time, with one a little more attention.
    assert steps["no cache"]["shape"] == "growing"
    for way in ("preallocated", "paged"):
        assert steps[way]["shape"] == "flat", steps[way]
        assert steps["no cache"]["last_to_first"] > 2 * steps[way]["last_to_first"]
