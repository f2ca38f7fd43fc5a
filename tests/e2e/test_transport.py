"""The transport of the view: to any single operation, record, time and landmark, and playing at any pace."""

import random
import re
from bisect import bisect_right
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from kvarium_ledger import codec
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import assert_pixels_are, ready, same, seek, settled, state, step_of, until, wait_light

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def steps(recording: Recording) -> list[Step]:
    records = (codec.open_frame(frame) for frame in recording.frames)
    return [record for record in records if isinstance(record, Step)]


def opened(viewing: ServerProcess, recording: Recording, open_page: Pages, query: str = "&step=100") -> Page:
    page = open_page(f"{viewing.url}/?session={recording.session}{query}")
    ready(page)
    return page


def go(page: Page, typed: str) -> None:
    """Type where to go, and wait until the view is there."""
    page.keyboard.press("g")
    field = page.locator(".gofield input")
    expect(field).to_be_focused()
    field.fill(typed)
    field.press("Enter")
    expect(field).not_to_be_focused()
    ready(page)


TIP = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('.lane .tip')?.innerText ?? ''))))"""


def position(page: Page) -> dict[str, Any]:
    return page.evaluate("window.kvarium.position()")


def clock(ns: int) -> str:
    """A time of the session to the second, as the page writes it."""
    seconds = ns // 10**9
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def url_of(page: Page) -> str:
    return page.evaluate("location.search")


def test_the_view_stands_behind_any_single_operation_as_the_python_fold_does(
    viewing: ServerProcess,
    recording: Recording,
    steps: list[Step],
    open_page: Pages,
    rng: random.Random,
    size: str,
) -> None:
    page = opened(viewing, recording, open_page)
    ends = [step.op + len(step.operations.kind) for step in steps]
    several = 3 if size == "small" else 40
    for operation in [0, *(rng.randrange(ends[-1]) for _ in range(several)), ends[-1] - 1]:
        go(page, f"op {operation}")
        expected = recording.state_behind(operation)
        same(state(page), expected)
        assert_pixels_are(page, expected)
        at = position(page)
        assert at["op"] == operation + 1
        wait_light(page, "green")
        step = steps[expected["step"]]
        if operation + 1 == ends[step.step]:
            assert at["within"] is None
        else:
            done = {"done": operation + 1 - step.op, "of": len(step.operations.kind)}
            assert at["within"] == done
            expect(page.get_by_test_id("within")).to_have_text(f"op {done['done']} of {done['of']}")
            expect(page.get_by_test_id("light")).to_have_attribute("title", re.compile("^Within step"))


def test_keys_and_events_move_by_single_operations_and_the_address_holds_them(
    viewing: ServerProcess, recording: Recording, steps: list[Step], open_page: Pages
) -> None:
    step = next(step for step in steps[50:] if len(step.operations.kind) > 12)
    page = opened(viewing, recording, open_page, f"&step={step.step}&op={step.op + 3}")
    same(state(page), recording.state_behind(step.op + 3))
    for key, behind in (("'", 4), ("'", 5), (";", 4), (";", 3), (";", 2)):
        page.keyboard.press(key)
        ready(page)
        same(state(page), recording.state_behind(step.op + behind))
    # Within a step its end is one step on, and its beginning one back.
    page.keyboard.press(".")
    ready(page)
    same(state(page), recording.state_after(step.step))
    page.keyboard.press("'")
    ready(page)
    same(state(page), recording.state_behind(step.op + len(step.operations.kind)))
    page.keyboard.press(";")
    ready(page)
    same(state(page), recording.state_after(step.step))
    page.keyboard.press("5")
    row = page.locator(".event.present", has=page.locator(".kind, b")).nth(6)
    row.locator(".goes").first.click()
    until(page, "window.kvarium.position().within !== null")
    ready(page)
    at = position(page)
    same(state(page), recording.state_behind(at["op"] - 1))
    until(page, "op => new URLSearchParams(location.search).get('op') === String(op)", at["operation"])
    there = url_of(page)
    go(page, "7")
    until(page, "there => location.search !== there && location.search.includes('step=7')", there)
    page.go_back()
    until(page, "there => location.search === there", there)
    ready(page)
    same(state(page), recording.state_behind(at["op"] - 1))


def test_a_record_a_time_of_the_session_and_the_wall_clock_lead_to_their_step(
    viewing: ServerProcess, recording: Recording, steps: list[Step], open_page: Pages, rng: random.Random
) -> None:
    page = opened(viewing, recording, open_page)
    records = [step.record for step in steps]
    sealed = [step.sealed for step in steps]
    for record in (records[0], records[40] + 1, records[-1], rng.choice(records)):
        go(page, f"r{record}")
        assert step_of(page) == bisect_right(records, record) - 1
    for _ in range(3):
        ms = rng.randrange(sealed[0] // 10**6 + 1, sealed[-1] // 10**6)
        expected = bisect_right(sealed, ms * 10**6) - 1
        go(page, f"{ms}ms")
        assert step_of(page) == expected
        go(page, f"0:{ms // 60000:02}:{ms / 1000 % 60:06.3f}")
        assert step_of(page) == expected
    start = datetime.fromtimestamp(recording.hello.utc_us / 10**6)
    moment = (start + timedelta(microseconds=sealed[-1] // 1000)).replace(microsecond=0)
    since = max(0, round((moment - start).total_seconds() * 10**9))
    page.evaluate("window.kvarium.seek(7)")
    go(page, moment.strftime("%Y-%m-%d %H:%M:%S"))
    assert step_of(page) == max(0, bisect_right(sealed, since) - 1)
    # Both are told, and what is typed is told as it will be taken.
    expect(page.locator(".timeline .note")).to_contain_text(clock(sealed[step_of(page)]))
    page.keyboard.press("g")
    expect(page.locator(".gohelp .reading")).to_contain_text("wall clock")
    page.locator(".gofield input").fill(f"{sealed[100] // 10**6 + 1}ms")
    expect(page.locator(".gohelp .reading")).to_contain_text(
        f"session time {clock((sealed[100] // 10**6 + 1) * 10**6)}"
    )


@pytest.mark.slow
def test_what_cannot_be_gone_to_is_told_in_place_with_what_can(
    viewing: ServerProcess, recording: Recording, steps: list[Step], open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page)
    field = page.locator(".gofield input")
    last = recording.steps - 1
    whole, end = f"from 0 to {last}", f"last step is {last}"
    for typed, said in (
        *(("-5", whole), ("12.5", whole), ("99999999", end), ("r99999999", "last record is")),
        *(("op 99999999", "last operation is"), ("9h", f"session ends at {clock(steps[-1].sealed)}")),
        *(("2001-01-01 12:00", "session lasted from 20"), ("next tuesday", "“next tuesday” can’t be read")),
    ):
        page.keyboard.press("g")
        field.fill(typed)
        field.press("Enter")
        expect(page.locator(".gohelp .wrong")).to_contain_text(said)
        # It stays to be mended.
        expect(field).to_be_focused()
        expect(field).to_have_value(typed)
        assert step_of(page) == 100
        page.keyboard.press("Escape")
        expect(page.locator(".gohelp")).to_have_count(0)
    go(page, "7")
    assert step_of(page) == 7
    page.keyboard.press(".")
    until(page, "window.kvarium.position().step === 8")


def test_landmarks_are_gone_to_by_key_and_by_their_marks(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    with viewing.http() as http:
        path = f"/api/sessions/{recording.session}/landmarks"
        rows = http.get(path, params={"kind": "preempted"}).json()["landmarks"]
        assert {row["kind"] for row in rows} == {"preempted"}
        assert http.get(path, params={"kind": "party"}).status_code == 422
        assert len(http.get(path).json()["landmarks"]) > len(rows)
    marked = [row["step"] for row in rows]
    page = opened(viewing, recording, open_page, f"&step={marked[2]}")
    page.locator(".landmarks select").select_option("preempted")
    for key, expected in (("n", marked[3]), ("n", marked[4]), ("N", marked[3]), ("N", marked[2])):
        page.keyboard.press(key)
        until(page, "step => window.kvarium.position().step === step", expected)
        ready(page)
    page.locator(".landmarks select").select_option("gap")
    page.keyboard.press("n")
    expect(page.locator(".banners")).to_contain_text("There is no later landmark")
    # The mark of the next preemption, somewhere in the row of marks.
    box = page.locator(".lane").bounding_box()
    assert box is not None
    for x in range(70, int(box["width"]) - 20, 3):
        page.mouse.move(box["x"] + x, box["y"] + 25)
        # The tip comes with the next frame.
        if "preemption" in page.evaluate(TIP) and "preemption" in page.evaluate(TIP):
            page.mouse.down()
            page.mouse.up()
            until(page, "step => window.kvarium.position().step !== step", marked[2])
            ready(page)
            break
    assert step_of(page) in set(marked) - {marked[2]}


@pytest.mark.slow
def test_it_plays_at_any_pace_and_what_is_drawn_is_a_state_of_one_record(
    viewing: ServerProcess, recording: Recording, steps: list[Step], open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=20")
    chosen = page.locator("select.pace option:checked")
    expect(chosen).to_have_text("as it was")
    for key, name in (("}", "× 2"), ("}", "× 5"), ("{", "× 2"), ("\\", "as it was"), ("{", "× 0.5")):
        page.keyboard.press(key)
        expect(chosen).to_have_text(name)
    # Operation by operation, within steps.
    page.locator("select.pace").select_option(label="64 ops/s")
    page.keyboard.press("Space")
    until(page, "op => window.kvarium.position().op > op + 5", steps[20].op + len(steps[20].operations.kind))
    page.keyboard.press("Space")
    ready(page)
    at = position(page)
    assert at["mode"] == "at" and at["step"] < recording.steps - 1
    same(state(page), recording.state_behind(at["op"] - 1))
    # The whole of it at a glance.
    seek(page, 0)
    page.locator("select.pace").select_option(label="× 1\u202f000")
    page.evaluate(
        """() => {
          window.seen = [];
          const look = () => {
            const { step, op, mode } = window.kvarium.position();
            window.seen.push([step, op, window.kvarium.mapShown()?.step]);
            if (mode === 'play' || window.seen.length < 10) requestAnimationFrame(look);
          };
          look();
        }"""
    )
    page.keyboard.press("Space")
    until(page, "last => window.kvarium.position().step === last", recording.steps - 1)
    ready(page)
    wait_light(page, "green")
    ends = [step.op + len(step.operations.kind) for step in steps]
    for step, op, _ in page.evaluate("window.seen"):
        assert op == ends[step]
    same(state(page), recording.state_after(recording.steps - 1))
    # At its end it begins anew.
    page.locator("select.pace").select_option(label="4 steps/s")
    page.keyboard.press("Space")
    # A machine that is busy may not look while it is at one of them.
    last = recording.steps - 1
    until(page, "last => window.kvarium.position().step >= 2 && window.kvarium.position().step < last", last)
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    assert step_of(page) < last


@pytest.mark.slow
def test_a_view_that_plays_waits_for_what_is_on_its_way_and_says_so(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(viewing.url)
    held: list[Route] = []
    is_open = False

    def pass_or_hold(route: Route) -> None:
        if is_open:
            route.continue_()
        else:
            held.append(route)

    page.context.route(re.compile("/frames"), pass_or_hold)
    page.goto(f"{viewing.url}/?session={recording.session}&step=0")
    until(page, "window.kvarium !== undefined")
    ready(page)
    page.locator("select.pace").select_option(label="× 5")
    page.keyboard.press("Space")
    expect(page.locator(".stalled")).to_have_text("loading")
    # It comes as far as what is here, and stands.
    until(page, "window.kvarium.position().step > 0")
    stands = settled(page, lambda: step_of(page), 0.8)
    assert 0 < stands < recording.steps - 1
    expect(page.locator(".stalled")).to_have_text("loading")
    is_open = True
    for route in held:
        route.continue_()
    until(page, "last => window.kvarium.position().step === last", recording.steps - 1)
    expect(page.locator(".stalled")).to_have_count(0)
    wait_light(page, "green")
