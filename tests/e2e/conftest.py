"""A browser with a new profile, and a page that fails its test when anything goes wrong in it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open a URL in a fresh context. No script error, no console error and no request to another origin is let pass."""
    faults: list[str] = []
    contexts = []

    def open_(url: str, width: int = 1600, height: int = 1000, **options: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        origin = "/".join(url.split("/")[:3])

        def request(request: object) -> None:
            address: str = request.url  # type: ignore[attr-defined]
            if not address.startswith((origin, "blob:", "data:")):
                faults.append(f"a request left the page's origin: {address}")

        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("console", lambda m: faults.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("request", request)
        page.goto(url)
        page.wait_for_function("window.kvarium !== undefined")
        return page

    open_.faults = faults  # type: ignore[attr-defined]
    yield open_
    for context in contexts:
        context.close()
    assert faults == []
