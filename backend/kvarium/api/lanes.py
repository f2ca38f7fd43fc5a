"""Lanes: what each request did in a part of a session."""

from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency, place_of
from kvarium.api.sessions import Number, SessionId, read_of
from kvarium.recording.lanes import MAX_STEPS, read_lanes
from kvarium.recording.reader import Reader

router = APIRouter(prefix="/api")

SECONDS = 0.25
"""A part is read for no longer than this, and then a record to its end."""


@router.get("/sessions/{session}/lanes")
async def lanes(session: SessionId, hub: HubDependency, first: Number, last: Number) -> Response:
    """The states of the requests in the steps ``first`` to ``last``, their changes, and the chunks of their prefills.

    By *stretches*, runs of steps of which all is known; ``through`` is the last step that was looked at, where to go on behind.
    """
    if not first <= last < first + MAX_STEPS:
        raise HTTPException(
            422, f"ask for 1 to {MAX_STEPS} steps: {first} to {last} are {max(0, last - first + 1)}"
        )
    await hub.settle(session)

    def read(reader: Reader, number: int) -> dict[str, Any]:
        return read_lanes(reader, place_of(hub, session).seeker, number, first, last, SECONDS)

    return JSON(await read_of(hub, session, read))
