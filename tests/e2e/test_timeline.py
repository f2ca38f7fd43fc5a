"""The timeline: which steps it shows, all of the session in small, and what each request did."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from kvarium_ledger import codec
from kvarium_ledger.decisions import Scheduled
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, settled, until

pytestmark = pytest.mark.e2e

STATES = ("waiting", "running", "preempted")
"""As the page numbers them."""
WINDOW = "The steps that the timeline shows"


def opened(viewing: ServerProcess, recording: Recording, open_page: Pages, query: str) -> Page:
    page = open_page(f"{viewing.url}/?session={recording.session}{query}")
    ready(page)
    return page


def steps_shown(page: Page) -> tuple[int, int]:
    """First and last, as the minimap's window says."""
    told = page.get_by_role("slider", name=WINDOW).get_attribute("aria-valuetext") or ""
    first, last = re.sub(r"[^\d to]", "", told.replace("steps", "")).split("to")
    return int(first), int(last)


def wait_shown(page: Page, condition: str) -> tuple[int, int]:
    """Wait until the steps ``from`` to ``to`` that stand in the address are as they should be."""
    until(
        page,
        "condition => { const said = /steps=(\\d+)-(\\d+)/.exec(location.search); if (said === null) return false;"
        f" const [from, to] = said.slice(1).map(Number); return {condition}; }}",
    )
    return settled(page, lambda: steps_shown(page))


def lane(page: Page) -> Locator:
    return page.locator(".timeline .lane")


def test_steps_are_brushed_moved_and_kept_in_the_address(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=250&steps=100-299")
    becomes(page, lambda: steps_shown(page), (100, 299))
    box = lane(page).bounding_box()
    assert box is not None
    left, right, y = box["x"] + 62, box["x"] + box["width"] - 16, box["y"] + box["height"] * 0.3
    # A quarter of what is shown, from its middle on.
    page.keyboard.down("Shift")
    page.mouse.move((left + right) / 2, y)
    page.mouse.down()
    page.mouse.move(left + (right - left) * 0.75, y, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    brushed = wait_shown(page, "from >= 199 && from <= 201 && to >= 249 && to <= 251")
    # Nobody went anywhere.
    until(page, "window.kvarium.position().step === 250")
    page.reload()
    ready(page)
    expect(page.get_by_role("slider", name=WINDOW)).to_be_visible()
    becomes(page, lambda: steps_shown(page), brushed)

    window = page.get_by_role("slider", name=WINDOW)
    window.focus()
    page.keyboard.press("ArrowRight")
    moved = wait_shown(page, f"from > {brushed[0]}")
    # It moves by less than a step, too.
    assert abs((moved[1] - moved[0]) - (brushed[1] - brushed[0])) <= 1
    page.keyboard.press("ArrowUp")
    fewer = wait_shown(page, f"to - from < {moved[1] - moved[0]}")
    page.keyboard.press("Home")
    wait_shown(page, "from === 0")
    # By its right edge, to the end.
    place = settled(page, window.bounding_box)
    assert place is not None
    page.mouse.move(place["x"] + place["width"] - 1, place["y"] + 8)
    page.mouse.down()
    page.mouse.move(right, place["y"] + 8, steps=3)
    page.mouse.up()
    until(page, "location.search.includes('steps=all')")
    page.keyboard.press("8")
    until(page, "document.activeElement?.dataset.panel === 'timeline'")
    page.keyboard.press("+")
    wait_shown(page, f"to - from > {fewer[1] - fewer[0]} && to - from < {recording.steps - 1}")
    page.keyboard.press("0")
    until(page, "location.search.includes('steps=all')")


@pytest.mark.slow
def test_an_address_with_steps_that_are_none_is_said(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=100&steps=9-3")
    expect(page.get_by_role("alert")).to_contain_text("steps=9-3")


def told_lanes(recording: Recording) -> tuple[dict[int, dict[int, str]], dict[tuple[int, int], int]]:
    """By the Python fold: the states after each step, and the tokens of prefills by step and request."""
    fold = Fold(recording.hello.num_blocks, recording.hello.block_size)
    states: dict[int, dict[int, str]] = {}
    chunks: dict[tuple[int, int], int] = {}
    for frame in recording.frames:
        record: Any = codec.open_frame(frame)
        fold.apply(record)
        if not isinstance(record, Step):
            continue
        states[record.step] = {request: row.state for request, row in fold.state.requests.items()}
        for decision in record.decisions:
            if isinstance(decision, Scheduled):
                key = (record.step, decision.request)
                chunks[key] = chunks.get(key, 0) + decision.tokens
    return states, chunks


def test_a_row_a_request_shows_what_it_did_and_a_click_selects_it(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    states, chunks = told_lanes(recording)
    page = opened(viewing, recording, open_page, "&step=250&steps=200-320")
    until(page, "(lanes => lanes !== null && !lanes.isLoading && lanes.from === 200)(window.kvarium.lanes())")
    lanes = settled(page, lambda: page.evaluate("window.kvarium.lanes()"))
    assert lanes["holes"] == []
    rows = lanes["rows"]
    assert len(rows) >= 4
    living = {request for step in range(200, 321) for request in states[step]}
    assert lanes["total"] >= len(living)
    # Those that are there where the view is, by arrival; one that ends in this step is there still.
    here = [row["request"] for row in rows if row["end"] is None or row["end"]["step"] != 250]
    assert here == sorted(states[250])[: len(here)]
    for row in rows:
        request = row["request"]
        spans = list(zip(*[iter(row["spans"])] * 3, strict=True))
        ended = row["end"]["step"] if row["end"] else None
        for step in range(200, 321):
            here = [STATES[state] for start, end, state in spans if start <= step < end]
            if step != ended:
                assert here == ([states[step][request]] if request in states[step] else []), (request, step)
        computed = dict(zip(row["chunks"][::2], row["chunks"][1::2], strict=True))
        assert computed == {at: n for (at, who), n in chunks.items() if who == request and 200 <= at <= 320}
    place = lanes["tops"][2]
    page.mouse.click(place["x"], place["y"])
    until(page, "request => location.search.includes('request=' + request)", rows[2]["request"])
    expect(page.locator(".inspector .big").first).to_contain_text(f"r{rows[2]['request']}")
    until(page, "window.kvarium.position().step === 250")


def lives(state: dict[str, Any], values: str) -> set[tuple[int, int, int]]:
    """Blocks in use, or with a content, each in its life: ``(block, generation, content or 0)``."""
    count, generation, content = state["count"], state["generation"], state["content"]
    if values == "count":
        return {(block, generation[block], 0) for block, n in enumerate(count) if n > 0}
    return {(block, generation[block], c) for block, c in enumerate(content) if c != NONE}


def held(fold: Fold) -> dict[int, set[tuple[int, int]]]:
    """By request: the blocks that it holds, each in its life."""
    found: dict[int, set[tuple[int, int]]] = {}
    for (sequence, _), table in fold.state.tables.items():
        own = found.setdefault(fold.state.sequences[sequence].request, set())
        own |= {(block, int(fold.state.blocks.generation[block])) for block in table.values()}
    return found


def test_a_and_b_are_marked_and_what_differs_between_them_is_the_fold_s(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=200")
    page.keyboard.press("A")
    until(page, "location.search.includes('marks=200-')")
    page.keyboard.press(">")
    until(page, "window.kvarium.position().step === 210 && window.kvarium.position().target === null")
    page.keyboard.press("B")
    panel = page.locator(".compare")
    expect(panel.locator("dl")).to_be_visible()
    a, b = recording.state_after(200), recording.state_after(210)
    was, now, had, has = lives(a, "count"), lives(b, "count"), lives(a, "content"), lives(b, "content")
    for kind, blocks in (
        ("allocated", now - was),
        ("freed", was - now),
        ("cached", has - had),
        ("evicted", had - has),
    ):
        assert blocks
        expect(panel.locator(f'[data-kind="{kind}"]')).to_have_text(re.compile(rf"^{len(blocks)} block"))
    before, after = held(recording.fold_after(200)), held(recording.fold_after(210))
    found = {}
    for request in before.keys() | after.keys():
        one, other = before.get(request, set()), after.get(request, set())
        if one != other:
            found[request] = (len(other - one), len(one - other))
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(len(found))
    for request, (gained, lost) in found.items():
        row = panel.locator(f'[data-request="{request}"]')
        expect(row.locator(".gained")).to_have_text(f"+{gained}" if gained else "–")
        expect(row.locator(".lost")).to_have_text(f"−{lost}" if lost else "–")
    first = int(rows.first.get_attribute("data-request") or -1)
    rows.first.get_by_role("button").first.click()
    until(page, "request => location.search.includes('request=' + request)", first)
    page.reload()
    ready(page)
    expect(panel).to_have_count(0)
    page.keyboard.press("c")
    expect(rows).to_have_count(len(found))
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)
    page.get_by_role("button", name="Take the marks away").click()
    until(page, "!location.search.includes('marks=')")


def test_an_address_shows_the_same_steps_however_quick_the_page_is(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    """The steps lie around the place of the address, and not around one that the timeline had before it was there."""
    address = f"{viewing.url}/?session={recording.session}&step=300"
    window = "(({ series }) => [series.window.from, series.window.to])(window.kvarium.shown('series'))"
    quick = open_page(address, 1280, 720)
    ready(quick)
    slow = open_page(viewing.url, 1280, 720)
    held: list[Route] = []
    slow.context.route(re.compile("/seek"), lambda route: held.append(route))
    slow.goto(address)
    # It is drawn before the view has its place: as much of it as there is room for, from the beginning.
    until(slow, "window.kvarium?.shown('series').series != null")
    becomes(slow, lambda: len(held) > 0, True)
    for route in held:
        route.continue_()
    ready(slow)
    becomes(slow, lambda: slow.evaluate(window), quick.evaluate(window))
    first, past = slow.evaluate(window)
    assert past - first < recording.steps
    assert past == min(recording.steps, 300 + -(-(past - first) // 2))
