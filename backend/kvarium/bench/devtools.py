"""A page that is driven by Chromium's own protocol and nothing else.

Playwright has every message of every WebSocket of a page, its workers' too, told to it: the worker encodes each once more, the
browser hands it on, and two processes read it. Of a session with 20,000 operations/s that is a fifth of two cores, and it would be
measured along with the page. Here nobody is told anything that was not asked for.
"""

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvarium.bench.chromium import ANSWER_SECONDS, FLAGS, SIZE, TOUR_SEEN, chromium_here
from kvarium.bench.folding import NotMeasuredError
from kvarium.errors import KvariumError
from kvarium.launch import die_with_parent

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_START_SECONDS = 30.0
_TRACE_SECONDS = 120.0
_STOP_SECONDS = 10.0

_UNHURRIED = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--no-default-browser-check",
    "--mute-audio",
)
"""A page without a window is not to be taken for one that nobody looks at."""


class DevToolsPage:
    """One page. Each call raises :class:`KvariumError` for what the page or the browser does not do."""

    def __init__(self, socket: "ClientConnection") -> None:
        """``socket``: to the browser, which is there for this page alone."""
        self._socket = socket
        self._asked = 0
        self._events: list[dict[str, Any]] = []
        self._workers: list[str] = []
        page = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._page: str = self._ask("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        # Before there is a worker, so that it is found.
        attach = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        self._ask("Target.setAutoAttach", attach, self._page)
        width, height = SIZE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", metrics, self._page)
        self._ask("Page.addScriptToEvaluateOnNewDocument", {"source": TOUR_SEEN}, self._page)

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(KvariumError):
            self._ask("Browser.close", {})

    def _receive(self, deadline: float) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            told = self._socket.recv(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise KvariumError("the page was not measured: the browser did not answer") from None
        except ConnectionClosed as error:
            raise KvariumError(f"the page was not measured: the browser is gone ({error})") from None
        message: dict[str, Any] = json.loads(told)
        if message.get("method") == "Target.attachedToTarget":
            about = message["params"]
            if about["targetInfo"]["type"] == "worker":
                self._workers.append(about["sessionId"])
        return message

    def _ask(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._asked += 1
        own = {} if session is None else {"sessionId": session}
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": parameters} | own))
        deadline = time.monotonic() + 2 * ANSWER_SECONDS
        while (message := self._receive(deadline)).get("id") != self._asked:
            self._events.append(message)
        if "error" in message:
            raise KvariumError(f"the page was not measured: {method}: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result

    def call(self, function: str, *arguments: object) -> Any:
        """What a function of the page returns, as :meth:`evaluate` does."""
        return self.evaluate(f"({function})({','.join(map(json.dumps, arguments))})")

    def evaluate(self, expression: str, /) -> Any:
        """The value of an expression; where it is a promise, what that comes to."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        told = self._ask("Runtime.evaluate", asked, self._page)
        if "exceptionDetails" in told:
            why = told["exceptionDetails"].get("exception", {}).get("description", "an exception")
            raise KvariumError(f"the page was not measured: {why.splitlines()[0]}")
        return told["result"].get("value")

    def goto(self, address: str) -> None:
        """Open an address, and wait until its scripts ran."""
        told = self._ask("Page.navigate", {"url": address}, self._page)
        if "errorText" in told:
            raise KvariumError(f"the page was not measured: {address}: {told['errorText']}")
        deadline = time.monotonic() + ANSWER_SECONDS
        while self.evaluate("location.href === 'about:blank' || document.readyState !== 'complete'"):
            if time.monotonic() > deadline:
                raise KvariumError(f"the page was not measured: {address} did not load")
            time.sleep(0.05)

    def start_tracing(self, categories: Sequence[str]) -> None:
        """Have what runs in the browser noted."""
        self._ask("Tracing.start", {"traceConfig": {"includedCategories": list(categories)}})

    def stop_tracing(self) -> list[dict[str, Any]]:
        """What ran since :meth:`start_tracing`."""
        self._ask("Tracing.end", {})
        deadline = time.monotonic() + _TRACE_SECONDS
        while not any(message.get("method") == "Tracing.tracingComplete" for message in self._events):
            self._events.append(self._receive(deadline))
        parts = [m["params"]["value"] for m in self._events if m.get("method") == "Tracing.dataCollected"]
        self._events.clear()
        return [event for part in parts for event in part]

    def held(self) -> int:
        """Bytes that the page and its workers hold, their garbage collected, with the buffers that they own."""
        assert self._workers, "the page has no worker"
        held = 0
        for session in [self._page, *self._workers]:
            self._ask("HeapProfiler.collectGarbage", {}, session)
            told = self._ask("Runtime.getHeapUsage", {}, session)
            held += int(told["usedSize"] + told["backingStorageSize"])
        return held


@contextlib.contextmanager
def devtools_page() -> Iterator[DevToolsPage]:
    """A browser and an empty page of the size that all benches have, while the body runs.

    Raises :class:`NotMeasuredError` where there is no browser.
    """
    from websockets.sync.client import connect

    chromium = chromium_here()
    with tempfile.TemporaryDirectory(prefix="kvarium-bench-", ignore_cleanup_errors=True) as folder:
        own = ("--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank")
        try:
            browser = subprocess.Popen(
                [chromium, *FLAGS, *_UNHURRIED, *own],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        except OSError as error:
            raise NotMeasuredError(f"{chromium} could not be started: {error}") from None
        try:
            # Whatever the browser says is waited for by the one that asked; between two questions nobody listens.
            unheard = {"max_size": None, "max_queue": None, "ping_interval": None}
            with (
                connect(_address(browser, Path(folder)), open_timeout=_START_SECONDS, **unheard) as socket,
                contextlib.closing(DevToolsPage(socket)) as page,
            ):
                yield page
        finally:
            _end(browser)


def _address(browser: "subprocess.Popen[bytes]", folder: Path) -> str:
    """Where it listens, once it does."""
    port = folder / "DevToolsActivePort"
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and browser.poll() is None:
        lines = port.read_text().splitlines() if port.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise NotMeasuredError(f"Chromium did not listen within {_START_SECONDS:.0f} s, or ended")


def _end(browser: "subprocess.Popen[bytes]") -> None:
    try:
        browser.wait(_STOP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        browser.kill()
        browser.wait()
