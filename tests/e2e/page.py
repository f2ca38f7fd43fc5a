"""What the tests ask of the page, through its hook `window.kvarium`."""

import os
import time
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from playwright.sync_api import Locator, Page, expect

from kvarium_ledger.operations import NONE

THROTTLE = float(os.environ.get("KVARIUM_TEST_THROTTLE", "1"))
"""How many times slower than it could each page runs, to find what races; what is waited for has as much longer."""
WAIT = 60.0
"""s for what never comes: a machine that has other things to do may take long for what does."""


class Patience:
    """For how long something is waited for (s). A time for which the machine, or this process, stood still counts for a second."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds * THROTTLE
        self._looked = time.monotonic()

    def ends(self) -> bool:
        now = time.monotonic()
        self._left -= min(1.0, now - self._looked)
        self._looked = now
        return self._left < 0


def until(page: Page, condition: str, arg: Any = None, timeout: float = WAIT) -> None:
    """Wait until ``condition``, a JavaScript expression or function of ``arg``, holds.

    Playwright's own way evaluates a string in the page, which the page's content security policy forbids.
    """
    patience = Patience(timeout)
    while not page.evaluate(condition, arg):
        if patience.ends():
            stands = page.evaluate(
                "[window.kvarium?.position(), document.querySelector('.banners')?.innerText]"
            )
            raise AssertionError(f"waited {timeout} s in vain for: {condition} ({arg}); the view: {stands}")
        page.wait_for_timeout(20)


_Read = TypeVar("_Read")


def becomes(page: Page, read: Callable[[], object], expected: object, timeout: float = WAIT) -> None:
    """Wait until what is read is as expected: for what ``expect`` has no words for."""
    patience = Patience(timeout)
    while (found := read()) != expected:
        assert not patience.ends(), f"waited {timeout} s in vain for {expected!r}: {found!r}"
        page.wait_for_timeout(20)


def becomes_any(
    page: Page, read: Callable[[], _Read | None], expected: Collection[_Read], timeout: float = WAIT
) -> _Read:
    """Wait until what is read is any of what is as right as the others, as are those that tie; which one it is."""
    patience = Patience(timeout)
    while (found := read()) is None or found not in expected:
        assert not patience.ends(), f"waited {timeout} s in vain for any of {expected!r}: {found!r}"
        page.wait_for_timeout(20)
    return found


def passes(page: Page, check: Callable[[], object], timeout: float = WAIT) -> None:
    """Wait until a check that asserts finds all as it should be; the last difference is raised."""
    patience = Patience(timeout)
    while True:
        try:
            check()
            return
        except AssertionError:
            if patience.ends():
                raise
        page.wait_for_timeout(20)


def settled(page: Page, read: Callable[[], _Read], seconds: float = 0.3, timeout: float = WAIT) -> _Read:
    """What is read, once it is the same again after so many seconds."""
    patience = Patience(timeout)
    before = read()
    while True:
        page.wait_for_timeout(1000 * seconds)
        if (found := read()) == before:
            return found
        assert not patience.ends(), f"it never stood still for {seconds} s: {before!r}, {found!r}"
        before = found


def rests(page: Page) -> None:
    """Wait until the page has fetched all that it fetches of a recording by itself."""
    until(page, "window.kvarium.bases().then(({ left }) => left === 0)")


def ready(page: Page) -> None:
    page.evaluate("window.kvarium.ready()")


def state(page: Page) -> dict[str, Any]:
    return page.evaluate("window.kvarium.state()")


def seek(page: Page, step: int) -> None:
    page.evaluate("step => window.kvarium.seek(step)", step)


def step_of(page: Page) -> int:
    return page.evaluate("window.kvarium.position().step")


def light(page: Page) -> dict[str, Any]:
    return page.evaluate("window.kvarium.light()")


def wait_light(page: Page, colour: str) -> dict[str, Any]:
    until(page, "colour => window.kvarium.light().colour === colour", colour)
    return light(page)


def wait_verified(page: Page, record: int) -> None:
    """Wait until the light is green at a record, or at the one before: a step's text may not have been followed yet."""
    becomes_any(page, lambda: light(page)["record"], (record - 1, record))
    wait_light(page, "green")


def wait_steps(page: Page, more: int) -> None:
    """Wait until the view is ``more`` steps further."""
    until(page, "step => window.kvarium.position().step >= step", step_of(page) + more)


def chips(within: Locator) -> list[dict[str, Any]]:
    """The blocks that are drawn as chips in an element: ``{"block", "shared", "x", "y"}``, the middle of each in the window."""
    found: list[dict[str, Any]] = within.evaluate("element => window.kvarium.chips(element)")
    return found


def hold(page: Page) -> None:
    """Hold the engine, and wait until the page has followed all that it did; the focus is where Shift+Space is no character."""
    page.keyboard.press("Shift+Space")
    expect(page.get_by_role("toolbar", name="The engine")).to_contain_text("engine held")
    # Between two steps, and told of it when it has answered: nothing comes after that but what is on its way.
    last = page.evaluate(
        "fetch(`api/sessions/${new URLSearchParams(location.search).get('session')}`)"
        ".then(answer => answer.json()).then(row => row.last_record)"
    )
    until(page, "last => window.kvarium.position().lastRecord >= last", last)
    ready(page)


def release(page: Page) -> None:
    page.keyboard.press("Shift+Space")
    expect(page.get_by_role("toolbar", name="The engine")).to_contain_text("engine running")


def pixels(page: Page) -> dict[int, tuple[int, ...]]:
    """The colour of each block, read back from the GPU."""
    read = page.evaluate("window.kvarium.mapPixels()")
    assert read["rgba"] == read["expected"], "a pixel is not the palette's colour for its block's state"
    return {block: tuple(rgba) for block, rgba in zip(read["blocks"], read["rgba"], strict=True)}


def classes(state: dict[str, Any]) -> list[str]:
    """What each block is: free, cached, active or shared."""
    names = []
    for count, content in zip(state["count"], state["content"], strict=True):
        if count == 0:
            names.append("free" if content == NONE else "cached")
        else:
            names.append("active" if count == 1 else "shared")
    return names


def assert_pixels_are(page: Page, state: dict[str, Any]) -> None:
    """Every block's pixel has the one colour of its class in ``state``, and no two classes have one colour."""
    colours: dict[str, set[tuple[int, ...]]] = {}
    read = pixels(page)
    assert sorted(read) == list(range(len(state["count"])))
    for block, name in enumerate(classes(state)):
        colours.setdefault(name, set()).add(read[block])
    assert all(len(found) == 1 for found in colours.values()), colours
    assert len(set.union(*colours.values())) == len(colours), colours


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Two states are equal; a step's text record may or may not have been followed yet."""
    assert found["record"] - expected["record"] in (-1, 0)
    for name in expected:
        if name != "record":
            assert found[name] == expected[name], name
