"""A viewer of a live session: a place in its ring and a websocket that may be slow.

ring   ─── record, record, text, record, text ───▶          what all viewers share
             │ text=none    leaves the texts out              the others as they are, byte for byte
             │ rate=N       waits 1/N s between two bursts     frames, or a skip and a keyframe where that is less
             ▼
           websocket
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from kvarium.live_session import LiveSession
from kvarium.ring import RingFrame
from kvarium_ledger import codec
from kvarium_ledger.messages import Skip, Status

OUTBOX_BYTES = 8 << 20
"""How far a viewer may lag before it is moved on."""

_BURST_BYTES = 256 << 10


class Wish(NamedTuple):
    """What a viewer asks for: records of text or not; at most ``rate`` bursts a second (None: all at once)."""

    text: bool = True
    rate: float | None = None


ALL = Wish()


class Viewer:
    """Sends a session to one websocket.

    It keeps no frames of its own: only ``record``, the last one that it sent. A viewer that stands still costs what its
    websocket buffers, and slows nobody; when more than 8 MiB follow ``record``, or the ring has moved on, it gets a
    ``skip`` and a keyframe instead. One with a rate, which lags because it wants to, gets them where they are fewer bytes.

    ``skips`` counts them; ``lag_ms`` is from the sealing of the last record that has a time to its sending (by two clocks,
    the engine's and the server's), None before there is one.
    """

    def __init__(
        self, session: LiveSession, send: Callable[[bytes], Awaitable[None]], wish: Wish = ALL
    ) -> None:
        self.session = session
        self.wish = wish
        self.record = -1
        self.skips = 0
        self.lag_ms: float | None = None
        self._send = send
        self._status: Status | None = None
        self._health: bytes | None = None
        self._due = 0.0

    async def run(self, after: int | None) -> None:
        """Send until the session says goodbye: from the record after ``after``, or from a keyframe."""
        session = self.session
        await self._send(session.hello_frame)
        await self._news()
        if after is not None and session.ring.covers(after):
            self.record = after
        else:
            await self._begin(skipping=False)
            self._rest_from_now()
        while True:
            changed = session.changed()
            await self._rest()
            await self._news()
            if session.ring.last > self.record:
                await self._burst()
            elif session.bye_frame is not None:
                await self._send(session.bye_frame)
                return
            else:
                await changed.wait()

    async def _news(self) -> None:
        status = self.session.latest_status
        if status is not self._status:
            self._status = status
            mine = msgspec.structs.replace(status, skips=self.skips, lag_ms=self.lag_ms)
            await self._send(codec.seal(mine))
        health = self.session.health_frame
        if health is not None and health is not self._health:
            self._health = health
            await self._send(health)

    # -- at a rate --------------------------------------------------------------------------------------------------

    def _rest_from_now(self) -> None:
        if self.wish.rate is not None:
            self._due = time.monotonic() + 1 / self.wish.rate

    async def _rest(self) -> None:
        """Wait until the next burst is due, or the session says goodbye."""
        left = self._due - time.monotonic()
        if left <= 0:
            return
        try:
            await asyncio.wait_for(self.session.bye_said.wait(), left)
        except TimeoutError:
            return

    async def _keyframe_in_place(self) -> RingFrame | None:
        """A keyframe that has fewer bytes than the frames that it stands for; None: there is none, or none is at hand."""
        session = self.session
        if self._bytes_through(session.ring.last) <= session.keyframe_bytes:
            return None
        found = await session.keyframe_at_hand()
        if found is None or found.record <= self.record:
            return None
        return found if len(found.frame) < self._bytes_through(found.record) else None

    def _bytes_through(self, record: int) -> int:
        """How many bytes would be sent up to and with a record."""
        ring = self.session.ring
        frames = ring.after(self.record, ring.capacity)
        return sum(len(found.frame) for found in frames if found.record <= record and self._wants(found))

    def _wants(self, found: RingFrame) -> bool:
        return self.wish.text or not found.is_text

    # -- records ----------------------------------------------------------------------------------------------------

    async def _burst(self) -> None:
        ring = self.session.ring
        self._rest_from_now()
        lags = self.wish.rate is None and ring.lag(self.record) > OUTBOX_BYTES
        if lags or not ring.covers(self.record):
            await self._begin(skipping=True)
            return
        if self.wish.rate is None:
            await self._frames()
            return
        last = ring.last
        keyframe = await self._keyframe_in_place()
        if keyframe is not None:
            await self._skip_to(keyframe)
        while self.record < last and ring.covers(self.record):
            await self._frames()

    async def _frames(self) -> None:
        sealed: int | None = None
        for found in self.session.ring.after(self.record, _BURST_BYTES):
            if self._wants(found):
                await self._send(found.frame)
                sealed = found.sealed if found.sealed is not None else sealed
            self.record = found.record
        if sealed is not None:
            lag = time.time_ns() - (self.session.hello.utc_us * 1000 + sealed)
            self.lag_ms = round(lag / 1e6, 3)

    async def _skip_to(self, keyframe: RingFrame) -> None:
        self.skips += 1
        self.session.viewers_skips += 1
        await self._send(codec.seal(Skip(first=self.record + 1, last=keyframe.record)))
        await self._send(keyframe.frame)
        self.record = keyframe.record

    async def _begin(self, skipping: bool) -> None:
        while self.session.last_record < 0:
            await self.session.changed().wait()
        keyframe = await self.session.keyframe()
        if keyframe.record <= self.record:
            # The mirror is not past this viewer yet: what follows is all in the ring.
            await asyncio.sleep(0.02)
        elif skipping:
            await self._skip_to(keyframe)
        else:
            await self._send(keyframe.frame)
            self.record = keyframe.record
