"""``kvarium bench waste``: the shares are those of all slots, they follow from what is reserved, and paged memory wastes least."""

import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from kvarium_engine.bench.waste import KINDS, SIZES, Sizes, measure, table
from kvarium_engine.model.null_runner import NullRunner

RESERVED = ("max", "power-of-two", "exact")


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return measure(SIZES["small"], NullRunner())


def by_name(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {system["reserve"] or "paged": system for system in facts["systems"]}


def test_all_four_run_the_same_requests_and_their_shares_are_all_of_the_memory(facts: dict[str, Any]) -> None:
    assert list(by_name(facts)) == ["paged", *RESERVED]
    assert (facts["requests"], facts["slots"], facts["model"]) == (64, 1024, "none")
    for system in facts["systems"]:
        shares = [system[f"{kind}_percent"] for kind in KINDS]
        assert sum(shares) == pytest.approx(100, abs=0.05)
        assert system["waste_percent"] == pytest.approx(sum(shares[1:4]), abs=0.05)
        assert system["output_tokens"] == facts["systems"][0]["output_tokens"]
        assert system["output_tokens_per_step"] == round(system["output_tokens"] / system["steps"], 2)
        assert system["output_tokens_per_s"] is None
        assert 0 < system["steps_with_requests_waiting"] <= system["steps"]


def test_the_more_is_reserved_the_less_runs_at_once(facts: dict[str, Any]) -> None:
    systems = by_name(facts)
    order = [systems[name] for name in ("paged", "exact", "power-of-two", "max")]
    for better, worse in itertools.pairwise(order):
        assert better["tokens_percent"] > worse["tokens_percent"]
        assert better["most_requests"] > worse["most_requests"]
        assert better["output_tokens_per_step"] > worse["output_tokens_per_step"]
        assert better["steps"] < worse["steps"]
    assert systems["paged"]["waste_percent"] < 10
    assert 60 < systems["max"]["waste_percent"] < 80
    assert systems["max"]["internal_percent"] > systems["power-of-two"]["internal_percent"] > 10


def test_paged_memory_leaves_at_most_block_size_less_one_slots_of_a_sequence_unused(
    facts: dict[str, Any],
) -> None:
    paged = by_name(facts)["paged"]
    most = facts["block_size"] - 1
    assert paged["most_unused_slots_of_a_sequence"] == most
    in_blocks = (paged["reserved_percent"] + paged["internal_percent"]) / 100 * facts["slots"]
    assert in_blocks <= most * paged["average_requests"]
    assert paged["steps_held_up_by_fragmentation"] == 0


def test_the_largest_reservation_is_max_model_len_a_request(facts: dict[str, Any]) -> None:
    largest = by_name(facts)["max"]
    assert largest["most_requests"] == facts["slots"] // facts["max_model_len"]
    held = sum(largest[f"{kind}_percent"] for kind in ("tokens", "reserved", "internal"))
    assert held == pytest.approx(
        100 * largest["average_requests"] * facts["max_model_len"] / facts["slots"], abs=0.05
    )
    assert largest["steps_held_up_by_fragmentation"] == 0, "runs of one length leave no hole between them"


def test_an_exact_reservation_wastes_inside_only_what_whole_blocks_cost(facts: dict[str, Any]) -> None:
    exact = by_name(facts)["exact"]
    in_blocks = exact["internal_percent"] / 100 * facts["slots"]
    assert in_blocks <= (facts["block_size"] - 1) * exact["average_requests"]
    assert exact["steps_held_up_by_fragmentation"] > 20
    assert exact["external_percent"] > 5
    assert exact["preemptions"] == 0
    ones = by_name(measure(Sizes(1024, 1, 256, 64, 20, 42), NullRunner()))
    assert [ones[name]["internal_percent"] for name in ("paged", "exact")] == [0, 0]
    assert ones["paged"]["reserved_percent"] == 0, "a block of one slot is full at once"


def test_a_seed_gives_the_same_and_another_seed_other_requests(facts: dict[str, Any]) -> None:
    assert measure(SIZES["small"], NullRunner()) == facts
    assert SIZES["small"].shapes(1) != SIZES["small"].shapes(0)
    assert measure(SIZES["small"], NullRunner(), seed=1)["systems"] != facts["systems"]


def test_at_the_papers_sizes_paged_waste_is_under_4_percent_and_reserving_wastes_50_to_80() -> None:
    systems = by_name(measure(SIZES["full"], NullRunner()))
    assert systems["paged"]["waste_percent"] < 4
    assert 60 < systems["max"]["waste_percent"] < 80
    assert all(50 < systems[name]["waste_percent"] < 80 for name in RESERVED)
    assert systems["paged"]["most_requests"] > 2 * systems["exact"]["most_requests"]


def test_the_table_says_it_to_a_person(facts: dict[str, Any]) -> None:
    lines = table(facts).splitlines()
    assert lines[0].startswith("64 requests: prompts of 20.0 tokens on average (at most 72), answers of ")
    assert lines[1] == "memory: 256 blocks of 4 = 1,024 slots; max_model_len 256; no model"
    assert lines[3].split() == [
        "tokens",
        "reserved",
        "internal",
        "external",
        "idle",
        "at",
        "once",
        "steps",
        "tokens",
        "a",
        "step",
    ]
    assert [line.split("  ")[0] for line in lines[4:8]] == [
        "paged",
        "contiguous, max",
        "contiguous, power-of-two",
        "contiguous, exact",
    ]
    assert len({len(line) for line in lines[3:8]}) == 1
    timed = json.loads(json.dumps(facts))
    for system in timed["systems"]:
        system["output_tokens_per_s"] = 12.3
    assert table(timed).splitlines()[3].endswith("tokens/s")


def test_the_command_prints_one_json_object_or_says_what_is_wrong(facts: dict[str, Any]) -> None:
    command = [sys.executable, "-W", "error", "-m", "kvarium.cli", "bench", "waste"]
    done = subprocess.run(
        [*command, "--size", "small", "--json"], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == facts
    wrong = subprocess.run(
        [*command, "--size", "big"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "kvarium bench waste: --size is small or full, not 'big'\n"
