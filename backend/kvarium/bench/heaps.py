"""How much a page holds on to: what is left on its heaps, and in the buffers that they own, once its garbage is collected."""

import json
import time
from typing import TYPE_CHECKING, Any

from kvarium.errors import KvariumError

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Heaps:
    """The heaps of a page and its workers, asked over Chromium's own protocol."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._workers: list[str] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._page_session = page.context.new_cdp_session(page)
        self._page_session.on("Target.attachedToTarget", self._attached)
        self._page_session.on("Target.receivedMessageFromTarget", self._received)
        self._page_session.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}
        )

    def _attached(self, told: dict[str, Any]) -> None:
        if told["targetInfo"]["type"] == "worker":
            self._workers.append(told["sessionId"])

    def _received(self, told: dict[str, Any]) -> None:
        message = json.loads(told["message"])
        if "id" in message:
            self._answers[message["id"]] = message

    def _ask_worker(self, worker: str, method: str) -> dict[str, Any]:
        self._asked += 1
        message = json.dumps({"id": self._asked, "method": method})
        self._page_session.send("Target.sendMessageToTarget", {"sessionId": worker, "message": message})
        deadline = time.monotonic() + 30
        while self._asked not in self._answers:
            if time.monotonic() > deadline:
                raise KvariumError(f"the page's worker did not answer {method} within 30 s")
            self._page.wait_for_timeout(10)
        result: dict[str, Any] = self._answers.pop(self._asked)["result"]
        return result

    def held(self) -> int:
        """Bytes; its garbage is collected first."""
        self._page_session.send("HeapProfiler.collectGarbage")
        told = [self._page_session.send("Runtime.getHeapUsage")]
        assert self._workers, "the page has no worker"
        for worker in self._workers:
            self._ask_worker(worker, "HeapProfiler.collectGarbage")
            told.append(self._ask_worker(worker, "Runtime.getHeapUsage"))
        return sum(int(each["usedSize"] + each["backingStorageSize"]) for each in told)
