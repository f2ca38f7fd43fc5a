"""A recording as one page: opened from disk with the network off, scrubbed, compared with the Python fold."""

import base64
import json
import random
import re
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Text
from tests.backend.server_process import kvarium
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import (
    assert_pixels_are,
    becomes,
    ready,
    same,
    seek,
    state,
    step_of,
    until,
    wait_light,
    wait_verified,
)

pytestmark = pytest.mark.e2e

PART = (300, 449)
OWN = ("blob:", "data:")


def exported(recording: Path, place: Path, *options: str, answers: int = 0) -> Path:
    asked = ("--format", "html", "--answers", str(answers), "-o", str(place), *options)
    done = kvarium("export", str(recording), *asked)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def whole(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(recording.path, tmp_path_factory.mktemp("page") / "mix, 100 % & more.html", answers=30)


@pytest.fixture(scope="module")
def part(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("--from-step", str(PART[0]), "--to-step", str(PART[1]))
    return exported(recording.path, tmp_path_factory.mktemp("part") / "part.html", *options)


def opened(open_page: Pages, place: Path, query: str = "") -> tuple[Page, list[str]]:
    """The page from disk, without a network; and what it goes on to ask for, but for what it makes itself."""
    page = open_page(place.as_uri() + query, offline=True)
    asked: list[str] = page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    asked = [url for url in asked if not url.startswith(OWN)]
    page.on("request", lambda request: None if request.url.startswith(OWN) else asked.append(request.url))
    ready(page)
    return page, asked


def test_the_page_from_disk_gives_exactly_the_state_of_the_python_fold(
    whole: Path, recording: Recording, open_page: Pages, rng: random.Random
) -> None:
    page, asked = opened(open_page, whole)
    assert step_of(page) == 0
    for step in (0, recording.steps - 1, *(rng.randrange(recording.steps) for _ in range(8))):
        seek(page, step)
        expected = recording.state_after(step)
        same(state(page), expected)
        assert_pixels_are(page, expected)
        wait_verified(page, expected["record"])
    assert asked == []
    expect(page.locator("footer")).to_contain_text(re.compile(r"exported \d{4}-\d\d-\d\d .* by kvarium \d"))


def test_what_needs_a_server_is_not_offered(whole: Path, open_page: Pages) -> None:
    page, asked = opened(open_page, whole)
    expect(page.get_by_role("button", name="All sessions")).to_have_count(0)
    expect(page.get_by_text("playground", exact=True)).to_have_count(0)
    expect(page.get_by_text("sql", exact=True)).to_have_count(0)
    for key in ("o", "p", "9", "R", "Shift+Space"):
        page.keyboard.press(key)
    expect(page.locator(".timeline")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog")
    expect(keys).to_be_visible()
    expect(keys).not_to_contain_text("playground")
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    until(page, "window.kvarium.position().step > 3")
    assert asked == []


def test_a_part_keeps_the_numbers_of_its_session(
    part: Path, recording: Recording, open_page: Pages, rng: random.Random
) -> None:
    page, asked = opened(open_page, part)
    first, last = PART
    assert step_of(page) == first
    for step in (last, first, *(rng.randint(first, last) for _ in range(4))):
        seek(page, step)
        same(state(page), recording.state_after(step))
        wait_light(page, "green")
    page.keyboard.press("Home")
    until(page, f"window.kvarium.position().step === {first}")
    page.keyboard.press(",")
    until(page, f"window.kvarium.position().step === {first}")
    expect(page.locator("footer")).to_contain_text(f"steps {first} to {last} of {recording.steps}")
    assert asked == []


def texts_of(recording: Recording) -> list[Text]:
    records = (codec.open_frame(frame) for frame in recording.frames)
    return [record for record in records if isinstance(record, Text)]


def tokens_of(recording: Recording, content: int) -> list[int]:
    size = recording.hello.block_size
    text = next(text for text in texts_of(recording) if content in u32(text.content))
    at = u32(text.content).tolist().index(content) * size
    return u32(text.tokens).tolist()[at : at + size]


def oldest(recording: Recording) -> tuple[int, int]:
    """A block with the oldest content that is held where the part begins, and that: it was told before."""
    held = enumerate(recording.state_after(PART[0])["content"])
    return min(((block, content) for block, content in held if content != NONE), key=lambda each: each[1])


@pytest.mark.parametrize("kind", ["whole", "part"])
def test_a_block_s_text_is_read(
    kind: str, recording: Recording, open_page: Pages, request: pytest.FixtureRequest
) -> None:
    block, content = oldest(recording)
    page, asked = opened(open_page, request.getfixturevalue(kind), f"?step={PART[0]}&block={block}")
    # The runner without a model tells no pieces: a token is shown by its id.
    tokens = "".join(f"#{token}" for token in tokens_of(recording, content))
    slots = page.locator(".inspector .slots")
    expect(slots).to_have_attribute("aria-label", re.compile(tokens))
    assert asked == []


@pytest.mark.parametrize("kind", ["whole", "part"])
def test_what_a_request_said_is_read(
    kind: str, recording: Recording, open_page: Pages, request: pytest.FixtureRequest
) -> None:
    number = next(each[0] for each in recording.state_after(PART[0])["requests"] if each[1] == "running")
    page, asked = opened(open_page, request.getfixturevalue(kind), f"?step={PART[0]}&request={number}")
    prompts = {
        each.request: u32(each.tokens).tolist() for text in texts_of(recording) for each in text.prompts
    }
    begins = r"\D+".join(str(token) for token in prompts[number][:4])
    expect(page.locator(".inspector .said.prompt")).to_contain_text(re.compile(begins))
    assert asked == []


def test_no_text_of_a_recording_breaks_out_of_its_element(
    recording: Recording, tmp_path: Path, open_page: Pages
) -> None:
    hostile = '</title></script><script>window.broken = 1</script><!--<script> & "x"'
    block, content = oldest(recording)
    copy = tmp_path / "hostile.db"
    copy.write_bytes(recording.path.read_bytes())
    connection = sqlite3.connect(copy)
    with connection:
        connection.execute("UPDATE session SET name = ?", (hostile,))
        connection.execute("INSERT INTO piece VALUES (1, ?, ?)", (tokens_of(recording, content)[0], hostile))
    connection.close()
    page, _ = opened(open_page, exported(copy, tmp_path / "hostile.html"), f"?step={PART[0]}&block={block}")
    slots = page.locator(".inspector .slots")
    expect(slots).to_have_attribute("aria-label", re.compile(re.escape(hostile)))
    assert page.evaluate("window.broken") is None
    expect(page.locator(".bar .name b")).to_have_text(hostile)
    expect(page).to_have_title(re.compile("^" + re.escape(hostile)))
    assert page.locator("script").count() == 1


def test_a_page_that_is_cut_off_says_so(whole: Path, tmp_path: Path, browser: Browser) -> None:
    text = whole.read_bytes()
    cut = text.rindex(b'<script type="application/octet-stream" data-part="about">')
    script = text.rindex(b'<script type="module">')
    place = tmp_path / "cut.html"
    place.write_bytes(text[:cut] + text[script:])
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(place.as_uri())
    expect(page.locator("body")).to_contain_text("holds no whole recording")
    context.close()


def test_the_policy_lets_nothing_but_the_page_s_own_script_run(whole: Path) -> None:
    text = whole.read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'" and "connect-src" not in rules
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+' 'wasm-unsafe-eval'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", rules["style-src"])


def test_y_tells_from_disk_why_a_block_was_evicted(
    whole: Path, recording: Recording, open_page: Pages
) -> None:
    link, told = next(
        (link, told) for link, told in answers_of(whole).items() if link.startswith("why/evicted?op=")
    )
    step, block = told["at"]["step"], told["life"]["block"]
    page, asked = opened(open_page, whole, f"?step={step}&block={block}")
    page.keyboard.press("y")
    expect(page).to_have_url(re.compile("why=evicted"))
    expect(page.locator(".why")).to_contain_text(f"{block}#{told['life']['generation']}")
    assert link == f"why/evicted?op={told['at']['op']}"
    assert asked == []


def answers_of(page: Path) -> dict[str, Any]:
    data = re.search(r'data-part="answers">([^<]*)<', page.read_text())
    assert data is not None
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(data[1])))
    return found


def test_where_a_step_has_no_answer_the_nearest_one_that_has_is_offered(
    whole: Path, recording: Recording, open_page: Pages
) -> None:
    held = [int(link.split("=")[1]) for link in answers_of(whole) if link.startswith("why/memory?step=")]
    lacks = next(step for step in range(recording.steps) if step not in held)
    nearest = min(abs(step - lacks) for step in held)
    page, asked = opened(open_page, whole, f"?step={lacks}&why=memory%3Fstep%3D{lacks}")
    why = page.get_by_role("region", name="Why", exact=True)
    expect(why.get_by_role("alert")).to_contain_text("This page holds no answer to this")
    why.get_by_role("button", name="Show the nearest answer").click()
    expect(why.locator(".because")).to_contain_text("in use.")
    asks = "new URLSearchParams(location.search).get('why')"
    becomes(page, lambda: abs(int(page.evaluate(asks).split("=")[1]) - lacks), nearest)
    assert asked == []


def test_a_link_that_leads_out_of_a_part_says_so(
    recording: Recording, tmp_path: Path, open_page: Pages
) -> None:
    options = ("--from-step", str(PART[0]), "--to-step", str(PART[1]))
    place = exported(recording.path, tmp_path / "answers.html", *options, answers=1)
    found = answers_of(place)["findings"]["findings"]
    outside, card, line = next(
        (each["at"]["step"], finding, number)
        for finding in found
        for number, each in enumerate(finding["evidence"])
        if each["at"] is not None and not PART[0] <= each["at"]["step"] <= PART[1] and each["at"]["step"] > 0
    )
    page, asked = opened(open_page, place, "?centre=findings")
    shown = page.locator(".finding").filter(has_text=card["told"].split(":")[0]).first
    if line > 2:
        shown.get_by_role("button", name="all ").click()
    shown.locator(".proofs li").nth(line).get_by_title("Go there").click()
    expect(page.locator(".banners")).to_contain_text(
        f"Step {outside} is not in this page: it holds the steps {PART[0]} to {PART[1]}."
    )
    assert asked == []


def test_the_foot_says_how_many_answers_the_page_holds(whole: Path, part: Path, open_page: Pages) -> None:
    page, _ = opened(open_page, whole)
    expect(page.get_by_test_id("answers")).to_have_text(re.compile(r"^\d+ of [\d,\u202f]+ answers$"))
    expect(page.get_by_test_id("answers")).to_have_attribute("title", re.compile(r"findings 1/1"))
    page, _ = opened(open_page, part)
    expect(page.get_by_test_id("answers")).to_have_count(0)
