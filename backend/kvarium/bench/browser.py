"""How long the page takes: from an input to the frame on which what was asked for can be seen, and while it is dragged through.

    pointer goes down on the timeline ──▶ worker ──▶ server ──▶ worker: fold, digests compared ──▶ page: map drawn ──▶ next frame
    └────────────────────────────────────────────── browser_ms ─────────────────────────────────────────────────────┘

A real Chromium opens a real ``kvarium view``. A seek is done on the first frame behind the one in which the map was drawn of a
view that stands where it was asked to and whose digest was compared, so what it drew is on its way to the screen.

After a long recording of a large pool was opened, the page fetches some of its states while its reader rests, so that a seek is
told what changed since one of them. That takes seconds, and is waited for, for some 20 s at most: the seeks that are timed are those
of a reader who has had the recording open for a while.

Where a pointer has rested on the timeline for a moment, the page fetches what a seek to there would bring. So seeks are timed in both
ways: ``browser_ms`` are those of a pointer that is pressed as soon as it comes to a place, which nobody could foresee, and
``browser_rested_ms`` those of one that rests there for 0.3 s before, as a hand does. Both count from the press.

While dragging, the time of a frame is that of all that ran on the page's main thread from the beginning of one frame to that of
the next: script, style, layout, painting, garbage collection, as Chromium's own trace tells it.
"""

import contextlib
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kvarium.bench.chromium import ANSWER_SECONDS, READY, open_page, require_page
from kvarium.bench.main_thread import TRACED, Events, frame_times, percentiles
from kvarium.bench.viewed import viewed
from kvarium.errors import KvariumError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_READ_AHEAD_SECONDS = 20.0
_REST_SECONDS = 0.3
"""Between two seeks: on the place of the last one, or on that of the next one."""
_MOVES_A_SECOND = 60
_PRESSED = {"button": "left", "buttons": 1, "clickCount": 1}
_SWEEP_SECONDS = 4.0
"""From one end of the timeline to the other."""

MEASURED = ("browser_ms", "browser_rested_ms", "drag_ms")

_ARM = """seconds => {
  window.kvariumSeek = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`nothing was clicked, or no frame was made, within ${2 * seconds} s`)), 2000 * seconds);
    addEventListener('pointerdown', (event) => {
      const before = window.kvarium.mapShown();
      const look = (frame) => {
        const shown = window.kvarium.mapShown();
        const { colour, message } = window.kvarium.light();
        if (colour === 'red') return reject(new Error(message));
        if (performance.now() - event.timeStamp > seconds * 1000)
          return reject(new Error(`no picture of another step within ${seconds} s; the map is of step ${shown.step}`));
        const isThere = shown.step !== before.step && shown.settled && shown.verified;
        if (isThere && shown.frame < frame) return resolve(performance.now() - event.timeStamp);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, { capture: true, once: true });
  });
  window.kvariumSeek.catch(() => {});
}"""

_WATCH = """() => {
  const drawn = [];
  let last = null;
  window.kvariumDrawn = drawn;
  const look = () => {
    const shown = window.kvarium.mapShown();
    if (last === null || shown.record !== last.record) drawn.push(performance.now());
    last = shown;
    if (window.kvariumDrawn === drawn) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def _tell(line: str) -> None:
    print(f"kvarium bench seek: {line}", file=sys.stderr, flush=True)


def measure_browser(
    file: Path, session: str, seeks: int, drag_seconds: float, note: Callable[[str], None] = _tell
) -> dict[str, dict[str, float]]:
    """``{"p50", "p95", "p99"}`` in ms by what was measured, of :data:`MEASURED`.

    ``seeks`` random seeks of each of the two ways, then ``drag_seconds`` of dragging: the main thread's time a frame.

    ``session`` is the id of one in ``file``. ``note`` is told what a person may want to know beside: how often the picture
    changed during the drag. Raises :class:`NotMeasuredError` where there is no Playwright, Chromium or page, and
    :class:`KvariumError` when the page shows a fault or does not get there.
    """
    with _opened(file, session, note) as (browser, page, lane):
        found = {
            "browser_ms": _seek(page, lane, seeks, rests_there=False),
            "browser_rested_ms": _seek(page, lane, seeks, rests_there=True),
        }
        for name, sought in found.items():
            note(f"{name}: " + ", ".join(f"{part} {value:g} ms" for part, value in sought.items()))
        return {**found, "drag_ms": percentiles(frame_times(_drag(browser, page, lane, drag_seconds, note)))}


def measure_drag(file: Path, session: str, seconds: float, note: Callable[[str], None] = _tell) -> Events:
    """The trace of ``seconds`` of dragging, and nothing else; see :func:`measure_browser`."""
    with _opened(file, session, note) as (browser, page, lane):
        return _drag(browser, page, lane, seconds, note)


# -- on the page --------------------------------------------------------------------------------------------------------

Lane = tuple[float, float, float]
"""Of the timeline: its left and right end, and a height at which nothing but it is hit; CSS pixels."""


@contextlib.contextmanager
def _opened(file: Path, session: str, note: Callable[[str], None]) -> "Iterator[tuple[Browser, Page, Lane]]":
    """A page that has had the session open for a while, all of it in the timeline, and stands at its first step."""
    with (
        tempfile.TemporaryDirectory(prefix="kvarium-bench-") as folder,
        viewed(file, Path(folder)) as url,
        open_page() as (browser, page),
    ):
        page.goto(f"{url}/?session={session}&step=0")
        require_page(page)
        page.evaluate(READY, ANSWER_SECONDS)
        note(f"states that the page read ahead: {_read_ahead(page)}")
        yield browser, page, _whole_timeline(page)


def _whole_timeline(page: "Page") -> Lane:
    """Show the whole session in the timeline."""
    lane = page.locator(".timeline .lane")
    lane.dblclick()
    page.wait_for_timeout(1000)
    page.evaluate(READY, ANSWER_SECONDS)
    box = lane.bounding_box()
    assert box is not None
    # What names the axis stands at its left.
    return box["x"] + 70, box["x"] + box["width"] - 24, box["y"] + box["height"] * 0.55


def _read_ahead(page: "Page") -> int:
    """Wait until the page has fetched what it fetches before it is needed, if it fetches any. How many states it has then."""
    end = time.monotonic() + _READ_AHEAD_SECONDS
    while (bases := page.evaluate("window.kvarium.bases()"))["left"] > 0 and time.monotonic() < end:
        page.wait_for_timeout(200)
    return int(bases["kept"])


def _seek(page: "Page", lane: Lane, count: int, *, rests_there: bool) -> dict[str, float]:
    left, right, y = lane
    dice = random.Random(7)
    x = left
    times: list[float] = []
    for _ in range(count):
        # Never where the view is already.
        x = left + (x - left + dice.uniform(0.02, 0.98) * (right - left)) % (right - left)
        if rests_there:
            page.mouse.move(x, y)
        page.wait_for_timeout(_REST_SECONDS * 1000)
        page.evaluate(_ARM, ANSWER_SECONDS)
        if not rests_there:
            page.mouse.move(x, y)
        page.mouse.down()
        times.append(page.evaluate("window.kvariumSeek"))
        page.mouse.up()
    return percentiles(times)


def _drag(
    browser: "Browser", page: "Page", lane: Lane, seconds: float, note: Callable[[str], None]
) -> Events:
    left, right, y = lane
    # By the protocol itself: before each move of a pressed mouse Playwright runs scripts in the page that look for a drag and drop.
    hand = page.context.new_cdp_session(page)

    def point(kind: str, x: float) -> None:
        hand.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y} | _PRESSED)

    page.mouse.move(left, y)
    point("mousePressed", left)
    page.wait_for_timeout(1000)
    page.evaluate(_WATCH)
    browser.start_tracing(page=page, categories=list(TRACED))
    began = time.monotonic()
    moves, x = 0, left
    while (now := time.monotonic() - began) < seconds:
        there = now / _SWEEP_SECONDS % 2
        x = left + (right - left) * min(there, 2 - there)
        point("mouseMoved", x)
        moves += 1
        time.sleep(max(0.0, began + moves / _MOVES_A_SECOND - time.monotonic()))
    trace: Events = json.loads(browser.stop_tracing())["traceEvents"]
    drawn = page.evaluate(
        "() => { const drawn = window.kvariumDrawn; window.kvariumDrawn = null; return drawn; }"
    )
    point("mouseReleased", x)
    hand.detach()
    between = [after - before for before, after in itertools.pairwise(drawn)]
    frames = frame_times(trace)
    if len(frames) < 2 or not between:
        raise KvariumError(
            f"nothing moved in {seconds:g} s of dragging: {len(frames)} frames, {len(drawn)} pictures"
        )
    told = percentiles(between)
    note(
        f"dragging: {len(frames) / seconds:.0f} frames a second; a new step in the picture every {told['p50']:.0f} ms "
        f"(p95 {told['p95']:.0f} ms)"
    )
    return trace
