"""What the routes share."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, HTTPException
from fastapi.requests import HTTPConnection
from fastapi.responses import Response

from kvarium.errors import UnknownSessionError
from kvarium.hub import Hub
from kvarium.recording.shelf import Place


def hub_of(connection: HTTPConnection) -> Hub:
    """The application's hub."""
    hub: Hub = connection.app.state.hub
    return hub


HubDependency = Annotated[Hub, Depends(hub_of)]


class JSON(Response):
    """A JSON answer, encoded by msgspec: columns of a million steps go out without a detour."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode."""
        return msgspec.json.encode(content)


def place_of(hub: Hub, session: str) -> Place:
    """Where a session is read, or 404."""
    try:
        return hub.shelf.place(session)
    except UnknownSessionError:
        raise HTTPException(404, f"no session {session!r}") from None


def only_read(hub: Hub, connection: HTTPConnection) -> str | None:
    """Why nothing is changed here; None where changes are made."""
    if hub.housekeeper is None:
        return f"{hub.database.where} was opened read-only: nothing is changed in it"
    if not connection.app.state.allow_changes:
        return "this server can be watched by others and makes no changes for them: start it with --allow-changes"
    return None


def own_number_of(hub: Hub, session: str) -> int:
    """The number of a session that can be changed, or 404; of an imported one 409."""
    place = place_of(hub, session)
    if place.imported:
        raise HTTPException(409, f"session {session} is an imported file: it is only read")
    return place.number
