"""The link from an engine to its backend: a queue, an encoder's thread and a connection that comes back by itself.

    engine's thread        encoder's thread            connection's thread (Uplink)    backend
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

from kvarium_ledger.encoder import Encoder, PieceSource
from kvarium_ledger.ledger import Sealed, SealedStep
from kvarium_ledger.messages import Answer, Bye, Command, Health, Hello
from kvarium_ledger.outbox import Outbox
from kvarium_ledger.records import Keyframe
from kvarium_ledger.uplink import Uplink

log = logging.getLogger(__name__)

BOUND_BYTES = 64 << 20
MAX_PENDING_OPERATIONS = 2_000_000
"""Operations that may wait for the encoder before records are lost."""

LOSSLESS_PENDING_OPERATIONS = 200_000
"""Operations that may wait for the encoder of a lossless link before the engine waits: enough to keep the encoder busy, few
enough to be drained within seconds at the end."""


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
        self.keyframe_wanted = threading.Event()
        self.gaps = 0
        self.hello = hello
        self._lossless = lossless
        self._encoder = Encoder(hello.num_blocks, hello.record_text, pieces)
        self._outbox = Outbox(bound_bytes)
        self._uplink = Uplink(
            url, token, hello, self._outbox, self._begin_anew, self._acknowledged, self._notify_pending
        )
        self._pending: deque[Sealed] = deque()
        self._pending_operations = 0
        self._pending_changed = threading.Condition()
        self._lost_from: int | None = None
        self._lost_why = ""
        self._encoding = threading.Lock()
        self._closing = False
        self._stopped = self._uplink.stopped
        guarded = self._uplink.guarded
        self._threads = [
            threading.Thread(target=guarded, args=(self._encode_all,), name="kvarium-encoder", daemon=True),
            threading.Thread(target=guarded, args=(self._uplink.run,), name="kvarium-link", daemon=True),
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    @property
    def commands(self) -> "queue.SimpleQueue[Command]":
        """What the backend asks for."""
        return self._uplink.commands

    @property
    def connected(self) -> threading.Event:
        """Is the backend there?"""
        return self._uplink.connected

    @property
    def rejected(self) -> str | None:
        """Why the backend does not want this engine."""
        return self._uplink.rejected

    @property
    def failed(self) -> str | None:
        """What went wrong when one of the threads died of a fault."""
        return self._uplink.failed

    @property
    def trouble(self) -> str:
        """Why the last try to connect failed."""
        return self._uplink.trouble

    @property
    def bytes_sent(self) -> int:
        """Bytes of records that were sent, those that were sent again among them."""
        return self._uplink.bytes_sent

    def _notify_pending(self) -> None:
        with self._pending_changed:
            self._pending_changed.notify_all()

    # -- the engine's thread ----------------------------------------------------------------------------------------

    def put(self, sealed: Sealed) -> None:
        """Take a sealed step, control or keyframe. Waits only if the link is lossless and its bounds are reached."""
        operations = sealed.operations if isinstance(sealed, SealedStep) else 0
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
        self._lossless = False
        self._notify_pending()

    def answer(self, answer: Answer) -> None:
        """Answer a command."""
        self._uplink.send(answer)

    def health(self, health: Health) -> None:
        """Tell the figures of the last second."""
        self._uplink.send(health)

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
        self._closing = True
        self._notify_pending()
        self._threads[0].join(timeout)
        left = 0.0 if self.failed is not None else max(0.0, deadline - time.monotonic())
        done = self._outbox.wait_empty(left) and not self._pending and self.failed is None
        if done:
            self._uplink.send(Bye(reason=reason))
        self._uplink.stop()
        self._notify_pending()
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
                    self._pending_operations -= sealed.operations
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

    def _begin_anew(self, first: int) -> None:
        with self._encoding:
            self._outbox.clear()
            self._begin_loss(first, "the backend lacks records that the engine no longer keeps")

    def _acknowledged(self) -> None:
        if self._lost_from is not None and self._outbox.roomy:
            self.keyframe_wanted.set()

    def _want_keyframe(self, wanted: bool) -> None:
        # Only when there is room: a keyframe of a large pool is not made to be thrown away.
        if wanted:
            self.keyframe_wanted.set()
        else:
            self.keyframe_wanted.clear()
