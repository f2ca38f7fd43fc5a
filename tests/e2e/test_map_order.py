"""The map by owner: a request's blocks lie together, and pixels, pointer, keys and rectangle follow."""

import random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import assert_pixels_are, becomes, pixels, ready, seek, state, until

pytestmark = pytest.mark.e2e


def by_owner(fold: Fold, requests: dict[int, int]) -> list[int]:
    """Blocks in the order of the map: by request as the tables have them; pinned; cached and free by their place in the queue."""
    blocks = fold.state.blocks
    owned: dict[int, int] = {}
    for (sequence, _group), table in sorted(fold.state.tables.items()):
        for block in table.values():
            owned.setdefault(block, requests[sequence])
    walked = sorted(owned, key=lambda block: owned[block])
    rest = [block for block in range(len(blocks.count)) if block not in owned]
    pinned = [block for block in rest if blocks.count[block] > 0]
    queue = sorted((block for block in rest if blocks.count[block] == 0), key=lambda b: blocks.ticket[b])
    cached = [block for block in queue if blocks.content[block] != NONE]
    return walked + pinned + cached + [block for block in queue if blocks.content[block] == NONE]


def shown_order(page: Page) -> list[int]:
    """Which block lies in each cell, as the pixels say it."""
    return list(pixels(page))


def test_blocks_lie_by_owner_and_all_of_the_map_follows(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    requests = recording.requests_of_sequences()
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0&arrange=owner")
    ready(page)
    choice = page.get_by_label("Arrange the map")
    expect(choice).to_have_value("owner")
    area = page.get_by_role("application")
    for _ in range(2 if size == "small" else 20):
        step = rng.randrange(recording.steps)
        seek(page, step)
        fold = recording.fold_after(step)
        expected = by_owner(fold, requests)
        becomes(page, lambda: shown_order(page), expected)
        assert_pixels_are(page, state(page))
        shown = page.evaluate("window.kvarium.shown('map').map")
        classes: list[Any] = [word & 3 for word in shown]
        counts = fold.state.blocks.count
        assert [each >= 2 for each in classes] == [count > 0 for count in counts], "by number, as ever"
    # Keys go from cell to cell: the first cell, the one beside it, and a rectangle of the two.
    page.evaluate("block => window.kvarium.select({ block })", expected[0])
    page.keyboard.press("3")
    expect(area).to_be_focused()
    page.keyboard.press("ArrowRight")
    selected = "new URLSearchParams(location.search).get('block')"
    becomes(page, lambda: page.evaluate(selected), str(expected[1]))
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "window.kvarium.shown('inside').inside?.blocks === 2")
    held = page.evaluate("window.kvarium.shown('inside').inside.filled")
    assert held == sum(fold.state.blocks.filled[block] for block in expected[:2])
    # Another order has other blocks in those cells, so that the rectangle goes.
    page.keyboard.press("x")
    expect(choice).to_have_value("number")
    expect(page.get_by_test_id("rectangle")).to_have_count(0)
    becomes(page, lambda: shown_order(page), list(range(256)))
    assert_pixels_are(page, state(page))
