"""``make screenshots``: pictures of the real page with the real engine process, into docs/screenshots/."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.backend.server_process import process  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking"]
SHARED_BLOCK = """async () => {
  const state = await window.kvarium.state();
  const shared = state.count.map((count, block) => [count, state.filled[block], block]).filter(([count]) => count > 1);
  return (shared.sort((a, b) => b[0] - a[0])[0] ?? [0, 0, 0])[2];
}"""


def picture(page: Page, name: str) -> None:
    """One file, small enough to be looked at in a README."""
    path = ROOT / "docs" / "screenshots" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    print(f"screenshots: {path.relative_to(ROOT)}  {path.stat().st_size >> 10} KiB")


PROMPT = "Write two lines about a fish tank full of memory blocks."


def main() -> None:
    """Run the demo, with its model, and look at it in both themes; then ask for three samples."""
    chromium = subprocess.run(
        [ROOT / "scripts" / "chromium.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with (
        tempfile.TemporaryDirectory() as folder,
        process("demo", "--no-browser", "--port", "0", "--db", f"{folder}/demo.db") as server,
        sync_playwright() as playwright,
    ):
        server.wait_ready().wait_line("engine linked", 120)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000}, color_scheme="dark")
        # Without the notes of a first visit.
        page.add_init_script("localStorage.setItem('kvarium.tour', 'seen')")
        page.goto(server.url)
        time.sleep(20)
        page.keyboard.press("Space")
        page.evaluate("window.kvarium.ready()")
        session = page.evaluate("new URLSearchParams(location.search).get('session')")
        step = page.evaluate("window.kvarium.position().step")
        place = f"{server.url}/?session={session}&step={step}"
        shared = f"{place}&block={page.evaluate(SHARED_BLOCK)}"
        for scheme, name in (("dark", "inspector"), ("light", "inspector-light")):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(shared)
            page.evaluate("window.kvarium.ready()")
            time.sleep(6)
            picture(page, name)
        page.emulate_media(color_scheme="dark")
        page.goto(f"{server.url}/?session={session}")
        page.evaluate("window.kvarium.ready()")
        page.keyboard.press("p")
        page.locator("input[name=n]").fill("3")
        page.locator("textarea[name=prompt]").fill(PROMPT)
        page.keyboard.press("Control+Enter")
        time.sleep(5)
        picture(page, "playground")
        browser.close()


if __name__ == "__main__":
    main()
