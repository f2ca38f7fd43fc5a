"""The live page: what the engine does is on the map while it does it."""

import contextlib
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.running_server import running
from tests.backend.server_process import ServerProcess, process
from tests.e2e.conftest import GONE, Pages
from tests.e2e.page import (
    assert_pixels_are,
    becomes,
    hold,
    passes,
    pixels,
    ready,
    release,
    same,
    state,
    step_of,
    until,
    wait_light,
    wait_steps,
)

pytestmark = pytest.mark.e2e


def watching(live: ServerProcess, open_page: Pages, **options: object) -> Page:
    page = open_page(live.url, **options)  # type: ignore[arg-type]
    ready(page)
    wait_light(page, "green")
    return page


def test_blocks_change_on_the_map_while_the_engine_runs(live: ServerProcess, open_page: Pages) -> None:
    page = watching(live, open_page)
    before = pixels(page)
    assert len(before) == 512
    wait_steps(page, 12)

    def check_changed() -> None:
        after = pixels(page)
        assert sum(before[block] != after[block] for block in before) > 5

    passes(page, check_changed)
    assert wait_light(page, "green")["record"] > 0


@pytest.mark.slow
def test_a_page_that_asks_for_less_is_verified_and_fetches_what_was_said_when_somebody_looks(
    live: ServerProcess, open_page: Pages
) -> None:
    sent: list[str] = []
    page = open_page(f"{live.url}/?text=none&rate=4")
    page.on("websocket", lambda socket: sent.append(socket.url))
    page.reload()
    ready(page)
    wait_light(page, "green")
    wait_steps(page, 20)
    assert wait_light(page, "green")["record"] > 0
    until(page, f"{FIRST_RUNNING}.then((request) => request !== undefined)")
    assert any("text=none" in url and "rate=4" in url for url in sent), sent
    expect(page.get_by_test_id("asked")).to_contain_text("no text, at most 4 a second")
    facts = page.get_by_test_id("health")
    for told in ("operations", "queued", "to its sending", "here, "):
        expect(facts).to_contain_text(told)
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    ready(page)
    stands = step_of(page)
    # The history has no hole where a text was left out.
    page.keyboard.press(",")
    until(page, "s => window.kvarium.position().step === s", stands - 1)
    ready(page)
    assert_pixels_are(page, state(page))
    until(page, "location.search.includes('text=none&rate=4') && location.search.includes('step=')")
    address = page.evaluate("location.href")
    page.goto(f"{address}&request={page.evaluate(FIRST_RUNNING)}")
    until(page, "window.kvarium !== undefined")
    expect(page.locator(".inspector .said.prompt").first).to_be_visible()


FIRST_RUNNING = "window.kvarium.state().then((state) => state.requests[0]?.[0])"


def test_a_paused_view_stands_still_while_the_engine_goes_on_and_end_catches_up(
    live: ServerProcess, open_page: Pages
) -> None:
    page = watching(live, open_page)
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    ready(page)
    stands = step_of(page)
    until(page, "s => window.kvarium.position().lastStep >= s + 20", stands)
    assert step_of(page) == stands
    assert_pixels_are(page, state(page))
    expect(page.locator("body")).to_contain_text("behind")
    page.keyboard.press("End")
    until(page, "s => window.kvarium.position().step > s + 20", stands)


@pytest.mark.slow
def test_full_stop_and_comma_move_by_one_step_and_back_to_the_same_state(
    live: ServerProcess, open_page: Pages
) -> None:
    page = watching(live, open_page)
    wait_steps(page, 10)
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    ready(page)
    before = state(page)
    for key, moves in ((",", -1), (",", -2), (".", -1), (".", 0)):
        page.keyboard.press(key)
        until(page, "s => window.kvarium.position().step === s", before["step"] + moves)
    ready(page)
    # The step's text may not have come yet when the view was paused.
    same(before, state(page))


def test_shift_space_holds_the_engine_itself_and_releases_it(live: ServerProcess, open_page: Pages) -> None:
    page = watching(live, open_page)
    hold(page)
    # What it did before has come. Then nothing comes any more.
    held = page.evaluate("window.kvarium.position().lastStep")
    page.wait_for_timeout(500)
    assert page.evaluate("window.kvarium.position().lastStep") == held
    # Who comes while nothing happens knows when the last step was, and not how long a record takes.
    joined = watching(live, open_page)
    until(joined, "s => window.kvarium.position().lastStep === s", held)
    expect(joined.locator(".footer")).to_contain_text("lag —")
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
        held += 1
        until(page, "s => window.kvarium.position().lastStep === s", held)
    expect(joined.locator(".footer")).to_contain_text(re.compile(r"lag [\d\s]+ ms"))
    release(page)
    until(page, "s => window.kvarium.position().lastStep > s + 5", held)


def test_the_page_says_that_the_server_is_gone(open_page: Pages, tmp_path: Path) -> None:
    open_page.forgive(*GONE)
    with process("serve", "--port", "0", "--db", str(tmp_path / "gone.db")) as server:
        server.wait_ready().wait_line("engine linked")
        page = watching(server, open_page)
        server.kill()
        expect(page.locator("body")).to_contain_text("server lost")
        expect(page.locator("body")).to_contain_text("It is tried again by itself")


@pytest.mark.slow
def test_an_engine_that_was_killed_is_waited_for_and_that_is_said(
    open_page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "waiting.db", grace_seconds=3600.0) as server:
        engine = server.engine()
        frames = hand_frames(20)
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        page = open_page(f"http://127.0.0.1:{server.port}/?session={engine.hello.session}")
        expect(page.locator(".badge")).to_have_text("live")
        engine.break_off()
        expect(page.locator(".badge")).to_have_text("connection lost, waiting")
        expect(page.locator(".banner")).to_contain_text("the server waits for it")
        page.keyboard.press("o")
        row = page.locator("tbody tr")
        expect(row.locator(".badge")).to_have_text("connection lost, waiting")
        # For as long as it has: then it is interrupted.
        monkeypatch.setattr(server.hub, "_grace_seconds", 0.0)
        expect(row.locator(".badge")).to_have_text("interrupted")


def test_after_a_killed_server_only_what_was_saved_is_there_and_it_is_called_interrupted(
    open_page: Pages, tmp_path: Path
) -> None:
    open_page.forgive(*GONE)
    db = tmp_path / "killed.db"
    with process("serve", "--port", "0", "--db", str(db)) as server:
        server.wait_ready().wait_line("engine linked")
        page = watching(server, open_page)
        wait_steps(page, 25)
        server.kill()
        expect(page.locator(".bar")).to_contain_text("server lost")
        expect(page.locator(".engine")).to_have_text("engine —")
        expect(page.locator(".footer")).to_contain_text("lag —")
        port = server.url.rsplit(":", 1)[1]
    with process("serve", "--no-engine", "--port", port, "--db", str(db)) as again:
        again.wait_ready()
        # The page may have tried by itself meanwhile.
        with contextlib.suppress(PlaywrightTimeout):
            page.get_by_text("Try now").click(timeout=2_000)
        expect(page.locator(".badge")).to_have_text("interrupted")
        session = page.evaluate("new URLSearchParams(location.search).get('session')")
        told = page.evaluate("id => fetch(`api/sessions/${id}`).then(answer => answer.json())", session)
        assert told["state"] == "interrupted"
        ready(page)
        ends = "(({ lastStep, lastRecord }) => [lastStep, lastRecord])(window.kvarium.position())"
        becomes(page, lambda: page.evaluate(ends), [told["last_step"], told["last_record"]])
        assert step_of(page) <= told["last_step"]


@pytest.mark.slow
def test_each_part_of_a_frame_is_of_one_step_and_soon_of_the_newest(
    live: ServerProcess, open_page: Pages
) -> None:
    page = open_page(live.url)
    wait_light(page, "green")
    page.keyboard.press("2")
    expect(page.locator(".scheduler .head h2").first).to_have_text(re.compile("[0-9]"))
    until(page, "window.kvarium.mapShown() !== null")
    frames = page.evaluate(
        """async () => {
          const chip = '.queue .qchip';
          const digits = (found) => Number(found.replace(/[^0-9]/g, ''));
          const of = (selector) => digits(document.querySelector(selector).textContent);
          const seen = [];
          while (seen.length < 90 || (seen.length < 3000 && new Set(seen.map((each) => each.map[0])).size < 12)) {
            await new Promise((resolve) => requestAnimationFrame(resolve));
            const { step, next } = window.kvarium.mapShown();
            seen.push({
              step: [step, window.kvarium.position().step, digits(document.querySelector('.gofield input').value)],
              map: [step, next],
              // Nothing is next where nothing is free.
              lists: [of('.scheduler .head h2'), document.querySelector(chip) === null ? null : of(chip)],
            });
          }
          return seen;
        }"""
    )
    for seen in frames:
        assert len(set(seen["step"])) == 1, seen
    # A part gives way to a picture once, and to the two others.
    late = 8
    for at in range(late, len(frames)):
        pictures = [each["map"] for each in frames[at - late : at + 1]]
        assert frames[at]["lists"] in pictures, (frames[at], pictures)
    assert len({seen["lists"][0] for seen in frames}) > 3, "it goes on"
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    ready(page)
    told = re.sub("[^0-9]", "", page.locator(".scheduler .head h2").first.inner_text())
    assert int(told) == step_of(page)


@pytest.mark.slow
def test_steps_back_and_on_are_counted_however_fast_they_come(live: ServerProcess, open_page: Pages) -> None:
    page = open_page(live.url)
    wait_light(page, "green")
    wait_steps(page, 12)
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    ready(page)
    step = step_of(page)
    for key in ",,,,,,.":
        page.keyboard.press(key)
    until(page, "step => window.kvarium.position().step === step", step - 5)
    ready(page)
    assert step_of(page) == step - 5
