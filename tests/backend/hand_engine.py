"""An engine made by hand: lawful frames of a small pool, and a connection that sends what a test tells it to."""

import random
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kvarium_ledger import codec
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.messages import Ack, Answer, AnyMessage, Bye, Command, Hello, Rejected, Welcome
from kvarium_ledger.records import AnyRecord
from tests.ledger.greeting import greeting
from tests.ledger.hand_pool import HandPool
from tests.ledger.test_fold import first_keyframe

BLOCKS, SIZE = 24, 4


def hello(session: str | None = None, **changes: object) -> Hello:
    told: dict[str, object] = {} if session is None else {"session": session}
    values = {"num_blocks": BLOCKS, "block_size": SIZE, "name": "by hand", "allow_control": True}
    return greeting(**(values | told | changes))


def hand_frames(steps: int, seed: int = 11, actions: int = 8, record_text: str = "full") -> list[bytes]:
    """A keyframe and the records of ``steps`` steps; a clock that grows by 1 ms a look."""
    sealed: list[Sealed] = []
    ticks = iter(range(0, 10**12, 1_000_000))
    pool = HandPool(Ledger(sealed.append, clock=lambda: next(ticks)), random.Random(seed), BLOCKS, SIZE)
    pool.ledger.keyframe(first_keyframe())
    for _ in range(steps):
        pool.step(pool.rng.randint(1, actions))
    encoder = Encoder(BLOCKS, record_text)
    return [frame for item in sealed for _, frame in encoder.encode(item)]


def record_of(frame: bytes) -> int:
    number = codec.peek(frame)[1]
    assert number is not None
    return number


def decoded(frame: bytes) -> AnyRecord:
    return codec.open_frame(frame)  # type: ignore[return-value]


class HandEngine:
    """A connection to a server as an engine's; ``acked`` is the last record that the server has committed."""

    def __init__(self, url: str, token: str, greeting: Hello) -> None:
        self.hello = greeting
        self.acked = -1
        self.messages: list[AnyMessage] = []
        self.answer: Callable[[Command], Answer | None] = lambda command: Answer(id=command.id)
        self._changed = threading.Condition()
        self._open = ExitStack()
        self._connection = self._open.enter_context(
            connect(
                f"{url}/api/engine",
                additional_headers={"Authorization": f"Bearer {token}"},
                compression=None,
                max_size=None,
                proxy=None,
                open_timeout=60,
            )
        )
        self._connection.send(codec.seal(greeting))
        raw = self._connection.recv(timeout=60)
        assert isinstance(raw, bytes)
        self.welcome = codec.open_frame(raw)
        if isinstance(self.welcome, Welcome):
            self.acked = -1 if self.welcome.ack is None else self.welcome.ack
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for raw in self._connection:
                assert isinstance(raw, bytes)
                message = codec.open_frame(raw)
                with self._changed:
                    self.messages.append(message)  # type: ignore[arg-type]
                    if isinstance(message, Ack):
                        self.acked = message.record
                    self._changed.notify_all()
                if isinstance(message, Command):
                    answer = self.answer(message)
                    if answer is not None:
                        self._connection.send(codec.seal(answer))
        except ConnectionClosed:
            pass
        with self._changed:
            self._changed.notify_all()

    def send(self, frames: Iterable[bytes]) -> None:
        """Send frames; a server that closes meanwhile says why in :attr:`rejected`."""
        with suppress(ConnectionClosed):
            for frame in frames:
                self._connection.send(frame)

    def wait(self, condition: Callable[[], bool], timeout: float = 60.0) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout), "the engine waited in vain"

    def wait_acked(self, record: int) -> None:
        self.wait(lambda: self.acked >= record)

    @property
    def rejected(self) -> str | None:
        every = [self.welcome, *self.messages]
        return next((found.reason for found in every if isinstance(found, Rejected)), None)

    def bye(self, reason: str = "done") -> None:
        self._connection.send(codec.seal(Bye(reason=reason)))
        self.close()

    def close(self) -> None:
        self._open.close()
        self._reader.join(60)

    def break_off(self) -> None:
        """No goodbye, not even the websocket's."""
        self._connection.socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(60)

    def __enter__(self) -> "HandEngine":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
