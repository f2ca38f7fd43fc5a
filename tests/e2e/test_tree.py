"""The prefix tree: what the Python fold says of it, and what a person does with it."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.server_process import ServerProcess, serving
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, seek, until
from tests.e2e.writing import playground, send, typed
from tests.plain_state import plain_tree

pytestmark = pytest.mark.e2e

BEGINNING = "Once upon a time, there was a little girl, Lily."
"""Three blocks of 16: the runner without a model takes a byte as a token."""
assert len(BEGINNING) == 48


def test_the_tree_is_what_the_python_fold_says_at_random_steps(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0")
    ready(page)
    page.keyboard.press("4")
    steps = [rng.randrange(recording.steps) for _ in range(6 if size == "small" else 40)]
    for step in [recording.steps - 1, *steps]:
        seek(page, step)
        expected = plain_tree(recording.fold_after(step))
        # What is drawn is of this step, too; what contents follow is asked for where a seek left it out.
        sums = f"{len(expected)} contents in {sum(len(node['blocks']) for node in expected)} blocks"
        told = re.compile(f"^{sums}(\\d+ can’t be hit)?$")
        expect(page.locator(".centre .legend")).to_have_text(told)
        becomes(page, lambda: page.evaluate("window.kvarium.tree()"), expected)


def row(page: Page, text: str) -> str:
    """The columns of the row whose text holds ``text``, without the text."""
    found = page.get_by_role("treeitem").filter(has_text=text)
    expect(found).to_have_count(1)
    return " ".join(found.inner_text().split())


def chosen(page: Page) -> int:
    return int(page.evaluate("new URLSearchParams(location.search).get('block')"))


def test_a_prefix_is_found_opened_and_selected_and_gone_when_it_is_evicted(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = playground(idle, open_page)
    for end in ("She loved the park.", "He had a red ball."):
        card = send(page, f"{BEGINNING}{end}", max_tokens=2)
        expect(card.locator(".state")).to_have_text("finished · length")
    typed(page).press("Escape")
    page.keyboard.press("4")
    tree = page.get_by_role("tree")
    expect(tree).to_be_focused()
    # A lone run at the top is open: what both prompts begin with, and what follows in each.
    expect(page.get_by_role("treeitem")).to_have_count(3)
    # Three blocks, five with what follows, hit once.
    becomes(page, lambda: "3 blocks 5 1 " in row(page, "Once upon a time"), True)
    expect(page.locator(".centre .legend")).to_have_text("5 contents in 5 blocks")

    page.keyboard.press("/")
    expect(page.locator(".centre [data-filter]")).to_be_focused()
    page.keyboard.type(f"{BEGINNING}She sat")
    found = page.locator(".treebar .found")
    expect(found).to_have_text("matches 3 blocks (48 tokens), then differs at “sat”")
    expect(page.get_by_role("treeitem").filter(has_text="differs here")).to_contain_text("She loved the pa")
    page.keyboard.press("Control+a")
    page.keyboard.type("Twice")
    expect(found).to_have_text("Nothing in the cache begins like this.")
    expect(page.get_by_role("treeitem")).to_have_count(0)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    expect(page.get_by_role("treeitem")).to_have_count(3)

    # By keys alone: the run block by block, closed again, down to a branch, and select it.
    page.keyboard.press("4")
    expect(tree).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.get_by_role("button", name="3 blocks").click()
    expect(page.get_by_role("treeitem")).to_have_count(4)
    page.get_by_role("button", name="3 blocks").click()
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("4")
    expect(tree).to_be_focused()
    page.keyboard.press("*")
    expect(page.get_by_role("treeitem")).to_have_count(3)
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".treerow.selected")).to_have_count(1)
    until(page, "new URLSearchParams(location.search).get('block') !== null")
    block = chosen(page)
    expect(page.locator(".inspector .big").first).to_have_text(re.compile(f"^{block}#"))
    expect(page.locator(".inspector")).to_contain_text("cached, free")

    # What is selected elsewhere is brought into sight, under a row that was closed.
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("Escape")
    until(page, "new URLSearchParams(location.search).get('block') === null")
    page.go_back()
    expect(page.locator(".treerow.selected")).to_have_count(1)
    expect(page.get_by_role("treeitem")).to_have_count(3)

    # Evicted, as all is by a reset; at the change before it is there again, and at the next one gone.
    page.keyboard.press("R")
    expect(tree).to_contain_text("Nothing is cached yet.")
    page.keyboard.press("[")
    expect(page.locator(".treerow.selected")).to_have_count(1)
    page.keyboard.press("]")
    expect(tree).to_contain_text("Nothing is cached yet.")
    expect(page.locator(".inspector .life").first).to_contain_text("evict")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"memory_backend": "contiguous"}, "A contiguous cache has no prefix tree."),
        ({"enable_prefix_caching": False}, "Prefix caching is off."),
        ({}, "Nothing is cached yet."),
    ],
)
def test_an_engine_without_a_prefix_cache_says_so(
    open_page: Pages, tmp_path: Path, config: dict[str, object], told: str
) -> None:
    with serving(tmp_path / "off.db") as server:
        link = server.engine(config=config)
        frames = hand_frames(1)
        link.send(frames)
        link.wait_acked(record_of(frames[-1]))
        page = open_page(server.url)
        ready(page)
        page.keyboard.press("4")
        expect(page.get_by_role("tree")).to_contain_text(told)
        expect(page.locator(".treebar")).to_have_count(0 if config else 1)
