"""The websocket of viewers, and how a live session goes."""

import asyncio
import contextlib
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import APIRouter, HTTPException, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency, hub_of, place_of
from kvarium.errors import KvariumError
from kvarium.hub import MAX_VIEWERS
from kvarium.viewer import Viewer, Wish
from kvarium_ledger import codec

router = APIRouter(prefix="/api")

WRONG_QUERY = 4400
NOT_LIVE = 4404
TOO_MANY = 4413

SLOWEST, FASTEST = 0.1, 60.0
"""Bursts a second that a viewer may ask for."""


_WISHES = ("after", "text", "rate")


def check_names(given: Iterable[str]) -> None:
    """Raises :class:`ValueError` where a viewer's address holds a name that is none."""
    for name in given:
        if name not in _WISHES:
            raise ValueError(f"there is no parameter {name[:20]!r} here: live takes {', '.join(_WISHES)}")


def wished(after: str | None, text: str | None, rate: str | None) -> tuple[int | None, Wish]:
    """What a viewer's address asks for: the record to go on after, and the wish. Raises :class:`ValueError`."""
    if after is not None and not re.fullmatch(r"-1|[0-9]{1,15}", after):
        raise ValueError(f"after={after[:20]!r} is not the number of a record")
    if text not in (None, "full", "none"):
        raise ValueError(f"text={text[:20]!r} is neither full nor none")
    wish = Wish(text=text != "none")
    if rate is not None:
        bursts = float(rate) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", rate) else 0.0
        if not SLOWEST <= bursts <= FASTEST:
            raise ValueError(
                f"rate={rate[:20]!r} is not a number from {SLOWEST} to {FASTEST:g} (bursts a second)"
            )
        wish = wish._replace(rate=bursts)
    return (None if after is None else int(after)), wish


@router.websocket("/sessions/{session}/live")
async def live(
    websocket: WebSocket,
    session: str,
    after: str | None = None,
    text: str | None = None,
    rate: str | None = None,
) -> None:
    """A live session, from the record after ``after`` or from a keyframe, until it ends.

    ``text=none`` leaves out the records of text; ``rate``: at most so many bursts a second.
    """
    hub = hub_of(websocket)
    found = hub.live.get(session)
    await websocket.accept()
    try:
        check_names(websocket.query_params)
        record, wish = wished(after, text, rate)
    except ValueError as error:
        await websocket.close(WRONG_QUERY, str(error).encode()[:120].decode(errors="ignore"))
        return
    if found is None:
        await websocket.close(NOT_LIVE, f"session {session[:40]} is not live: seek in its recording")
        return
    if sum(other.viewers for other in hub.live.values()) >= MAX_VIEWERS:
        await websocket.close(TOO_MANY, f"{MAX_VIEWERS} viewers are here already")
        return
    viewer = Viewer(found, websocket.send_bytes, wish)
    sending = asyncio.create_task(viewer.run(record))
    leaving = asyncio.create_task(_wait_until_gone(websocket))
    found.watching.add(viewer)
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not sending.cancelled():
            await _say_why(websocket, sending.exception())
    finally:
        found.watching.discard(viewer)
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


@router.get("/sessions/{session}/health")
async def session_health(session: str, hub: HubDependency) -> Response:
    """How a live session goes, for scripts: the engine's last ``health`` (null before the first one), the ``status``, and
    its viewers. 404: there is no such session; 409: it is not live.
    """
    found = hub.live.get(session)
    if found is None:
        await run_in_threadpool(place_of, hub, session)
        raise HTTPException(409, f"session {session} is recorded: only a live one has a health")
    health = None if found.health_frame is None else _fields(codec.open_frame(found.health_frame))
    status = _fields(found.status())
    # Those of one viewer.
    del status["skips"], status["lag_ms"]
    viewers = [
        {"record": each.record, "skips": each.skips, "lag_ms": each.lag_ms} | each.wish._asdict()
        for each in found.watching
    ]
    return JSON({"health": health, "status": status, "viewers": viewers})


def _fields(message: msgspec.Struct) -> dict[str, Any]:
    """All fields of a message, those with their defaults too."""
    return msgspec.structs.asdict(message)
