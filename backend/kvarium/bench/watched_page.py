"""What a page shows of a live engine, and how soon: watched from inside the page, and in Chromium's trace.

    engine seals a record ──▶ link ──▶ server ──▶ page's worker folds it ──▶ page draws ──▶ the frame behind it
    └──────────────────────────────── age of the drawn state ───────────────────────────────────────┘

The engine and the browser are on one machine, so one clock tells both ends. A record that is drawn in a frame is
counted in the next one, when its picture is on the way to the screen; records that no frame showed are in none.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple

from kvarium.bench.chromium import ANSWER_SECONDS, READY, require_page
from kvarium.bench.devtools import DevToolsPage, devtools_page
from kvarium.bench.live import LiveSession
from kvarium.bench.main_thread import TRACED, Events, frame_times, percentiles, script_times
from kvarium.errors import KvariumError

_SETTLE_SECONDS = 2.0
_PIXEL_SAMPLES = 5

_WATCH = """utcUs => {
  const seen = { frames: 0, pictures: 0, ages: [] };
  window.kvariumSeen = seen;
  let last = null;
  let drawn = null;
  const age = (sealed) => seen.ages.push(performance.timeOrigin + performance.now() - utcUs / 1e3 - sealed / 1e6);
  const look = (frame) => {
    if (window.kvariumSeen !== seen) return;
    seen.frames++;
    if (drawn !== null) age(drawn);
    drawn = null;
    const shown = window.kvarium.mapShown();
    const { record, time } = window.kvarium.position();
    if (shown !== null && shown.record === record && record !== last) {
      last = record;
      seen.pictures++;
      if (shown.frame < frame) age(time);
      else drawn = time;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

_SEEN = "() => { const seen = window.kvariumSeen; window.kvariumSeen = null; return seen; }"

_DIFFER = """() => {
  const { rgba, expected } = window.kvarium.mapPixels();
  let differ = 0;
  for (let i = 0; i < expected.length; i++) if (String(rgba[i]) !== String(expected[i])) differ++;
  return { compared: expected.length, differ };
}"""


class Seen(NamedTuple):
    """Of one pool size. ``state_age_ms`` and the times of a frame are percentiles in ms; ``frame_ms`` is script, style, layout
    and painting, ``script_ms`` script alone, both by the clock; ``script_cpu_ms`` is what the thread itself ran of that."""

    blocks: int
    operations_per_s: int
    fps: float
    pictures_per_s: float
    script_ms: dict[str, float]
    script_cpu_ms: dict[str, float]
    frame_ms: dict[str, float]
    state_age_ms: dict[str, float]
    pixels: dict[str, int]


class Watched(NamedTuple):
    """A page that shows a live session. ``utc_us``: the wall clock, µs since 1970, at 0 ns of it."""

    page: DevToolsPage
    utc_us: int


@contextlib.contextmanager
def watched(session: LiveSession) -> Iterator[Watched]:
    """A page of a live session while the body runs. Raises :class:`NotMeasuredError` where there is no browser or page."""
    with devtools_page() as page:
        utc_us = _open(page, session)
        time.sleep(_SETTLE_SECONDS)
        yield Watched(page, utc_us)


def see(there: Watched, blocks: int, seconds: float) -> Seen:
    """Watch it for ``seconds``."""
    page = there.page
    page.start_tracing(TRACED)
    page.call(_WATCH, there.utc_us)
    first = _counted(page)
    began = time.monotonic()
    time.sleep(seconds)
    seen = page.call(_SEEN)
    passed = time.monotonic() - began
    operations = _counted(page) - first
    trace: Events = page.stop_tracing()
    script = script_times(trace)
    if seen["pictures"] < 2:
        raise KvariumError(f"in {seconds:g} s the page drew {seen['pictures']} pictures of the live session")
    pixels = {"compared": 0, "differ": 0}
    for _ in range(_PIXEL_SAMPLES):
        told = page.call(_DIFFER)
        pixels = {name: pixels[name] + told[name] for name in pixels}
        time.sleep(0.2)
    return Seen(
        blocks=blocks,
        operations_per_s=round(operations / passed),
        fps=round(seen["frames"] / passed, 1),
        pictures_per_s=round(seen["pictures"] / passed, 1),
        script_ms=percentiles(script.clock),
        script_cpu_ms=percentiles(script.cpu),
        frame_ms=percentiles(frame_times(trace)),
        state_age_ms=percentiles(seen["ages"]),
        pixels=pixels,
    )


def heaps_over(there: Watched, minutes: float) -> list[int]:
    """Bytes that the page and its worker hold, their garbage collected: at once, then each minute (or tenth of a shorter time)."""
    times = max(1, min(10, round(minutes)))
    held = [there.page.held()]
    for _ in range(times):
        time.sleep(60 * minutes / times)
        held.append(there.page.held())
    return held


def _open(page: DevToolsPage, session: LiveSession) -> int:
    """Open the session's page; the wall clock (µs since 1970) at 0 ns of it."""
    page.goto(f"http://{session.address}/?session={session.session}")
    require_page(page)
    page.call(READY, ANSWER_SECONDS)
    row = page.call("id => fetch(`/api/sessions/${id}`).then((answer) => answer.json())", session.session)
    return int(row["started_utc_us"])


def _counted(page: DevToolsPage) -> int:
    """The operations that the view has seen."""
    return int(page.evaluate("window.kvarium.position().op"))
