"""``make screenshots``: pictures of every view of the real page on a real engine, dark and light, into docs/screenshots/.

kvarium demo ── its model's conversations ──▶ held ──▶ the page, view by view ──▶ NAME.png, NAME-light.png
     └── export ──▶ one page from disk ───────────────────────────────────────▶ exported.png …
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.backend.server_process import ServerProcess, kvarium, process  # noqa: E402
from tests.e2e.page import until  # noqa: E402

from kvarium.bench.chromium import FLAGS  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
SIZE = (1440, 900)
STEPS = 160
"""So many steps of the demo's conversations: blocks are shared, copied, evicted and hit by then."""
PROMPT = "Write two lines about a fish tank full of memory blocks."
SHARED_BLOCK = """async () => {
  const state = await window.kvarium.state();
  const shared = state.count.map((count, block) => [count, state.filled[block], block]).filter(([count]) => count > 1);
  return (shared.sort((a, b) => b[0] - a[0])[0] ?? [0, 0, 0])[2];
}"""
BUSY = """() => {
  const { series, position } = window.kvarium.shown('series', 'position');
  const found = series.preempted.findLastIndex((count) => count > 0);
  return found < 0 ? position.step : series.from + series.per * found;
}"""
"""The last step that is shown in which a request was preempted: the pool is full then, and somebody waits."""
RUNNING = """async () => {
  const { requests } = await window.kvarium.state();
  return (requests.find(([, state]) => state === 'running') ?? requests[0] ?? [0])[0];
}"""


@dataclass(frozen=True)
class View:
    """A picture: its file's name, what it shows, where in the page that is, and what is done to come there.

    ``part`` is the element that is pictured, the whole page where there is none; ``query`` goes behind the address of the step.
    """

    name: str
    caption: str
    act: Callable[[Page], None] = lambda page: None
    query: str = ""
    part: str | None = None


def events(page: Page) -> None:
    """The list of events, filtered."""
    page.keyboard.press("5")
    field = page.get_by_role("combobox", name="Filter of events")
    field.fill("op:evict,copy,share")
    field.press("Enter")
    field.press("Escape")
    until(
        page,
        "(({ events }) => events?.looking === false && events.rows.length > 0)(window.kvarium.shown('events'))",
    )


def why(page: Page) -> None:
    """Where the memory goes: asked with nothing selected."""
    page.keyboard.press("y")
    expect(page.locator(".why .because")).to_be_visible()


def tree(page: Page) -> None:
    """The prefix tree, its texts there."""
    page.keyboard.press("4")
    expect(page.get_by_role("treeitem").first).to_be_visible()
    until(page, "window.kvarium.shown('tree').tree?.rows.every(row => !row.isLoading)")


def sql(page: Page) -> None:
    """A worked question, answered."""
    page.keyboard.press("9")
    page.get_by_label("Worked questions").select_option(label="Why is the hit rate low?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer tr.row").first).to_be_visible(timeout=60_000)


def findings(page: Page) -> None:
    """What is wrong in the recording."""
    page.keyboard.press("i")
    expect(page.locator(".symptom").first).to_be_visible(timeout=60_000)


def palette(page: Page) -> None:
    """The palette, with something typed."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("ev")
    expect(page.get_by_role("dialog", name="Commands").get_by_role("option").first).to_be_visible()


def keys(page: Page) -> None:
    """The list of keys."""
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()


def sessions(page: Page) -> None:
    """The list of sessions, with their curves."""
    page.keyboard.press("o")
    expect(page.locator(".landing tbody td").first).to_be_visible()
    expect(page.locator(".landing tbody svg, .landing tbody canvas").first).to_be_visible()


def tour(page: Page) -> None:
    """The first note, asked for again."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("five notes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Commands")).to_be_hidden()


def views(block: int, request: int) -> list[View]:
    """All of them, of a step in which a block is shared and a request runs."""
    of_block, of_request = f"&block={block}", f"&request={request}"
    return [
        View(
            "inspector",
            "Everything at once: tables, map, free queue, one block's life, timeline",
            query=of_block,
        ),
        View(
            "request", "A request: what it was asked and answers, its sequences, its story", query=of_request
        ),
        View("map", "The memory map over the free queue", query=of_request, part=".panel.centre"),
        View("queue", "The free queue, head to tail: who goes next, and what it would lose", part=".queue"),
        View(
            "tables",
            "The block tables: a row a sequence, a chip a block",
            query=of_request,
            part=".panel.left",
        ),
        View(
            "scheduler",
            "The scheduler: what the step did, who runs, who waits and why",
            lambda page: page.keyboard.press("2"),
        ),
        View("tree", "The prefix tree: contents by their text, copies, hits and holders", tree, of_block),
        View("events", "The events, filtered", events, of_block),
        View("sql", "A worked question about the recording, in SQL", sql),
        View("findings", "The findings: what is wrong, what proves it, what to change", findings),
        View("why", "Why: a question about the recording, and its answer with links", why),
        View("timeline", "The timeline: use, tokens a step, landmarks", part=".timeline"),
        View("palette", "The command palette", palette),
        View("keys", "The keys", keys),
        View("tour", "A note of a first visit", tour),
        View("sessions", "The list of sessions", sessions),
    ]


def picture(page: Page, name: str, part: str | None) -> None:
    """One file, small enough to be looked at in a README."""
    path = FOLDER / f"{name}.png"
    page.mouse.move(0, 0)
    if part is None:
        page.screenshot(path=path)
    else:
        page.locator(part).screenshot(path=path)
    print(f"screenshots: {path.relative_to(ROOT)}  {path.stat().st_size >> 10} KiB", flush=True)


def opened(browser: Browser, url: str, scheme: str) -> Page:
    """A page of a reader who was there before."""
    page = browser.new_page(
        viewport={"width": SIZE[0], "height": SIZE[1]},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    page.add_init_script("try { localStorage.setItem('kvarium.tour', 'seen'); } catch {}")
    page.goto(url)
    until(page, "window.kvarium !== undefined")
    page.evaluate("window.kvarium.ready()")
    until(page, "window.kvarium.light().colour === 'green'")
    return page


def taken(browser: Browser, address: str, view: View) -> None:
    """A view in both themes."""
    for scheme, suffix in (("dark", ""), ("light", "-light")):
        page = opened(browser, f"{address}{view.query}", scheme)
        view.act(page)
        # The list of sessions has none open, and is never ready in that sense.
        if page.locator(".landing").count() == 0:
            page.evaluate("window.kvarium.ready()")
        # What is looked up beside the state: rows of requests, texts, lists, the whole timeline.
        if page.locator(".timeline").count() > 0:
            until(page, "window.kvarium.shown('lanes').lanes?.isLoading !== true")
        page.wait_for_timeout(1500)
        picture(page, f"{view.name}{suffix}", view.part)
        page.close()


def recorded(db: str, blocks: int) -> None:
    """A session without a model, so that the list of sessions has more than one."""
    options = (
        "--runner",
        "null",
        "--num-gpu-blocks-override",
        str(blocks),
        "--steps",
        "300",
        "--step-ms",
        "2",
    )
    done = kvarium("serve", "--port", "0", "--db", db, "--exit-with-engine", *options)
    if done.returncode != 0:
        raise SystemExit(done.stderr)


def playground(browser: Browser, server: ServerProcess) -> None:
    """Three samples of a prompt, some words into their answers, on an engine that then is held."""
    for scheme, suffix in (("dark", ""), ("light", "-light")):
        page = opened(browser, server.url, scheme)
        page.keyboard.press("p")
        page.locator("input[name=n]").fill("3")
        page.locator("textarea[name=prompt]").fill(PROMPT)
        page.keyboard.press("Control+Enter")
        card = page.locator("article.sent").first
        expect(card.locator(".chips canvas").first).to_be_visible(timeout=60_000)
        began = page.evaluate("window.kvarium.position().step")
        until(page, "step => window.kvarium.position().step > step + 24", began, timeout=120)
        picture(page, f"playground{suffix}", None)
        page.close()


def exported(browser: Browser, session: str, db: str, folder: str, step: int) -> None:
    """The same recording as one page, from disk."""
    place = Path(folder) / "fish tank.html"
    done = kvarium("export", session, "--db", db, "--format", "html", "-o", str(place))
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    taken(
        browser,
        f"{place.as_uri()}?step={step}",
        View("exported", "A recording as one page, opened from disk"),
    )


def index(shown: list[View]) -> None:
    """docs/screenshots/README.md: all pictures with what they show."""
    lines = [
        "# Screenshots",
        "",
        "Made by `make screenshots`, from the demo's model on the real engine. Each has its light twin.",
        "",
    ]
    for view in shown:
        lines += [
            f"## {view.caption}",
            "",
            f"![{view.caption}]({view.name}.png) [light]({view.name}-light.png)",
            "",
        ]
    (FOLDER / "README.md").write_text("\n".join(lines))


def main() -> None:
    """Run the demo, with its model; the names of views that are given, or all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    chromium = subprocess.run(
        [ROOT / "scripts" / "chromium.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()
    wanted = set(sys.argv[1:])
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        ExitStack() as stack,
    ):
        for blocks in (256, 4096):
            recorded(f"{folder}/demo.db", blocks)
        demo = process("demo", "--no-browser", "--port", "0", "--db", f"{folder}/demo.db")
        server = stack.enter_context(demo)
        server.wait_ready().wait_line("engine linked", 180)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = opened(browser, server.url, "dark")
        until(page, "steps => window.kvarium.position().step >= steps", STEPS, timeout=300)
        page.keyboard.press("Space")
        until(page, "window.kvarium.position().mode === 'at'")
        until(page, "window.kvarium.shown('series').series?.filling === false")
        step = page.evaluate(BUSY)
        page.evaluate("step => window.kvarium.seek(step)", step)
        session = page.evaluate("new URLSearchParams(location.search).get('session')")
        shown = views(page.evaluate(SHARED_BLOCK), page.evaluate(RUNNING))
        page.close()
        if not wanted or "playground" in wanted:
            playground(browser, server)
        for view in shown:
            if not wanted or view.name in wanted:
                taken(browser, f"{server.url}/?session={session}&step={step}", view)
        # An export of a session that goes on has no end.
        stack.close()
        if not wanted or "exported" in wanted:
            exported(browser, session, f"{folder}/demo.db", folder, step)
        browser.close()
    more = [View("playground", "The playground: three samples of a prompt, which share and part")]
    more.append(View("exported", "A recording as one page, opened from disk"))
    index([*shown, *more])


if __name__ == "__main__":
    main()
