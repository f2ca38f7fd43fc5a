"""What the routes share."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, HTTPException
from fastapi.requests import HTTPConnection
from fastapi.responses import Response

from kvarium.errors import UnknownSessionError
from kvarium.hub import Hub


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


def number_of(hub: Hub, session: str) -> int:
    """A session's number, or 404."""
    try:
        return hub.number(session)
    except UnknownSessionError:
        raise HTTPException(404, f"no session {session!r}") from None
