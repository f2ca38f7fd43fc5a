"""What the page says while the server takes its time, and what to do when it failed: each is held, refused, and asked again."""

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, Route, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import ready, until

pytestmark = pytest.mark.e2e

REASON = "the disk has gone away"


@dataclass
class Gate:
    """Holds what the page asks for under an address, until it is opened."""

    held: list[Route] = field(default_factory=list)
    is_open: bool = False

    def meet(self, route: Route) -> None:
        if self.is_open:
            route.continue_()
        else:
            self.held.append(route)

    def open(self) -> None:
        """What is held goes on, and so does what comes later."""
        self.is_open = True
        for route in self.held:
            route.continue_()

    def refuse(self) -> None:
        """What is held fails, as it does at a server whose recording can't be read; what comes later goes on."""
        self.is_open = True
        assert self.held, "nothing was asked for"
        for route in self.held:
            route.fulfill(status=500, json={"detail": REASON})


def gate(page: Page, address: str) -> Gate:
    closed = Gate()
    page.context.route(re.compile(address), closed.meet)
    return closed


def test_a_recording_that_is_slow_to_open_says_so_and_one_that_fails_says_what_to_do(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    open_page.forgive("status of 500")
    page = open_page(viewing.url)
    again = page.get_by_role("button", name="Try again")
    cover = page.locator(".cover")

    sessions = gate(page, "/api/sessions$")
    page.goto(f"{viewing.url}/?session={recording.session}&step=100")
    expect(page.locator(".landing")).to_contain_text("Asking the server …")
    hello = gate(page, "/hello$")
    sessions.refuse()
    expect(page.locator(".landing")).to_contain_text(f"The recording can’t be read.{REASON}")
    # It is tried again by itself, and then opened where the address says.
    expect(cover).to_have_text("Opening the session …")
    hello.refuse()
    expect(cover).to_contain_text("This session could not be opened.")
    expect(cover).to_contain_text(REASON)
    steps, seek = gate(page, "/steps$"), gate(page, "/seek")
    again.click()
    expect(cover).to_have_text("Opening the session …")
    until(page, "window.kvarium.position().lastStep >= 0")
    # Which step it is to be is the address's to say, not the recording's last.
    expect(cover).not_to_contain_text("Loading step 500")
    steps.open()
    expect(cover).to_have_text("Loading step 100 …")
    seek.refuse()
    expect(cover).to_contain_text(f"Step 100 could not be loaded: {REASON}.")
    expect(cover.get_by_role("button", name="All sessions")).to_be_visible()
    again.click()
    ready(page)
    assert page.evaluate("window.kvarium.position().step") == 100


def test_a_list_or_an_answer_that_is_slow_says_so_and_one_that_fails_is_asked_for_again(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    open_page.forgive("status of 500")
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100")
    ready(page)

    events = gate(page, "/events\\?")
    page.keyboard.press("5")
    field = page.get_by_role("combobox", name="Filter of events")
    field.fill("violation")
    field.press("Enter")
    field.press("Escape")
    listed = page.get_by_role("log", name="events").get_by_role("status")
    expect(listed).to_contain_text("searched from step")
    until(page, "window.kvarium.shown('events').events.looking")
    events.refuse()
    expect(listed).to_contain_text(f"The rest could not be searched: {REASON}.")
    listed.get_by_role("button", name="Try again").click()
    expect(listed).to_have_text("Nothing in this session meets this filter.")

    why = gate(page, "/why/")
    page.keyboard.press("y")
    part = page.get_by_role("region", name="Why", exact=True)
    expect(part.get_by_role("status")).to_contain_text("asking …")
    expect(part.get_by_role("button", name="Stop")).to_be_visible()
    why.refuse()
    expect(part.get_by_role("alert")).to_contain_text(REASON)
    expect(part.get_by_role("button", name="ask again")).to_be_enabled()

    sql = gate(page, "/sql$")
    page.keyboard.press("9")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".centre")).to_contain_text("running …")
    sql.refuse()
    expect(page.locator(".centre")).to_contain_text(REASON)
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
