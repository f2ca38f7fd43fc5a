"""``kvarium bench screen``: what the page costs and how soon it shows what the engine did, live, dragged, and when it opens.

    null runner, 20,000 operations/s ──▶ kvarium serve ──▶ Chromium      script a frame, frames/s, age of the drawn state, pixels
    the recording of `kvarium bench seek` ──▶ kvarium view ──▶ Chromium  opening, weight, dragged through, previous change
    the first again, for ten minutes                                     what the page holds on to

The parts run one after the other. The map is drawn by the CPU (software GL), so these are the figures of a machine without a card.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from kvarium.bench.options import Note, note_of, size_named
from kvarium.recording_options import AsJson, say

OPERATIONS_PER_S = 20_000


class Size(NamedTuple):
    """``pools`` are watched live for ``seconds`` each, one of them for ``minutes`` more; the recording has ``blocks`` and ``steps``.

    ``times``: how often each thing in it is asked for.
    """

    pools: tuple[int, ...]
    seconds: float
    held: int
    minutes: float
    blocks: int
    steps: int
    drag_seconds: float
    times: int


SIZES = {
    "small": Size((512,), 3.0, 512, 0.02, 1024, 150, 1.5, 5),
    "full": Size((512, 100_000, 1_000_000), 20.0, 100_000, 10.0, 1_000_000, 29_500, 12.0, 20),
}
"""``full``: pools of up to 1,000,000 blocks, a recording of 10,000,000 operations, and ten minutes of memory."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("screen", help="The page: script a frame, age of what is drawn, opening, memory.")(screen)


def screen(
    size: Annotated[
        str,
        typer.Option(help="full: up to 1,000,000 blocks, 10,000,000 operations, 10 minutes; small: seconds."),
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure the page; what is not measured is null, and standard error says why."""
    found = measure(size_named(size, SIZES), note_of("screen"))
    say(json.dumps(found) if as_json else table(found))


def measure(size: Size, note: Note) -> dict[str, Any]:
    """All figures, as JSON tells them."""
    from kvarium.bench.folding import NotMeasuredError

    found: dict[str, Any] = {
        "live": None,
        "drag": None,
        "open_ms": None,
        "initial_kb": None,
        "scrub_requests": None,
        "change_ms": None,
        "biography_ms": None,
        "heap_mb": None,
        "recording": None,
    }
    try:
        seen = [_live(blocks, size, note) for blocks in size.pools]
        found["live"] = [each for each, _ in seen]
        found["heap_mb"] = next(held for _, held in seen if held is not None)
        found |= _recorded(size, note)
    except NotMeasuredError as error:
        note(f"the page is not measured: {error}")
    return found


def _live(blocks: int, size: Size, note: Note) -> tuple[dict[str, Any], list[float] | None]:
    """What is seen of a pool of so many blocks, and the MB that the page holds while it goes on, where that is asked for."""
    from kvarium.bench.live import live
    from kvarium.bench.watched_page import heaps_over, see, watched

    note(f"live: {blocks:,} blocks")
    with (
        tempfile.TemporaryDirectory(prefix="kvarium-bench-") as folder,
        live(blocks, OPERATIONS_PER_S, Path(folder)) as session,
        watched(session) as page,
    ):
        seen = see(page, blocks, size.seconds)._asdict()
        note(_line(seen))
        if blocks != size.held:
            return seen, None
        note(f"{size.minutes:g} minutes of memory, {blocks:,} blocks")
        return seen, [round(held / 1e6, 1) for held in heaps_over(page, size.minutes)]


def _recorded(size: Size, note: Note) -> dict[str, Any]:
    from kvarium.bench.browser import measure_drag
    from kvarium.bench.main_thread import percentiles, script_times
    from kvarium.bench.opening import measure_opening
    from kvarium.bench.recording import recording
    from kvarium.bench.seek import state_at_end

    note(f"the recording: {size.blocks:,} blocks, {size.steps:,} steps of the null runner's mix")
    path = recording(size.steps, ("--num-gpu-blocks-override", str(size.blocks)))
    facts = state_at_end(path)
    opened = measure_opening(path, facts["session"], facts["last_freed"], size.times)
    note(f"it is open after {opened.open_ms:g} ms; the page weighs {opened.initial_kb:g} kB")
    script = script_times(measure_drag(path, facts["session"], size.drag_seconds, note))
    return {
        **opened._asdict(),
        "drag": {"script_ms": percentiles(script.clock), "script_cpu_ms": percentiles(script.cpu)},
        "recording": facts,
    }


def _line(seen: Mapping[str, Any]) -> str:
    script, age = seen["script_ms"], seen["state_age_ms"]
    return (
        f"{seen['operations_per_s']:,} operations/s, {seen['fps']:g} frames/s, {seen['pictures_per_s']:g} pictures/s; script "
        f"p50 {script['p50']:g}, p99 {script['p99']:g} ms ({seen['script_cpu_ms']['p99']:g} of its own); age p50 {age['p50']:g}, p95 {age['p95']:g} ms; "
        f"{seen['pixels']['differ']} of {seen['pixels']['compared']:,} pixels differ from the fold"
    )


def table(found: Mapping[str, Any]) -> str:
    """The figures for a person."""
    from kvarium.bench.seek import told

    rows = [(f"live, {seen['blocks']:,}", _line(seen)) for seen in found["live"] or ()]
    drag, change, heap = found["drag"], found["change_ms"], found["heap_mb"]

    def amount(value: float | None, unit: str) -> str:
        return "not measured" if value is None else f"{value:,}{unit}"

    rows += [
        ("drag, script", told(None if drag is None else drag["script_ms"])),
        ("opening", amount(found["open_ms"], " ms")),
        ("weight", amount(found["initial_kb"], " kB, compressed")),
        ("scrubbing", amount(found["scrub_requests"], " requests")),
        ("previous change", told(change)),
        ("biography", told(found["biography_ms"])),
        ("memory", "not measured" if heap is None else " → ".join(f"{each:g}" for each in heap) + " MB"),
    ]
    return "\n".join(f"{name:<17} {value}" for name, value in rows)
