"""Events: operations, decisions and gaps, those that meet a filter, a page at a time."""

import weakref
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency, place_of
from kvarium.api.numbers import IN_DIGITS, Number
from kvarium.api.sessions import SessionId, read_of
from kvarium.errors import InvalidValueError
from kvarium.filtering.search import Searcher
from kvarium.filtering.sheet import Place
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger.filtering.explaining import explain
from kvarium_ledger.filtering.reading import UnreadableFilterError, read_filter

router = APIRouter(prefix="/api")

SECONDS = 0.25
"""A page is looked for no longer than this, and then a chunk to its end."""

_searchers: weakref.WeakKeyDictionary[Seeker, Searcher] = weakref.WeakKeyDictionary()
"""By the seeker of a recording: as long as that is there."""


@router.get("/sessions/{session}/events")
async def events(
    session: SessionId,
    hub: HubDependency,
    filter: Annotated[str, Query(max_length=2000)] = "",
    record: Annotated[int, Query(alias="from", ge=0, lt=1 << 53), IN_DIGITS] = 0,
    index: Number = 0,
    direction: Literal["later", "earlier"] = "later",
    limit: Annotated[int, Query(ge=1, le=2000), IN_DIGITS] = 200,
) -> Response:
    """Events that meet ``filter`` (docs/events.md), of committed records, in their order: from a record on, or those before it.

    ``from`` is a record, and ``index`` an event within it; ``next`` is where to go on, with less than ``limit`` found where the
    time was up, and null where there is nothing more in that direction. A filter that can't be read is 422 with the character, and so
    is a ``hash:`` of a session whose text is not recorded.
    """
    try:
        read = read_filter(filter)
    except UnreadableFilterError as error:
        raise HTTPException(422, explain(error.fault)) from None
    await hub.settle(session)

    def search(reader: Reader, number: int) -> dict[str, Any]:
        seeker = place_of(hub, session).seeker
        searcher = _searchers.setdefault(seeker, Searcher(reader, seeker))
        try:
            return searcher.search(number, read, Place(record, index), direction, limit, SECONDS)
        except InvalidValueError as error:
            raise HTTPException(422, str(error)) from None

    return JSON(await read_of(hub, session, search))
