"""``kvarium bench ledger``: what it compares does the same, a slower ledger costs more, and what is not here is null."""

import json
import time
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from kvarium_engine.bench import ledger as bench
from kvarium_engine.bench.ledger_cost import Trial, Unrecorded, compare, told_spread
from kvarium_engine.bench.longest_call import Hits, longest_call
from kvarium_engine.bench.pool_race import Ours, Race, prompts_of
from kvarium_engine.bench.schedule_time import Sizes, schedule_times
from kvarium_engine.bench.steady_load import Load
from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.tally import Tally
from kvarium_ledger.ledger import Ledger, StepTimes
from kvarium_ledger.operations import Cause

LOAD = Load(sequences=16, prompt=64, output=16)
TRIAL = Trial(400, LOAD, rounds=4, steps=4, warm_up=16)


def test_what_the_ledger_costs_has_its_parts_and_is_more_where_a_call_takes_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = compare(TRIAL, NullRunner)
    parts = found["recording_us"]["p50"] + found["arguments_us"] + found["audits_us"]
    assert found["us_per_step"] == pytest.approx(parts, abs=0.02)
    assert found["arguments_us"] > 0
    assert found["audits_us"] > 0
    assert found["operations_a_step"] >= 16, "each sequence fills a slot"
    plain = Ledger.fill

    def slow(self: Ledger, *arguments: Any) -> None:
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass
        plain(self, *arguments)

    monkeypatch.setattr(Ledger, "fill", slow)
    slower = compare(TRIAL, NullRunner)
    assert slower["recording_us"]["p50"] > 2000 > abs(slower["off_against_off_us"]["p50"])
    assert slower["step_percent"] > found["step_percent"]


def test_the_ledger_that_records_nothing_has_every_verb_and_calls_none() -> None:
    ledger = Unrecorded(pytest.fail)
    verbs = [name for name, value in vars(Ledger).items() if callable(value) and not name.startswith("_")]
    assert set(verbs) - set(vars(Unrecorded)) == {"now"}
    ledger.fill([1], Cause.decode, 0, [0], [1])
    ledger.cache([1], 0, [0])
    assert (ledger.op, ledger.slices, ledger.pending) == (0, 0, False)


def test_the_pool_in_the_race_is_hit_evicted_and_full() -> None:
    filling, first, second = prompts_of(4, Race(64, 400, 2), 1, lambda tokens, size: None)
    pool = Ours(4, resident=4, blocks=64)
    pool.run(filling)
    tally = Tally()
    pool.ledger.sink = tally.count
    pool.ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
    before = tally.operations["evict"]
    hits = pool.hits
    pool.run(first)
    pool.run(second)
    assert 0.15 < (pool.hits - hits) / 200 < 0.6
    pool.ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
    evicted = tally.operations["evict"] - before
    assert evicted == 4 * (200 - pool.hits + hits), "all that is allocated held something"
    assert len(pool.free()) == 64 - len({block for blocks, _ in pool.running for block in blocks})


def test_scheduling_is_timed_for_each_size_and_evicts_in_each() -> None:
    sizes = Sizes((600, 2000), LOAD, steps=20, warm_up=10)
    found = schedule_times(sizes)
    assert [each["num_gpu_blocks"] for each in found] == [600, 2000]
    for each in found:
        assert 0 < each["p50"] <= each["p99"]


def test_the_longest_call_of_the_free_queue_is_found_in_all_of_its_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, calls = FreeQueue.append, 0

    def slow_once(self: FreeQueue, block: int) -> float:
        nonlocal calls
        calls += 1
        until = time.thread_time() + (0.03 if calls == 700 else 0)
        while time.thread_time() < until:
            pass
        return plain(self, block)

    monkeypatch.setattr(FreeQueue, "append", slow_once)
    found = longest_call(Hits(blocks=500, hits=1_000))
    assert (found["calls"], calls) == (2_000, 1_000)
    assert found["longest_ms"] >= 30
    assert found["mean_us"] * 2_000 >= 30_000


def test_a_spread_is_the_median_and_nine_tenths() -> None:
    assert told_spread([float(value) for value in range(100, -1, -1)]) == {"p50": 50, "p5": 5, "p95": 95}


def test_the_command_prints_one_object_with_null_for_what_is_not_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "import_vllm", lambda: "it is on the moon")
    app = Typer()
    bench.add(app)
    done = CliRunner().invoke(app, ["--size", "small", "--model", "no such model", "--json"])
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["step_percent"] is None
    assert facts["pool_ratio_vllm"] is None
    assert facts["us_per_step_256"] == facts["steps"]["us_per_step"] > 0
    assert 0 < facts["schedule_ms"]["p50"] <= facts["schedule_ms"]["p99"]
    assert "kvarium bench ledger: pool_ratio_vllm is null: it is on the moon\n" in done.stderr
    assert "kvarium bench ledger: step_percent is null: " in done.stderr
    shown = bench.table(facts)
    assert "64 sequences: the ledger takes" in shown
    assert "the free queue of 20,000 blocks: the longest of 60,000 calls" in shown
    assert "100,000" in shown.splitlines()[-1]


def test_a_wrong_size_is_one_line() -> None:
    app = Typer()
    bench.add(app)
    done = CliRunner().invoke(app, ["--size", "huge"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "kvarium bench ledger: --size is small or full, not 'huge'\n"
