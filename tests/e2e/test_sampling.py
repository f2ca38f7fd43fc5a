"""How a request is sampled: its fields on the page, what ended it, and how likely its tokens were."""

import math
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from kvarium_ledger.encoder import Encoder
from tests.backend.hand_engine import record_of
from tests.backend.running_server import wait_for
from tests.backend.server_process import ServerProcess, serving
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, chips, ready, seek, until, wait_light
from tests.e2e.writing import number, playground, send, told, told_of, typed, words
from tests.engine.likely_runner import LikelyRunner
from tests.engine.mirrored import Mirrored

pytestmark = pytest.mark.e2e


def test_sampling_fields_reach_the_engine_are_remembered_and_are_reset_by_one_click(
    idle: ServerProcess, open_page: Pages
) -> None:
    open_page.forgive("status of 422")
    page = playground(idle, open_page)
    fields = page.locator("#sampling")
    expect(fields).to_be_hidden()
    page.get_by_role("button", name="Sampling").press("Enter")
    expect(fields).to_be_visible()
    # What this engine can't do is grey, with its reason in words.
    expect(page.locator("input[name=logprobs]")).to_be_disabled()
    expect(fields).to_contain_text("logprobs: the null runner has no logits.")
    expect(page.locator("input[name=length_penalty]")).to_be_disabled()
    page.locator("input[name=beam_width]").fill("4")
    expect(page.locator("input[name=length_penalty]")).to_be_enabled()
    expect(page.locator("input[name=temperature]")).to_be_disabled()
    page.locator("input[name=beam_width]").fill("")
    page.locator("textarea[name=stop]").fill("never said\\n\n###")
    page.locator("input[name=min_tokens]").fill("9")
    page.locator("input[name=min_tokens]").press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_label("ignore_eos")).to_be_checked()
    # Wrong where it is typed; the engine's own words too.
    page.locator("input[name=max_tokens]").fill("5")
    typed(page).fill("hello")
    typed(page).press("Control+Enter")
    wrong = page.locator(".write .wrong")
    expect(wrong).to_have_text("min_tokens must be at most max_tokens = 5, not 9.")
    expect(page.locator("input[name=min_tokens]")).to_be_focused()
    # Where it was folded away, too.
    page.get_by_role("button", name="Sampling").click()
    expect(fields).to_be_hidden()
    typed(page).press("Control+Enter")
    expect(page.locator("input[name=min_tokens]")).to_be_focused()
    page.locator("input[name=min_tokens]").fill("2")
    page.locator("input[name=stop_token_ids]").fill("7 " * 65)
    page.locator("input[name=stop_token_ids]").press("Control+Enter")
    expect(wrong).to_have_text("stop_token_ids has 65 entries: at most 64 are taken")
    expect(page.locator("#fault-stop_token_ids")).to_be_visible()
    page.locator("input[name=stop_token_ids]").fill("")
    with page.expect_request("**/commands") as asked:
        card = send(page, "hello")
    assert asked.value.post_data_json["args"] == {
        "prompt": "hello",
        "n": 1,
        "max_tokens": 5,
        "temperature": 0.8,
        "ignore_eos": True,
        "min_tokens": 2,
        "stop": ["never said\n", "###"],
    }
    expect(card.locator(".state")).to_have_text("finished · length")
    page.reload()
    ready(page)
    page.keyboard.press("p")
    expect(page.locator(".unfold")).to_contain_text("stop never said\\n ### · min_tokens 2 · ignore_eos")
    expect(page.locator("input[name=max_tokens]")).to_have_value("5")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator("input[name=max_tokens]")).to_have_value("64")
    expect(page.locator(".unfold")).to_have_text("▸ Sampling")
    expect(page.get_by_role("button", name="Reset", exact=True)).to_have_count(0)


@pytest.mark.slow
def test_each_sequence_tells_what_ended_it(idle: ServerProcess, open_page: Pages) -> None:
    page = playground(idle, open_page)
    page.get_by_role("button", name="Sampling").click()
    first = send(page, "an answer to be stopped", max_tokens=12, seed=5)
    expect(first.locator(".state")).to_have_text("finished · length")
    (sequence,) = told_of(page, number(first))["sequences"]
    stop = sequence["tokens"][4]
    page.locator("input[name=stop_token_ids]").fill(str(stop))
    again = send(page, "an answer to be stopped", n=2, max_tokens=12)
    expect(again.locator(".state")).to_contain_text("finished")
    answer = told_of(page, number(again))
    last = answer["ending"]
    for i, each in enumerate(answer["sequences"]):
        end = each["ending"] or last
        reason = f"{end['reason']} on token {stop}" if end["stop_reason"] == stop else end["reason"]
        line = f"{len(each['tokens'])} tokens · {reason}"
        expect(again.locator(".voice .title").nth(i)).to_contain_text(line)
        expect(page.locator(".inspector .voice .line").nth(i)).to_contain_text(line)


def test_how_likely_tokens_were_is_shown_where_it_was_asked_for(open_page: Pages, tmp_path: Path) -> None:
    engine = Mirrored(num_blocks=24, block_size=4, runner=LikelyRunner())
    engine.submit(3, max_tokens=40, logprobs=3)
    engine.submit(5, max_tokens=4)
    engine.run()
    encoder = Encoder(24, pieces=engine.engine.runner.vocabulary)
    frames = [frame for sealed in engine.sealed for _, frame in encoder.encode(sealed)]
    with serving(tmp_path / "likely.db") as server:
        link = server.engine(num_blocks=24, block_size=4)
        link.send(frames)
        link.wait_acked(record_of(frames[-1]))
        page = open_page(f"{server.url}/?session={link.hello.session}&request=0&step=39")
        ready(page)
        tokens = page.locator(".inspector .said.sampled .token")
        expect(tokens).to_have_count(40)
        # The n-th token has e^(-n/8): the prompt's three count.
        shades = [sum(math.exp(-(3 + i) / 8) < least for least in (0.5, 0.2, 0.05, 0.01)) for i in range(40)]
        assert set(shades) == {0, 1, 2, 3, 4}
        for i, shade in enumerate(shades):
            expect(tokens.nth(i)).to_have_class(re.compile(rf"\bo{shade}\b"))
        card = page.get_by_role("tooltip")
        tokens.nth(10).hover()
        expect(card).to_contain_text("19.7\u202f%")
        expect(card).to_contain_text("rank 7")
        # The three likeliest, and the sampled one, which is none of them.
        expect(card.locator("li")).to_have_count(4)
        expect(card.locator("li").first).to_contain_text("100.0\u202f%")
        # By keyboard: to the token beside it.
        page.mouse.move(5, 5)
        expect(card).to_have_count(0)
        page.locator(".inspector .said.sampled").focus()
        page.keyboard.press("ArrowRight")
        expect(card).to_contain_text("68.7\u202f%")
        page.keyboard.press("ArrowRight")
        expect(card).to_contain_text("60.7\u202f%")
        page.get_by_label("shade by probability").uncheck()
        expect(page.locator(".inspector .token:is(.o1, .o2, .o3, .o4)")).to_have_count(0)
        expect(tokens).to_have_count(40)
        # In the slots of a block: position 8 is the sixth that it sampled.
        seek(page, 12)
        row = page.locator(".tables .sequence").first
        until(page, "row => window.kvarium.chips(row).length === 4", row.element_handle())
        chip = chips(row)[2]
        page.mouse.click(chip["x"], chip["y"])
        slot = page.locator(".inspector .slot").first
        expect(slot).to_have_class(re.compile(r"\btoken\b"))
        slot.hover()
        expect(card).to_contain_text("36.8\u202f%")
        # Nobody asked for those of the other request.
        page.goto(f"{server.url}/?session={link.hello.session}&request=1&step=39")
        ready(page)
        expect(page.locator(".inspector .said.sampled")).to_have_count(1)
        expect(page.locator(".inspector .token")).to_have_count(0)
        expect(page.get_by_label("shade by probability")).to_have_count(0)


@pytest.mark.slow
def test_a_request_that_ended_before_the_page_came_is_shown_at_the_live_end(
    open_page: Pages, tmp_path: Path
) -> None:
    engine = Mirrored(num_blocks=24, block_size=4, runner=LikelyRunner())
    engine.submit(3, max_tokens=7)
    engine.submit(5, max_tokens=9)
    engine.run()
    encoder = Encoder(24, pieces=engine.engine.runner.vocabulary)
    frames = [frame for sealed in engine.sealed for _, frame in encoder.encode(sealed)]
    with serving(tmp_path / "ended.db") as server:
        link = server.engine(num_blocks=24, block_size=4)
        link.send(frames)
        link.wait_acked(record_of(frames[-1]))
        page = open_page(f"{server.url}/?session={link.hello.session}&request=1")
        ready(page)
        # Nothing that this page folds tells of any request: the server does.
        expect(page.locator(".inspector")).to_contain_text("finished · length at step")
        # No command submitted it.
        expect(page.locator(".inspector .sampling")).to_have_text("not recorded")
        tokens = told(page, "requests/1/tokens")["sequences"][0]["tokens"]
        assert len(tokens) == 9
        pieces = {int(token): piece for token, piece in told(page, "pieces")["pieces"].items()}
        expect(page.locator(".inspector .said.sampled")).to_contain_text(words(tokens, pieces).strip())


def assert_said(row: Locator, text: str) -> None:
    becomes(row.page, lambda: (row.locator(".said").text_content() or "").strip(), text.strip())


def test_a_beam_search_shows_its_beams_and_its_answers_as_of_any_record(
    idle: ServerProcess, open_page: Pages
) -> None:
    page = playground(idle, open_page)
    page.get_by_role("button", name="Sampling").click()
    card = send(page, "the best of four", beam_width=4, n=2, max_tokens=30, length_penalty=2)
    inspector = page.locator(".inspector")
    expect(inspector.locator(".pairs")).to_contain_text("beam width")
    expect(card.locator(".state")).to_contain_text("finished")
    answer = told_of(page, number(card))
    found = answer["hypotheses"]
    assert len(found) >= 2
    rows = inspector.locator(".answers .voice")
    expect(rows).to_have_count(min(len(found), 24))
    pieces = {int(token): piece for token, piece in told(page, "pieces")["pieces"].items()}
    for row, each in zip(rows.all(), found, strict=False):
        expect(row).to_contain_text(f"{each['score']:.3f}")
        expect(row).to_contain_text(f"{len(each['tokens'])} tokens · {each['reason']} at step {each['step']}")
        assert_said(row, words(each["tokens"], pieces))
    # The two that were asked for are the answers, the others merely were found.
    expect(inspector.locator(".answers .beyond")).to_have_count(min(len(found), 24) - 2)
    expect(inspector.locator(".answers .note")).to_have_text(f"{len(found)} found, 2 wanted")
    # Back where it searched: who lived then, with what each had taken over.
    forks = sorted(row["created"] for row in answer["sequences"] if row["parent"] is not None)
    record = forks[len(forks) // 2]
    wait_for(lambda: told(page, "steps")["indexed_record"] >= record)
    steps = told(page, "steps")
    at = dict(zip(steps["record"], steps["step"], strict=True))
    seek(page, at[record])
    alive = [
        row
        for row in answer["sequences"]
        if row["created"] <= record and not (row["ending"] and row["ending"]["record"] <= record)
    ]
    assert len(alive) == 4
    beams = inspector.locator(".conversation > .voice")
    expect(beams).to_have_count(4)
    expect(inspector.locator(".conversation > .head .note")).to_have_text("4 of 4")
    labels = {row["sequence"]: f"r{number(card)}.{row['index']}" for row in answer["sequences"]}
    for row, each in zip(beams.all(), alive, strict=True):
        expect(row.locator(".link")).to_have_text(labels[each["sequence"]])
        if each["parent"] is not None:
            expect(row).to_contain_text(f"from {labels[each['parent']]}")
        line = told(page, f"sequences/{each['sequence']}/tokens?record={record}")["tokens"]
        assert_said(row, words(line, pieces))
    now = [each for each in found if each["record"] <= record]
    expect(rows).to_have_count(len(now))
    wait_light(page, "green")
