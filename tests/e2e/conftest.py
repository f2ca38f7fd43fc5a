"""A browser with a new profile, a page that fails its test when anything goes wrong in it, a live server, a recording."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from kvarium.bench.chromium import FLAGS
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.e2e.page import THROTTLE, WAIT, until
from tests.plain_state import plain_state

WAIT_MS = 1000 * WAIT * THROTTLE

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, headless=True, args=FLAGS)
        yield browser
        browser.close()


GONE = ("net::ERR_", "WebSocket connection to")
"""With what the browser tells that a server does not answer."""


def is_fault(line: ConsoleMessage) -> bool:
    """Is a line of the console an error of the page? A server that the test ended while the page asks it is none."""
    return line.type == "error" and "net::ERR_CONNECTION_REFUSED" not in line.text


@dataclass
class Pages:
    """Opens pages, and remembers what went wrong in them: a script error, a console error, a request elsewhere.

    What a test provokes it has forgiven beforehand: the browser tells of a refused request in its own time, maybe after the
    page has shown what it made of it. Their reader was there before, and has seen the notes of a first visit, unless ``first_visit`` says otherwise.
    """

    browser: Browser
    forgiven: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    def forgive(self, *words: str) -> None:
        """A fault that is told with any of ``words`` in it is none: ``status of 422``, or :data:`GONE`."""
        self.forgiven += words

    @property
    def faults(self) -> list[str]:
        return [line for line in self.told if not any(words in line for words in self.forgiven)]

    def __call__(
        self,
        url: str,
        width: int = 1600,
        height: int = 1000,
        *,
        first_visit: bool = False,
        script: str | None = None,
        **options: Any,
    ) -> Page:
        """``script`` runs before those of the page."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, **options)
        self.contexts.append(context)
        if not first_visit:
            context.add_init_script("try { localStorage.setItem('kvarium.tour', 'seen'); } catch {}")
        if script is not None:
            context.add_init_script(script)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        if THROTTLE > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
        origin = "/".join(url.split("/")[:3])

        def requested(request: Request) -> None:
            if not request.url.startswith((origin, "blob:", "data:")):
                self.told.append(f"a request left the page's origin: {request.url}")

        page.on("pageerror", lambda error: self.told.append(f"script error: {error}"))
        page.on("console", lambda line: self.told.append(line.text) if is_fault(line) else None)
        page.on("request", requested)
        page.goto(url)
        until(page, "window.kvarium !== undefined")
        return page


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Pages]:
    pages = Pages(browser)
    yield pages
    # Servers of the test end before its pages do, which may just be asking them for something.
    pages.forgive(*GONE)
    for context in pages.contexts:
        context.close()
    assert pages.faults == []


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the real engine process: the seeded mix on 512 blocks, at a pace that a person can watch."""
    db = tmp_path_factory.mktemp("live") / "live.db"
    with process(
        *("serve", "--port", "0", "--db", str(db), "--num-gpu-blocks-override", "512", "--seed", "3"),
        *("--step-ms", "40"),
    ) as server:
        server.wait_ready().wait_line("engine linked")
        yield server


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the real engine process, which does nothing but what it is asked for."""
    db = tmp_path_factory.mktemp("playground") / "playground.db"
    options = ("--runner", "null", "--no-mix", "--step-ms", "30", "--num-gpu-blocks-override", "96")
    with process("serve", "--port", "0", "--db", str(db), *options) as server:
        server.wait_ready().wait_line("engine linked")
        yield server


@dataclass(frozen=True)
class Recording:
    """A finished recording, and what the Python fold says of each of its steps."""

    path: Path
    session: str
    steps: int
    frames: list[bytes]
    hello: Hello

    def fold_after(self, step: int) -> Fold:
        """The Python fold after ``step``, from the first record on."""
        fold = Fold(self.hello.num_blocks, self.hello.block_size)
        for frame in self.frames:
            record = codec.open_frame(frame)
            if getattr(record, "step", -1) > step:
                break
            assert fold.apply(record) == []  # type: ignore[arg-type]
        return fold

    def state_after(self, step: int) -> dict[str, Any]:
        """The state after ``step`` as the Python fold gives it."""
        return plain_state(self.fold_after(step))

    def requests_of_sequences(self) -> dict[int, int]:
        """The request of each sequence of the session."""
        opened = (codec.open_frame(frame) for frame in self.frames)
        return {
            decision.sequence: decision.request
            for record in opened
            if isinstance(record, Step)
            for decision in record.decisions
            if isinstance(decision, SequenceCreated)
        }

    def state_behind(self, operation: int) -> dict[str, Any]:
        """The state behind an operation of the session, as the Python fold undoes its record to there."""
        fold = Fold(self.hello.num_blocks, self.hello.block_size)
        for frame in self.frames:
            record = codec.open_frame(frame)
            assert fold.apply(record) == []  # type: ignore[arg-type]
            if isinstance(record, Step) and fold.op > operation:
                if fold.op == operation + 1:
                    return self.state_after(record.step)
                fold.stand(record, operation + 1)
                break
        return plain_state(fold)


def read_recording(path: Path) -> Recording:
    """The latest session of a file."""
    database = open_for_reading(str(path))
    reader = Reader(database)
    number = reader.find("latest")
    hello, _ = reader.hello(number)
    frames = [frame.bytes for frame in reader.frames(number)]
    steps = int(reader.session(number)["last_step"]) + 1
    database.close()
    return Recording(path, hello.session, steps, frames, hello)


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """500 steps of the seeded mix on 256 blocks, recorded by the real thing."""
    path = tmp_path_factory.mktemp("recording") / "mix.db"
    done = kvarium(
        *("serve", "--port", "0", "--db", str(path), "--exit-with-engine", "--step-ms", "0"),
        *("--steps", "500", "--num-gpu-blocks-override", "256", "--seed", "5"),
    )
    assert done.returncode == 0, done.stderr
    return read_recording(path)


@pytest.fixture(scope="session")
def viewing(recording: Recording) -> Iterator[ServerProcess]:
    """A server that shows :func:`recording`, and writes nothing."""
    with process("view", str(recording.path), "--port", "0", "--no-open") as server:
        yield server.wait_ready()
