"""What the keys do, each of them; and what holds wherever the focus is."""

import ast
import re

import pytest
from playwright.sync_api import Page, expect

from tests.backend.server_process import ServerProcess
from tests.conftest import ROOT
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready, seek, settled, step_of, until

pytestmark = pytest.mark.e2e


def opened(viewing: ServerProcess, recording: Recording, open_page: Pages, query: str = "&step=100") -> Page:
    page = open_page(f"{viewing.url}/?session={recording.session}{query}")
    ready(page)
    return page


def hold(page: Page, key: str, condition: str) -> None:
    """Hold a key until something holds."""
    page.keyboard.down(key)
    until(page, condition)
    page.keyboard.up(key)
    # It moves on to the next frame, or for as long as the shortest press.
    page.wait_for_timeout(100)
    page.evaluate("new Promise(requestAnimationFrame)")
    page.evaluate("new Promise(requestAnimationFrame)")


AT = "window.kvarium.position()"
FOCUS = "document.activeElement?.dataset.panel"
KEYS: dict[str, tuple[str, str]] = {
    "Space": ("Space", f"{AT}.mode === 'play'"),
    ".": ("", f"{AT}.step === 101"),
    ",": ("", f"{AT}.step === 99"),
    ">": ("", f"{AT}.step === 110"),
    "<": ("", f"{AT}.step === 90"),
    "'": ("", f"{AT}.step >= 100 && {AT}.op > before.op"),
    ";": ("", f"{AT}.op < before.op"),
    "n": ("", f"{AT}.step > 100"),
    "N": ("", f"{AT}.step < 100"),
    "]": ("", f"{AT}.step > 100"),
    "[": ("", f"{AT}.step < 100"),
    "f": ("", "document.querySelector('.sequence.selected') !== null"),
    "Escape": ("", "!location.search.includes('block=')"),
    "}": ("", "document.querySelector('select.pace').selectedOptions[0].text === '× 2'"),
    "\\": ("", "document.querySelector('select.pace').selectedOptions[0].text === 'as it was'"),
    "{": ("", "document.querySelector('select.pace').selectedOptions[0].text === '× 0.5'"),
    "End": ("", f"{AT}.step === {AT}.lastStep"),
    "Home": ("", f"{AT}.step === 0"),
    "A": ("", "location.search.includes('marks=100-')"),
    "B": ("", "document.querySelector('.compare') !== null"),
    "c": ("", "document.querySelector('.compare') === null"),
    "g": ("Escape", f"{FOCUS} === 'go'"),
    "2": ("", f"{FOCUS} === 'scheduler'"),
    "p": ("Escape", "document.querySelector('.playground') !== null"),
    "1": ("", f"{FOCUS} === 'tables'"),
    "6": ("", f"{FOCUS} === 'queue'"),
    "7": ("", f"{FOCUS} === 'inspector'"),
    "8": ("", f"{FOCUS} === 'timeline'"),
    "9": ("Escape", f"{FOCUS} === 'sql'"),
    "5": ("", f"{FOCUS} === 'events'"),
    "/": ("Escape Escape", "document.activeElement?.matches('[data-filter]')"),
    "4": ("", f"{FOCUS} === 'tree'"),
    "i": ("", f"{FOCUS} === 'findings'"),
    "3": ("", f"{FOCUS} === 'map'"),
    "t": ("", "document.documentElement.dataset.theme !== before.theme"),
    "o": ("Escape", "document.querySelector('.landing') !== null"),
    "l": ("", "document.querySelector('.banner.info') !== null"),
    ":": ("Escape", "document.activeElement?.role === 'combobox'"),
    "Control+k": ("Escape", "document.activeElement?.role === 'combobox'"),
    "Meta+k": ("Escape", "document.activeElement?.role === 'combobox'"),
    "?": ("Escape", "document.querySelector('dialog.keys') !== null"),
}
"""Of each key, in an order in which they leave one another alone: what is pressed after it, and what holds between the two."""
MOVES = {"w", "a", "s", "d"}
"""They act for as long as they are held, and have a test of their own."""
ELSEWHERE = {
    ("Shift+Space", "Shift+Enter"): "test_live.py: test_shift_space_holds_the_engine_itself_and_releases_it",
    ("b",): "test_breakpoints.py: open_dialog",
    ("R",): "test_tree.py: test_a_prefix_is_found_opened_and_selected_and_gone_when_it_is_evicted",
    (
        "Control+Enter",
    ): "test_playground.py: test_what_is_refused_or_wrong_is_said_in_place_and_nothing_typed_is_lost",
    ("(", ")"): "test_events.py: test_a_filter_is_typed_completed_kept_and_steps_lead_from_event_to_event",
    (
        "v",
        "Shift+V",
    ): "test_map_colours.py: test_the_colouring_is_chosen_by_key_kept_in_the_address_and_remembered",
    ("x",): "test_map_order.py: test_blocks_lie_by_owner_and_all_of_the_map_follows",
    ("y",): "test_why.py: test_a_block_is_asked_about_with_a_key_and_each_fact_leads_to_where_it_is_so",
    (
        *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
        *("Shift+ArrowUp", "Shift+ArrowDown", "Shift+ArrowLeft", "Shift+ArrowRight"),
        *("+", "-", "0"),
    ): "test_keys.py: test_arrows_walk_on_the_map_mark_on_it_and_zoom_keys_zoom_it",
    ("PageUp", "PageDown"): "test_keys.py: test_pages_of_requests_are_turned_in_the_timeline",
}
"""Keys that need an engine, a filter or a place: the test, or what all of a file's tests do, that presses them."""
LISTED_AS = {
    "Ctrl+": "Control+",
    "↑": "ArrowUp",
    "↓": "ArrowDown",
    "←": "ArrowLeft",
    "→": "ArrowRight",
    "⇧": "Shift+",
    "−": "-",
    "PgUp": "PageUp",
    "PgDn": "PageDown",
}
"""How docs/keys.md writes a key, and how it is pressed here."""
OUT = "document.querySelector('[aria-label=\"Zoom out\"]').disabled"
"""Is the whole map shown?"""
WHOLE = "document.querySelector('.timeline [aria-selected=true]')?.textContent"
"""What the timeline shows, where it was not zoomed."""
MOVED = """new Promise((done) => {
  let [before, moved] = [performance.now(), 0];
  const look = () => {
    moved += Math.min(60, performance.now() - before);
    before = performance.now();
    if (moved > 1500) done(true);
    else requestAnimationFrame(look);
  };
  look();
})"""
"""One and a half seconds of moving: a frame that comes late counts for 60 ms."""
FEWER = "(said => said !== null && said[2] - said[1] < 300)(/steps=(\\d+)-(\\d+)/.exec(location.search))"
"""Are fewer steps shown than there are?"""


def listed_keys() -> set[str]:
    """Every key of docs/keys.md, which is the catalogue's own list, as it is pressed here."""
    rows = re.findall(r"^\| (`.*`) \| .* \|$", (ROOT / "docs" / "keys.md").read_text(), re.MULTILINE)
    keys = {key for row in rows for key in re.findall(r"`([^` ]+)`", row)}
    for written, pressed in LISTED_AS.items():
        keys = {key.replace(written, pressed) for key in keys}
    # Shift and a letter is another letter, as the list has it.
    return {"Control+k" if key == "Control+K" else key for key in keys}


def source_of(place: str) -> str:
    """The source of a function, by its file and name."""
    file, name = place.split(": ")
    text = (ROOT / "tests" / "e2e" / file).read_text()
    functions = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    return next(ast.unparse(each) for each in functions if each.name == name)


def test_every_key_of_the_list_has_a_test_that_presses_it() -> None:
    elsewhere = {key.replace("Shift+V", "V"): place for keys, place in ELSEWHERE.items() for key in keys}
    listed = listed_keys()
    assert len(listed) > 60
    assert listed == {*KEYS, *MOVES, *elsewhere} - {"Meta+k"}
    for keys, place in ELSEWHERE.items():
        source = source_of(place)
        # `hold` and `release` of the helpers press Shift+Space.
        missing = [
            key
            for key in keys
            if repr(key) not in source and not (key == "Shift+Space" and "hold(" in source)
        ]
        assert missing == [], place


def test_w_a_s_d_move_what_had_the_pointer_or_the_focus_last(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page)
    until(page, OUT)
    hold(page, "w", f"!{OUT}")
    hold(page, "s", OUT)
    hold(page, "w", f"!{OUT}")
    page.keyboard.press("3")
    until(page, f"{FOCUS} === 'map'")
    page.keyboard.press("0")
    until(page, OUT)
    # The timeline has the focus, so the map stays.
    page.keyboard.press("8")
    until(page, f"{FOCUS} === 'timeline'")
    until(page, f"({WHOLE}) !== undefined")
    # So far that there is room on both sides.
    hold(page, "w", f"({WHOLE}) === undefined && {FEWER}")
    assert page.evaluate(OUT)
    for key in ("a", "d", "a"):
        lanes = page.locator(".timeline canvas")
        before = settled(page, lanes.screenshot)
        page.keyboard.down(key)
        becomes(page, lambda lanes=lanes, before=before: lanes.screenshot() != before, True)  # type: ignore[misc]
        page.keyboard.up(key)
    hold(page, "s", f"({WHOLE}) === 'all'")
    # The pointer takes it back; where somebody types, a letter is a letter.
    page.locator(".map").hover()
    hold(page, "w", f"!{OUT}")
    page.keyboard.press("g")
    page.keyboard.type("was")
    expect(page.get_by_label("Go to a step")).to_have_value("was")
    page.keyboard.press("Escape")
    assert step_of(page) == 100


@pytest.mark.slow
def test_what_is_typed_after_g_is_a_step_though_it_begins_like_the_one_that_stood_there(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=1")
    page.keyboard.press("g")
    page.keyboard.type("12")
    expect(page.get_by_label("Go to a step")).to_have_value("12")
    page.keyboard.press("Enter")
    until(page, f"{AT}.step === 12")


@pytest.mark.slow
def test_space_plays_and_pauses_however_fast_it_comes(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page)
    page.locator("select.pace").select_option(label="4 steps/s")
    for presses, mode in ((3, "play"), (2, "play"), (1, "at"), (2, "at")):
        for _ in range(presses):
            page.keyboard.press("Space")
        ready(page)
        until(page, f"mode => {AT}.mode === mode", mode)


@pytest.mark.slow
def test_the_list_of_keys_leaves_at_once_and_the_next_key_is_the_pages(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page)
    for key in ("?", "Escape", "?", "?", "?", "Escape", "."):
        page.keyboard.press(key)
    until(page, f"{AT}.step === 101")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands")).to_be_visible()
    expect(page.locator("dialog.keys")).to_have_count(0)


@pytest.mark.slow
def test_f_brings_what_is_selected_into_view(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    sequence = max(recording.state_after(100)["tables"])[0]
    page = opened(viewing, recording, open_page, f"&step=100&seq={sequence}&block=130")
    row = page.locator(f'.sequence[data-sequence="{sequence}"]')
    page.locator(".tables").evaluate("element => element.scrollTo(0, 0)")
    # Far away from the block, in a corner.
    page.locator(".map").hover(position={"x": 3, "y": 3})
    page.keyboard.down("w")
    page.evaluate(MOVED)
    page.keyboard.up("w")
    page.keyboard.press("f")
    expect(row).to_be_in_viewport()
    # It lies in the middle now, where a click lets go of it.
    page.locator(".map").hover()
    expect(page.locator(".map .tip b")).to_have_text("130")
    expect(page.locator(".inspector .big").first).to_contain_text("130")
    page.locator(".map").click()
    expect(page.locator(".inspector .big").first).not_to_contain_text("130")
    until(page, "!location.search.includes('block=')")


def test_arrows_walk_on_the_map_mark_on_it_and_zoom_keys_zoom_it(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=100&block=0")
    block = "Number(new URLSearchParams(location.search).get('block'))"
    page.keyboard.press("3")
    until(page, f"{FOCUS} === 'map'")
    page.keyboard.press("ArrowRight")
    until(page, f"{block} === 1")
    page.keyboard.press("ArrowDown")
    until(page, f"{block} > 2")
    below = page.evaluate(block)
    page.keyboard.press("ArrowLeft")
    until(page, f"below => {block} === below - 1", below)
    page.keyboard.press("ArrowUp")
    until(page, f"{block} === 0")
    for key, blocks in (
        *(("Shift+ArrowRight", 2), ("Shift+ArrowDown", 4)),
        *(("Shift+ArrowLeft", 2), ("Shift+ArrowUp", 1)),
    ):
        page.keyboard.press(key)
        until(page, "blocks => window.kvarium.shown('inside').inside?.blocks === blocks", blocks)
    for key, is_whole in (("+", False), ("-", True), ("+", False), ("0", True)):
        page.keyboard.press(key)
        until(page, f"is => {OUT} === is", is_whole)


def test_pages_of_requests_are_turned_in_the_timeline(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page)
    count = page.locator(".timeline .rowcount")
    expect(count).to_have_attribute("title", re.compile(r"\b1 to "))
    page.keyboard.press("8")
    until(page, f"{FOCUS} === 'timeline'")
    page.keyboard.press("PageDown")
    expect(count).not_to_have_attribute("title", re.compile(r"\b1 to "))
    page.keyboard.press("PageUp")
    expect(count).to_have_attribute("title", re.compile(r"\b1 to "))


def test_panels_stand_in_the_address_and_back_leaves_them(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = opened(viewing, recording, open_page, "&step=100&centre=events")
    expect(page.locator(".events")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator(".centre [data-filter]")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    until(page, "location.search.includes('left=scheduler')")
    page.keyboard.press("3")
    until(page, "!location.search.includes('centre=')")
    page.go_back()
    expect(page.locator(".events")).to_be_visible()
    page.go_back()
    expect(page.locator(".tables")).to_be_visible()
    page.goto(f"{viewing.url}/?session={recording.session}&step=100&centre=cellar")
    ready(page)
    expect(page.get_by_role("alert")).to_contain_text("centre=cellar")
    expect(page.locator(".map")).to_be_visible()


@pytest.mark.slow
def test_each_key_does_what_the_list_of_keys_says(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    sequence, _, _, block = max(recording.state_after(100)["tables"])
    place = f"{viewing.url}/?session={recording.session}&step=100&seq={sequence}&block={block}"
    page = open_page(place, permissions=["clipboard-read", "clipboard-write"])
    ready(page)
    for key, (after, then) in KEYS.items():
        seek(page, 100)
        # A list that has the focus has Home and End for itself.
        page.evaluate("document.activeElement?.blur()")
        before = page.evaluate(f"({{ op: {AT}.op, theme: document.documentElement.dataset.theme }})")
        page.keyboard.press(key)
        try:
            until(page, f"before => {then}", before)
        except AssertionError as error:
            now = page.evaluate(f"[{AT}, document.activeElement?.outerHTML.slice(0, 120), location.search]")
            raise AssertionError(f"{key}: {error}; now {now}") from None
        for each in after.split():
            page.keyboard.press(each)
        if key == "o":
            ready(page)
