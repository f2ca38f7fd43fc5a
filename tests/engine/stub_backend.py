"""A backend of a few lines: it folds what an engine sends, acknowledges it, and can ask, break the link and come back."""

import threading
from http import HTTPStatus
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Ack, Answer, Bye, Command, Health, Hello, Welcome
from kvarium_ledger.records import Gap, Keyframe, Note, Record, Step, Text

TOKEN = "a token"


class StubBackend:
    """``records`` are all that came, in order; ``violations`` what the fold found; ``hello``, ``byes``, ``answers``."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.hellos = 0
        self.fold: Fold | None = None
        self.records: list[Record] = []
        self.violations: list[str] = []
        self.byes: list[Bye] = []
        self.answers: list[Answer] = []
        self.health: list[Health] = []
        self.changed = threading.Condition()
        self.acknowledge = True
        self._connection: ServerConnection | None = None
        self._server: Server | None = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/api/engine"

    def start(self) -> None:
        def check(connection: ServerConnection, request: Any) -> Any:
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                return connection.respond(HTTPStatus.UNAUTHORIZED, "no\n")
            return None

        self._server = serve(
            self._handle,
            "127.0.0.1",
            self.port,
            process_request=check,
            max_size=None,
            compression=None,
            close_timeout=0.2,
        )
        self.port = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Break the link and listen no more; :meth:`start` comes back at the same port."""
        assert self._server is not None
        self._server.shutdown()
        if self._connection is not None:
            self._connection.close()

    def _handle(self, connection: ServerConnection) -> None:
        hello = codec.open_frame(connection.recv())  # type: ignore[arg-type]
        assert isinstance(hello, Hello)
        with self.changed:
            self.hello, self._connection = hello, connection
            self.hellos += 1
            if self.fold is None:
                self.fold = Fold(hello.num_blocks, hello.block_size)
        last = self.records[-1].record if self.records else None
        connection.send(codec.seal(Welcome(version=hello.version, ack=last)))
        try:
            for raw in connection:
                self._take(connection, codec.open_frame(raw))  # type: ignore[arg-type]
        except ConnectionClosed:
            pass

    def _take(self, connection: ServerConnection, message: Any) -> None:
        assert self.fold is not None
        with self.changed:
            if isinstance(message, Record):
                if self.records and message.record <= self.records[-1].record:
                    return
                self.records.append(message)
                self.violations += [str(violation) for violation in self.fold.apply(message)]  # type: ignore[arg-type]
            elif isinstance(message, Bye):
                self.byes.append(message)
            elif isinstance(message, Answer):
                self.answers.append(message)
            elif isinstance(message, Health):
                self.health.append(message)
            self.changed.notify_all()
        if isinstance(message, Record) and self.acknowledge:
            connection.send(codec.seal(Ack(record=message.record)))

    def ask(self, id: str, name: str, **args: Any) -> Answer:
        """Send a command and wait for its answer."""
        assert self._connection is not None
        self._connection.send(codec.seal(Command(id=id, name=name, args=args, asked_by="test")))
        self.wait(lambda: any(answer.id == id for answer in self.answers))
        return next(answer for answer in self.answers if answer.id == id)

    def wait(self, what: Any, timeout: float = 60.0) -> None:
        with self.changed:
            assert self.changed.wait_for(what, timeout), "waited in vain"

    def of(self, kind: "type[Step] | type[Text] | type[Keyframe] | type[Gap] | type[Note]") -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]
