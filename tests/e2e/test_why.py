"""Why, on the page: recordings of the real engine whose true answer is known, asked as a reader asks, and told as the module tells."""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kvarium.api import process, why
from kvarium.why.questions import Evicted, LeaksAt, MemoryAt, MissedAt, PreemptedAt, WaitsAt
from kvarium_engine.model.seeded_tokens import FIRST_TOKEN
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready, until
from tests.engine.mirrored import Mirrored, tokens

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


def said(text: str) -> "array[int]":
    """Tokens that read as ``text``, one a letter."""
    return array("I", [byte + FIRST_TOKEN for byte in text.encode()])


def turn(engine: Mirrored, prompt: "array[int]", name: str) -> None:
    """A request that computes its prompt, samples one token and ends; then a step without work."""
    engine.submit(prompt, max_tokens=1, name=name)
    engine.run()
    engine.engine.step_without_work()


def shown(open_page: Pages, server: RunningServer, session: str, place: str) -> Page:
    page = open_page(f"http://127.0.0.1:{server.port}/?session={session}{place}", 1280, 720)
    ready(page)
    return page


def part(page: Page) -> Locator:
    return page.get_by_role("region", name="Why", exact=True)


def address(page: Page, name: str, value: str) -> None:
    """Wait until the address says so."""
    until(page, "([name, value]) => new URLSearchParams(location.search).get(name) === value", [name, value])


def stands_behind(page: Page, op: int) -> None:
    until(page, "op => window.kvarium.position().operation === op", op)


def test_a_block_is_asked_about_with_a_key_and_each_fact_leads_to_where_it_is_so(
    server: RunningServer, open_page: Pages
) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    prompt = tokens(1, 8)
    for each, name in ((prompt, "first"), (tokens(2, 20), "taker"), (prompt + tokens(3, 4), "again")):
        turn(engine, each, name)
    session = record(server, engine)
    right: Any = ask(server, session, Evicted(block=1, generation=1))
    [want] = right.wanted
    page = shown(open_page, server, session, f"&step={right.at.step}&block=1")
    # The last eviction that its biography tells is asked about.
    expect(page.locator(".life").get_by_role("button", name="Why was it evicted?")).to_be_visible()
    page.keyboard.press("y")
    told = part(page)
    expect(told.get_by_role("heading", level=3)).to_have_text("Why was block 1#1 evicted?")
    expect(told).to_contain_text("r1 taker took 5 blocks in this step, and this was one of them.")
    expect(told).to_contain_text("6 blocks in it: 4 before this one, 4 of them taken in this step too")
    expect(told).to_contain_text(f"step {right.idle.since.step}, op {right.idle.since.op}")
    expect(told.locator(".wants")).to_contain_text(f"missed by r2 again at step {want.at.step}")
    # The event is selected there, and the part stays; Back comes to where one was.
    address(page, "why", f"evicted?op={right.at.op}")
    told.get_by_role("button", name=f"step {right.idle.since.step}, op {right.idle.since.op}").click()
    stands_behind(page, right.idle.since.op)
    address(page, "op", str(right.idle.since.op))
    told.get_by_role("button", name="r1", exact=True).click()
    expect(page.locator(".inspector .big").last).to_contain_text("taker")
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    until(page, "!location.search.includes('why=')")
    page.go_back()
    expect(told.get_by_role("heading", level=3)).to_have_text("Why was block 1#1 evicted?")


@pytest.mark.slow
def test_a_preemption_is_asked_about_in_the_story_and_thrashing_is_named(
    server: RunningServer, open_page: Pages
) -> None:
    engine = Mirrored(num_blocks=7, block_size=4, caching=False)
    for prompt, sampled, name in zip((3, 6, 6), (16, 12, 8), "abc", strict=True):
        engine.submit(prompt, max_tokens=sampled, name=name)
    engine.run()
    session = record(server, engine, config={"scheduling_policy": "fcfs"})
    right: Any = ask(server, session, PreemptedAt(request="r2"))
    assert right.thrashing
    page = shown(open_page, server, session, f"&step={right.at.step}&request=2")
    page.locator(".life").get_by_role("button", name="Why was it preempted?").first.click()
    told = part(page)
    expect(told.get_by_role("heading", level=3)).to_have_text("Why was r2 c preempted?")
    expect(told).to_contain_text(
        f"since the preemption before, it computed {right.since.again} tokens again and gained {right.since.gained}."
    )
    expect(told).to_contain_text(f"and {right.free} of {right.pool} were free.")
    expect(told.locator(".holders li")).to_have_count(len(right.running))
    expect(told.locator(".holders .marked")).to_contain_text("r2 c")
    before = right.earlier[0].at
    told.get_by_role("button", name=f"step {before.step}, op {before.op}").click()
    until(page, "step => window.kvarium.position().step === step", before.step)


@pytest.mark.slow
def test_what_a_request_waits_for_is_told_beside_its_reason(server: RunningServer, open_page: Pages) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(60, max_tokens=20, name="runs")
    engine.submit(40, max_tokens=5, name="waits")
    engine.step(6)
    session = record(server, engine)
    right: Any = ask(server, session, WaitsAt(request="r1", step=5))
    page = shown(open_page, server, session, "&step=5&request=1")
    page.locator(".pairs").get_by_role("button", name="Why does it wait?").click()
    told = part(page)
    expect(told).to_contain_text("It needs 3 blocks, and 2 were free.")
    expect(told).to_contain_text(f"{right.free} of {right.pool} blocks")
    expect(told).to_contain_text("nobody: it is the next one")
    expect(told.locator(".holders li")).to_have_text(["r0 runs5 blocks, 5 alone"])
    # What is not so is said in the same place, with what is so instead.
    open_page.forgive("status of 404")
    told.get_by_role("tab", name="preempted").click()
    expect(told.get_by_role("alert")).to_contain_text("r1 (waits) was not preempted")


def test_two_texts_stand_side_by_side_where_they_part(server: RunningServer, open_page: Pages) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    turn(engine, said("Once upon a time"), "cached")
    turn(engine, said("Once upgrade it!"), "asks")
    session = record(server, engine)
    right: Any = ask(server, session, MissedAt(request="r1"))
    assert (right.reason, right.nearest.agree) == ("diverges", 7)
    page = shown(open_page, server, session, f"&step={right.at.step}&request=1")
    page.keyboard.press("y")
    told = part(page)
    expect(told).to_contain_text("Another text was cached: the two part at token 7.")
    expect(told.locator(".sides > div")).to_have_text(["this requestOnce upg", "the cached oneOnce upo"])
    expect(told.locator(".sides mark")).to_have_text(["g", "o"])
    expect(told).to_contain_text("labelled by r0 cached")


@pytest.mark.slow
def test_a_miss_leads_to_the_eviction_that_made_it(server: RunningServer, open_page: Pages) -> None:
    engine = Mirrored(num_blocks=6, block_size=4)
    prompt = said("Once upon")
    for each, name in ((prompt, "first"), (tokens(2, 24), "taker"), (prompt, "asks")):
        turn(engine, each, name)
    session = record(server, engine)
    right: Any = ask(server, session, MissedAt(request="r2"))
    page = shown(open_page, server, session, "&request=2&why=missed?of=r2")
    told = part(page)
    expect(told).to_contain_text("It had been cached, and was evicted: block 0#1")
    told.get_by_role("button", name="why was it evicted?").click()
    expect(told.get_by_role("heading", level=3)).to_have_text("Why was block 0#1 evicted?")
    address(page, "why", f"evicted?op={right.evicted.at.op}")
    page.go_back()
    expect(told.get_by_role("heading", level=3)).to_have_text("Why did the prefix of r2 asks miss?")


def test_with_nothing_selected_it_is_asked_where_the_memory_goes_and_what_leaks(
    server: RunningServer, open_page: Pages
) -> None:
    engine = Mirrored(num_blocks=20, block_size=4)
    prefix = tokens(9, 8)
    engine.submit(prefix + tokens(1, 1), max_tokens=2, name="ends")
    engine.submit(prefix + tokens(2, 1), max_tokens=30, name="lives")
    engine.step(9)
    session = record(server, engine)
    memory: Any = ask(server, session, MemoryAt(step=0))
    leaks: Any = ask(server, session, LeaksAt(baseline=3, step=8))
    page = shown(open_page, server, session, "&step=0&marks=3-")
    page.keyboard.press("y")
    told = part(page)
    expect(told).to_contain_text(f"{memory.active + memory.shared} of 20 blocks are in use.")
    expect(told).to_contain_text(f"saves {memory.saved} of {memory.entries} blocks")
    expect(told.locator(".holders li")).to_have_count(2)
    page.evaluate("window.kvarium.seek(8)")
    told.get_by_role("tab", name="leaks").click()
    expect(told).to_contain_text("Nothing leaks")
    expect(told).to_contain_text(f"{leaks.used} of 20 blocks; {leaks.used_before} after step 3")
    address(page, "why", "leaks?baseline=3&step=8")


@pytest.mark.slow
def test_who_closes_ends_the_question_and_who_is_refused_may_ask_again(
    server: RunningServer, open_page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(30, max_tokens=5, name="runs")
    engine.step(2)
    session = record(server, engine)
    open_page.forgive("status of 429", "status of 503")
    monkeypatch.setattr(why, "AT_ONCE", 0)
    page = shown(open_page, server, session, "&step=1&why=memory?step=1")
    told = part(page)
    expect(told.get_by_role("alert")).to_contain_text("0 questions run: wait for their end")
    monkeypatch.setattr(why, "AT_ONCE", 1)
    monkeypatch.setattr(why, "CPU_SECONDS", 1e-6)
    told.get_by_role("button", name="ask again").click()
    expect(told.get_by_role("alert")).to_contain_text("the question was ended: it took more than")
    monkeypatch.undo()
    # A process that never answers, in place of the question's own.
    (tmp_path / "never.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ask_process, ended = process.ask, list[str]()

    async def never(module: str, *more: Any) -> process.Answer:
        found = await ask_process("never", *more)
        ended.append(found.ended)
        return found

    monkeypatch.setattr(process, "ask", never)
    told.get_by_role("button", name="ask again").click()
    told.get_by_role("button", name="Stop").click()
    expect(told.get_by_role("alert")).to_contain_text("The question was ended.")
    becomes(page, lambda: ended, ["gone"])
    told.get_by_role("button", name="ask again").click()
    expect(told.get_by_role("status")).to_contain_text("asking")
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    becomes(page, lambda: ended, ["gone", "gone"])
    monkeypatch.undo()
    page.keyboard.press("y")
    expect(told).to_contain_text("2 of 6 blocks are in use.")
