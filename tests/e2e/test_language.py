"""The page in another language: chosen on the page, brought when it is chosen, and spoken everywhere."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kvarium.sql.schema import TABLES
from kvarium_ledger.operations import Cause, Operation
from tests.backend.server_process import ServerProcess
from tests.conftest import ROOT
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import ready, until

pytestmark = pytest.mark.e2e

SOURCES = ROOT / "frontend" / "src"


NAMES = {*Operation.__members__, *Cause.__members__, *TABLES, "length", "stop"}
"""The ledger's own, those of SQL's tables, and for what a request ends: the same in any language."""

SHOWN = """() => {
  const shown = [];
  for (const each of document.body.querySelectorAll('*')) {
    if (each.matches('script, style, option, [lang=en], [lang=en] *') || !each.checkVisibility()) continue;
    for (const name of ['title', 'aria-label', 'placeholder']) shown.push(each.getAttribute(name) ?? '');
    for (const node of each.childNodes) if (node.nodeType === Node.TEXT_NODE) shown.push(node.data);
  }
  for (const each of document.body.querySelectorAll('option:not([lang=en])')) shown.push(each.label);
  return [...new Set(shown.map((each) => each.replaceAll(/\\s+/g, ' ').trim()))].filter((each) => /\\p{L}{2}/u.test(each));
}"""
"""All that can be read on the page, or be heard of it, piece by piece."""


def texts(*paths: Path) -> set[str]:
    """What stands in quotes in the catalogue's files; of what is made of several, each part."""
    found: set[str] = set()
    for path in paths:
        source = re.sub(r"^\s*(?:\*|//|/\*\*|import\b).*$", "", path.read_text(), flags=re.MULTILINE)
        found |= set(re.findall(r"'((?:[^'\\\n]|\\.)+)'", source))
        found |= set(re.findall(r"[`}]([^`${}\n]+)(?=\$\{|`)", source))
    return {re.sub(r"\s+", " ", each).strip() for each in found}


@dataclass(frozen=True)
class English:
    """What is said in English and not in Vietnamese; of it what has three words on end, by which longer texts are known."""

    whole: set[str]
    parts: list[str]

    def has(self, said: str) -> bool:
        """Is it one of these texts, or made with three words of one?"""
        return said in self.whole or any(part in said for part in self.parts)


@pytest.fixture(scope="module")
def english() -> English:
    ours = {path for path in (SOURCES / "wording").glob("*.ts") if path.stem != "lessons"}
    theirs = texts(*(SOURCES / "wording" / "vi").glob("*.ts"))
    whole = texts(*ours, SOURCES / "text.ts") - theirs - NAMES
    return English(whole, [part for part in whole if re.search(r"(?:\w{2,} ){2}\w{2,}", part)])


def left_over(page: Page, english: English) -> list[str]:
    shown: list[str] = page.evaluate(SHOWN)
    assert len(shown) > 10
    return [said for said in shown if english.has(said)]


def test_another_language_is_chosen_in_the_bar_or_by_its_name_and_comes_when_it_is(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={recording.session}&step=100", 1280, 720)
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    ready(page)
    assert page.locator("html").get_attribute("lang") == "en"
    assert (
        page.evaluate(
            "performance.getEntriesByType('resource').filter(({ name }) => /vi-/.test(name)).length"
        )
        == 0
    )
    page.get_by_role("button", name="Language: Tiếng Việt").click()
    expect(page.get_by_role("tab", name="bản đồ")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "vi"
    assert any("/vi-" in url for url in fetched)
    until(page, "window.kvarium?.position().step === 100")
    # What was chosen is kept; an address that asks for another one is heard, until one is chosen again on its page.
    page.goto(f"{viewing.url}/?session={recording.session}&step=100")
    expect(page.get_by_role("tab", name="bản đồ")).to_be_visible()
    page.goto(f"{viewing.url}/?session={recording.session}&step=100&lang=en")
    expect(page.get_by_role("tab", name="map")).to_be_visible()
    ready(page)
    page.keyboard.press("Control+k")
    expect(page.locator("dialog.palette")).to_be_visible()
    page.keyboard.type("tiếng")
    expect(page.locator("dialog.palette").get_by_role("option").first).to_contain_text("Tiếng Việt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="bản đồ")).to_be_visible()


@pytest.mark.slow
def test_no_english_word_of_the_catalogue_is_left_in_vietnamese(
    viewing: ServerProcess, recording: Recording, open_page: Pages, english: English
) -> None:
    sequence, _, _, block = max(recording.state_after(100)["tables"])
    page = open_page(
        f"{viewing.url}/?session={recording.session}&step=100&block={block}&seq={sequence}&lang=vi"
    )
    ready(page)
    expect(page.locator(".inspector .big").first).to_be_visible()
    found = {"session": left_over(page, english)}
    for panel in page.locator(".panel [role=tab]").all():
        panel.click()
        expect(panel).to_have_attribute("aria-selected", "true")
        ready(page)
        found[panel.inner_text()] = left_over(page, english)
    for key, dialog in (("Control+k", "dialog.palette"), ("?", "dialog.keys")):
        page.keyboard.press(key)
        expect(page.locator(dialog)).to_be_visible()
        found[dialog] = left_over(page, english)
        page.keyboard.press("Escape")
        expect(page.locator(dialog)).to_have_count(0)
    page.keyboard.press("o")
    expect(page.locator(".landing tbody tr").first).to_be_visible()
    found["sessions"] = left_over(page, english)
    page.locator(".landing tbody tr").first.get_by_role("button", name=re.compile("^Xuất")).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["export"] = left_over(page, english)
    left = {name: said for name, said in found.items() if said}
    assert left == {}, left
