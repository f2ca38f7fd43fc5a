"""``kvarium bench seek`` in its small form: what it tells, and what it says where there is no browser or no answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvarium.bench import browser, seek
from kvarium.bench.folding import NotMeasuredError
from kvarium.bench.seek import SIZES, measure_server, state_at_end, table
from kvarium.errors import KvariumError
from tests.backend.server_process import kvarium


def is_ordered(told: dict[str, float]) -> bool:
    return list(told) == ["p50", "p95", "p99"] and 0 < told["p50"] <= told["p95"] <= told["p99"]


@pytest.mark.slow
def test_the_small_bench_tells_all_that_is_asked_for(bench_cache: Path, chromium_path: str) -> None:
    done = kvarium(
        *("bench", "seek", "--size", "small", "--json"),
        KVARIUM_CACHE=str(bench_cache),
        CHROMIUM=chromium_path,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    figures = ["server_ms", "browser_ms", "browser_rested_ms", "drag_ms"]
    assert list(found) == [*figures, "recording"]
    assert all(is_ordered(found[name]) for name in figures), found
    size, recording = SIZES["small"], found["recording"]
    assert recording["blocks"] == recording["allocated"] == size.blocks, "every block was allocated"
    assert recording["blocks"] / 2 <= recording["holding_content"] <= recording["blocks"]
    assert recording["operations"] > size.blocks and recording["steps"] >= size.steps
    assert "a new step in the picture every" in done.stderr
    assert f"{recording['operations']:,} operations on 4,096 blocks" in table(found)


def test_without_a_browser_the_server_is_measured_all_the_same(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvarium.bench.recording.recording", lambda *_: mixed)

    def missing(*_: Any) -> None:
        raise NotMeasuredError("no Chromium could be started")

    monkeypatch.setattr(browser, "measure_browser", missing)
    notes: list[str] = []
    found = seek.measure(SIZES["small"], notes.append)
    assert is_ordered(found["server_ms"])
    assert [found[name] for name in browser.MEASURED] == [None, None, None]
    assert notes[-1] == "the browser is not measured: no Chromium could be started"
    assert table(found).splitlines()[-1].split() == ["drag,", "a", "frame", "not", "measured"]


def test_a_seek_that_is_refused_is_no_measurement(mixed: Path) -> None:
    steps = 10 * state_at_end(mixed)["steps"]
    with pytest.raises(KvariumError, match=r"the seek to step \d+ was answered with 4\d\d: .*step"):
        measure_server(mixed, state_at_end(mixed)["session"], steps, 50)


def test_another_size_is_refused() -> None:
    done = kvarium("bench", "seek", "--size", "huge")
    assert (done.returncode, done.stderr) == (1, "kvarium: --size is small or full, not 'huge'\n")
