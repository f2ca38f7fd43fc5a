"""A real Chromium, and one page in it, for a bench to drive."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from kvarium.bench.folding import NotMeasuredError
from kvarium.errors import KvariumError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Of a Chromium that needs no display and no GPU: the map is drawn by the CPU."""

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZE = (1600, 1000)
"""CSS pixels of a page."""

TOUR_SEEN = "localStorage.setItem('kvarium.tour', 'seen')"
"""The notes of a first visit are not a part of what is measured."""

ANSWER_SECONDS = 30.0
"""What a page is waited for at most."""

READY = """seconds => Promise.race([
  window.kvarium.ready(),
  new Promise((_, reject) => setTimeout(() => reject(new Error(`the page was not ready within ${seconds} s`)), seconds * 1000)),
])"""
"""Waits so many seconds for the page to stand where it was asked to."""


def find_chromium() -> str | None:
    """Where a Chromium is: ``$CHROMIUM``, or the system's; None: Playwright's own, if it has one. Raises :class:`KvariumError`."""
    told = os.environ.get("CHROMIUM")
    if told:
        if not os.access(told, os.X_OK):
            raise KvariumError(f"CHROMIUM={told} is not an executable file")
        return told
    return next(filter(None, map(shutil.which, _NAMES)), None)


def chromium_here() -> str:
    """As :func:`find_chromium`, Playwright's own with its path. Raises :class:`NotMeasuredError` where there is none."""
    told = find_chromium()
    if told is None:
        with _playwright() as playwright:
            told = playwright.chromium.executable_path
    if not os.access(told, os.X_OK):
        raise NotMeasuredError(f"there is no Chromium here: {_ADVICE}")
    return told


_ADVICE = (
    "install one (scripts/chromium.sh in a clone, or `python -m playwright install chromium`), or say where it is "
    "with CHROMIUM=/path/to/it"
)


@contextlib.contextmanager
def _playwright() -> "Iterator[Playwright]":
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NotMeasuredError(
            "a browser is driven by Playwright, which is not here: pip install playwright"
        ) from None
    with sync_playwright() as playwright:
        yield playwright


@contextlib.contextmanager
def open_page() -> "Iterator[tuple[Browser, Page]]":
    """A browser and an empty page while the body runs.

    Raises :class:`NotMeasuredError` where there is none, and :class:`KvariumError` for what the page does not do in the body.
    """
    chromium = find_chromium()
    with _playwright() as playwright:
        from playwright.sync_api import Error

        try:
            browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        except Error as error:
            why = error.message.strip().splitlines()[0]
            raise NotMeasuredError(f"no Chromium could be started ({why}): {_ADVICE}") from None
        with contextlib.closing(browser):
            page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            page.set_default_timeout(ANSWER_SECONDS * 1000)
            page.add_init_script(TOUR_SEEN)
            try:
                yield browser, page
            except Error as error:
                raise KvariumError(f"the page was not measured: {error.message}") from None


class Evaluates(Protocol):
    """A page that tells the value of an expression."""

    def evaluate(self, expression: str, /) -> Any: ...


def require_page(page: Evaluates) -> None:
    """Raises :class:`NotMeasuredError` where the server has no page."""
    if page.evaluate("window.kvarium === undefined"):
        raise NotMeasuredError("the server has no page: in a clone, `make build` makes it")
