"""The list of events: what meets a filter, found anywhere, and from one event to the next."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from kvarium.recording.content_hashes import ContentHashes
from kvarium.recording.fast_forward import join_operations
from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Submitted
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Step, Text
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, same, settled, state, until

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def operations(recording: Recording) -> OperationColumns:
    """Every operation of the recording: the place of each is its number."""
    records = (codec.open_frame(frame) for frame in recording.frames)
    return OperationColumns.decode(
        join_operations([record.operations for record in records if isinstance(record, Step)])
    )


def shown(page: Page) -> list[int]:
    """The operations in the list, each once the view can go behind it."""
    titles = page.locator(".event .goes[title^='Go to behind operation']")
    told = titles.evaluate_all("each => each.map(one => one.title)")
    return [int(re.sub(r"\D", "", title.split("·")[0])) for title in told]


def wait_shown(page: Page, right: list[int]) -> None:
    """Wait until the list shows a run of ``right`` and nothing else."""
    runs = {value: at for at, value in enumerate(right)}

    def is_run() -> bool:
        found = shown(page)
        return bool(found) and found[0] in runs and right[runs[found[0]] :][: len(found)] == found

    becomes(page, is_run, True)


def test_a_hash_prefix_finds_where_its_contents_are_labelled_and_evicted(
    viewing: ServerProcess, recording: Recording, operations: OperationColumns, open_page: Pages
) -> None:
    hashes = ContentHashes(recording.hello)
    before: Step | None = None
    for record in map(codec.open_frame, recording.frames):
        if isinstance(record, Text) and before is not None:
            hashes.learn(before.contents, record)
        before = record if isinstance(record, Step) else None
    labels = operations.mask(Operation.evict) | operations.mask(Operation.cache)
    evicted = int(operations.content[operations.mask(Operation.evict)[labels]][0])
    value = hashes.get(evicted)
    assert value is not None
    digits = value.hex()[:6]
    begins = hashes.beginning(digits)
    right = [
        op
        for op, content in zip(np.flatnonzero(labels).tolist(), operations.content.tolist(), strict=True)
        if begins[content]
    ]
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0&centre=events")
    ready(page)
    field = page.get_by_role("combobox", name="Filter of events")
    field.fill(f"hash:{digits}")
    page.keyboard.press("Enter")
    wait_shown(page, right)
    assert len(right) >= 2


def test_a_request_that_comes_later_is_said_to_be_elsewhere_with_the_way_to_where_it_begins(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    records = (codec.open_frame(frame) for frame in recording.frames)
    step, request = [
        (record.step, decision.request)
        for record in records
        if isinstance(record, Step)
        for decision in record.decisions
        if isinstance(decision, Submitted)
    ][-1]
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0&request={request}")
    ready(page)
    page.get_by_role("button", name=re.compile("^Go to where it begins")).click()
    until(page, "step => window.kvarium.position().step === step", step)
    expect(page.locator(".inspector .big").first).to_contain_text(f"r{request}")


def test_a_filter_is_typed_completed_kept_and_steps_lead_from_event_to_event(
    viewing: ServerProcess, recording: Recording, operations: OperationColumns, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100&centre=events")
    ready(page)
    wait_shown(page, list(range(len(operations))))
    field = page.get_by_role("combobox", name="Filter of events")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    # What can't be read is told at its character, and the list stays.
    before = settled(page, lambda: shown(page))
    page.keyboard.type("op:evcit")
    expect(page.get_by_role("alert")).to_contain_text(
        "At character 4: “op:evcit” — no such operation; did you mean evict?"
    )
    becomes(page, lambda: shown(page), before)
    # Completion, by keys alone: the operations stand there with their counts.
    field.fill("op:")
    evicts = operations.mask(Operation.evict)
    evictions = np.flatnonzero(evicts).tolist()
    option = page.locator(".offers").get_by_role("option", name=re.compile("^evict"))
    expect(option).to_have_text(f"evict{len(evictions):,}".replace(",", "\u202f"))
    page.keyboard.type("ev")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(field).to_have_value("op:evict ")
    page.keyboard.type("cause:alloc")
    expect(page.locator(".offers").get_by_role("option").first).to_contain_text("allocate")
    page.keyboard.press("Tab")
    expect(field).to_have_value("op:evict cause:allocate ")
    page.keyboard.press("Escape")
    expect(page.locator(".offers")).to_have_count(0)
    page.keyboard.press("Enter")
    right = np.flatnonzero(evicts & (operations.cause == int(Cause.allocate))).tolist()
    wait_shown(page, right)
    until(page, "new URLSearchParams(location.search).get('filter') === 'op:evict cause:allocate'")
    # Another one, and Back to this one; both are offered again.
    field.fill("decision:preempted")
    page.keyboard.press("Enter")
    until(page, "new URLSearchParams(location.search).get('filter') === 'decision:preempted'")
    page.keyboard.press("Escape")
    page.go_back()
    expect(field).to_have_value("op:evict cause:allocate")
    wait_shown(page, right)
    # The strip leads anywhere: to the end of the session.
    strip = page.get_by_role("scrollbar", name="The place in the session")
    box = strip.bounding_box()
    assert box is not None
    strip.click(position={"x": 5, "y": box["height"] * 0.9})
    until(page, "op => Number(document.querySelector('[role=scrollbar]').ariaValueNow) > op", right[-1] * 0.7)
    wait_shown(page, right)
    settled(page, lambda: shown(page))
    # A click goes there and selects the block; keys and buttons lead on from it. What comes into the list above may have moved
    # another event under the pointer.
    page.locator(".event .what").first.click()
    until(page, "window.kvarium.position().operation !== null && location.search.includes('block=')")
    ready(page)
    found: int = page.evaluate("window.kvarium.position().op") - 1
    assert found in right
    same(state(page), recording.state_behind(found))
    block = int(operations.block[found])
    until(page, "block => new URLSearchParams(location.search).get('block') === String(block)", block)
    later = evictions[evictions.index(found) + 1]
    page.keyboard.press(")")
    until(page, "op => window.kvarium.position().op === op + 1", later)
    page.keyboard.press("(")
    until(page, "op => window.kvarium.position().op === op + 1", found)
    copied = np.flatnonzero(operations.mask(Operation.copy))[operations.source == block]
    of_block = np.union1d(np.flatnonzero(operations.block == block), copied).tolist()
    earlier = of_block[of_block.index(found) - 1]
    page.get_by_role("button", name="Previous event of the same block").click()
    until(page, "op => window.kvarium.position().op === op + 1", earlier)
    # A recording has no engine that could be stopped at such an event: that is said.
    told = page.get_by_role("button", name="Break on events like this…")
    expect(told).to_be_disabled()
    expect(told).to_have_attribute(
        "title", re.compile("the engine behind this session does not take commands$")
    )
    # Nothing meets it: it is said once all is searched.
    field.fill("block:1 block:2")
    expect(page.get_by_text("Nothing in this session meets this filter.")).to_be_visible()
    field.fill("")
    options = page.locator(".offers").get_by_role("option")
    expect(options.nth(0)).to_contain_text("used before")
