"""A viewer of a live session: a place in its ring and a websocket that may be slow."""

import asyncio
from collections.abc import Awaitable, Callable

from kvarium.live_session import LiveSession
from kvarium_ledger import codec
from kvarium_ledger.messages import Skip

OUTBOX_BYTES = 8 << 20
"""How far a viewer may lag before it is moved on."""

_BURST_BYTES = 256 << 10


class Viewer:
    """Sends a session to one websocket.

    It keeps no frames of its own: only ``record``, the last one that it sent. A viewer that stands still costs what its
    websocket buffers, and slows nobody; when more than 8 MiB follow ``record``, or the ring has moved on, it gets a
    ``skip`` and a keyframe instead.
    """

    def __init__(self, session: LiveSession, send: Callable[[bytes], Awaitable[None]]) -> None:
        self.session = session
        self.record = -1
        self._send = send
        self._status: bytes | None = None
        self._health: bytes | None = None

    async def run(self, after: int | None) -> None:
        """Send until the session says goodbye: from the record after ``after``, or from a keyframe."""
        session = self.session
        await self._send(session.hello_frame)
        await self._news()
        if after is not None and session.ring.covers(after):
            self.record = after
        else:
            await self._begin(skipping=False)
        while True:
            changed = session.changed()
            await self._news()
            if session.ring.last > self.record:
                await self._frames()
            elif session.bye_frame is not None:
                await self._send(session.bye_frame)
                return
            else:
                await changed.wait()

    async def _news(self) -> None:
        status = self.session.status_frame
        if status is not self._status:
            self._status = status
            await self._send(status)
        health = self.session.health_frame
        if health is not None and health is not self._health:
            self._health = health
            await self._send(health)

    async def _frames(self) -> None:
        ring = self.session.ring
        if not ring.covers(self.record) or ring.lag(self.record) > OUTBOX_BYTES:
            await self._begin(skipping=True)
            return
        for record, frame in ring.after(self.record, _BURST_BYTES):
            await self._send(frame)
            self.record = record

    async def _begin(self, skipping: bool) -> None:
        while self.session.last_record < 0:
            await self.session.changed().wait()
        keyframe = await self.session.keyframe()
        if keyframe.record <= self.record:
            # The mirror is not past this viewer yet: what follows is all in the ring.
            await asyncio.sleep(0.02)
            return
        if skipping:
            await self._send(codec.seal(Skip(first=self.record + 1, last=keyframe.record)))
        await self._send(keyframe.frame)
        self.record = keyframe.record
