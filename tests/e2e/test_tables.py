"""The block tables of the page: which rows, in which order, against what the records say."""

import re
from collections import Counter

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import Aborted, Finished, Preempted, Refused, SequenceCreated, Submitted
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes_any, ready, until

pytestmark = pytest.mark.e2e
STEP = 200


class Went:
    """How the requests of a recording went, up to and with a step."""

    def __init__(self, frames: list[bytes], through: int) -> None:
        self.names: dict[int, str] = {}
        self.submitted: dict[int, int] = {}
        self.first_token: dict[int, int] = {}
        self.preemptions: Counter[int] = Counter()
        self.ended: dict[int, str] = {}
        self.owners: dict[int, int] = {}
        for record in map(codec.open_frame, frames):
            if not isinstance(record, Step) or record.step > through:
                continue
            for decision in record.decisions:
                if isinstance(decision, Submitted):
                    self.names[decision.request] = decision.name
                    self.submitted[decision.request] = record.time
                elif isinstance(decision, SequenceCreated):
                    self.owners[decision.sequence] = decision.request
                elif isinstance(decision, Preempted):
                    self.preemptions[decision.request] += 1
                elif isinstance(decision, Finished):
                    self.ended[decision.request] = decision.reason
                elif isinstance(decision, (Aborted, Refused)):
                    self.ended[decision.request] = type(decision).__name__.lower()
            for sequence in u32(record.sampled).tolist():
                self.first_token.setdefault(self.owners[sequence], record.sealed)

    def waited(self, request: int) -> int:
        """ns from the submission to the first token."""
        return self.first_token[request] - self.submitted[request]


def topmost(page: Page, of: str = "request") -> int | None:
    """The request (or the ``sequence``) of the first row of the list; None: it has none."""
    found: int | None = page.locator(".tables .sequence").evaluate_all(
        """(rows, of) => {
            const [first] = rows.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
            return first?.dataset[of] === undefined ? null : Number(first.dataset[of]);
        }""",
        of,
    )
    return found


def top(page: Page, request: int) -> Locator:
    return page.locator(f'.tables .sequence[data-request="{request}"]').first


def seconds(told: str) -> float:
    """A duration as the page writes it."""
    value, unit = told.removeprefix("first token ").split()
    return float(value) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def test_rows_are_filtered_and_sorted_by_keyboard_and_stay_in_the_address(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    fold = recording.fold_after(STEP)
    went = Went(recording.frames, STEP)
    blocks = Counter(entry[0] for entry in recording.state_after(STEP)["tables"])
    owner = {sequence: fold.state.sequences[sequence].request for sequence in blocks}
    page = open_page(f"{viewing.url}/?session={recording.session}&step={STEP}")
    ready(page)
    count = page.locator(".panel.left > .head .note")
    expect(count).to_contain_text(f"of {len(blocks)}")
    # Words that a row has, from the keyboard; the list takes the focus from there.
    request = owner[max(blocks)]
    page.keyboard.press("/")
    words = page.get_by_role("searchbox", name="Rows with these words")
    expect(words).to_be_focused()
    page.keyboard.type(went.names[request])
    own = [sequence for sequence in blocks if owner[sequence] == request]
    expect(count).to_contain_text(f"of {len(own)}")
    until(page, "location.search.includes('having=')")
    page.keyboard.press("Enter")
    expect(page.locator(".tables")).to_be_focused()
    # The rows may come a frame after their count.
    becomes_any(page, lambda: topmost(page, "sequence"), set(own))
    page.keyboard.press("ArrowDown")
    expect(top(page, request)).to_have_attribute("aria-selected", "true")
    words.fill("nobody is called so")
    page.get_by_role("button", name="Show all that hold blocks").click()
    expect(count).to_contain_text(f"of {len(blocks)}")
    until(page, "!location.search.includes('having=')")

    order = page.get_by_role("combobox", name="Order")
    order.select_option(label="blocks")
    most = {sequence for sequence in blocks if blocks[sequence] == max(blocks.values())}
    largest = becomes_any(page, lambda: topmost(page, "sequence"), most)
    row = page.locator(f'.tables .sequence[data-sequence="{largest}"]')
    expect(row).to_be_in_viewport()
    expect(row.locator(".figure")).to_have_text(f"{max(blocks.values())} blocks")
    page.get_by_role("button", name="Largest first: turn the order").click()
    few = {sequence for sequence in blocks if blocks[sequence] == min(blocks.values())}
    becomes_any(page, lambda: topmost(page, "sequence"), few)

    # Those of one step that had their first token in one step waited for exactly as long.
    order.select_option(label="first token")
    started = {request for request in owner.values() if request in went.first_token}
    longest = max(went.waited(request) for request in started)
    latest = becomes_any(
        page, lambda: topmost(page), {request for request in started if went.waited(request) == longest}
    )
    figure = top(page, latest).locator(".figure")
    expect(figure).to_contain_text("first token")
    assert seconds(figure.inner_text()) == pytest.approx(longest / 1e9, rel=0.01)

    # Who has ended, by what the records say; the same from its address.
    page.get_by_role("combobox", name="State").select_option(label="finished")
    expect(count).to_contain_text(f"of {len(went.ended)}")
    order.select_option(label="preempted")
    worst = max(went.preemptions[request] for request in went.ended)
    often = {request for request in went.ended if went.preemptions[request] == worst}
    told = f"preempted {worst} ×"
    expect(page.locator(".tables .sequence .figure").filter(has_text=told).first).to_be_visible()
    becomes_any(page, lambda: topmost(page), often)
    until(page, "location.search.includes('rows=finished') && location.search.includes('order=preemptions')")
    again = open_page(page.url)
    ready(again)
    expect(again.locator(".panel.left > .head .note")).to_contain_text(f"of {len(went.ended)}")
    expect(again.locator(".tables .sequence .figure").filter(has_text=told).first).to_be_visible()
    ended = becomes_any(again, lambda: topmost(again), often)
    top(again, ended).click()
    until(again, "request => location.search.includes(`request=${request}`)", ended)
    expect(top(again, ended)).to_contain_text(f"ended · {went.ended[ended]}")


def test_the_scheduler_and_the_queue_tell_what_the_step_did(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    steps = [record for record in map(codec.open_frame, recording.frames) if isinstance(record, Step)]

    def count(step: Step, kind: Operation) -> int:
        return step.operations.kind.count(int(kind))

    wanted = (Operation.copy, Operation.evict, Operation.reuse, Operation.free)
    step = next(step for step in steps[50:] if all(count(step, kind) for kind in wanted))
    columns = OperationColumns.decode(step.operations)
    i = int(np.flatnonzero(columns.mask(Operation.copy))[0])
    source, target = int(columns.source[0]), int(columns.block[i])
    went = Went(recording.frames, step.step)
    owner = went.owners[int(columns.sequence[i])]
    page = open_page(f"{viewing.url}/?session={recording.session}&step={step.step}")
    ready(page)
    # Copy on write as it happens, in the row of its sequence.
    row = page.locator(f'.tables .sequence[data-sequence="{int(columns.sequence[i])}"]')
    page.get_by_role("searchbox", name="Rows with these words").fill(went.names[owner])
    expect(row.locator(".copying")).to_contain_text("copied ")
    # It moves for those who want that.
    moving = "each => getComputedStyle(each).animationName"
    assert row.locator(".copying").evaluate(moving) == "copying"
    page.emulate_media(reduced_motion="reduce")
    assert row.locator(".copying").evaluate(moving) == "none"
    page.emulate_media(reduced_motion="no-preference")
    # The queue: who left its head, who was hit in its midst, who joined it.
    moves = page.get_by_role("toolbar", name="What this step moved in the queue")
    taken = count(step, Operation.allocate) + count(step, Operation.copy)
    expect(moves.locator(".taken > .dim b")).to_have_text(str(taken))
    expect(moves.locator(".hit > .dim b")).to_have_text(str(count(step, Operation.reuse)))
    hit = int(columns.block[columns.mask(Operation.reuse)][0])
    first = moves.locator(".hit .move").first
    expect(first).to_have_accessible_name(re.compile(f"^block {hit} was taken out of the midst"))
    first.click()
    expect(page.locator(".inspector .big").first).to_contain_text(str(hit))
    page.keyboard.press("2")
    kinds = page.locator(".scheduler .kinds")
    expect(kinds.locator(".kind").filter(has_text="copied")).to_contain_text(f"{source} → {target}")
    evicted = kinds.locator(".kind").filter(has_text="evicted")
    expect(evicted.locator("> .num")).to_have_text(str(count(step, Operation.evict)))
    # Who waits stands below the tables too.
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="Waiting")).to_be_in_viewport(ratio=1)
