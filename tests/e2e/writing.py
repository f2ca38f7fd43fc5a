"""The playground as a test writes in it, and what the server tells of what was sent."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready


def playground(server: ServerProcess, open_page: Pages, **options: Any) -> Page:
    page = open_page(server.url, **options)
    ready(page)
    page.keyboard.press("p")
    expect(page.locator("textarea[name=prompt]")).to_be_focused()
    return page


def typed(page: Page) -> Locator:
    return page.locator("textarea[name=prompt]")


def send(page: Page, prompt: str, **fields: object) -> Locator:
    """Write a prompt, fill fields, send by keyboard; the card that appears."""
    for name, value in fields.items():
        page.locator(f"input[name={name}]").fill(str(value))
    before = page.locator("article.sent").count()
    typed(page).fill(prompt)
    typed(page).press("Control+Enter")
    expect(page.locator("article.sent")).to_have_count(before + 1)
    return page.locator("article.sent").first


def number(card: Locator) -> int:
    return int(card.get_attribute("data-request") or "")


def session_of(page: Page) -> str:
    return str(page.evaluate("new URLSearchParams(location.search).get('session')"))


def words(tokens: list[int], pieces: dict[int, str]) -> str:
    """Tokens as the page writes them: pieces as text, the others as #id."""
    text = b""
    for token in tokens:
        piece = pieces.get(token, f"#{token} ")
        found = re.fullmatch("(?:<0x([0-9A-F]{2})>)+", piece)
        text += bytes.fromhex(re.sub("<0x|>", "", piece)) if found else piece.encode()
    return text.decode(errors="replace")


def told_of(page: Page, request: int) -> Any:
    """What the server tells of a request that has ended on the page: once its end is stored, too."""
    found: list[Any] = []

    def is_stored() -> bool:
        found[:] = [told(page, f"requests/{request}/tokens")]
        return found[0]["ending"] is not None

    becomes(page, is_stored, True)
    return found[0]


def told(page: Page, path: str) -> Any:
    return page.evaluate(
        "([session, path]) => fetch(`api/sessions/${session}/${path}`).then(answer => answer.json())",
        [session_of(page), path],
    )
