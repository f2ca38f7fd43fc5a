"""``kvarium bench screen`` in its small form: what it tells, and what it says where there is no browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvarium.bench import screen
from kvarium.bench.folding import NotMeasuredError
from kvarium.bench.screen import OPERATIONS_PER_S, SIZES, table
from tests.backend.server_process import kvarium
from tests.backend.test_bench_seek import is_ordered


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_small_bench_tells_all_that_is_asked_for(bench_cache: Path, chromium_path: str) -> None:
    done = kvarium(
        *("bench", "screen", "--size", "small", "--json"),
        KVARIUM_CACHE=str(bench_cache),
        CHROMIUM=chromium_path,
        timeout=230,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    [live] = found["live"]
    assert live["blocks"] == 512
    assert 0 < live["operations_per_s"] < 2 * OPERATIONS_PER_S
    assert 0 < live["pictures_per_s"] <= live["fps"]
    assert all(is_ordered(live[name]) for name in ("frame_ms", "state_age_ms"))
    assert live["script_cpu_ms"]["p99"] <= live["script_ms"]["p99"] <= live["frame_ms"]["p99"]
    assert live["pixels"]["compared"] > 0
    assert live["pixels"]["differ"] == 0
    assert 0 < found["drag"]["script_cpu_ms"]["p50"] <= found["drag"]["script_ms"]["p50"]
    assert found["open_ms"] > 0
    assert 50 < found["initial_kb"] <= 300
    assert found["scrub_requests"] == 0
    assert is_ordered(found["change_ms"])
    assert is_ordered(found["biography_ms"])
    assert len(found["heap_mb"]) == 2 and min(found["heap_mb"]) > 1
    assert found["recording"]["blocks"] == SIZES["small"].blocks
    assert f"{live['operations_per_s']:,} operations/s" in table(found)


def test_without_a_browser_nothing_of_the_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> None:
        raise NotMeasuredError("no Chromium could be started")

    monkeypatch.setattr(screen, "_live", missing)
    notes: list[str] = []
    found: dict[str, Any] = screen.measure(SIZES["small"], notes.append)
    assert set(found.values()) == {None}
    assert notes == ["the page is not measured: no Chromium could be started"]
    assert "not measured" in table(found)


def test_another_size_is_refused() -> None:
    done = kvarium("bench", "screen", "--size", "huge")
    assert (done.returncode, done.stderr) == (1, "kvarium: --size is small or full, not 'huge'\n")
