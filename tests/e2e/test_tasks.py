"""docs/tasks.md: its questions are answered by the keys that it names, and the answers are those of the records."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from kvarium_ledger.operations import Cause, Operation
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, until, wait_light
from tests.e2e.truth import Truth

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def truth(recording: Recording) -> Truth:
    return Truth(recording, {recording.steps - 1})


@pytest.fixture
def page(viewing: ServerProcess, recording: Recording, open_page: Pages) -> Page:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100", timezone_id="UTC")
    ready(page)
    return page


def answered(page: Page, question: str) -> Locator:
    """The rows of the answer to a worked question, asked as the page says."""
    page.keyboard.press("9")
    query = page.get_by_role("textbox", name="SQL query")
    expect(query).to_be_focused()
    page.get_by_label("Worked questions").select_option(label=question)
    expect(query).to_have_value(re.compile(re.escape(question)))
    expect(query).to_be_focused()
    page.keyboard.press("Control+Enter")
    rows = page.locator(".answer tr.row")
    expect(rows.first).to_be_visible(timeout=60_000)
    return rows


def cells(rows: Locator) -> list[list[str]]:
    """The text of each cell that has one, digits without the spaces between groups of them."""
    found: list[list[str]] = rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.replace(/\\u202f/g, '')).filter(Boolean))"
    )
    return found


def test_why_the_hit_rate_is_low(page: Page, truth: Truth) -> None:
    outcomes: Counter[str] = Counter()
    copies: Counter[int] = Counter()
    filled: dict[int, int] = {}
    for event in truth.events:
        kind, content = event["kind"], event["value"]
        if event["cause"] == Cause.prefix_hit and isinstance(kind, int):
            outcomes["hit"] += 1
        elif kind == Operation.fill:
            filled[event["block"]] = event["cause"]
        elif kind == Operation.evict:
            copies[content] -= 1
        elif kind == Operation.cache:
            if filled[event["block"]] == Cause.prefill:
                seen = content in copies
                outcomes["not shared" if copies[content] else "evicted" if seen else "never seen"] += 1
            copies[content] += 1
    rows = answered(page, "Why is the hit rate low?")
    becomes(page, lambda: {row[0]: int(row[1]) for row in cells(rows)}, outcomes)


def test_what_is_wrong_stands_one_key_away_with_the_causes_of_a_low_hit_rate_and_of_thrashing(
    page: Page, viewing: ServerProcess, recording: Recording
) -> None:
    with viewing.http() as http:
        found = http.get(f"/api/sessions/{recording.session}/findings", timeout=120).json()["findings"]
    page.keyboard.press("i")
    sentences = page.locator(".finding .sentence")
    becomes(
        page,
        lambda: sorted(each.replace("\u202f", "") for each in sentences.all_inner_texts()),
        sorted(each["told"] for each in found),
    )
    linked = [each for each in found if each["evidence"][0]["link"].startswith("why/evicted")]
    assert linked, "this recording has contents that were evicted and wanted again"
    event = linked[0]["evidence"][0]
    card = page.locator(".finding").filter(has_text=linked[0]["told"].split(":")[0])
    card.get_by_role("button", name="why?").first.click()
    lost = int(event["link"].split("=")[1])
    why = page.get_by_role("region", name="Why", exact=True)
    expect(why.locator(".pairs").first).to_contain_text(f"op {lost:,}".replace(",", "\u202f"))


def test_which_requests_thrash(page: Page, truth: Truth) -> None:
    times: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    for event in truth.events:
        if isinstance(event["kind"], dict) and event["kind"]["kind"] == "preempted":
            times[event["kind"]["request"]] += 1
            tokens[event["kind"]["request"]] += event["kind"]["tokens"]
    worst = sorted(times, key=lambda request: (-times[request], -tokens[request], request))[:5]
    rows = answered(page, "Which requests thrash?")
    becomes(
        page,
        lambda: [(int(row[0]), int(row[2]), int(row[3])) for row in cells(rows)],
        [(request, times[request], tokens[request]) for request in worst],
    )
    rows.first.get_by_role("button").first.click()
    expect(page.locator(".inspector .big").first).to_contain_text(f"r{worst[0]}")


def test_what_happened_at_a_wall_clock_time(page: Page, recording: Recording, truth: Truth) -> None:
    start = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=recording.hello.utc_us)

    def step_at(moment: datetime) -> int:
        since = (moment - start) / timedelta(microseconds=1) * 1000
        return max(step.step for step in truth.steps if step.sealed <= since)

    # A hundredth of a second just before which nothing was sealed: the page's clock goes by whole milliseconds.
    middle = start + timedelta(microseconds=truth.steps[recording.steps // 2].sealed / 1000)
    moment = middle.replace(microsecond=middle.microsecond // 10_000 * 10_000) + timedelta(milliseconds=10)
    while step_at(moment - timedelta(milliseconds=2)) != step_at(moment):
        moment += timedelta(milliseconds=10)
    expected = step_at(moment)
    typed = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 10_000:02d}"
    page.keyboard.press("g")
    expect(page.get_by_label("Go to a step")).to_be_focused()
    page.keyboard.type(typed)
    page.keyboard.press("Enter")
    until(page, "step => window.kvarium.position().step === step", expected)
    page.keyboard.press("5")
    # The list stands at the view: the last event of that step holds, the next one does not yet.
    until(
        page,
        """step => {
          const { events } = window.kvarium.shown('events');
          return events !== null && !events.looking && events.now > 0 && events.rows[events.now - 1].step === step;
        }""",
        expected,
    )
    last = truth.events[truth.behind(truth.steps[expected].record) - 1]
    becomes(
        page,
        lambda: page.evaluate(
            "(({ rows, now }) => [rows[now - 1]?.op, rows[now - 1]?.index])(window.kvarium.shown('events').events)"
        ),
        [last["op"], last["index"]],
    )


def test_whether_anything_is_leaking(page: Page, recording: Recording, truth: Truth) -> None:
    fold = truth.fold(recording.steps - 1)
    held = {fold.state.sequences[sequence].request for sequence, _ in fold.state.tables}
    assert held <= set(fold.state.requests), "a request that has ended holds blocks: this recording leaks"
    page.keyboard.press("End")
    until(page, "step => window.kvarium.position().step === step", recording.steps - 1)
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    why = page.get_by_role("region", name="Why", exact=True)
    expect(why.get_by_role("heading", name="Where does the memory go?")).to_be_visible()
    why.get_by_role("tab", name="leaks", exact=True).click()
    expect(why.locator(".because")).to_contain_text("Nothing leaks")
    usage = fold.usage()
    used = usage.active + usage.shared
    becomes(
        page,
        lambda: why.locator(".pairs dd").first.inner_text().replace("\u202f", "").split(";")[0],
        f"{used} of {recording.hello.num_blocks} blocks",
    )
    wait_light(page, "green")


def test_who_evicted_a_block(page: Page, recording: Recording, truth: Truth) -> None:
    last = [event for event in truth.events if event["kind"] == Operation.evict][-1]
    page.keyboard.press("End")
    until(page, "step => window.kvarium.position().step === step", recording.steps - 1)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(f"block {last['block']}")
    expect(palette.get_by_role("option").first).to_contain_text(str(last["block"]))
    page.keyboard.press("Enter")
    expect(page.locator(".inspector .big").first).to_contain_text(f"{last['block']}#")
    # Newest first: the uppermost eviction in its life.
    eviction = page.locator(".inspector .life .line").filter(has=page.locator(".k-evict")).first
    expect(eviction.locator(".step")).to_have_text(f"{last['step']:,}".replace(",", "\u202f"))
    expect(eviction.locator(".who")).to_have_text(last["label"])
    page.keyboard.press("y")
    because = page.get_by_role("region", name="Why", exact=True).locator(".because")
    expect(because).to_contain_text(last["label"])
    eviction.locator(".who").click()
    until(
        page,
        "label => document.querySelectorAll('.inspector .big')[1]?.innerText.startsWith(label)",
        last["label"].split(".")[0],
    )
