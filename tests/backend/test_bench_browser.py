"""What the bench of the page makes of a trace, and what it says where there is nothing to measure with."""

import random
from pathlib import Path
from typing import Any

import pytest

from kvarium.bench.chromium import find_chromium
from kvarium.bench.main_thread import frame_times, percentiles, script_times
from kvarium.errors import KvariumError


def event(name: str, ts: float, thread: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "ts": ts, "pid": 7, "tid": thread, **more}


def test_a_frame_takes_what_ran_on_the_main_thread_until_the_next_one() -> None:
    trace = [
        event("RunTask", 0, dur=900),  # before the first frame
        event("RunTask", 1000, dur=4000),
        event("FireAnimationFrame", 1500),
        event("FireAnimationFrame", 1600),  # a second callback of the same frame
        event("RunTask", 6000, dur=2500),
        event("RunTask", 7000, 2, dur=90_000),  # another thread
        event("FireAnimationFrame", 7100, 2),
        event("RunTask", 17_000, dur=1000),
        event("FireAnimationFrame", 17_001),
        event("RunTask", 33_000, dur=5000),
        event("FireAnimationFrame", 33_100),
    ]
    assert frame_times(trace) == [6.5, 1.0]
    assert frame_times([each for each in trace if each["name"] == "RunTask"]) == []


def test_percentiles_are_values_that_were_measured(rng: random.Random) -> None:
    values = [float(each) for each in range(1, 101)]
    rng.shuffle(values)
    assert percentiles(values) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert percentiles([3.0]) == {"p50": 3.0, "p95": 3.0, "p99": 3.0}


def test_a_chromium_that_is_not_one_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "nowhere"))
    with pytest.raises(KvariumError, match=r"CHROMIUM=.*nowhere is not an executable file"):
        find_chromium()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium() is None
    mine = tmp_path / "chromium"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    assert find_chromium() == str(mine)


def test_of_script_within_script_the_outer_one_counts_and_what_is_painted_does_not() -> None:
    trace = [
        event("RunTask", 1000, dur=9000),
        event("FireAnimationFrame", 1500),
        event("FunctionCall", 1500, dur=4000, tdur=1500),
        event("RunMicrotasks", 5000, dur=500, tdur=500),  # the end of the call is around it
        event("MinorGC", 5600, dur=250, tdur=250),
        event("Layout", 6000, dur=3000),
        event("RunTask", 11_000, dur=700),
        event("FunctionCall", 11_100, dur=500, tdur=30),
        event("FunctionCall", 11_200, 2, dur=9000),  # another thread
        event("RunTask", 17_000, dur=1000),
        event("FireAnimationFrame", 17_001),
        event("FunctionCall", 17_001, dur=90, tdur=90),
        event("RunTask", 33_000, dur=5000),
        event("FireAnimationFrame", 33_100),
    ]
    assert script_times(trace) == ([4.75, 0.09], [1.78, 0.09])
    assert frame_times(trace) == [9.7, 1.0]
