"""Lanes: what each request did in a part of a session, step by step or, of a wide part, in the large."""

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency, place_of
from kvarium.api.numbers import IN_DIGITS, Number
from kvarium.api.sessions import SessionId, read_of
from kvarium.recording.careers import MAX_ROWS, read_careers
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


@router.get("/sessions/{session}/careers")
async def careers(
    session: SessionId,
    hub: HubDependency,
    first: Number,
    last: Number,
    at: Number,
    offset: Number = 0,
    limit: Annotated[int, Query(ge=0, le=MAX_ROWS), IN_DIGITS] = 50,
    request: Number | None = None,
) -> Response:
    """When the requests of the steps ``first`` to ``last`` came, were admitted and ended, from the index: however many steps that are.

    Those that are there in the step ``at``, those that come later, those that ended before; ``request`` is told in any case.
    """

    if last < first:
        raise HTTPException(422, f"ask for steps from the first on: {first} to {last} are none")

    def read(reader: Reader, number: int) -> dict[str, Any]:
        return read_careers(reader, number, first, last, at, offset, limit, request)

    return JSON(await read_of(hub, session, read))
