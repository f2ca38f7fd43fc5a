"""The playground: a typed prompt becomes a request with blocks and text; what goes wrong is said where one types."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.recording.transcript import read_sequence
from kvarium_ledger.messages import Answer, Command
from tests.backend.hand_engine import HandEngine, hand_frames, hello, record_of
from tests.backend.running_server import TOKEN, wait_for
from tests.backend.server_process import ServerProcess, process, serving
from tests.e2e.conftest import GONE, Pages, Recording
from tests.e2e.page import becomes, chips, hold, ready, release, seek, state, until, wait_light
from tests.e2e.writing import number, playground, send, session_of, told, told_of, typed, words

pytestmark = pytest.mark.e2e

SIZE = 16
PROMPT = "What is a café’s block table?\nTell me, please 🙂"


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("how", ["key", "click"])
def test_what_is_typed_right_after_opening_it_is_typed_into_it(
    idle: ServerProcess, open_page: Pages, how: str, delay: int
) -> None:
    page = open_page(idle.url)
    ready(page)
    theme = page.evaluate("document.documentElement.dataset.theme")
    if how == "key":
        page.keyboard.press("p", delay=0)
    else:
        page.get_by_role("tab", name="playground").click()
    page.keyboard.type("the sum? say hi", delay=delay)
    expect(typed(page)).to_have_value("the sum? say hi")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert session_of(page) != "None"


@pytest.mark.slow
def test_a_step_typed_right_after_g_is_typed_into_its_field(idle: ServerProcess, open_page: Pages) -> None:
    page = open_page(idle.url)
    ready(page)
    page.keyboard.press("g")
    page.keyboard.type("123")
    expect(page.locator(".gofield input")).to_have_value("123")
    expect(page.locator(".left .segments .on")).to_have_text("tables")


def test_an_engine_that_has_done_nothing_yet_is_no_fault_and_says_what_to_do(
    open_page: Pages, tmp_path: Path
) -> None:
    options = ("--runner", "null", "--no-mix", "--step-ms", "30", "--num-gpu-blocks-override", "96")
    with process("serve", "--port", "0", "--db", str(tmp_path / "idle.db"), *options) as server:
        server.wait_ready().wait_line("engine linked")
        page = open_page(server.url)
        ready(page)
        light = page.get_by_test_id("light")
        expect(light).to_have_text("waiting for the first step")
        expect(page.locator(".footer")).not_to_contain_text("unverified")
        expect(page.locator(".tables")).to_contain_text("Press p to write a prompt.")
        # What was sent to a held engine is said to be on its way.
        page.keyboard.press("Shift+Space")
        expect(page.locator(".engine")).to_contain_text("engine held")
        page.keyboard.press("p")
        card = send(page, "hello", max_tokens=3)
        expect(page.locator(".inspector")).to_contain_text("appears with the engine’s next step")
        typed(page).press("Escape")
        page.keyboard.press("Shift+Space")
        expect(card.locator(".state")).to_have_text("finished · length")
        expect(light).to_have_text("verified")
        # What a session takes is what the list of sessions says, not the file with its journal.
        stored = page.get_by_test_id("stored")
        expect(stored).to_be_visible()
        expect(stored).to_contain_text("KiB")
        stored.hover()
        expect(stored).to_have_attribute("title", re.compile("and its journal: "))


@pytest.mark.slow
def test_what_was_opened_to_be_read_goes_with_any_key(idle: ServerProcess, open_page: Pages) -> None:
    page = open_page(idle.url)
    ready(page)
    how = page.locator("#map-key")
    for key in ("Escape", "End", "p"):
        page.locator(".keybutton").click()
        expect(how).to_be_visible()
        how.hover()
        page.keyboard.press(key)
        expect(how).to_be_hidden()
    expect(typed(page)).to_be_focused()


def test_a_typed_prompt_becomes_a_request_with_blocks_and_growing_text(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = playground(idle, open_page)
    # The text grows while it runs, for so long that it is seen.
    running = send(page, PROMPT, max_tokens=1400)
    for _ in range(2):
        before = len(running.locator(".said.sampled").text_content() or "")
        until(
            page,
            "before => document.querySelector('.sent .said.sampled').textContent.length > before",
            before,
        )
    running.get_by_role("button", name="Abort").click()
    expect(running.locator(".state")).to_have_text("aborted")
    card = send(page, PROMPT, max_tokens=40)
    length = len(PROMPT.encode())
    expect(typed(page)).to_have_value("")
    expect(card.locator(".chips canvas").first).to_be_visible()
    said = card.locator(".said.sampled")
    expect(card.locator(".figures")).to_contain_text(f"{length} +")
    expect(card.locator(".figures")).to_contain_text("tok/s")
    expect(card.locator(".state")).to_have_text("finished · length")
    (sequence,) = told_of(page, number(card))["sequences"]
    pieces = {int(token): piece for token, piece in told(page, "pieces")["pieces"].items()}
    assert len(sequence["tokens"]) == 40
    line = words(sequence["tokens"], pieces).strip()
    becomes(page, lambda: (said.text_content() or "").strip(), line)
    # It is selected, so the inspector tells the same; the prompt is what was typed, to the last byte.
    inspector = page.locator(".inspector")
    becomes(page, inspector.locator(".said.prompt").text_content, PROMPT)
    becomes(page, lambda: (inspector.locator(".said.sampled").text_content() or "").strip(), line)
    expect(inspector).to_contain_text("finished · length at step")
    wait_light(page, "green")


def test_three_samples_share_the_prompts_blocks_and_a_click_selects_them_everywhere(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = playground(idle, open_page)
    page.get_by_role("button", name="3 samples").click()
    expect(page.locator("input[name=n]")).to_have_value("3")
    card = send(page, "x" * 40, max_tokens=400)
    expect(card.locator(".voice")).to_have_count(3)
    # Held, so that it does not come to its end meanwhile.
    typed(page).press("Escape")
    hold(page)
    voice = card.locator(".voice").nth(2)
    until(
        page,
        "voice => window.kvarium.chips(voice).filter((chip) => chip.shared).length === 2",
        voice.element_handle(),
    )
    expect(card.locator(".figures")).to_contain_text("2 shared")
    card.locator(".voice").nth(1).locator(".title .link").click()
    expect(card.locator(".voice").nth(1)).to_have_class(re.compile(r"\bon\b"))
    expect(page.locator(".inspector .conversation .voice").nth(1)).to_have_class(re.compile(r"\bon\b"))
    voice.get_by_role("img", name="blocks").scroll_into_view_if_needed()
    shared = next(chip for chip in chips(voice) if chip["shared"])
    expect(voice.get_by_role("img", name="blocks")).to_have_accessible_name(
        re.compile(rf"\b{shared['block']}\b")
    )
    page.mouse.click(shared["x"], shared["y"])
    expect(page.locator(".inspector .big").first).to_contain_text(str(shared["block"]))
    slots = page.locator(".inspector .slot")
    expect(slots).to_have_text(["x"] * SIZE)
    release(page)
    card.get_by_role("button", name="Abort").click()
    expect(card.locator(".state")).to_have_text("aborted")
    expect(card.get_by_role("button", name="Abort")).to_have_count(0)


def test_what_is_refused_or_wrong_is_said_in_place_and_nothing_typed_is_lost(
    idle: ServerProcess, open_page: Pages
) -> None:
    open_page.forgive("status of 422")
    page = playground(idle, open_page)
    wrong = page.locator(".write .wrong")
    typed(page).press("Control+Enter")
    expect(wrong).to_have_text("Write a prompt first.")
    typed(page).fill("hello")
    page.locator("input[name=max_tokens]").fill("many")
    page.locator("input[name=max_tokens]").press("Control+Enter")
    expect(wrong).to_have_text("max_tokens must be a whole number, 1 or more, not “many”.")
    page.get_by_role("button", name="Sampling").click()
    for name, value, fault in (
        ("max_tokens", "0", "max_tokens must be a whole number, 1 or more, not 0."),
        ("n", "2.5", "n must be a whole number from 1 to 64, not 2.5."),
        ("n", "65", "n must be a whole number from 1 to 64, not 65."),
        ("temperature", "-1", "temperature must be a number, 0 or more, not -1."),
        ("top_p", "1.5", "top_p must be a number above 0 and at most 1, not 1.5."),
        ("seed", "x", "seed must be a whole number, 0 or more, not “x”."),
    ):
        field = page.locator(f"input[name={name}]")
        before = field.input_value()
        field.fill(value)
        typed(page).press("Control+Enter")
        expect(wrong).to_have_text(fault)
        field.fill(before if before.isdigit() and before != "0" else "")
    expect(typed(page)).to_have_value("hello")
    expect(page.locator("article.sent")).to_have_count(0)
    long = "y" * 3000
    page.locator("input[name=max_tokens]").fill("5")
    card = send(page, long)
    expect(card.locator(".state")).to_have_text(
        re.compile(r"Refused: its prompt and one more token are 3001; max_model_len is \d+\.")
    )
    expect(typed(page)).to_have_value(long)
    expect(wrong).to_have_count(0)


@pytest.mark.slow
def test_the_keyboard_alone_recalls_sends_and_leaves(idle: ServerProcess, open_page: Pages) -> None:
    page = playground(idle, open_page)
    send(page, "first prompt", max_tokens=3)
    send(page, "second prompt", max_tokens=3)
    page.keyboard.press("ArrowUp")
    expect(typed(page)).to_have_value("second prompt")
    page.keyboard.press("ArrowUp")
    expect(typed(page)).to_have_value("first prompt")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(typed(page)).to_have_value("")
    page.keyboard.type("1 step, p and t.")
    expect(typed(page)).to_have_value("1 step, p and t.")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator(".panel.left .tables")).to_be_visible()
    page.keyboard.press("p")
    expect(typed(page)).to_have_value("1 step, p and t.")
    page.reload()
    ready(page)
    page.keyboard.press("p")
    expect(page.locator("article.sent")).to_have_count(2)
    expect(page.locator("article.sent .state").first).to_have_text("finished · length")


@pytest.mark.slow
def test_who_has_paused_is_taken_to_the_live_end_and_scrubbing_back_shows_what_there_was(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = playground(idle, open_page)
    send(page, "before", max_tokens=20)
    expect(page.locator("article.sent .state").first).to_have_text("finished · length")
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().mode === 'at'")
    page.keyboard.press("p")
    card = send(page, "after", max_tokens=20)
    until(page, "window.kvarium.position().mode === 'follow'")
    expect(card.locator(".state")).to_have_text("finished · length")
    answer = told_of(page, number(card))
    records = answer["sequences"][0]["records"]
    wait_for(lambda: told(page, "steps")["indexed_record"] >= records[-1])
    steps = told(page, "steps")
    at = dict(zip(steps["record"], steps["step"], strict=True))
    for sampled in (1, 7, 20):
        seek(page, at[records[sampled - 1]])
        expect(card.locator(".figures")).to_contain_text(f"5 + {sampled} tokens")
    seek(page, at[answer["submitted"]] - 1)
    expect(card.locator(".state")).to_contain_text("not there yet")


@pytest.mark.slow
def test_a_conversation_is_sent_with_its_system_prompt_and_goes_on_behind_a_finished_request(
    open_page: Pages, tmp_path: Path
) -> None:
    """With a hand-made engine that has a chat template, as only a model has one."""
    frames = hand_frames(200)
    open_page.forgive("status of 422", "status of 409", *GONE)
    with serving(tmp_path / "chat.db") as server:
        engine = HandEngine(
            server.url.replace("http://", "ws://"), TOKEN, hello(config={"chat_template": True})
        )
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        with server.http() as http:
            path = f"/api/sessions/{engine.hello.session}/requests"
            wait_for(lambda: any(row["state"] == "finished" for row in http.get(path).json()["requests"]))
            rows = http.get(path).json()["requests"]
        done = max(row["request"] for row in rows if row["state"] == "finished")
        asked: list[Command] = []

        def answer(command: Command) -> Answer:
            asked.append(command)
            return Answer(id=command.id, result={"request": done, "name": "x", "refused": False})

        engine.answer = answer
        page = playground(server, open_page)
        page.locator("textarea[name=system]").fill("Be brief.")
        card = send(page, "Who are you?", max_tokens=7)
        wait_for(lambda: len(asked) == 1)
        assert asked[0].args == {
            "prompt": "Who are you?",
            "n": 1,
            "max_tokens": 7,
            "temperature": 0.8,
            "chat": True,
            "system": "Be brief.",
        }
        page.locator("input[name=n]").fill("3")
        card.get_by_role("button", name="Follow up").click()
        expect(page.locator("input[name=n]")).to_have_value("1")
        expect(typed(page)).to_be_focused()
        expect(page.locator(".write")).to_contain_text(f"continues r{done}")
        send(page, "And then?")
        wait_for(lambda: len(asked) == 2)
        assert (asked[1].args["follow"], asked[1].args["chat"]) == (done, True)
        assert "system" not in asked[1].args
        page.get_by_label("chat template").uncheck()
        send(page, "raw")
        wait_for(lambda: len(asked) == 3)
        assert "chat" not in asked[2].args
        # The engine's own words, and what was typed stays.
        engine.answer = lambda command: Answer(id=command.id, error="the model says no")
        typed(page).fill("once more")
        typed(page).press("Control+Enter")
        expect(page.locator(".write .wrong")).to_have_text("the model says no")
        engine.break_off()
        expect(page.locator(".playground")).to_contain_text("The engine is not connected")
        expect(typed(page)).to_have_value("once more")


@pytest.mark.slow
def test_a_finished_recording_shows_the_same_text_at_each_step(open_page: Pages, tmp_path: Path) -> None:
    db = tmp_path / "finished.db"
    open_page.forgive(*GONE)
    options = ("--runner", "null", "--no-mix", "--step-ms", "5", "--num-gpu-blocks-override", "96")
    with process("serve", "--port", "0", "--db", str(db), *options) as server:
        server.wait_ready().wait_line("engine linked")
        page = playground(server, open_page)
        card = send(page, PROMPT, n=2, max_tokens=60)
        expect(card.locator(".state")).to_have_text("finished")
        for i in range(2):
            expect(card.locator(".voice .title").nth(i)).to_contain_text("60 tokens · length")
            expect(page.locator(".inspector .voice").nth(i)).to_contain_text("· length")
        expect(page.locator(".inspector .pairs")).to_contain_text("up to 60 new ones each")
        expect(page.locator(".inspector .sampling")).to_contain_text("n 2")
        expect(page.locator(".inspector .sampling")).to_contain_text("max_tokens 60")
        sampling = page.locator(".inspector .sampling").text_content() or ""
        session, request = session_of(page), number(card)
        server.interrupt()
        assert server.wait() == 0
        expect(page.locator(".playground")).to_contain_text("The engine of this session has ended")
        expect(card.locator(".said.sampled").first).to_contain_text("#")
    database = open_for_reading(str(db))
    reader = Reader(database)
    number_of_session = reader.find(session)
    steps = reader.steps(number_of_session)
    pieces = reader.pieces(number_of_session)
    with process("view", str(db), "--port", "0", "--no-open") as viewing:
        viewing.wait_ready()
        page = open_page(f"{viewing.url}/?session={session}&step=0&request={request}")
        ready(page)
        page.keyboard.press("p")
        expect(page.locator(".playground")).to_contain_text("nothing can be sent to it")
        expect(typed(page)).to_have_count(0)
        inspector = page.locator(".inspector")
        at = dict(zip(steps["step"], steps["record"], strict=True))
        for step in (20, 3, steps["step"][-2], 0):
            seek(page, step)
            becomes(page, inspector.locator(".said.prompt").text_content, PROMPT)
            expected = [
                words(read_sequence(reader, number_of_session, sequence, at[step])["tokens"], pieces)
                for sequence in (0, 1)
            ]
            # Panels follow the map within a tenth of a second.
            until(
                page,
                "expected => String([...document.querySelectorAll('.inspector .said.sampled')]"
                ".map(box => box.textContent.trim())) === String(expected)",
                [text.strip() for text in expected],
            )
            assert expected[0].count("#") > 0
        expect(inspector.locator(".sampling")).to_have_text(sampling)
    database.close()


def test_a_blocks_slots_at_a_step_hold_the_tokens_that_the_recording_tells(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: Any, size: str
) -> None:
    database = open_for_reading(str(recording.path))
    reader = Reader(database)
    session = reader.find(recording.session)
    records = dict(zip(*(reader.steps(session)[name] for name in ("step", "record")), strict=True))
    for _ in range(1 if size == "small" else 8):
        step = rng.randrange(50, recording.steps)
        whole = recording.state_after(step)
        held = [row for row in whole["tables"] if whole["filled"][row[3]] > 0]
        # Blocks without content too: what is written in them is known from their sequences alone.
        open_ones = [row for row in held if whole["filled"][row[3]] < SIZE]
        assert open_ones, f"no block was being filled at step {step}"
        for sequence, _, position, block in rng.choices(held, k=1) + rng.choices(open_ones, k=1):
            page = open_page(f"{viewing.url}/?session={recording.session}&step={step}&block={block}")
            ready(page)
            answer = read_sequence(reader, session, sequence, records[step])
            line = (answer["prompt"] + answer["tokens"])[position * SIZE :]
            expected = [str(token) for token in line[: whole["filled"][block]]]
            until(
                page,
                "count => document.querySelectorAll('.inspector [data-token]').length === count",
                len(expected),
            )
            slots = page.locator(".inspector .slot")
            expect(slots).to_have_count(SIZE)
            told = "slots => slots.map(slot => slot.dataset.token)"
            becomes(page, lambda: slots.evaluate_all(told)[: len(expected)], expected)  # noqa: B023
            assert state(page)["record"] >= records[step]
            page.context.close()
    database.close()
