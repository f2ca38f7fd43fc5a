"""The command palette, the link that is shared, and the list of keys: as somebody uses them by keyboard alone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import passes, ready, step_of, until

pytestmark = pytest.mark.e2e


def opened(page: Page, *, key: str = "Control+k") -> Locator:
    """The palette, opened by key; its field has the focus when the key was taken."""
    page.keyboard.press(key)
    palette = page.get_by_role("dialog", name="Commands")
    expect(palette).to_be_visible()
    expect(palette.get_by_role("combobox")).to_be_focused()
    return palette


def choose(page: Page, typed: str, first: str) -> None:
    """Type into the palette, and take what comes first: it has ``first`` in its title."""
    palette = opened(page)
    page.keyboard.type(typed)
    expect(palette.get_by_role("option").first).to_contain_text(first)
    page.keyboard.press("Enter")
    expect(palette).to_be_hidden()


def test_everything_is_reached_from_the_palette(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100")
    ready(page)
    palette = opened(page, key=":")
    options = palette.get_by_role("option")
    # What can't be done says why, and is not done.
    page.keyboard.type("hold")
    held = options.first
    expect(held).to_have_attribute("aria-disabled", "true")
    expect(held).to_contain_text("does not take commands")
    page.keyboard.press("Enter")
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    choose(page, "events", "Events")
    expect(page.locator(".events")).to_be_focused()
    choose(page, "block 42", "42")
    expect(page.locator(".map")).to_be_focused()
    expect(page.locator(".inspector .big").first).to_contain_text("42")
    choose(page, "go to step 207", "207")
    until(page, "window.kvarium.position().step === 207")
    # The lists beside the map follow it.
    ready(page)
    # By arrows: the one that is pointed at is told to who listens.
    palette = opened(page)
    page.keyboard.type("theme")
    expect(options.first).to_contain_text("theme", ignore_case=True)
    page.keyboard.press("ArrowDown")
    field = palette.get_by_role("combobox")
    expect(options.first).to_have_attribute("aria-selected", "false")
    active = page.locator(f"#{field.get_attribute('aria-activedescendant')}")
    expect(active).to_have_attribute("aria-selected", "true")
    told = active.inner_text()
    page.keyboard.press("ArrowUp")
    expect(active).to_have_attribute("aria-selected", "false")
    page.keyboard.press("ArrowDown")
    expect(active).to_have_attribute("aria-selected", "true")
    expect(active).to_have_text(told, use_inner_text=True)
    field.fill("Light theme")
    expect(options.first).to_contain_text("Light theme")
    page.keyboard.press("Enter")
    until(page, "document.documentElement.dataset.theme === 'light'")
    # A request by its name, and what was used last comes first.
    row = page.locator(".sequence").first
    label, name = row.locator(".id").inner_text(), row.locator(".username").inner_text()
    choose(page, f"request {name}", name)
    expect(page.locator(".inspector")).to_contain_text(label.split(".")[0])
    choose(page, "map", "Memory map")
    expect(opened(page).get_by_role("option").first).to_have_text(re.compile("^Memory map"))
    page.keyboard.type("no such thing, surely")
    expect(page.get_by_text("Nothing here is called")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(palette).to_be_hidden()
    # On the list of sessions too.
    choose(page, "all sessions", "All sessions")
    expect(page.locator(".landing")).to_be_visible()
    expect(opened(page).get_by_role("option", name="Memory map")).to_contain_text("open a session first")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    choose(page, "open session", "Open session")
    ready(page)
    assert step_of(page) >= 0


def test_a_link_to_what_is_shown_is_copied_or_shown(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    address = f"{viewing.url}/?session={recording.session}&step=100"
    page = open_page(address, permissions=["clipboard-read", "clipboard-write"])
    ready(page)
    page.keyboard.press("2")
    until(page, "location.search.includes('left=scheduler')")
    page.keyboard.press("l")
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_contain_text("step 100")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{address}&left=scheduler"
    refused = open_page(copied)
    ready(refused)
    expect(refused.locator(".meters")).to_be_visible()
    refused.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    refused.get_by_role("button", name="Copy a link").click()
    field = refused.get_by_role("textbox", name="A link to what is shown")
    expect(field).to_be_focused()
    expect(field).to_have_value(copied)
    until(refused, "copied => getSelection().toString() === copied", copied)
    refused.keyboard.press("Escape")
    expect(field).to_be_hidden()


def check_within(element: Locator, width: int, height: int) -> None:
    box = element.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= width - box["width"]
    assert 0 <= box["y"] <= height - box["height"]


def test_a_first_visit_is_shown_five_notes_once(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    address = f"{viewing.url}/?session={recording.session}"
    sent = open_page(f"{address}&step=100", first_visit=True)
    ready(sent)
    tour = sent.get_by_role("dialog", name="Tour")
    sent.wait_for_timeout(300)
    expect(tour).to_be_hidden()
    page = open_page(address, 1280, 720, first_visit=True)
    ready(page)
    tour = page.get_by_role("dialog", name="Tour")
    for at in range(1, 6):
        expect(tour).to_contain_text(f"{at} of 5")
        passes(page, lambda: check_within(tour, 1280, 720))
        page.keyboard.press("Enter" if at % 2 else "ArrowRight")
    expect(tour).to_be_hidden()
    page.reload()
    ready(page)
    page.wait_for_timeout(300)
    expect(tour).to_be_hidden()
    choose(page, "notes", "notes")
    expect(tour).to_contain_text("1 of 5")
    page.keyboard.press("ArrowRight")
    expect(tour).to_contain_text("2 of 5")
    page.keyboard.press("ArrowLeft")
    expect(tour).to_contain_text("1 of 5")
    page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    page.keyboard.press("?")
    page.get_by_role("button", name="five notes").click()
    expect(tour.get_by_role("button", name="Next")).to_be_focused()
    tour.get_by_role("button", name="Skip").click()
    expect(tour).to_be_hidden()
