"""A real server on 127.0.0.1, in a thread of the test's process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from kvarium.app import Application
from kvarium.hub import Hub
from kvarium.recording.database import open_for_reading, open_for_server
from kvarium.serve import bind, server_config
from kvarium_ledger import codec
from kvarium_ledger.messages import AnyMessage, Hello
from kvarium_ledger.records import AnyRecord
from tests.backend.hand_engine import HandEngine, hello

TOKEN = "a token of the tests"


class RunningServer:
    """A server over the recording at ``path``."""

    def __init__(self, path: Path | str, read_only: bool = False, **options: Any) -> None:
        self.path = path
        self.database = open_for_reading(str(path)) if read_only else open_for_server(str(path))
        self._socket = bind("127.0.0.1", 0)
        self.port: int = self._socket.getsockname()[1]
        self.application = Application(self.database, engine_token=TOKEN, **options)
        self._server = uvicorn.Server(server_config(self.application))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        wait_for(lambda: self._server.started)
        # Nothing is encrypted here: to read the machine's certificates takes longer than most tests.
        self.http = httpx2.Client(
            base_url=f"http://127.0.0.1:{self.port}", trust_env=False, verify=False, timeout=60
        )

    @property
    def hub(self) -> Hub:
        assert self.application.hub is not None
        return self.application.hub

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def engine(self, greeting: Hello | None = None, token: str = TOKEN) -> HandEngine:
        return HandEngine(self.ws, token, greeting or hello())

    def get(self, path: str, **query: Any) -> Any:
        response = self.http.get(f"/api{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def bytes(self, path: str, **query: Any) -> list[bytes]:
        response = self.http.get(f"/api{path}", params=query)
        assert response.status_code == 200, response.text
        return list(codec.unpack(response.content))

    def watch(self, session: str, after: int | None = None, wish: str = "", **options: Any) -> "Watch":
        """``wish``: what else stands in the address, as ``text=none&rate=4``."""
        query = "&".join(part for part in ("" if after is None else f"after={after}", wish) if part)
        return Watch(f"{self.ws}/api/sessions/{session}/live?{query}", **options)

    def wait_indexed(self, session: str, record: int) -> None:
        wait_for(lambda: self.get(f"/sessions/{session}")["indexed_record"] == record)

    def stop(self) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._socket.close()
        self.database.close()


class Watch:
    """A viewer: everything that it was sent, decoded."""

    def __init__(self, url: str, **options: Any) -> None:
        self._open = ExitStack()
        self.connection: ClientConnection = self._open.enter_context(
            connect(
                url, compression=None, max_size=None, proxy=None, open_timeout=60, close_timeout=1, **options
            )
        )
        self.frames: list[bytes] = []

    def next(self, timeout: float = 60.0) -> AnyRecord | AnyMessage:
        raw = self.connection.recv(timeout=timeout)
        assert isinstance(raw, bytes)
        self.frames.append(raw)
        return codec.open_frame(raw)

    def until(
        self, condition: Callable[[AnyRecord | AnyMessage], bool], limit: int = 100_000
    ) -> list[AnyRecord | AnyMessage]:
        """Everything up to and with the first that meets ``condition``."""
        found = []
        for _ in range(limit):
            found.append(self.next())
            if condition(found[-1]):
                return found
        raise AssertionError("what was waited for did not come")

    def close_code(self) -> int | None:
        """Read to the end; the code with which the server closed."""
        return self.closed()[0]

    def closed(self) -> tuple[int | None, str]:
        """Read to the end; the code with which the server closed, and the reason that it gave."""
        try:
            while True:
                self.next()
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd is not None else (None, "")

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def wait_for(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    """Wait until something is so. A time for which the machine stood still counts for a second of ``timeout``."""
    left, looked = timeout, time.monotonic()
    while not condition():
        now = time.monotonic()
        left, looked = left - min(1.0, now - looked), now
        assert left > 0, "waited in vain"
        time.sleep(0.01)


@contextmanager
def running(path: Path | str, **options: Any) -> Iterator[RunningServer]:
    server = RunningServer(path, **options)
    try:
        yield server
    finally:
        server.stop()
