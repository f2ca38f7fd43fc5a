"""``kvarium bench block-size``: what it counts is what follows from the lengths, and its sizes are all that may be."""

import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from kvarium_engine.bench.block_size import BLOCK_SIZES, SIZES, Asked, Sizes, measure, table
from kvarium_engine.memory.block_table import blocks_for

BENCH = [sys.executable, "-W", "error", "-m", "kvarium.cli", "bench", "block-size"]
SMALL = SIZES["small"]
ALONE = Sizes(1024, 1, 1, 1, 1, 1, 1)


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return measure(SMALL, SMALL.asked(0))


def test_a_sequence_alone_has_the_tail_and_the_entries_of_its_length() -> None:
    # After step k of 21, 40 + k tokens have slots: at 16 a block 40 leave 8 unused, 48 none, 49 leave 15.
    lengths = range(40, 61)
    for each in measure(ALONE, [Asked(0, 30, 10, 21)]):
        size = each["block_size"]
        unused = [blocks_for(length, size) * size - length for length in lengths]
        entries = [blocks_for(length, size) for length in lengths]
        assert each["steps"] == 21
        assert each["tail_waste_slots"] == round(sum(unused) / 21, 2)
        assert each["tail_waste_percent"] == round(100 * sum(unused) / sum(entries) / size, 2)
        assert each["table_entries"] == round(sum(entries) / 21, 1)
        assert each["most_table_entries"] == blocks_for(60, size)
        assert each["hit_rate_percent"] == 0
        if size == 16:
            assert unused[0] == 8, "40 tokens: 8 unused slots"


def test_of_a_common_prefix_the_whole_blocks_are_hit() -> None:
    # The second one finds what is whole of 100 tokens, as its own 20 differ.
    for each in measure(ALONE, [Asked(0, 100, 20, 1), Asked(0, 100, 20, 1)]):
        size = each["block_size"]
        assert each["hit_rate_percent"] == round(100 * (100 // size * size) / 240, 2)


def test_larger_blocks_waste_more_share_less_and_have_shorter_tables(found: list[dict[str, Any]]) -> None:
    assert [each["block_size"] for each in found] == list(BLOCK_SIZES) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    for each in found:
        assert each["num_gpu_blocks"] * each["block_size"] == SMALL.slots
        assert each["tail_waste_slots"] <= each["block_size"] - 1
        assert each["step_ms"] > 0
    assert found[0]["tail_waste_slots"] == 0
    for smaller, larger in itertools.pairwise(found):
        assert smaller["tail_waste_percent"] < larger["tail_waste_percent"]
        assert smaller["table_entries"] > larger["table_entries"]
        assert smaller["hit_rate_percent"] >= larger["hit_rate_percent"]
    assert found[0]["hit_rate_percent"] > 40


def test_the_same_seed_is_the_same_requests() -> None:
    assert SMALL.asked(3) == SMALL.asked(3) != SMALL.asked(4)
    asked = SIZES["full"].asked(0)
    assert len({each.prefix for each in asked}) == SIZES["full"].prefixes
    longest = max(each.prefix_tokens + each.own_tokens + each.output_tokens for each in asked)
    assert longest <= 1100 < SIZES["full"].slots


def test_the_command_prints_one_object_with_all_nine_or_a_table(found: list[dict[str, Any]]) -> None:
    command = [*BENCH, "--size", "small"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["model"] == "none"
    counted = [
        {name: value for name, value in each.items() if name not in ("step_ms", "total_s")} for each in found
    ]
    assert [{name: each[name] for name in counted[0]} for each in facts["block_sizes"]] == counted
    lines = table(facts).splitlines()
    assert lines[0].startswith("40 requests with 4 common prefixes, pools of 2,048 slots")
    assert [line.split()[0] for line in lines[3:12]] == [str(size) for size in BLOCK_SIZES]


def test_a_wrong_size_is_one_line() -> None:
    command = [*BENCH, "--size", "huge"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kvarium bench block-size: --size is small or full, not 'huge'\n"
