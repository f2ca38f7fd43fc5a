"""A lesson picked in the playground runs on an engine of its own; its captions stand at their steps, in either language."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages
from tests.e2e.page import THROTTLE, becomes, ready, seek, step_of, until, wait_light

pytestmark = pytest.mark.e2e

STARTING_MS = 180_000 * THROTTLE
"""For what needs a new process of the engine: on a machine that has other things to do it may take long to start."""

FIRST, SECOND = 3, 4
"""The steps behind which the two captions of the scenario block-table are said."""


def caption(page: Page) -> Locator:
    return page.locator(".caption")


def at(page: Page, step: int, words: str) -> None:
    """The view goes to a step, and these words stand there."""
    seek(page, step)
    until(page, "step => window.kvarium.position().step === step", step)
    expect(caption(page).locator("p")).to_contain_text(words)


@pytest.mark.timeout(900)
def test_a_lesson_runs_and_its_captions_appear_at_their_steps_in_either_language(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = open_page(idle.url)
    ready(page)
    expect(caption(page)).to_have_count(0)
    page.keyboard.press("p")
    lesson = page.get_by_role("combobox", name="Which lesson")
    expect(lesson.locator("option")).to_have_count(11)
    lesson.select_option("block-table")
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_enabled(timeout=STARTING_MS)
    run.click()
    # It is shown as it runs, in a session of its own, and its last caption is the last that is heard.
    expect(caption(page)).to_contain_text("2 of 2", timeout=STARTING_MS)
    expect(caption(page).locator("p")).to_contain_text("40 tokens stand in the blocks [41, 7, 19].")
    wait_light(page, "green")

    at(page, SECOND, "Token 20 is in the table’s second block: block 7, slot 4.")
    expect(caption(page)).to_have_class(re.compile(r"\bhere\b"))
    at(page, FIRST, "48 short requests have come and gone so that the free queue begins with 41, 7, 19.")
    expect(caption(page)).to_contain_text("1 of 2")
    at(page, 0, "The lesson begins.")
    expect(caption(page)).not_to_have_class(re.compile(r"\bhere\b"))
    caption(page).get_by_role("button", name="Next caption").click()
    until(page, "step => window.kvarium.position().step === step", FIRST)
    expect(caption(page)).to_contain_text("1 of 2")
    caption(page).get_by_role("button", name="Next caption").click()
    until(page, "step => window.kvarium.position().step === step", SECOND)
    expect(caption(page).get_by_role("button", name="Next caption")).to_be_disabled()

    # In the other language the page is at the same step, of what was recorded.
    caption(page).get_by_role("combobox", name="Language").select_option("vi")
    expect(caption(page).locator("p")).to_have_text(
        "40 token nằm ở các block [41, 7, 19]. Token 20 ở block thứ hai của table: block 7, slot 4. "
        "Đọc qua table, văn bản vẫn trọn vẹn."
    )
    until(page, "() => window.kvarium !== undefined")
    ready(page)
    becomes(page, lambda: step_of(page), SECOND)
    expect(caption(page)).to_contain_text("2 trên 2")
    expect(page.get_by_role("combobox", name="Chọn bài học")).to_have_value("block-table")
    # The address has the place a moment later.
    until(page, "step => new URLSearchParams(location.search).get('step') === String(step)", SECOND)
    page.reload()
    expect(caption(page).locator("p")).to_contain_text("40 token nằm ở các block")
    becomes(page, lambda: step_of(page), SECOND)
    until(page, "step => new URLSearchParams(location.search).get('step') === String(step)", SECOND)

    # Who comes with a browser that speaks it hears it at once, and English where the address asks for it.
    address = page.url
    other = open_page(address, locale="vi-VN")
    expect(caption(other).locator("p")).to_contain_text("40 token nằm ở các block")
    other.goto(f"{address}&lang=en")
    expect(caption(other).locator("p")).to_contain_text("40 tokens stand in the blocks")


def test_a_session_that_is_no_lesson_has_no_caption(idle: ServerProcess, open_page: Pages) -> None:
    page = open_page(idle.url, locale="vi-VN")
    ready(page)
    expect(page.locator(".bar")).to_be_visible()
    expect(caption(page)).to_have_count(0)
