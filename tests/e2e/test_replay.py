"""A finished recording: opened, scrubbed, compared with the Python fold."""

import random

import pytest
from playwright.sync_api import expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import (
    assert_pixels_are,
    becomes,
    ready,
    rests,
    same,
    seek,
    settled,
    state,
    step_of,
    until,
    wait_light,
    wait_verified,
)

pytestmark = pytest.mark.e2e


def test_scrubbing_gives_exactly_the_state_of_the_python_fold(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0")
    ready(page)
    steps = [
        0,
        recording.steps - 1,
        *(rng.randrange(recording.steps) for _ in range(10 if size == "small" else 40)),
    ]
    for step in steps:
        seek(page, step)
        expected = recording.state_after(step)
        same(state(page), expected)
        assert_pixels_are(page, expected)
        wait_verified(page, expected["record"])


def test_a_finished_recording_opens_from_the_list_of_sessions(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(viewing.url)
    page.get_by_text("mix, 256 blocks").first.click()
    until(page, "new URLSearchParams(location.search).get('session') !== null")
    ready(page)
    wait_light(page, "green")
    assert step_of(page) == 0, "a recording opens where it begins"
    assert recording.session.startswith(page.evaluate("new URLSearchParams(location.search).get('session')"))


def test_the_url_holds_the_step_and_browser_back_returns(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=123")
    ready(page)
    same(state(page), recording.state_after(123))
    page.go_back()
    page.go_forward()
    until(page, "window.kvarium !== undefined")
    ready(page)
    same(state(page), recording.state_after(123))


def test_a_step_that_is_not_there_is_said_so(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=99999999")
    ready(page)
    same(state(page), recording.state_after(recording.steps - 1))
    expect(page.locator(".banners")).to_contain_text("There is no step 99\u202f999\u202f999")
    page = open_page(f"{viewing.url}/?session={recording.session}&step=-5")
    ready(page)
    same(state(page), recording.state_after(0))
    expect(page.locator(".banners")).to_contain_text("The address asks for step -5")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".banner")).to_have_count(0)


def test_an_unknown_session_in_the_url_is_explained(viewing: ServerProcess, open_page: Pages) -> None:
    open_page.forgive("status of 404")
    page = open_page(f"{viewing.url}/?session=00000000-0000-0000-0000-000000000000")
    expect(page.locator("body")).to_contain_text("00000000")


def test_after_joining_scrubbing_within_what_is_loaded_makes_no_request(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=200")
    ready(page)
    seek(page, 205)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    # What the page fetches beside it, in its own time, has come.
    rests(page)
    before = settled(page, lambda: len(requests), 1.5)
    for step in (204, 203, 201, 206, 202):
        seek(page, step)
    assert requests[before:] == []


@pytest.mark.slow
def test_the_story_of_a_sequence_in_the_url_is_of_its_request_alone(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    sequence = recording.state_after(250)["tables"][0][0]
    page = open_page(f"{viewing.url}/?session={recording.session}&step=250&seq={sequence}")
    ready(page)
    page.get_by_text("Load earlier").click()
    expect(page.locator(".inspector .life .line").first).to_be_visible()
    lines = page.locator(".inspector .life .line")
    becomes(page, lambda: sum("submitted" in line for line in lines.all_inner_texts()), 1)
    told = settled(page, lines.all_inner_texts)
    assert sum("submitted" in line for line in told) == 1, told


def test_the_next_change_of_a_block_is_found_beyond_what_is_loaded(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=20&block=7")
    ready(page)
    expect(page.locator(".inspector .big").first).to_contain_text("7")
    seen = [20]
    for _ in range(4):
        page.keyboard.press("]")
        until(page, "s => window.kvarium.position().step > s", seen[-1])
        ready(page)
        seen.append(step_of(page))
    page.keyboard.press("[")
    until(page, "s => window.kvarium.position().step < s", seen[-1])
    ready(page)
    assert step_of(page) == seen[-2]


@pytest.mark.slow
def test_a_clicked_control_leaves_the_keys_to_the_page(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100")
    ready(page)
    # So slowly that it does not come to the end meanwhile.
    page.locator("select.pace").select_option(label="4 steps/s")
    page.keyboard.press("5")
    whole = page.locator(".timeline").get_by_role("tab", name="all")
    whole.click()
    expect(whole).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'play'")
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    expect(whole).to_have_attribute("aria-selected", "true")
    page.get_by_role("combobox", name="Filter of events").click()
    page.keyboard.press("Escape")
    ready(page)
    stands = step_of(page)
    page.keyboard.press(".")
    until(page, "step => window.kvarium.position().step === step", stands + 1)


@pytest.mark.slow
def test_play_at_the_end_begins_anew(viewing: ServerProcess, recording: Recording, open_page: Pages) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step={recording.steps - 1}")
    ready(page)
    page.locator("select.pace").select_option(label="4 steps/s")
    page.keyboard.press("Space")
    until(page, "s => window.kvarium.position().step < s", recording.steps - 1)


@pytest.mark.slow
def test_leaving_and_coming_back_makes_no_fault(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100")
    ready(page)
    for _ in range(5):
        page.keyboard.press("o")
        expect(page.locator(".landing")).to_be_visible()
        page.wait_for_timeout(50)
        page.set_viewport_size({"width": 1300, "height": 800})
        page.keyboard.press("Escape")
        expect(page.locator(".timeline")).to_be_visible()
        page.set_viewport_size({"width": 1600, "height": 1000})
        ready(page)
        assert step_of(page) == 100, "back to where one was"
    page.go_back()
    page.wait_for_timeout(200)


@pytest.mark.slow
def test_the_whole_row_of_a_session_opens_it(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(viewing.url)
    page.locator(".landing tbody td").nth(4).click()
    until(page, "last => window.kvarium.position().lastStep === last", recording.steps - 1)
