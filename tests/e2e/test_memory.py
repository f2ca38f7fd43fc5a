"""What the memory back end and its commands show: a reset of the prefix cache, and the free runs of a contiguous cache."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.server_process import ServerProcess, serving
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes_any, classes, ready, state, until, wait_light
from tests.e2e.writing import playground, send

pytestmark = pytest.mark.e2e


def test_the_prefix_cache_is_reset_and_what_the_engine_says_is_shown(
    idle: ServerProcess, open_page: Pages
) -> None:
    open_page.forgive("status of 422")
    page = playground(idle, open_page)
    card = send(page, "x" * 64, max_tokens=2000)
    expect(card.locator(".chips canvas").first).to_be_visible()
    reset = page.get_by_role("button", name="Reset the prefix cache")
    banner = page.locator(".banner")
    reset.click()
    expect(banner).to_contain_text(re.compile(r"The prefix cache is not reset: .*in use"))
    card.get_by_role("button", name="Abort").click()
    expect(card.locator(".state")).to_have_text("aborted")
    # The prompt has four whole blocks, and it may have said some more.
    cached = becomes_any(page, lambda: classes(state(page)).count("cached"), range(4, 96))
    page.keyboard.press("Escape")
    page.keyboard.press("R")
    expect(banner).to_have_text(
        re.compile(rf"The prefix cache is reset: {cached} blocks lost their content\.")
    )
    # It is an operation a block, which the next step's record tells.
    send(page, "y", max_tokens=1)
    expect(page.locator(".centre .legend")).to_contain_text("cached, free 0")
    wait_light(page, "green")
    banner.get_by_role("button", name="Dismiss").click()
    expect(banner).to_have_count(0)


@pytest.mark.slow
def test_a_contiguous_cache_shows_its_free_runs_and_nobody_as_the_next_to_go(
    open_page: Pages, tmp_path: Path
) -> None:
    frames = hand_frames(22)
    config = {"memory_backend": "contiguous", "reserve": "power-of-two", "load_format": "dummy"}
    with serving(tmp_path / "contiguous.db") as server:
        link = server.engine(config=config)
        link.send(frames)
        link.wait_acked(record_of(frames[-1]))
        page = open_page(f"{server.url}/?session={link.hello.session}")
        ready(page)
        used = "".join("#" if count else "." for count in state(page)["count"])
        free = [(run.start(), run.end() - 1) for run in re.finditer(r"\.+", used)]
        assert len(free) > 2, used
        chips = page.locator(".queue .qchip")
        expect(chips).to_have_text(
            [str(first) if first == last else f"{first} – {last}" for first, last in free]
        )
        queue = page.locator(".queue")
        expect(queue).to_contain_text(f"first fit · longest {max(last - first + 1 for first, last in free)}")
        expect(queue).to_contain_text(f"{used.count('.')} free blocks in {len(free)} runs")
        expect(queue).not_to_contain_text("next to go")
        until(page, "window.kvarium.mapShown()?.next === null")
        facts = page.locator(".inspector .pairs").first
        expect(facts).to_contain_text("contiguous, each sequence reserves the next power of two")
        expect(facts).to_contain_text("random (load_format dummy)")
        chips.nth(1).click()
        first, last = free[1]
        expect(page.locator(".inspector .big")).to_contain_text(str(first))
        length = last - first + 1
        expect(page.locator(".inspector .pairs")).to_contain_text(
            f"{length} block{'' if length == 1 else 's'} in one run"
        )
        expect(page.locator(".inspector .pairs")).not_to_contain_text("in the queue")
