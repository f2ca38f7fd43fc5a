"""A rectangle of the map: marked by pointer and by keys, and what is told of it equals the Python fold."""

import random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, seek, until

pytestmark = pytest.mark.e2e

EDGES = [1, 2, 3, 5, 9, 17]
"""The least ref count of each part of the scale."""


def blocks_in(corners: tuple[int, int, int], num_blocks: int) -> list[int]:
    """The blocks between two corner cells of a grid of so many columns."""
    *cells, columns = corners
    (top, left), (bottom, right) = (divmod(cell, columns) for cell in cells)
    return [
        block
        for block in range(num_blocks)
        if min(left, right) <= block % columns <= max(left, right)
        and min(top, bottom) <= block // columns <= max(top, bottom)
    ]


def summary(fold: Fold, blocks: list[int], block_size: int, requests: dict[int, int]) -> dict[str, Any]:
    """What is to be told of them; ``requests``: the request of each sequence."""
    state = fold.state.blocks
    held: dict[int, set[int]] = {}
    for (sequence, _group), table in fold.state.tables.items():
        held.setdefault(requests[sequence], set()).update(set(table.values()) & set(blocks))
    count = [state.count[block] for block in blocks]
    content = [state.content[block] != NONE for block in blocks]
    return {
        "blocks": len(blocks),
        "states": [
            sum(not held and not has for held, has in zip(count, content, strict=True)),
            sum(not held and has for held, has in zip(count, content, strict=True)),
            sum(held == 1 for held in count),
            sum(held > 1 for held in count),
        ],
        "refs": [
            sum(low <= held < high for held in count)
            for low, high in zip([0, *EDGES], [*EDGES, 1 << 32], strict=True)
        ],
        "filled": sum(state.filled[block] for block in blocks),
        "slots": len(blocks) * block_size,
        "contents": sum(content),
        "hits": sum(state.hits[block] for block in blocks),
        "requests": sorted(
            ((request, len(own)) for request, own in held.items() if own),
            key=lambda each: (-each[1], each[0]),
        ),
    }


def told(page: Page) -> dict[str, Any] | None:
    """What the page was told of the rectangle at the step of its view."""
    inside = page.evaluate("window.kvarium.shown('inside').inside")
    if inside is None or inside["step"] != page.evaluate("window.kvarium.position().step"):
        return None
    inside["requests"] = [(each["request"], each["blocks"]) for each in inside["requests"]]
    return {name: value for name, value in inside.items() if name not in ("rectangle", "step", "others")}


def marked(page: Page) -> tuple[int, int, int] | None:
    """The rectangle in the address: two corners and the columns."""
    said = page.evaluate("new URLSearchParams(location.search).get('rectangle')")
    return None if said is None else tuple(map(int, said.split("-")))  # type: ignore[return-value]


def test_what_is_told_of_a_rectangle_is_the_python_folds_at_any_step(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    requests = recording.requests_of_sequences()
    corners = (rng.randrange(256), rng.randrange(256), rng.randrange(1, 64))
    blocks = blocks_in(corners, 256)
    address = "-".join(map(str, corners))
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0&rectangle={address}")
    ready(page)
    for step in (rng.randrange(recording.steps) for _ in range(3 if size == "small" else 40)):
        seek(page, step)
        expected = summary(recording.fold_after(step), blocks, recording.hello.block_size, requests)
        becomes(page, lambda: told(page), expected)
    facts = page.get_by_test_id("rectangle")
    expect(facts).to_contain_text(f"at step {step}")
    becomes(
        page,
        lambda: facts.locator("[data-request]").evaluate_all(
            "all => all.map(each => Number(each.dataset.request))"
        ),
        [request for request, _ in expected["requests"]],
    )


def test_a_rectangle_is_marked_by_pointer_and_keys_and_goes_with_escape(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=300&block=0")
    ready(page)
    area = page.get_by_role("application")
    facts = page.get_by_test_id("rectangle")
    page.keyboard.press("3")
    expect(area).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    becomes(page, lambda: (marked(page) or (0,))[:2], (0, 1))
    page.keyboard.press("Shift+ArrowDown")
    until(page, "window.kvarium.shown('inside').inside?.blocks === 4")
    corners = marked(page)
    assert corners is not None
    expect(facts.locator(".big")).to_contain_text("4")
    box = area.bounding_box()
    assert box is not None
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    # Address and summary come in their own time, and are then of the same blocks: more than the keys had marked.
    becomes(
        page,
        lambda: (
            len(blocks_in(marked(page) or (0, 0, 1), 256))
            - page.evaluate("window.kvarium.shown('inside').inside.blocks")
        ),
        0,
    )
    until(page, "window.kvarium.shown('inside').inside.blocks > 4")
    marks = len(blocks_in(marked(page) or (0, 0, 1), 256))
    expect(facts.locator(".big")).to_contain_text(str(marks))
    owner = facts.locator("[data-request] button").first
    name = owner.text_content()
    owner.click()
    expect(owner).to_have_class("link num on")
    becomes(page, lambda: page.evaluate("new URLSearchParams(location.search).get('request')"), name[1:])  # type: ignore[index]
    page.keyboard.press("Escape")
    expect(facts).to_have_count(0)
    until(page, "new URLSearchParams(location.search).get('rectangle') === null")
    until(page, "new URLSearchParams(location.search).get('request') !== null")
