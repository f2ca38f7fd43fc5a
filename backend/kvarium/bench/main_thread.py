"""What ran on a page's main thread in each frame, from Chromium's own trace."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

TRACED = ("devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata")
"""The categories that :func:`frame_times` needs."""


_SCRIPT = frozenset({"FunctionCall", "EvaluateScript", "RunMicrotasks", "MinorGC", "MajorGC"})
"""What a trace calls script that runs, and the collection of its garbage."""

Events = Sequence[dict[str, Any]]
Spans = list[tuple[float, float]]
"""Beginning and length of each, in µs."""


def frame_times(trace: Events) -> list[float]:
    """ms that the page's main thread ran in each frame, from the events of a trace of Chromium.

    The main thread is the one on which most animation frames are; a frame goes from the begin of one to that of the next.
    """
    thread = _main_thread(trace)
    tasks = _spans(trace, thread, frozenset({"RunTask"}))
    return _by_frame(_begins(trace, thread, tasks), tasks)


class ScriptTimes(NamedTuple):
    """ms of script in each frame: by the clock, and what the thread itself ran of that.

    Between the two lies what the thread waited for a core that another process had.
    """

    clock: list[float]
    cpu: list[float]


def script_times(trace: Events) -> ScriptTimes:
    """ms of script in each frame, without style, layout and painting; the same frames as those of :func:`frame_times`."""
    thread = _main_thread(trace)
    begins = _begins(trace, thread, _spans(trace, thread, frozenset({"RunTask"})))
    cpu = {
        (event["ts"], event["dur"]): min(event["dur"], event.get("tdur", 0))
        for event in trace
        if (event["pid"], event["tid"]) == thread and event["name"] in _SCRIPT and "dur" in event
    }
    outermost: Spans = []
    for ts, duration in _spans(trace, thread, _SCRIPT):
        if not outermost or ts >= sum(outermost[-1]):
            outermost.append((ts, duration))
    own = [(ts, cpu[ts, duration]) for ts, duration in outermost]
    return ScriptTimes(_by_frame(begins, outermost), _by_frame(begins, own))


def _main_thread(trace: Events) -> tuple[int, int] | None:
    count = Counter((event["pid"], event["tid"]) for event in trace if event["name"] == "FireAnimationFrame")
    return max(count, key=lambda each: count[each]) if count else None


def _spans(trace: Events, thread: tuple[int, int] | None, names: frozenset[str]) -> Spans:
    # Of two that begin together the longer one is around the other.
    return sorted(
        (
            (event["ts"], event["dur"])
            for event in trace
            if (event["pid"], event["tid"]) == thread and event["name"] in names and "dur" in event
        ),
        key=lambda span: (span[0], -span[1]),
    )


def _begins(trace: Events, thread: tuple[int, int] | None, tasks: Spans) -> list[float]:
    """Where frames begin: with the tasks in which an animation frame is fired."""
    fired = iter(
        sorted(
            event["ts"]
            for event in trace
            if event["name"] == "FireAnimationFrame" and (event["pid"], event["tid"]) == thread
        )
    )
    begins: list[float] = []
    fire = next(fired, None)
    for ts, duration in tasks:
        is_first = False
        while fire is not None and fire < ts + duration:
            is_first = is_first or fire >= ts
            fire = next(fired, None)
        if is_first:
            begins.append(ts)
    return begins


def _by_frame(begins: list[float], spans: Spans) -> list[float]:
    """ms of the spans that begin in each frame; the last one is cut off."""
    frames = [0.0] * len(begins)
    for ts, duration in spans:
        frame = bisect_right(begins, ts) - 1
        if frame >= 0:
            frames[frame] += duration / 1000
    return frames[:-1]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """``{"p50", "p95", "p99"}``, each the smallest value that so many percent are not above."""
    ordered = sorted(values)
    return {
        f"p{part}": round(ordered[max(0, -(-part * len(ordered) // 100) - 1)], 2) for part in (50, 95, 99)
    }
