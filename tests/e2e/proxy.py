"""A proxy between a page and its server that can change what the server sends over a websocket."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

Change = Callable[[bytes], bytes]


class Proxy:
    """Forwards TCP to a server; ``change`` may change what the server sends, one binary websocket message a call.

    It knows just enough of HTTP and of websocket frames for that. A changed message must keep its length.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.change: Change = lambda payload: payload
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in list(self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(5)
        for each in [self._listener, *self._sockets]:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self._sockets += [client, server]
            for run in (self._upwards, self._downwards):
                thread = threading.Thread(target=_quietly, args=(run, client, server))
                self._threads.append(thread)
                thread.start()

    def _upwards(self, client: socket.socket, server: socket.socket) -> None:
        with client.makefile("rb") as read:
            head = [line for line in iter(read.readline, b"\r\n") if line]
            # The server checks that Host and Origin are its own name.
            own, its = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self.target}".encode()
            if not any(line.lower().startswith(b"upgrade: websocket") for line in head):
                # One request a connection, so that only the first head has to be looked at.
                head = [line for line in head if not line.lower().startswith(b"connection:")]
                head.append(b"Connection: close\r\n")
            server.sendall(b"".join(head).replace(own, its) + b"\r\n")
            _pour(read, server)

    def _downwards(self, client: socket.socket, server: socket.socket) -> None:
        with server.makefile("rb") as read:
            status = read.readline()
            client.sendall(status)
            if not status.startswith(b"HTTP/1.1 101"):
                _pour(read, client)
                return
            for line in iter(read.readline, b"\r\n"):
                client.sendall(line)
            client.sendall(b"\r\n")
            while head := read.read(2):
                length, extra = head[1] & 0x7F, b""
                if length >= 126:
                    extra = read.read(2 if length == 126 else 8)
                    length = int.from_bytes(extra, "big")
                payload = read.read(length)
                if head[0] & 0x0F == 2:
                    payload = self.change(payload)
                client.sendall(head + extra + payload)


def _quietly(
    run: Callable[[socket.socket, socket.socket], None], client: socket.socket, server: socket.socket
) -> None:
    with contextlib.suppress(OSError):
        run(client, server)
    for each in (client, server):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _pour(read: BinaryIO, to: socket.socket) -> None:
    while data := read.read1(65536):  # type: ignore[attr-defined]
        to.sendall(data)


@contextmanager
def proxy(port: int) -> Iterator[Proxy]:
    """A proxy in front of 127.0.0.1:``port`` until the block ends."""
    forward = Proxy(port)
    try:
        yield forward
    finally:
        forward.stop()
