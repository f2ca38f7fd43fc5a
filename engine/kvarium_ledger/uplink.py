"""The connection of a link: it sends what an outbox holds to a backend, and comes back by itself.

    Outbox ──take──▶ run: websocket ─────────────────────────▶ backend: commit
      ▲                               reader's thread ◀─ Ack ──┘   │
      └──── acknowledge ◀─────────────┘   └─▶ commands ◀─ Command ─┘

Who fills the outbox is another matter: an engine's encoder (:mod:`kvarium_ledger.link`), or a recording that is replayed.
"""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from kvarium_ledger import codec
from kvarium_ledger.messages import Ack, Answer, Bye, Command, Health, Hello, Rejected, Welcome
from kvarium_ledger.outbox import Outbox

log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0


class Uplink:
    """Carries the session ``hello`` to a backend at ``url`` (``ws://…/api/engine``), for the thread that calls :meth:`run`.

    ``commands`` holds what the backend asks for. ``connected`` tells whether it is there; ``rejected`` is set to the reason
    when it does not want this engine, ``failed`` to what went wrong when a thread died of a fault. ``trouble`` says why the
    last try to connect failed. ``stopped`` ends it.

    ``on_lack(first)`` is called when the backend lacks records from ``first`` on that the outbox no longer keeps, before
    anything is sent; ``on_ack()`` after each acknowledgement; ``on_failed()`` after a fault.
    """

    def __init__(
        self,
        url: str,
        token: str,
        hello: Hello,
        outbox: Outbox,
        on_lack: Callable[[int], None],
        on_ack: Callable[[], None] = lambda: None,
        on_failed: Callable[[], None] = lambda: None,
    ) -> None:
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.connected = threading.Event()
        self.stopped = threading.Event()
        self.rejected: str | None = None
        self.failed: str | None = None
        self.trouble = ""
        self.bytes_sent = 0
        self._url = url
        self._token = token
        self._hello = hello
        self._outbox = outbox
        self._on_lack = on_lack
        self._on_ack = on_ack
        self._on_failed = on_failed
        self._messages: deque[bytes] = deque()

    def send(self, message: Answer | Health | Bye) -> None:
        """Send a message beside the records; it is dropped where there is no backend to hear it."""
        if self.connected.is_set():
            self._messages.append(codec.seal(message))
            self._outbox.wake()

    def stop(self) -> None:
        """End :meth:`run`, when the messages are sent."""
        self.stopped.set()
        self._outbox.wake()

    def guarded(self, body: Callable[..., None], *args: object) -> None:
        """A thread's body: a fault that nothing foresees ends the link, and lets nobody wait for it."""
        try:
            body(*args)
        except Exception as error:
            text = " ".join(str(error).split())
            self.failed = f"{threading.current_thread().name}: {type(error).__name__}" + (
                text and f": {text}"
            )
            log.debug("the link failed", exc_info=True)
            self.stop()
            self._on_failed()

    def run(self) -> None:
        """Connect and send, again and again, until it is stopped or the backend refuses."""
        pause = _FIRST_PAUSE_S
        while not self.stopped.is_set() and self.rejected is None:
            try:
                with connect(
                    self._url,
                    additional_headers={"Authorization": f"Bearer {self._token}"},
                    compression=None,
                    max_size=None,
                    open_timeout=5,
                    close_timeout=1,
                    proxy=None,
                ) as connection:
                    if self._greet(connection):
                        pause = _FIRST_PAUSE_S
                        self._serve(connection)
            except InvalidStatus as error:
                code = error.response.status_code
                if code in (401, 403):
                    self.rejected = f"the backend refused this engine (HTTP {code}): is the token right?"
                self.trouble = f"it answers with HTTP {code}"
                log.info("the backend answered with HTTP %d", code)
            except (OSError, ConnectionClosed, InvalidHandshake, TimeoutError, codec.FrameError) as error:
                self.trouble = " ".join(str(error).split()) or type(error).__name__
                log.info("no link to %s: %s", self._url, error)
            finally:
                self.connected.clear()
            self.stopped.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _greet(self, connection: ClientConnection) -> bool:
        connection.send(codec.seal(self._hello))
        welcome = codec.open_frame(_binary(connection.recv(timeout=10)))
        if isinstance(welcome, Rejected):
            self.rejected = welcome.reason
            return False
        if not isinstance(welcome, Welcome):
            raise codec.FrameError(f"expected a welcome, not a {type(welcome).__name__.lower()}")
        if not self._outbox.rewind(welcome.ack):
            self._on_lack(0 if welcome.ack is None else welcome.ack + 1)
        return True

    def _serve(self, connection: ClientConnection) -> None:
        broken = threading.Event()
        reader = threading.Thread(
            target=self.guarded,
            args=(self._read_all, connection, broken),
            name="kvarium-link-reader",
            daemon=True,
        )
        reader.start()
        self.connected.set()
        try:
            while not broken.is_set():
                # Looked at first: what was said before the end is sent.
                stopped = self.stopped.is_set()
                while self._messages:
                    connection.send(self._messages.popleft())
                if stopped:
                    return
                for frame in self._outbox.take(timeout=0.25):
                    connection.send(frame.data)
                    self.bytes_sent += len(frame.data)
        finally:
            self._messages.clear()
            connection.close()
            reader.join(2.0)

    def _read_all(self, connection: ClientConnection, broken: threading.Event) -> None:
        try:
            for raw in connection:
                message = codec.open_frame(_binary(raw))
                if isinstance(message, Ack):
                    self._outbox.acknowledge(message.record)
                    self._on_ack()
                elif isinstance(message, Command):
                    self.commands.put(message)
        except (ConnectionClosed, codec.FrameError) as error:
            log.info("the link broke: %s", error)
        finally:
            broken.set()
            self._outbox.wake()


def _binary(raw: str | bytes) -> bytes:
    if isinstance(raw, str):
        raise codec.FrameError("a text message where a frame was expected")
    return raw
