"""No serious fault of accessibility, as axe-core finds them, on the pages as somebody uses them; in dark and in light."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.backend.server_process import ServerProcess
from tests.conftest import ROOT
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import ready, until

pytestmark = pytest.mark.e2e

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  const told = await axe.run(document, { resultTypes: ['violations'] });
  return told.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\\n${failureSummary}`));
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    path = Path(AXE)
    if not path.exists():
        pytest.skip("no axe-core: npm ci in frontend installs it (make setup)")
    return path.read_text()


STANDS = """document.getAnimations().every(({ playState, effect }) =>
  playState !== 'running' || effect.getComputedTiming().endTime === Infinity)"""
"""Does nothing fade in or out any more? Half faded, a text has too little contrast."""


def press(key: str, then: str) -> Callable[[Page], None]:
    """Press a key, and wait for what it shows."""

    def act(page: Page) -> None:
        page.keyboard.press(key)
        expect(page.locator(then)).to_be_visible()

    return act


def nothing(page: Page) -> None:
    """As it was opened."""


def unselect(page: Page) -> None:
    page.keyboard.press("Escape")
    until(page, "!location.search.includes('block=')")


def why(page: Page) -> None:
    unselect(page)
    press("y", ".why .because")(page)


def sessions(page: Page) -> None:
    page.keyboard.press("o")
    expect(page.locator(".landing tbody tr").first).to_be_visible()


def tour(page: Page) -> None:
    press("Control+k", "dialog.palette")(page)
    page.keyboard.type("notes")
    expect(page.locator("dialog.palette").get_by_role("option").first).to_contain_text("notes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Tour")).to_be_visible()


STATES: dict[str, Callable[[Page], None]] = {
    "session": nothing,
    "sessions": sessions,
    "each panel": nothing,
    "palette": press("Control+k", "dialog.palette"),
    "keys": press("?", "dialog.keys"),
    "tour": tour,
    "nothing selected": unselect,
    "why": why,
    "findings": press("i", ".symptom >> nth=0"),
}
SMALL = ("session", "palette")


def faults(page: Page, axe: str) -> list[str]:
    until(page, STANDS)
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(axe)
    found: list[str] = page.evaluate(RUN)
    return found


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_no_serious_fault(
    scheme: str, viewing: ServerProcess, recording: Recording, open_page: Pages, axe: str, size: str
) -> None:
    sequence, _, _, block = max(recording.state_after(100)["tables"])
    place = f"{viewing.url}/?session={recording.session}&step=100&block={block}&seq={sequence}"
    found: dict[str, list[str]] = {}
    states = STATES if size == "full" else SMALL if scheme == "dark" else SMALL[:1]
    for name in states:
        page = open_page(place, 1280, 720, color_scheme=scheme)
        ready(page)
        expect(page.locator(".inspector .big").first).to_be_visible()
        STATES[name](page)
        panels = page.locator(".panel [role=tab]").all() if name == "each panel" else []
        for panel in panels:
            panel.click()
            expect(panel).to_have_attribute("aria-selected", "true")
            ready(page)
            if told := faults(page, axe):
                found[panel.inner_text()] = told
        if not panels and (told := faults(page, axe)):
            found[name] = told
        page.close()
    assert found == {}, "\n\n".join(f"{name}: {told}" for name, each in found.items() for told in each)
