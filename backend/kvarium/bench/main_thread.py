"""What ran on a page's main thread in each frame, from Chromium's own trace."""

from collections.abc import Sequence
from typing import Any

TRACED = ("toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata")
"""The categories that :func:`frame_times` needs."""


def frame_times(trace: Sequence[dict[str, Any]]) -> list[float]:
    """ms that the page's main thread ran in each frame, from the events of a trace of Chromium.

    The main thread is the one on which most animation frames are; a frame goes from the begin of one to that of the next.
    """
    begins: dict[tuple[int, int], list[float]] = {}
    for event in trace:
        if event["name"] == "FireAnimationFrame":
            begins.setdefault((event["pid"], event["tid"]), []).append(event["ts"])
    if not begins:
        return []
    thread = max(begins, key=lambda each: len(begins[each]))
    tasks = sorted(
        (event["ts"], event["dur"])
        for event in trace
        if (event["pid"], event["tid"]) == thread and event["name"] == "RunTask" and "dur" in event
    )
    # A task in which an animation frame begins is the first of its frame.
    frames: list[float] = []
    fired = iter(sorted(begins[thread]))
    fire = next(fired, None)
    for ts, duration in tasks:
        is_first = False
        while fire is not None and fire < ts + duration:
            is_first = is_first or fire >= ts
            fire = next(fired, None)
        if is_first:
            frames.append(0.0)
        if frames:
            frames[-1] += duration / 1000
    # The last one is cut off.
    return frames[:-1]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """``{"p50", "p95", "p99"}``, each the smallest value that so many percent are not above."""
    ordered = sorted(values)
    return {
        f"p{part}": round(ordered[max(0, -(-part * len(ordered) // 100) - 1)], 2) for part in (50, 95, 99)
    }
