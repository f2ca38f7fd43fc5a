"""The SQL panel: a worked question is asked, put in order, followed by a link, and taken away; a fault is shown where it lies."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.backend.running_server import RunningServer, running
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, step_of, until

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def viewing(recording: Recording) -> Iterator[RunningServer]:
    with running(recording.path, read_only=True) as server:
        yield server


def test_a_worked_question_is_asked_and_its_answer_leads_on(
    viewing: RunningServer, recording: Recording, open_page: Pages
) -> None:
    open_page.forgive("status of 422")
    page = open_page(f"http://127.0.0.1:{viewing.port}/?session={recording.session}")
    ready(page)
    page.keyboard.press("9")
    query = page.get_by_role("textbox", name="SQL query")
    expect(query).to_be_focused()
    page.get_by_label("Worked questions").select_option(label="When was the pool fullest?")
    expect(query).to_have_value(re.compile(r"When was the pool fullest\?"))
    expect(query).to_be_focused()
    page.keyboard.press("Control+Enter")
    answer = page.locator(".answer")
    rows = answer.locator("tr.row")
    expect(rows).to_have_count(3, timeout=60_000)
    expect(page.locator(".sql .told")).to_contain_text("3 rows")

    def steps() -> list[int]:
        return [int(said) for said in rows.locator("td:first-child").all_inner_texts()]

    columns = viewing.get(f"/sessions/{recording.session}/steps")
    used = [sum(pair) for pair in zip(columns["active"], columns["shared"], strict=True)]
    expected = sorted(range(len(used)), key=lambda step: (-used[step], step))[:3]
    becomes(page, steps, expected)
    answer.get_by_role("button", name="step", exact=True).click()
    becomes(page, steps, sorted(expected, reverse=True))
    answer.get_by_role("button", name="step", exact=True).click()
    becomes(page, steps, sorted(expected))

    rows.first.get_by_title("Go to this step").click()
    until(page, "step => window.kvarium.position().step === step", min(expected))
    assert step_of(page) == min(expected)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    header, *lines = download.value.path().read_text().splitlines()
    assert header == "step,used,shared,cached,free,running,waiting"
    assert [int(line.split(",")[0]) for line in lines] == sorted(expected)

    # The answer and what was asked are still there after a look at the map.
    page.locator(".centre .head").get_by_text("map").click()
    expect(answer).to_have_count(0)
    page.keyboard.press("9")
    becomes(page, steps, sorted(expected))
    query.fill("SELECT step,\n  wrong\nFROM step")
    page.keyboard.press("Control+Enter")
    fault = page.locator(".sql .fault")
    expect(fault).to_contain_text('"wrong" not found', timeout=60_000)
    fault.get_by_role("button", name="line 2, column 3").click()
    until(page, "getSelection().toString() === 'wrong'")
    asked = page.get_by_label("Queries asked before").locator("option")
    expect(asked.nth(1)).to_have_text("SELECT step, wrong FROM step")
    expect(asked.nth(2)).to_contain_text("-- When was the pool fullest?")
