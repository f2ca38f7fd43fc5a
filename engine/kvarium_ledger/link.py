"""The link from an engine to its backend: a queue, an encoder's thread and a connection that comes back by itself.

    engine's thread        encoder's thread            connection's thread             backend
    Ledger.seal ─▶ queue ─▶ Encoder ─▶ Outbox ────────▶ websocket ───────────────────▶ commit
                                         ▲                    reader's thread ◀─ Ack ─┘
                                         └── forget ◀─────────┘  └─▶ commands ─▶ engine, between steps

The engine never waits for any of it, unless the link is ``lossless``. What the backend has not acknowledged is kept (64
MiB) and sent again after a break; past that, records are lost, a ``gap`` says which, and a fresh keyframe follows it.
"""

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from kvarium_ledger import codec
from kvarium_ledger.encoder import Encoder, PieceSource
from kvarium_ledger.ledger import Sealed, SealedStep
from kvarium_ledger.messages import Ack, Answer, Bye, Command, Health, Hello, Rejected, Welcome
from kvarium_ledger.outbox import Outbox
from kvarium_ledger.records import Keyframe

log = logging.getLogger(__name__)

BOUND_BYTES = 64 << 20
MAX_PENDING_OPERATIONS = 2_000_000
"""Operations that may wait for the encoder before records are lost."""

LOSSLESS_PENDING_OPERATIONS = 200_000
"""Operations that may wait for the encoder of a lossless link before the engine waits: enough to keep the encoder busy, few
enough to be drained within seconds at the end."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0


class Link:
    """Carries one session to a backend at ``url`` (``ws://…/api/engine``); :meth:`put` is the ledger's sink.

    ``commands`` holds what the backend asks for; the engine answers between steps with :meth:`answer`. While
    ``keyframe_wanted`` is set, the engine hands a keyframe to its ledger. ``connected`` tells whether the backend is
    there; ``rejected`` is set to the reason when the backend does not want this engine, ``failed`` to what went wrong when
    one of the threads died of a fault: then nothing more is recorded, and the engine is to end. ``trouble`` says why
    the last try to connect failed. ``pieces`` gives the text of tokens, see :class:`~kvarium_ledger.encoder.Encoder`.
    """

    def __init__(
        self,
        url: str,
        token: str,
        hello: Hello,
        lossless: bool = False,
        bound_bytes: int = BOUND_BYTES,
        pieces: PieceSource | None = None,
    ) -> None:
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.keyframe_wanted = threading.Event()
        self.connected = threading.Event()
        self.rejected: str | None = None
        self.failed: str | None = None
        self.trouble = ""
        self.gaps = 0
        self.bytes_sent = 0
        self._url = url
        self._token = token
        self._hello = hello
        self._lossless = lossless
        self._encoder = Encoder(hello.num_blocks, hello.record_text, pieces)
        self._outbox = Outbox(bound_bytes)
        self._pending: deque[Sealed] = deque()
        self._pending_operations = 0
        self._pending_changed = threading.Condition()
        self._messages: deque[bytes] = deque()
        self._lost_from: int | None = None
        self._lost_why = ""
        self._encoding = threading.Lock()
        self._closing = False
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._guarded, args=(self._encode_all,), name="kvarium-encoder", daemon=True
            ),
            threading.Thread(
                target=self._guarded, args=(self._connect_all,), name="kvarium-link", daemon=True
            ),
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def _guarded(self, body: Callable[..., None], *args: object) -> None:
        """A thread's body: a fault that nothing foresees ends the link, and lets nobody wait for it."""
        try:
            body(*args)
        except Exception as error:
            text = " ".join(str(error).split())
            self.failed = f"{threading.current_thread().name}: {type(error).__name__}" + (
                text and f": {text}"
            )
            log.debug("the link failed", exc_info=True)
            self._stopped.set()
            with self._pending_changed:
                self._pending_changed.notify_all()
            self._outbox.wake()

    # -- the engine's thread ----------------------------------------------------------------------------------------

    def put(self, sealed: Sealed) -> None:
        """Take a sealed step, control or keyframe. Waits only if the link is lossless and its bounds are reached."""
        operations = sum(len(part.blocks) for part in sealed.slices) if isinstance(sealed, SealedStep) else 0
        with self._pending_changed:
            if self._lossless:
                self._pending_changed.wait_for(
                    lambda: (
                        self._pending_operations < LOSSLESS_PENDING_OPERATIONS
                        or self._stopped.is_set()
                        or not self._lossless
                    )
                )
            self._pending.append(sealed)
            self._pending_operations += operations
            self._pending_changed.notify_all()

    def hurry(self) -> None:
        """Wait no more: a lossless link whose backend is gone must not keep its engine from ending."""
        with self._pending_changed:
            self._lossless = False
            self._pending_changed.notify_all()

    def answer(self, answer: Answer) -> None:
        """Answer a command."""
        self._send_message(answer)

    def health(self, health: Health) -> None:
        """Tell the figures of the last second."""
        self._send_message(health)

    def _send_message(self, message: Answer | Health) -> None:
        if self.connected.is_set():
            self._messages.append(codec.seal(message))
            self._outbox.wake()

    @property
    def unacknowledged_bytes(self) -> int:
        """Bytes that are kept because the backend has not committed them yet."""
        return self._outbox.bytes

    @property
    def acknowledged(self) -> int:
        """The last record that the backend has committed; -1: none."""
        return self._outbox.acknowledged

    @property
    def pending_records(self) -> int:
        """How many sealed steps wait for the encoder."""
        return len(self._pending)

    def close(self, reason: str = "", timeout: float = 10.0) -> bool:
        """Drain, say goodbye and stop. Returns False when ``timeout`` s were not enough for the backend to commit all."""
        deadline = time.monotonic() + timeout
        with self._pending_changed:
            self._closing = True
            self._pending_changed.notify_all()
        self._threads[0].join(timeout)
        left = 0.0 if self.failed is not None else max(0.0, deadline - time.monotonic())
        done = self._outbox.wait_empty(left) and not self._pending and self.failed is None
        if done and self.connected.is_set():
            self._messages.append(codec.seal(Bye(reason=reason)))
        self._stopped.set()
        with self._pending_changed:
            self._pending_changed.notify_all()
        self._outbox.wake()
        self._threads[1].join(5.0)
        return done

    # -- the encoder's thread ---------------------------------------------------------------------------------------

    def _encode_all(self) -> None:
        while True:
            with self._pending_changed:
                self._pending_changed.wait_for(
                    lambda: bool(self._pending) or self._closing or self._stopped.is_set()
                )
                if not self._pending or self._stopped.is_set():
                    break
                sealed = self._pending.popleft()
                if isinstance(sealed, SealedStep):
                    self._pending_operations -= sum(len(part.blocks) for part in sealed.slices)
                self._pending_changed.notify_all()
                too_many = self._pending_operations > MAX_PENDING_OPERATIONS
            if self._lossless:
                while self._outbox.full and self._lossless and not self._stopped.is_set():
                    self._outbox.wait_room(0.5)
            with self._encoding:
                self._encode(sealed, too_many and not self._lossless)
        with self._encoding:
            self._tell_gap()

    def _encode(self, sealed: Sealed, too_many: bool) -> None:
        if self._lost_from is None and (too_many or self._outbox.full):
            why = "the encoder fell behind the engine" if too_many else "the backend acknowledged too little"
            self._begin_loss(self._encoder.record + 1, why)
        if self._lost_from is not None:
            recovers = self._outbox.roomy and not too_many
            if not (recovers and isinstance(sealed, Keyframe)):
                self._encoder.lose(sealed)
                self._want_keyframe(recovers)
                return
            self._tell_gap()
            self._lost_from = None
            self._want_keyframe(False)
        for record, data in self._encoder.encode(sealed):
            self._outbox.append(record, data)

    def _tell_gap(self) -> None:
        if self._lost_from is not None and self._lost_from <= self._encoder.record:
            self._outbox.append(*self._encoder.gap(self._lost_from, self._lost_why))

    def _begin_loss(self, first: int, why: str) -> None:
        self._lost_from = first
        self._lost_why = why
        self.gaps += 1
        self._want_keyframe(self._outbox.roomy)
        log.warning("records are lost from %d on: %s", first, why)

    def _want_keyframe(self, wanted: bool) -> None:
        # Only when there is room: a keyframe of a large pool is not made to be thrown away.
        if wanted:
            self.keyframe_wanted.set()
        else:
            self.keyframe_wanted.clear()

    # -- the connection's threads -----------------------------------------------------------------------------------

    def _connect_all(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._stopped.is_set() and self.rejected is None:
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
            self._stopped.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _greet(self, connection: ClientConnection) -> bool:
        connection.send(codec.seal(self._hello))
        welcome = codec.open_frame(_binary(connection.recv(timeout=10)))
        if isinstance(welcome, Rejected):
            self.rejected = welcome.reason
            return False
        if not isinstance(welcome, Welcome):
            raise codec.FrameError(f"expected a welcome, not a {type(welcome).__name__.lower()}")
        with self._encoding:
            if not self._outbox.rewind(welcome.ack):
                self._outbox.clear()
                first = 0 if welcome.ack is None else welcome.ack + 1
                self._begin_loss(first, "the backend lacks records that the engine no longer keeps")
        return True

    def _serve(self, connection: ClientConnection) -> None:
        broken = threading.Event()
        reader = threading.Thread(
            target=self._guarded,
            args=(self._read_all, connection, broken),
            name="kvarium-link-reader",
            daemon=True,
        )
        reader.start()
        self.connected.set()
        try:
            while not broken.is_set():
                while self._messages:
                    connection.send(self._messages.popleft())
                if self._stopped.is_set():
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
                    if self._lost_from is not None and self._outbox.roomy:
                        self.keyframe_wanted.set()
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
