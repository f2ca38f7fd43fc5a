"""Breakpoints on the page: typed and explained, listed, met; the engine stops, red, and what it stopped at is selected."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.messages import Answer
from kvarium_ledger.records import Control, Hit, Note, Step
from tests.backend.hand_engine import decoded, hand_frames, hello, record_of
from tests.backend.running_server import running
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready, release, until

pytestmark = pytest.mark.e2e


def control(server: ServerProcess) -> Any:
    with server.http() as http:
        session = http.get("/api/sessions").json()["sessions"][0]["id"]
        return http.get(f"/api/sessions/{session}/control").json()


def open_dialog(page: Page) -> None:
    page.keyboard.press("b")
    expect(page.get_by_role("dialog", name="Where the engine stops")).to_be_visible()
    expect(page.get_by_label("Stop when")).to_be_focused()


def close_dialog(page: Page) -> None:
    dialog = page.get_by_role("dialog", name="Where the engine stops")
    page.get_by_role("heading", name="Where the engine stops").click()
    expect(dialog.get_by_role("listbox")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_predicate_is_explained_and_set_and_the_engine_stops_with_its_event_selected(
    live: ServerProcess, open_page: Pages
) -> None:
    page = open_page(live.url)
    ready(page)
    until(page, "window.kvarium.position().mode === 'follow' && window.kvarium.position().step > 2")
    open_dialog(page)
    field = page.get_by_label("Stop when")
    field.fill("op:evcit owner:r1 ")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_role("heading", name="Where the engine stops").click()
    wrong = page.locator(".breakpoints .fault")
    expect(wrong).to_contain_text("At character 4: ")
    expect(wrong).to_contain_text("there is no operation 'evcit'; did you mean evict?")
    expect(wrong.locator("u")).to_have_text("evcit")
    field.fill("usage>")
    expect(page.get_by_role("dialog").get_by_role("option", name="usage>")).to_have_count(1)
    field.fill("op:allocate cause:prefill")
    expect(field).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="set", exact=True).click()
    entry = page.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(entry).to_contain_text("op:allocate cause:prefill")
    bar = page.get_by_role("toolbar", name="The engine")
    expect(bar).to_contain_text("engine stopped by breakpoint 1", timeout=60_000)
    expect(page.locator(".engine.held")).to_be_visible()
    close_dialog(page)
    stop = control(live)["stop"]
    assert (stop["breakpoint"], stop["stops"]) == (1, True)
    until(page, "op => window.kvarium.position().operation === op", stop["op"])
    until(page, "step => window.kvarium.position().step === step", stop["step"])
    becomes(page, lambda: page.locator(".engine.held").count(), 1)
    # Held: what follows comes only when it is let go, and is met again.
    page.get_by_role("button", name="Where the engine stops").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    entry.get_by_role("checkbox").uncheck()
    becomes(page, lambda: control(live)["breakpoints"][0]["enabled"], False)
    entry.get_by_role("button", name="Remove op:allocate cause:prefill").click()
    expect(page.get_by_role("dialog")).to_contain_text("None is set.")
    close_dialog(page)
    release(page)
    until(page, "step => window.kvarium.position().lastStep > step", stop["step"])


@pytest.mark.slow
def test_the_engine_runs_to_a_step_and_is_slowed_from_the_dialog(
    live: ServerProcess, open_page: Pages
) -> None:
    page = open_page(live.url)
    ready(page)
    until(page, "window.kvarium.position().lastStep > 2")
    open_dialog(page)
    rate = page.get_by_label("Steps a second")
    # So slowly that it is not past the goal before that is typed.
    rate.fill("2")
    page.get_by_role("button", name="limit", exact=True).click()
    bar = page.get_by_role("toolbar", name="The engine")
    expect(bar).to_contain_text("≤ 2 steps/s")
    goal = page.evaluate("window.kvarium.position().lastStep") + 200
    page.get_by_label("Run to step").fill(str(goal))
    page.get_by_role("button", name="run", exact=True).click()
    expect(bar).to_contain_text(f"engine runs to step {goal}")
    page.get_by_role("button", name="no limit").click()
    expect(bar).not_to_contain_text("steps/s")
    expect(bar).to_contain_text("engine held", timeout=120_000)
    assert control(live)["step"] == goal
    close_dialog(page)
    release(page)


@pytest.mark.slow
def test_what_is_selected_is_what_a_breakpoint_is_offered_for(live: ServerProcess, open_page: Pages) -> None:
    page = open_page(live.url)
    ready(page)
    until(page, "window.kvarium.position().lastStep > 2")
    page.evaluate("window.kvarium.select({ block: 42 })")
    open_dialog(page)
    expect(page.get_by_label("Stop when")).to_have_value("block:42")
    page.get_by_label("only mark").check()
    page.get_by_label("from hit").fill("2")
    page.get_by_role("button", name="set", exact=True).click()
    entry = page.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(entry).to_contain_text("block:42")
    expect(entry).to_contain_text("marks")
    expect(entry).to_contain_text("counts from 2")
    entry.get_by_role("button", name="Remove block:42").click()
    expect(page.get_by_role("dialog")).to_contain_text("None is set.")
    close_dialog(page)


@pytest.mark.slow
def test_events_like_one_are_broken_on_from_the_list_by_pointer_and_keys_and_from_a_biography(
    live: ServerProcess, open_page: Pages
) -> None:
    page = open_page(live.url)
    ready(page)
    until(page, "window.kvarium.position().lastStep > 2")
    # Held: the lists stand still.
    page.keyboard.press("Shift+Space")
    expect(page.locator(".engine.held")).to_be_visible()
    becomes(page, lambda: control(live)["held"], True)
    until(page, "step => window.kvarium.position().step === step", control(live)["step"])
    page.keyboard.press("5")
    page.get_by_role("combobox", name="Filter of events").fill("op:allocate")
    kinds = page.locator(".event b")
    becomes(page, lambda: set(kinds.all_inner_texts()), {"allocate"})
    like = "Break on events like this…"
    above = page.locator(".filters").get_by_role("button", name=like)
    expect(above).to_be_disabled()
    expect(above).to_have_attribute("title", f"{like} click an event in the list first")
    page.get_by_role("heading", name="Waiting").click()
    # The first may be cut by the edge of the list.
    row = page.locator(".event").nth(2)
    block = int(row.locator(".block").inner_text().split("#")[0])
    row.hover()
    row.get_by_role("button", name=like).click()
    field = page.get_by_label("Stop when")
    expect(field).to_have_value(f"op:allocate block:{block}")
    page.get_by_label("only mark").check()
    page.get_by_role("button", name="set", exact=True).click()
    entry = page.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(entry).to_contain_text(f"op:allocate block:{block}")
    expect(entry).to_contain_text("marks")
    entry.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("dialog")).to_contain_text("None is set.")
    close_dialog(page)
    # By keys: the event that is selected.
    row.locator(".goes").first.click()
    expect(page.locator(".event.chosen")).to_have_count(1)
    expect(above).to_be_enabled()
    open_dialog(page)
    expect(field).to_have_value(f"op:allocate block:{block}")
    field.fill("")
    close_dialog(page)
    # In the block's biography each line has it.
    line = page.locator(".life .line").first
    kind = line.locator("b").inner_text()
    line.hover()
    line.get_by_role("button", name=like).click()
    expect(field).to_have_value(f"op:{kind} block:{block}")
    field.fill("")
    close_dialog(page)
    release(page)


TIP = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('.lane .tip')?.innerText ?? ''))))"""


def click_note(page: Page, told: str) -> None:
    """Click the note's mark on the timeline, looked for from the right end on."""
    box = page.locator(".lane").bounding_box()
    assert box is not None
    for x in range(int(box["width"]) - 18, 66, -5):
        page.mouse.move(box["x"] + x, box["y"] + 25)
        # The tip comes with the next frame.
        if told in page.evaluate(TIP):
            page.mouse.down()
            page.mouse.up()
            return
    raise AssertionError(f"no mark tells {told!r}")


def test_what_was_set_in_a_session_that_ended_leads_to_its_hits_and_is_set_again(
    tmp_path: Path, open_page: Pages
) -> None:
    frames = hand_frames(9)
    steps = [
        record
        for record in map(decoded, frames)
        if isinstance(record, Step) and not record.decisions and len(record.operations.kind) > 1
    ]
    step = steps[-1]
    # The note stands behind its step; behind the step's last operation the view would stand behind all of it.
    frames = [frame for frame in frames if record_of(frame) <= step.record]
    index = 0
    block = int(OperationColumns.decode(step.operations).block[index])
    op = step.op
    at = record_of(frames[-1]) + 1
    asked: dict[str, Any] = {"time": 5, "id": "1", "asked_by": "somebody", "name": "break"}
    first = {"when": "usage>90%", "hits": 2, "breakpoint": 1}
    hit = Hit(breakpoint=1, step=step.step, count=7, index=index, op=op, block=block)
    with running(tmp_path / "recording.db") as server:
        with server.engine() as ended:
            set_ = Control(record=at, args=first, **asked)
            met = Note(record=at + 1, time=6, text="breakpoint 1: usage>90%", hit=hit)
            hidden = Control(record=at + 2, args={"when_length": 9, "mark": True, "breakpoint": 2}, **asked)
            ended.send([*frames, *(codec.seal(each) for each in (set_, met, hidden))])
            ended.wait_acked(at + 2)
            ended.bye()
        commands: list[Any] = []

        def answer(command: Any) -> Answer:
            commands.append(command)
            return Answer(id=command.id, result={"breakpoint": 5, "step": 0})

        with server.engine(hello(allow_control=True)) as engine:
            engine.answer = answer
            engine.send(frames)
            page = open_page(f"http://127.0.0.1:{server.port}/?session={ended.hello.session}&step=0")
            ready(page)
            page.keyboard.press("5")
            # By the note's mark on the timeline: to the event, which is selected with its block.
            click_note(page, "breakpoint 1: usage>90%")
            until(page, "op => window.kvarium.position().operation === op", op)
            line = page.locator(".event.chosen")
            expect(line).to_have_count(1)
            expect(line.locator(".block")).to_have_text(re.compile(rf"^{block}(#|$)"))
            expect(page.get_by_role("region", name="Block")).to_contain_text(str(block))
            page.evaluate("window.kvarium.select({})")
            page.evaluate("window.kvarium.seek(0)")
            # And from the list.
            page.keyboard.press("b")
            dialog = page.get_by_role("dialog", name="Where the engine would stop, at this session’s end")
            entries = dialog.get_by_role("list", name="Breakpoints").get_by_role("listitem")
            expect(entries).to_have_count(2)
            expect(entries.first).to_contain_text("usage>90%")
            expect(entries.first).to_contain_text("met 7×, counts from 2")
            entries.first.get_by_role("button", name=f"last at step {step.step}, block {block}").click()
            expect(dialog).to_have_count(0)
            until(page, "op => window.kvarium.position().operation === op", op)
            expect(line).to_have_count(1)
            page.keyboard.press("b")
            expect(entries.last).to_contain_text("not recorded, as text is not")
            expect(entries.last.get_by_role("button", name="last at")).to_have_count(0)
            expect(entries.last.get_by_role("button", name="set again")).to_be_disabled()
            entries.first.get_by_role("button", name="set again").click()
            expect(page.locator(".banners")).to_contain_text("Breakpoint 5 is set on the engine of")
            assert [(each.name, each.args) for each in commands] == [
                ("break", {"when": "usage>90%", "hits": 2, "mark": False})
            ]
