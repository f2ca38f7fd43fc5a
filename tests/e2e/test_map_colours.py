"""The map in other colours than those of states: each equals the fold, the legend counts exactly and lights what is clicked."""

import bisect
import random
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, classes, passes, pixels, ready, seek, until

pytestmark = pytest.mark.e2e

NAMES = {
    "refs": "ref count",
    "owner": "owner",
    "recency": "recency",
    "hits": "hits",
    "queue": "queue place",
    "depth": "prefix depth",
}
EDGES = {
    "refs": [1, 2, 3, 5, 9, 17],
    "recency": [0, 1, 4, 16, 64, 256],
    "hits": [1, 2, 3, 5, 9, 17],
    "queue": [1, 17, 65, 257, 1025, 4097],
    "depth": [1, 2, 4, 8, 16, 64],
}
"""The least value of each part of a scale."""


def steps(recording: Recording, last: int) -> list[Step]:
    opened = (codec.open_frame(frame) for frame in recording.frames)
    return [record for record in opened if isinstance(record, Step) and record.step <= last]


def values(colouring: str, fold: Fold, recording: Recording) -> list[int]:
    """What each block has of what the map is coloured by; -1: nothing."""
    blocks = fold.state.blocks
    if colouring == "refs":
        return list(blocks.count)
    if colouring == "hits":
        return list(blocks.hits)
    size = len(blocks.count)
    if colouring == "queue":
        queued = sorted(
            (b for b in range(size) if blocks.ticket[b] == blocks.ticket[b]), key=lambda b: blocks.ticket[b]
        )
        place = {block: at + 1 for at, block in enumerate(queued)}
        return [place.get(block, -1) for block in range(size)]
    if colouring == "depth":
        return [depth(content, fold) for content in blocks.content]
    last = dict.fromkeys(range(size), -1000)
    for step in steps(recording, fold.step):
        columns = OperationColumns.decode(step.operations)
        for block in [*columns.block, *columns.source]:
            last[int(block)] = step.step
    return [fold.step - last[block] for block in range(size)]


def depth(content: int, fold: Fold) -> int:
    found = 0
    while content != NONE:
        parent = fold.state.contents.parent(content)
        assert parent is not None
        content = parent
        found += 1
    return found


def owners(fold: Fold, recording: Recording) -> list[str]:
    """What the legend calls the owner of each block: the request of the holder with the lowest number."""
    request = {
        decision.sequence: decision.request
        for step in steps(recording, fold.step)
        for decision in step.decisions
        if isinstance(decision, SequenceCreated)
    }
    found: dict[int, str] = {}
    for (sequence, _group), table in sorted(fold.state.tables.items()):
        for block in table.values():
            found.setdefault(block, f"r{request[sequence]}")
    blocks = fold.state.blocks
    return [
        found.get(block) or ("no sequence" if count else "free" if content == NONE else "cached, free")
        for block, (count, content) in enumerate(zip(blocks.count, blocks.content, strict=True))
    ]


def expected_shades(colouring: str, fold: Fold, recording: Recording) -> list[Any]:
    if colouring == "owner":
        return owners(fold, recording)
    edges = EDGES[colouring]
    return [bisect.bisect_right(edges, value) for value in values(colouring, fold, recording)]


def legend(page: Page) -> dict[str, int]:
    """What the legend names, and how many blocks it counts of it."""
    entries = page.locator(".legend.lights button").evaluate_all(
        "all => all.map(each => [each.firstElementChild.nextSibling.textContent.trim(), each.querySelector('b').textContent])"
    )
    return {name: int(count.replace(",", "")) for name, count in entries}


def check_shades(page: Page, colouring: str, shades: list[Any]) -> None:
    """Blocks of one shade have one colour on the map, of another shade (but for owners) another; the legend counts them."""
    read = pixels(page)
    colours: dict[Any, set[tuple[int, ...]]] = {}
    for block, shade in enumerate(shades):
        colours.setdefault(shade, set()).add(read[block])
    assert all(len(found) == 1 for found in colours.values()), (colouring, colours)
    counts, told = Counter(shades), legend(page)
    if colouring == "owner":
        assert told != {}
        assert told.items() <= ({"free": 0, "cached, free": 0} | dict(counts)).items()
    else:
        assert len(set.union(*colours.values())) == len(colours), (colouring, colours)
        parts = range(1 if colouring == "recency" else 0, 7)
        assert list(told.values()) == [counts[part] for part in parts], colouring


def check_lit(page: Page, names: list[str], before: dict[int, tuple[int, ...]], lit: set[str]) -> None:
    """The blocks of these states are as they were, and no others."""
    read = pixels(page)
    for block, name in enumerate(names):
        assert (read[block] == before[block]) == (name in lit), (block, name)


def test_each_colouring_of_the_map_is_that_of_the_python_fold(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    url = viewing.url
    page = open_page(f"{url}/?session={recording.session}&step=0&colour=refs")
    ready(page)
    choice = page.get_by_label("Colour the map by")
    expect(choice).to_have_value("refs")
    for _ in range(1 if size == "small" else 10):
        step = rng.randrange(recording.steps)
        fold = recording.fold_after(step)
        seek(page, step)
        for colouring, name in NAMES.items():
            choice.select_option(colouring)
            expect(page.locator(".legend.lights")).to_have_attribute("aria-label", name)
            # What lies before the view is fetched, where it is needed.
            expect(page.locator(".legend.lights")).not_to_contain_text("unknown")
            shades = expected_shades(colouring, fold, recording)
            passes(page, lambda c=colouring, s=shades: check_shades(page, c, s))  # type: ignore[misc]


@pytest.mark.slow
def test_the_legend_lights_one_entry_and_says_so_to_the_keyboard(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    step = recording.steps // 2
    page = open_page(f"{viewing.url}/?session={recording.session}&step={step}")
    ready(page)
    names = classes(recording.state_after(step))
    before = pixels(page)
    active = page.get_by_role("button", name="active")
    shared = page.get_by_role("button", name="shared")
    active.click()
    expect(active).to_have_attribute("aria-pressed", "true")
    passes(page, lambda: check_lit(page, names, before, {"active"}))
    shared.click(modifiers=["Shift"])
    expect(shared).to_have_attribute("aria-pressed", "true")
    passes(page, lambda: check_lit(page, names, before, {"active", "shared"}))
    page.keyboard.press("Escape")
    expect(active).to_have_attribute("aria-pressed", "false")
    becomes(page, lambda: pixels(page), before)
    active.focus()
    page.keyboard.press("Enter")
    expect(active).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(active).to_have_attribute("aria-pressed", "false")
    becomes(page, lambda: pixels(page), before)


def test_the_colouring_is_chosen_by_key_kept_in_the_address_and_remembered(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    url = f"{viewing.url}/?session={recording.session}&step=100"
    page = open_page(url)
    ready(page)
    legends = page.locator(".legend.lights")
    expect(legends).to_have_attribute("aria-label", "state")
    page.keyboard.press("v")
    expect(legends).to_have_attribute("aria-label", "ref count")
    until(page, "new URLSearchParams(location.search).get('colour') === 'refs'")
    page.keyboard.press("Shift+V")
    expect(legends).to_have_attribute("aria-label", "state")
    until(page, "new URLSearchParams(location.search).get('colour') === null")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("colour the map by prefix depth")
    expect(page.locator(".palette .option.active")).to_contain_text("prefix depth")
    page.keyboard.press("Enter")
    expect(legends).to_have_attribute("aria-label", "prefix depth")
    page.goto(url)
    until(page, "window.kvarium !== undefined")
    ready(page)
    expect(legends).to_have_attribute("aria-label", "prefix depth")
    page.goto(f"{url}&colour=pink")
    until(page, "window.kvarium !== undefined")
    expect(page.locator(".banners")).to_contain_text("colour=pink")
