"""A finished recording: opened, scrubbed, compared with the Python fold."""

import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.backend.server_process import ServerProcess, process
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import assert_pixels_are, ready, same, seek, state, until, wait_light

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def viewing(recording: Recording) -> Iterator[ServerProcess]:
    with process("view", str(recording.path), "--port", "0", "--no-open") as server:
        yield server.wait_ready()


def test_scrubbing_gives_exactly_the_state_of_the_python_fold(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0")
    ready(page)
    steps = [
        0,
        recording.steps - 1,
        *(rng.randrange(recording.steps) for _ in range(10 if size == "small" else 100)),
    ]
    for step in steps:
        seek(page, step)
        expected = recording.state_after(step)
        same(state(page), expected)
        assert_pixels_are(page, expected)
        assert wait_light(page, "green")["record"] in (expected["record"], expected["record"] - 1)


def test_a_finished_recording_opens_from_the_list_of_sessions(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(viewing.url)
    page.get_by_text("mix, 256 blocks").first.click()
    until(page, "new URLSearchParams(location.search).get('session') !== null")
    ready(page)
    wait_light(page, "green")
    assert recording.session.startswith(page.evaluate("new URLSearchParams(location.search).get('session')"))


def test_the_url_holds_the_step_and_browser_back_returns(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=123")
    ready(page)
    same(state(page), recording.state_after(123))
    page.go_back()
    page.go_forward()
    ready(page)
    same(state(page), recording.state_after(123))


def test_a_step_that_is_not_there_is_said_so(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=99999999")
    ready(page)
    same(state(page), recording.state_after(recording.steps - 1))


def test_an_unknown_session_in_the_url_is_explained(viewing: ServerProcess, open_page: Pages) -> None:
    page = open_page(f"{viewing.url}/?session=00000000-0000-0000-0000-000000000000")
    expect(page.locator("body")).to_contain_text("00000000")
    open_page.faults.clear()  # the browser logs the 404


def test_after_joining_scrubbing_within_what_is_loaded_makes_no_request(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=200")
    ready(page)
    seek(page, 205)
    page.wait_for_timeout(500)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for step in (204, 203, 201, 206, 202):
        seek(page, step)
    assert requests == []
