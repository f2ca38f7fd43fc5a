"""The findings on the page are those of the API, with their measures, settings and evidence; their links lead where they say."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from kvarium.why.questions import FindingsIn
from kvarium_ledger.operations import Cause
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.backend.test_findings import crowd, preempting, prefixed, queue, short, turn
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready, until
from tests.engine.mirrored import Mirrored, tokens

pytestmark = pytest.mark.e2e

FAULTS = (
    "out of memory at gpu_memory_utilization",
    "long prompts slow under mixed load",
    "prefix cache off, or prefixes too short, or evicted between",
    "many short requests at a small or large block size",
    None,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("findings") / "recording.db") as found:
        yield found


def wanting() -> Mirrored:
    """Two prompts that take one another's blocks from the cache, in turn."""
    engine = Mirrored(num_blocks=6, block_size=4)
    for _ in range(6):
        turn(engine, tokens(1, 17), "wants")
        turn(engine, tokens(2, 23), "takes")
    return engine


@pytest.fixture(scope="module")
def evicting(server: RunningServer) -> str:
    return record(server, wanting())


def opened(open_page: Pages, server: RunningServer, session: str, more: str = "") -> Page:
    page = open_page(f"http://127.0.0.1:{server.port}/?session={session}{more}")
    ready(page)
    return page


def panel(page: Page) -> Locator:
    return page.locator(".findings")


def told(server: RunningServer, session: str) -> dict[str, Any]:
    found: dict[str, Any] = server.get(f"/sessions/{session}/findings")
    return found


def plain(said: str) -> str:
    """Without the spaces between groups of digits."""
    return said.replace("\u202f", "")


def sentences(page: Page) -> list[str]:
    return [plain(each) for each in page.locator(".finding .sentence").all_inner_texts()]


def in_order(found: dict[str, Any]) -> list[dict[str, Any]]:
    """As the page shows them: by symptom."""
    return [each for fault in FAULTS for each in found["findings"] if each["fault"] == fault]


def test_findings_are_those_of_the_api_by_symptom_and_lead_to_place_request_and_block(
    server: RunningServer, evicting: str, open_page: Pages
) -> None:
    found = told(server, evicting)
    expected = in_order(found)
    kinds = {each["kind"] for each in expected}
    assert {"evicted_then_wanted", "common_prefix_never_hits"} <= kinds
    page = opened(open_page, server, evicting)
    page.keyboard.press("i")
    becomes(page, lambda: sentences(page), [each["told"] for each in expected])
    expect(page.locator("[data-panel=findings]")).to_be_focused()
    expect(panel(page).get_by_role("toolbar")).to_contain_text(f"as of step {found['step']}")
    until(page, "location.search.includes('centre=findings')")
    card = page.locator(".finding").first
    finding = expected[0]
    high = page.locator(".finding .why").evaluate_all("all => all.map((each) => each.offsetHeight)")
    assert high
    assert max(high) <= 24, "a button in its line"
    # What was measured, from what on it is one, and what to change.
    for name, value in finding["measured"].items():
        shown = f"{100 * value:.1f}%" if "share" in name else str(value)
        assert shown in [plain(each) for each in card.locator(".measures dd").all_inner_texts()]
    assert [each.inner_text() for each in card.locator(".settings code").all()] == [
        each["name"] for each in finding["settings"]
    ]
    expect(card.locator(".settings")).to_contain_text(finding["settings"][0]["advice"])
    # A few events, then all that are told.
    assert finding["in_all"] > len(finding["evidence"]) == 5
    expect(card.locator(".proofs li")).to_have_count(3)
    expect(card).to_contain_text(f"the strongest 5 of {finding['in_all']} events")
    card.get_by_role("button", name="all 5").click()
    expect(card.locator(".proofs li")).to_have_count(5)
    event = finding["evidence"][-1]
    line = card.locator(".proofs li").last
    assert event["told"] in plain(line.inner_text())
    line.get_by_title("Go there").click()
    until(page, "op => window.kvarium.position().operation === op", event["at"]["op"])
    until(page, "step => window.kvarium.position().step === step", event["at"]["step"])
    line.get_by_title("Select this block").click()
    until(page, "block => location.search.includes(`block=${block}`)", event["life"]["block"])
    expect(page.locator(".inspector .big").first).to_contain_text(f"{event['life']['block']}#")
    line.get_by_title("Select this request").click()
    expect(page.locator(".inspector .big").last).to_contain_text(f"r{event['who']['request']}")
    # What was not found is named, with its thresholds, beneath its symptom.
    without = [each["kind"] for each in found["looked_for"] if each["kind"] not in kinds]
    assert len(page.locator(".without > span").all()) == len(without)
    expect(page.locator(".symptom").filter(has_text="Out of memory at").locator(".without")).to_have_text(
        "Looked for and not found: out of memory (1 request)"
    )
    # Why it was lost first: the eviction that the evidence names.
    line.get_by_role("button", name="why?").click()
    lost = event["link"].removeprefix("why/evicted?op=")
    why = page.get_by_role("region", name="Why", exact=True)
    expect(why.locator(".pairs")).to_contain_text(f"op {lost}")
    expect(why.locator(".wants li").first).to_contain_text(f"r{event['who']['request']}")


@pytest.mark.slow
def test_findings_of_an_address_are_asked_for_once_and_again_when_told_to(
    server: RunningServer, evicting: str, open_page: Pages
) -> None:
    page = opened(open_page, server, evicting)
    asked: list[str] = []
    held: list[Route] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            held.append(route)
        elif len(asked) == 2:
            route.fulfill(status=429, json={"detail": "4 questions run: wait for their end"})
        else:
            route.continue_()

    open_page.forgive("status of 429")
    page.route("**/findings", answer)
    page.keyboard.press("i")
    bar = panel(page).get_by_role("toolbar")
    expect(bar.get_by_role("status")).to_contain_text("reading the whole recording")
    becomes(page, lambda: len(asked), 1)
    bar.get_by_role("button", name="Cancel").click()
    expect(bar).to_contain_text("Nothing was looked for yet.")
    bar.get_by_role("button", name="Look").click()
    expect(panel(page).get_by_role("alert")).to_contain_text("4 questions run: wait for their end")
    expect(panel(page).get_by_role("alert")).to_contain_text("status 429")
    bar.get_by_role("button", name="Look again").click()
    expect(page.locator(".finding").first).to_be_visible()
    # It outlives the panel.
    page.keyboard.press("3")
    expect(panel(page)).to_have_count(0)
    page.keyboard.press("i")
    expect(page.locator(".finding").first).to_be_visible()
    assert len(asked) == 3
    page.unroute("**/findings")


def test_a_recording_without_a_finding_says_what_was_looked_for_and_what_is_not_recorded(
    server: RunningServer, open_page: Pages
) -> None:
    engine = Mirrored(num_blocks=64, block_size=1, record_text="none")
    for number in range(4):
        turn(engine, 12, f"quiet {number}")
    session = record(server, engine, record_text="none")
    page = opened(open_page, server, session, "&centre=findings")
    expect(panel(page)).to_contain_text("None of what is looked for was found.")
    expect(panel(page).locator(".gaps")).to_contain_text("common prefixes: text is not recorded")
    expect(page.locator(".symptom")).to_have_count(len(FAULTS))
    expect(page.locator(".without > span")).to_have_count(len(told(server, session)["looked_for"]))
    expect(page.locator(".finding")).to_have_count(0)


def broken_chain() -> Mirrored:
    engine = Mirrored(num_blocks=16, block_size=4)
    turn(engine, tokens(1, 20), "one")
    turn(engine, tokens(2, 8), "other")
    engine.pool.evict([1], Cause.reset)
    engine.engine.step_without_work()
    return engine


def refusing() -> Mirrored:
    engine = Mirrored(num_blocks=6)
    turn(engine, 20, "fits")
    engine.submit(64, max_tokens=64, name="never fits")
    engine.step(1)
    return engine


def reserving() -> Mirrored:
    engine = Mirrored(num_blocks=64, length=256, reserve="max")
    for name in ("one", "two"):
        engine.submit(20, max_tokens=12, name=name)
    engine.run()
    return engine


MADE = {
    "out_of_memory": refusing,
    "thrashing": lambda: preempting("thrashes"),
    "common_prefix_never_hits": lambda: prefixed(6),
    "slow_prompts": lambda: crowd(28),
    "head_of_line_blocking": lambda: queue(80, 10),
    "tail_waste": lambda: short(64),
    "oversized_reservations": reserving,
    "unreachable": broken_chain,
}


def figures(said: str) -> list[str]:
    return sorted(set(re.findall(r"\d+(?:\.\d+)?", plain(said))))


@pytest.mark.slow
def test_in_vietnamese_every_finding_is_said_with_the_figures_that_it_has(
    server: RunningServer, evicting: str, open_page: Pages
) -> None:
    # All kinds as one answer: what the page says of each is compared with what the server says of it.
    whole = told(server, evicting)
    for kind, make in MADE.items():
        engine = make()
        contiguous = {"config": {"memory_backend": "contiguous"}} if kind == "oversized_reservations" else {}
        found = msgspec.to_builtins(ask(server, record(server, engine, **contiguous), FindingsIn()))
        had = {(each["kind"], each["reason"]) for each in whole["findings"]}
        whole["findings"] += [
            each for each in found["findings"] if each["kind"] == kind and (kind, each["reason"]) not in had
        ]
    assert {each["kind"] for each in whole["findings"]} == {*MADE, "evicted_then_wanted"}
    page = opened(open_page, server, evicting, "&lang=vi")
    page.route("**/findings", lambda route: route.fulfill(json=whole))
    page.keyboard.press("i")
    shown = page.locator(".finding")
    expected = in_order(whole)
    expect(shown).to_have_count(len(expected))
    english = json.dumps(whole)
    for card, finding in zip(shown.all(), expected, strict=True):
        sentence = card.locator(".sentence").inner_text()
        assert sentence != finding["told"]
        assert figures(sentence) == figures(finding["told"]), sentence
        proofs = card.locator(".proofs li").all_inner_texts()
        for proof, event in zip(proofs, finding["evidence"], strict=False):
            assert event["told"] not in plain(proof)
            assert set(figures(event["told"])) <= set(figures(proof)), proof
        for advice in card.locator(".settings li").all_inner_texts():
            assert advice.split(") ")[-1] not in english
    page.unroute("**/findings")
