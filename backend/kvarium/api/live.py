"""The websocket of viewers."""

import asyncio
import contextlib
import re

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from kvarium.api.context import hub_of
from kvarium.errors import KvariumError
from kvarium.hub import MAX_VIEWERS
from kvarium.viewer import Viewer

router = APIRouter(prefix="/api")

WRONG_QUERY = 4400
NOT_LIVE = 4404
TOO_MANY = 4413


@router.websocket("/sessions/{session}/live")
async def live(websocket: WebSocket, session: str, after: str | None = None) -> None:
    """A live session, from the record after ``after`` or from a keyframe, until it ends."""
    hub = hub_of(websocket)
    found = hub.live.get(session)
    await websocket.accept()
    record: int | None = None
    if after is not None:
        if not re.fullmatch(r"-1|[0-9]{1,15}", after):
            await websocket.close(
                WRONG_QUERY,
                f"after={after[:20]!r} is not the number of a record".encode()[:120].decode(errors="ignore"),
            )
            return
        record = int(after)
    if found is None:
        await websocket.close(NOT_LIVE, f"session {session[:40]} is not live: seek in its recording")
        return
    if sum(other.viewers for other in hub.live.values()) >= MAX_VIEWERS:
        await websocket.close(TOO_MANY, f"{MAX_VIEWERS} viewers are here already")
        return
    viewer = Viewer(found, websocket.send_bytes)
    sending = asyncio.create_task(viewer.run(record))
    leaving = asyncio.create_task(_wait_until_gone(websocket))
    found.viewers += 1
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not sending.cancelled():
            await _say_why(websocket, sending.exception())
    finally:
        found.viewers -= 1
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _say_why(websocket: WebSocket, error: BaseException | None) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        if error is None:
            await websocket.close(1000, "the session has ended")
        elif isinstance(error, KvariumError):
            await websocket.close(1011, str(error).encode()[:120].decode(errors="ignore"))
        elif isinstance(error, TimeoutError):
            await websocket.close(1013, "no keyframe in time: try again")
        elif not isinstance(error, (WebSocketDisconnect, RuntimeError)):
            raise error


async def _wait_until_gone(websocket: WebSocket) -> None:
    """A viewer says nothing; what it says all the same is not heard."""
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
