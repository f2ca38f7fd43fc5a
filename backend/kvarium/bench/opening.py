"""How long it takes until a recording can be read in the page, what the page weighs, and what it asks for afterwards.

address ──▶ page, script, worker ──▶ session, seek to its end ──▶ fold, digest compared ──▶ map drawn ──▶ next frame
└───────────────────────────────────────────── open_ms ──────────────────────────────────────────────────┘
            └── initial_kb ──┘  as they came over the wire, compressed
"""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from kvarium.bench.chromium import ANSWER_SECONDS, READY, open_page, require_page
from kvarium.bench.main_thread import percentiles
from kvarium.bench.viewed import viewed

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

_LOAD_SECONDS = 20.0

_OPENED = """() => {
  let resolve;
  window.kvariumOpened = new Promise((done) => { resolve = done; });
  const look = (frame) => {
    const shown = window.kvarium?.mapShown();
    if (shown?.settled && shown.verified && shown.frame < frame) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

_WHEN_OPENED = """seconds => Promise.race([
  window.kvariumOpened,
  new Promise((_, reject) => setTimeout(() => reject(new Error(`the page was not open within ${seconds} s`)), seconds * 1000)),
])"""

_WEIGHT = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter(({ name }) => !new URL(name).pathname.startsWith('/api/'))
  .reduce((bytes, { encodedBodySize }) => bytes + encodedBodySize, 0)"""

_BIOGRAPHY = """block => new Promise((resolve) => {
  const began = performance.now();
  window.kvarium.select({ block });
  const look = () => {
    const told = window.kvarium.shown('block').block;
    const list = told?.block === block ? told.biography : null;
    // In the frame after the one in which it was drawn: it has been seen then.
    if (list !== null && (list.complete || list.now >= 200))
      requestAnimationFrame(() => resolve(performance.now() - began));
    else if (performance.now() - began > 10000) resolve(null);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""

_PRESSED = """key => new Promise((resolve) => {
  const before = window.kvarium.mapShown();
  const began = performance.now();
  const look = (frame) => {
    const shown = window.kvarium.mapShown();
    const isElsewhere = shown.record !== before.record && shown.settled && shown.verified;
    if ((isElsewhere && shown.frame < frame) || performance.now() - began > 3000)
      resolve(isElsewhere ? performance.now() - began : null);
    else requestAnimationFrame(look);
  };
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  requestAnimationFrame(look);
})"""


class Opened(NamedTuple):
    """``scrub_requests``: what was asked of the server while the view moved within what was loaded; ``change_ms`` is of
    previous and next change of a selected block, ``biography_ms`` from the selection of a block until what happened to it is
    in the inspector, as far as it is loaded."""

    open_ms: float
    initial_kb: float
    scrub_requests: int
    change_ms: dict[str, float] | None
    biography_ms: dict[str, float] | None


def measure_opening(file: Path, session: str, block: int, times: int) -> Opened:
    """Open a session of ``file`` in a fresh browser, and go through so many steps, changes of ``block``, and biographies.

    Raises :class:`NotMeasuredError` where there is no browser or page.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kvarium-bench-") as folder,
        viewed(file, Path(folder)) as url,
        open_page() as (_, page),
    ):
        page.add_init_script(f"({_OPENED})()")
        address = f"{url}/?session={session}"
        page.goto(address)
        require_page(page)
        open_ms = float(page.evaluate(_WHEN_OPENED, ANSWER_SECONDS))
        weight = int(page.evaluate(_WEIGHT))
        page.evaluate(READY, ANSWER_SECONDS)
        page.wait_for_timeout(1000)
        return Opened(
            round(open_ms),
            round(weight / 1000, 1),
            _scrub(page, times),
            _changes(page, f"{address}&block={block}", times),
            _biographies(page, block, times),
        )


def _scrub(page: "Page", times: int) -> int:
    """Go back and on again by single steps; how often the page asked the server for anything."""
    asked: list[str] = []

    def count(request: "Request") -> None:
        # The list of sessions is looked at for a newer one, whatever the view does.
        if urlsplit(request.url).path != "/api/sessions":
            asked.append(request.url)

    page.on("request", count)
    for _ in range(times):
        page.keyboard.press(",")
        page.evaluate(READY, ANSWER_SECONDS)
    # What lies before the end is loaded as it is come to, and some of it ahead.
    end = time.monotonic() + _LOAD_SECONDS
    before = None
    while before != len(asked) and time.monotonic() < end:
        before = len(asked)
        page.wait_for_timeout(500)
    asked.clear()
    for key in ("." * times, "," * times):
        for each in key:
            page.keyboard.press(each)
            page.evaluate(READY, ANSWER_SECONDS)
    page.remove_listener("request", count)
    return len(asked)


def _changes(page: "Page", address: str, most: int) -> dict[str, float] | None:
    """ms from the key of the previous change of a block to its picture; None: there was none to go to."""
    page.goto(address)
    page.evaluate(READY, ANSWER_SECONDS)
    page.keyboard.press("End")
    page.evaluate(READY, ANSWER_SECONDS)
    page.wait_for_timeout(500)
    times: list[float] = []
    while len(times) < most and (took := page.evaluate(_PRESSED, "[")) is not None:
        times.append(took)
    return percentiles(times) if times else None


def _biographies(page: "Page", block: int, count: int) -> dict[str, float] | None:
    """ms until the biography of a block is there, of blocks all over the pool: 200 rows, or all that is loaded.

    None: one did not come within ten seconds.
    """
    page.keyboard.press("End")
    page.evaluate(READY, ANSWER_SECONDS)
    pool = int(
        page.evaluate("Object.values(window.kvarium.shown('usage').usage).reduce((sum, each) => sum + each)")
    )
    times: list[float] = []
    for at in range(count):
        took = page.evaluate(_BIOGRAPHY, (block + 1 + at * pool // count) % pool)
        if took is None:
            return None
        times.append(took)
        page.evaluate(READY, ANSWER_SECONDS)
    return percentiles(times)
