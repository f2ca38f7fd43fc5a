"""A websocket proxy between a page and its server that can flip one byte of one frame on the way."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Change = Callable[[bytes], bytes]


class TcpProxy:
    """Forwards TCP to a server; :attr:`change` may change what the server sends, as one websocket payload a call.

    It knows just enough of the websocket's framing to change payload bytes of binary messages from the server.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.port = 0
        self.change: Change = lambda payload: payload
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(5)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            request = await reader.readuntil(b"\r\n\r\n")
            # The server checks that the host is its own name.
            own, theirs = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self.target}".encode()
            up_writer.write(
                _close(request, is_websocket=b"upgrade: websocket" in request.lower()).replace(own, theirs)
            )
            head = await up_reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            upwards = asyncio.create_task(_pour(reader, up_writer))
            if head.startswith(b"HTTP/1.1 101"):
                await self._pour_frames(up_reader, writer)
            else:
                await _pour(up_reader, writer)
            upwards.cancel()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _pour_frames(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readexactly(2)
            length, extra = head[1] & 0x7F, b""
            if length >= 126:
                extra = await reader.readexactly(2 if length == 126 else 8)
                length = int.from_bytes(extra, "big")
            payload = await reader.readexactly(length)
            if head[0] & 0x0F == 2:
                payload = self.change(payload)
                assert len(payload) == length
            writer.write(head + extra + payload)
            await writer.drain()


def _close(request: bytes, is_websocket: bool) -> bytes:
    """One request a connection, so that only the first one's head has to be looked at."""
    if is_websocket:
        return request
    lines = [line for line in request.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([lines[0], b"Connection: close", *lines[1:]])


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@contextmanager
def proxy(port: int) -> Iterator[TcpProxy]:
    """A proxy in front of 127.0.0.1:``port`` until the block ends."""
    forward = TcpProxy(port)
    forward.start()
    try:
        yield forward
    finally:
        forward.stop()
