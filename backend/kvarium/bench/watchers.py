"""Viewers of a live session, as many as are asked for, in a process of their own: ``python -m kvarium.bench.watchers URL COUNT``.

URL is ``ws://HOST:PORT/api/sessions/ID/live``. The first viewer keeps the engine's health; the last one is stuck: it is
linked, and reads nothing. All leave when the session says goodbye. Prints ``watching`` when all are there, and at the end one
JSON object.
"""

import asyncio
import json
import socket
import sys
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from kvarium_ledger import codec
from kvarium_ledger.messages import Bye, Health, Skip

_STUCK_BUFFER_BYTES = 64 << 10
_AT_ONCE = 20
"""Viewers that are linking at one time."""


class Watching:
    """What the viewers saw: those that read, and of the engine's health what came while all ``count`` were there."""

    def __init__(self, url: str, count: int) -> None:
        self.count = count
        self._url = url
        self._there = asyncio.Semaphore(_AT_ONCE)
        self.linked = 0
        self.ended = asyncio.Event()
        self.last_records: list[int] = []
        self.skips = 0
        self.broken = 0
        self.health: list[Health] = []

    async def _link(self, sock: socket.socket | None = None, queue: int = 16) -> ClientConnection:
        async with self._there:
            connection = await connect(
                self._url,
                compression=None,
                max_size=None,
                proxy=None,
                sock=sock,
                max_queue=queue,
                open_timeout=60,
            )
            self.linked += 1
            return connection

    async def watch(self, keeps_health: bool) -> None:
        """One that reads all that it is sent."""
        connection = await self._link()
        last = -1
        try:
            async for raw in connection:
                assert isinstance(raw, bytes)
                kind, record = codec.peek(raw)
                if record is not None:
                    last = record
                elif kind == "skip":
                    self.skips += 1
                    assert isinstance(codec.open_frame(raw), Skip)
                elif kind == "health" and keeps_health and self.linked == self.count:
                    health = codec.open_frame(raw)
                    assert isinstance(health, Health)
                    self.health.append(health)
                elif kind == "bye":
                    assert isinstance(codec.open_frame(raw), Bye)
                    self.ended.set()
        except ConnectionClosed:
            pass
        self.broken += not self.ended.is_set()
        self.last_records.append(last)

    async def be_stuck(self) -> None:
        """One that reads nothing, until the others are done."""
        address = urlsplit(self._url)
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _STUCK_BUFFER_BYTES)
        sock.setblocking(False)
        assert address.hostname is not None and address.port is not None
        await asyncio.get_running_loop().sock_connect(sock, (address.hostname, address.port))
        connection = await self._link(sock, queue=1)
        await self.ended.wait()
        connection.transport.abort()


async def main(url: str, count: int) -> None:
    """Watch, and tell what was seen."""
    watching = Watching(url, count)
    viewers = [asyncio.create_task(watching.watch(number == 0)) for number in range(count - 1)]
    viewers.append(asyncio.create_task(watching.be_stuck()))
    while watching.linked < count and not any(viewer.done() for viewer in viewers):
        await asyncio.sleep(0.05)
    print("watching", flush=True)
    await asyncio.gather(*viewers)
    told = {
        "first_last_record": min(watching.last_records),
        "last_record": max(watching.last_records),
        "skips": watching.skips,
        "broken": watching.broken,
        "health": [
            {
                name: getattr(health, name)
                for name in ("operations_per_s", "steps_per_s", "ledger_ns", "step_ns", "gaps")
            }
            for health in watching.health
        ],
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
