"""The bar of the page: whatever it has to say, all of it is there, and the session keeps its name."""

import pytest
from playwright.sync_api import Page, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages
from tests.e2e.page import passes, ready, until

pytestmark = pytest.mark.e2e

CUT = """() => {
  const bar = document.querySelector('.bar');
  const within = bar.getBoundingClientRect();
  const cut = [...bar.querySelectorAll('button, select, input, .pill, .light')]
    .filter((each) => each.getBoundingClientRect().width > 1)
    .filter((each) => each.getBoundingClientRect().right > within.right + 0.5)
    .map((each) => each.title || each.textContent);
  const name = bar.querySelector('.name b');
  const share = bar.querySelector('.usage > .num').getBoundingClientRect();
  // The arrow of a menu takes about 20 px; what is asked is of the option that stands there.
  const menu = bar.querySelector('.pace');
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = getComputedStyle(menu).font;
  const room = menu.clientWidth - 20 - pen.measureText(menu.selectedOptions[0].text.trim()).width;
  return { cut, room, scrolls: bar.scrollWidth > bar.clientWidth + 1, isWhole: name.scrollWidth <= name.clientWidth,
           isClear: share.right <= bar.querySelector('.light').getBoundingClientRect().left,
           name: bar.querySelector('.name').getBoundingClientRect().width };
}"""
"""Which controls reach out of the bar, whether it is too long, whether the session's name is whole and the pixels that it has, and
whether the light leaves the share that is used alone."""


def check_bar(page: Page, at: str) -> None:
    found = page.evaluate(CUT)
    assert found["cut"] == [], f"cut off at {at}: {found}"
    assert found["room"] >= 0, f"the pace is cut at {at}: {found}"
    assert not found["scrolls"], f"too long at {at}: {found}"
    assert found["isClear"], f"the light lies on the share at {at}: {found}"
    assert found["name"] >= 100, f"the name is cut short at {at}: {found}"


def test_the_bar_has_room_for_all_of_it_behind_a_held_engine(live: ServerProcess, open_page: Pages) -> None:
    page = open_page(live.url)
    ready(page)
    until(page, "window.kvarium.position().step > 2")
    page.keyboard.press("Space")
    behind = page.locator(".badge.behind")
    expect(behind).to_be_visible()
    until(page, "window.kvarium.position().lastStep > window.kvarium.position().step + 12")
    page.keyboard.press("Shift+Space")
    expect(page.locator(".engine.held")).to_be_visible()
    name = page.locator(".name b")
    called = "(element, name) => { element.textContent = name; }"
    for width, height in ((1280, 720), (1440, 900), (1600, 1000), (1720, 1000), (1920, 1080), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        until(page, f"document.querySelector('.bar').getBoundingClientRect().width > {width} * 0.4")
        at = f"{width} × {height}"
        name.evaluate(called, "smollm2-135m, demo, 96 blocks")
        until(page, f"({CUT})().isWhole")
        name.evaluate(called, "smollm2-135m, beams and a long shared prefix")
        passes(page, lambda at=at: check_bar(page, at))  # type: ignore[misc]
    page.keyboard.press("Shift+Space")
    expect(page.locator(".engine.held")).to_have_count(0)


@pytest.mark.parametrize("language", ["en", pytest.param("vi", marks=pytest.mark.slow)])
def test_the_bar_has_room_for_all_of_it_where_a_breakpoint_stopped_the_engine(
    live: ServerProcess, open_page: Pages, language: str
) -> None:
    page = open_page(f"{live.url}/?lang={language}")
    ready(page)
    until(page, "window.kvarium.position().step > 2")
    session = page.evaluate("new URLSearchParams(location.search).get('session')")
    commands = f"{live.url}/api/sessions/{session}/commands"
    set_ = page.request.post(commands, data={"name": "break", "args": {"when": "op:allocate", "hits": 1}})
    assert set_.ok, set_.text()
    expect(page.locator(".engine.held .stop")).to_be_visible()
    for width in (1280, 1366, 1440, 1600, 1720, 1820, 1920, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        passes(page, lambda at=f"{width} px, {language}": check_bar(page, at))  # type: ignore[misc]
    page.request.post(
        commands, data={"name": "unbreak", "args": {"breakpoint": set_.json()["result"]["breakpoint"]}}
    )
    page.request.post(commands, data={"name": "release", "args": {}})
    expect(page.locator(".engine.held")).to_have_count(0)
