"""Panels that are resized: by pointer, by keyboard, kept for the next visit, and held where the window is small."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, passes, ready, settled, until

pytestmark = pytest.mark.e2e

PANELS = {
    "the left column": ".left",
    "the inspector": ".inspector",
    "the free queue": ".queue",
    "the timeline": ".timeline",
}


def edge(page: Page, panel: str) -> Locator:
    return page.get_by_role("separator", name=f"Size of {panel}")


def size(page: Page, panel: str) -> float:
    box = page.locator(PANELS[panel]).first.bounding_box()
    assert box is not None
    return box["width"] if panel in ("the left column", "the inspector") else box["height"]


def wait_size(page: Page, panel: str, expected: float) -> None:
    expect(edge(page, panel)).to_have_attribute("aria-valuenow", str(round(expected)))
    becomes(page, lambda: abs(size(page, panel) - expected) < 1, True)


def check_within(page: Page, name: str, width: int, height: int) -> None:
    shown = page.locator(name).first.bounding_box()
    assert shown is not None, name
    assert shown["width"] > 150, name
    assert shown["height"] > 15, name
    assert shown["x"] >= 0, name
    assert shown["x"] + shown["width"] <= width + 0.5, name
    assert shown["y"] + shown["height"] <= height + 0.5, name


def test_panels_are_resized_by_pointer_and_keyboard_and_stay_so(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    address = f"{viewing.url}/?session={recording.session}&step=100"
    page = open_page(address)
    ready(page)
    own = settled(page, lambda: {panel: size(page, panel) for panel in PANELS})
    # By keyboard: the arrow that points away from the panel makes it larger.
    for panel, key in zip(PANELS, ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowUp"), strict=True):
        edge(page, panel).focus()
        page.keyboard.press(key)
        wait_size(page, panel, own[panel] + 16)
    # However fast they come, each counts.
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    wait_size(page, "the timeline", own["the timeline"] + 48)
    # By pointer.
    box = edge(page, "the left column").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 200
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=3)
    page.mouse.move(x + 80, y, steps=3)
    page.mouse.up()
    wait_size(page, "the left column", own["the left column"] + 96)
    # More of the queue is shown where there is room for it.
    chips = page.locator(".queuerow .qchip")
    few = settled(page, chips.count)
    edge(page, "the free queue").focus()
    page.keyboard.press("Shift+ArrowUp")
    until(page, "few => document.querySelectorAll('.queuerow .qchip').length > few", few)
    page.reload()
    ready(page)
    wait_size(page, "the left column", own["the left column"] + 96)
    # In a small window nothing is pushed out of it, however large the panels were made.
    for panel in PANELS:
        edge(page, panel).focus()
        page.keyboard.press("End")
    page.set_viewport_size({"width": 1280, "height": 720})
    until(page, "document.querySelector('.page').getBoundingClientRect().right <= 1280.5")
    for name in (".left", ".centre", ".inspector", ".queue", ".timeline", ".footer", ".map"):
        passes(page, lambda name=name: check_within(page, name, 1280, 720))  # type: ignore[misc]
    page.set_viewport_size({"width": 1600, "height": 1000})
    # Back to what each has by itself.
    edge(page, "the left column").dblclick()
    wait_size(page, "the left column", own["the left column"])
    edge(page, "the timeline").focus()
    page.keyboard.press("Enter")
    wait_size(page, "the timeline", own["the timeline"])


def test_whatever_stands_in_the_middle_the_columns_beside_it_stay_and_a_heading_is_a_line(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100", 1280, 720)
    ready(page)
    own = settled(page, lambda: {panel: size(page, panel) for panel in PANELS})
    for key, panel in (("4", "tree"), ("5", "events"), ("9", "sql"), ("i", "findings")):
        page.keyboard.press(key)
        until(page, "panel => document.activeElement?.dataset.panel === panel", panel)
        page.evaluate("document.activeElement.blur()")
        assert {panel: size(page, panel) for panel in PANELS} == own, panel
        if panel == "events":
            assert page.locator(".eventhead").evaluate("element => element.offsetHeight") < 30
        if panel == "findings":
            # Once they have come, too.
            expect(page.locator(".finding, .findings .nothing").first).to_be_visible()
            assert {panel: size(page, panel) for panel in PANELS} == own
