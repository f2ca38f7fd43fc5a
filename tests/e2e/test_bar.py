"""The bar of the page: whatever it has to say, all of it is there, and the session keeps its name."""

import pytest
from playwright.sync_api import expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages
from tests.e2e.page import ready, until

pytestmark = pytest.mark.e2e

CUT = """() => {
  const bar = document.querySelector('.bar');
  const within = bar.getBoundingClientRect();
  const cut = [...bar.querySelectorAll('button, select, input, .pill, .light')]
    .filter((each) => each.getBoundingClientRect().width > 1)
    .filter((each) => each.getBoundingClientRect().right > within.right + 0.5)
    .map((each) => each.title || each.textContent);
  return { cut, scrolls: bar.scrollWidth > bar.clientWidth + 1,
           name: bar.querySelector('.name').getBoundingClientRect().width };
}"""
"""Which controls reach out of the bar, whether it is too long, and the pixels that the session's name has."""


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
    name.evaluate("element => element.textContent = 'smollm2-135m, beams and a long shared prefix'")
    for width, height in ((1280, 720), (1440, 900), (1600, 1000), (1920, 1080), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        until(page, f"document.querySelector('.bar').getBoundingClientRect().width > {width} * 0.4")
        found = page.evaluate(CUT)
        assert found["cut"] == [], f"cut off at {width} × {height}: {found}"
        assert not found["scrolls"], f"too long at {width} × {height}: {found}"
        assert found["name"] >= 100, f"the name is cut short at {width} × {height}: {found}"
    page.keyboard.press("Shift+Space")
    expect(page.locator(".engine.held")).to_have_count(0)
