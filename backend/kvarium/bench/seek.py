"""``kvarium bench seek``: how long it takes to go anywhere in a long recording, at the server, in a browser, and while dragging.

    a null runner's recording ── kvarium view ──▶ GET seek?step=…   random steps, to the answer's last byte         server_ms
                                      └─────────▶ Chromium          random places, to the frame that shows them     browser_ms
                                                                    dragged through, the main thread's time a frame  drag_ms

The parts run one after the other, each with a server of its own that has read nothing yet. The recording is made once, and kept.
"""

import http.client
import json
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from kvarium.bench.options import Note, note_of, size_named
from kvarium.errors import KvariumError
from kvarium.recording_options import AsJson, reading, say

_AS_THE_PAGE = f"ahead_bytes={256 << 10}&contents=none"
"""What the page asks for beside the step that it wants."""

_ANSWER_SECONDS = 60.0


class Size(NamedTuple):
    """Of the recording (``blocks``, ``steps``), and how often and how long it is measured."""

    blocks: int
    steps: int
    server_seeks: int
    browser_seeks: int
    drag_seconds: float


SIZES = {
    "small": Size(4096, 400, 30, 4, 2.0),
    "full": Size(1_000_000, 29_500, 300, 100, 12.0),
}
"""``full``: 10,000,000 operations on 1,000,000 blocks."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("seek", help="Seeks at the server and in a browser, and dragging: milliseconds.")(seek)


def seek(
    size: Annotated[
        str, typer.Option(help="full: 10,000,000 operations on 1,000,000 blocks; small: on 4,096.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure seeks; what is not measured is null, and standard error says why."""
    found = measure(size_named(size, SIZES), note_of("seek"))
    say(json.dumps(found) if as_json else table(found))


def measure(size: Size, note: Note) -> dict[str, Any]:
    """All figures, as JSON tells them."""
    from kvarium.bench.browser import MEASURED, measure_browser
    from kvarium.bench.folding import NotMeasuredError
    from kvarium.bench.recording import recording

    note(f"the recording: {size.blocks:,} blocks, {size.steps:,} steps of the null runner's mix")
    path = recording(size.steps, ("--num-gpu-blocks-override", str(size.blocks)))
    facts = state_at_end(path)
    note(f"{size.server_seeks} seeks at the server")
    server = measure_server(path, facts["session"], facts["steps"], size.server_seeks)
    note(f"at the server: {told(server)}")
    note(f"2 × {size.browser_seeks} seeks in a browser, then {size.drag_seconds:g} s of dragging")
    seen: dict[str, dict[str, float] | None] = dict.fromkeys(MEASURED)
    try:
        seen |= measure_browser(path, facts["session"], size.browser_seeks, size.drag_seconds, note)
    except NotMeasuredError as error:
        note(f"the browser is not measured: {error}")
    return {"server_ms": server, **seen, "recording": facts}


def state_at_end(path: Path) -> dict[str, Any]:
    """What the latest session of a file is: its id and size, and of its blocks which was freed last, and how many were
    ever allocated and hold content.

    The last state is folded from the keyframe of a seek, and its digest compared; raises :class:`KvariumError` where it differs.
    """
    import numpy as np

    from kvarium.recording.seek import Seeker
    from kvarium_ledger import codec
    from kvarium_ledger.fold import Fold
    from kvarium_ledger.operations import NONE
    from kvarium_ledger.records import Record

    with reading(str(path)) as reader:
        number = reader.find("latest")
        row = reader.session(number)
        fold = Fold(row["num_blocks"], row["block_size"])
        last = row["last_record"]
        for frame in Seeker(reader).seek(number, last, last, 0):
            record = codec.open_frame(frame)
            assert isinstance(record, Record)
            fold.apply(record)
    if fold.violation is not None or not fold.verified:
        raise KvariumError(f"the recording does not fold: {fold.violation}")
    return {
        "session": row["id"],
        "blocks": row["num_blocks"],
        "operations": row["operations"],
        "steps": row["last_step"] + 1,
        "allocated": int(np.count_nonzero(np.asarray(fold.state.blocks.generation))),
        "last_freed": int(np.nanargmax(np.asarray(fold.state.blocks.ticket))),
        "holding_content": int(np.count_nonzero(np.asarray(fold.state.blocks.content) != NONE)),
    }


def measure_server(path: Path, session: str, steps: int, seeks: int) -> dict[str, float]:
    """``{"p50", "p95", "p99"}`` in ms of seeks to random steps, from the request to the last byte of its answer.

    Raises :class:`KvariumError` when the server refuses one.
    """
    from kvarium.bench.main_thread import percentiles
    from kvarium.bench.viewed import viewed

    dice = random.Random(7)
    times: list[float] = []
    with (
        tempfile.TemporaryDirectory(prefix="kvarium-bench-") as folder,
        viewed(path, Path(folder)) as url,
    ):
        there = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_ANSWER_SECONDS)
        try:
            for _ in range(seeks):
                step = dice.randrange(steps)
                began = time.perf_counter()
                there.request("GET", f"/api/sessions/{session}/seek?step={step}&{_AS_THE_PAGE}")
                answer = there.getresponse()
                body = answer.read()
                times.append(1000 * (time.perf_counter() - began))
                if answer.status != 200:
                    why = body[:200].decode(errors="replace")
                    raise KvariumError(f"the seek to step {step} was answered with {answer.status}: {why}")
        except (OSError, http.client.HTTPException) as error:
            raise KvariumError(f"the server was not measured: {error}") from None
        finally:
            there.close()
    return percentiles(times)


def table(found: Mapping[str, Any]) -> str:
    """The figures for a person."""
    facts = found["recording"]
    blocks = facts["blocks"]
    rows = [
        ("recording", f"{facts['operations']:,} operations on {blocks:,} blocks, {facts['steps']:,} steps"),
        (
            "  at its end",
            f"{facts['allocated']:,} blocks were allocated, {facts['holding_content']:,} hold content",
        ),
    ]
    for name, title in (
        ("server_ms", "seek, server"),
        ("browser_ms", "seek, browser"),
        ("browser_rested_ms", "  pointer rested"),
        ("drag_ms", "drag, a frame"),
    ):
        rows.append((title, told(found[name])))
    return "\n".join(f"{name:<17} {value}" for name, value in rows)


def told(figures: Mapping[str, float] | None) -> str:
    """Percentiles of :func:`measure_server`, for a person."""
    if figures is None:
        return "not measured"
    return ", ".join(f"{part} {value:g} ms" for part, value in figures.items())
