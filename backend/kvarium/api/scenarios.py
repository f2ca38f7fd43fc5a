"""Scenarios: which there are, which one runs, and starting one."""

from typing import Any

import msgspec
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency, only_read
from kvarium.api.keeping import changing, refusal
from kvarium.errors import ConflictError, KvariumError, UnknownSessionError
from kvarium.scenarios import Scenarios

router = APIRouter(prefix="/api/scenarios")

_MAX_BODY = 1 << 12


class _Start(msgspec.Struct, forbid_unknown_fields=True):
    name: str


def _scenarios(request: Request) -> Scenarios:
    found: Scenarios = request.app.state.scenarios
    return found


@router.get("")
async def list_scenarios(request: Request, hub: HubDependency) -> Response:
    """``scenarios``: their names; ``why_not``: why none can be started here, or null; ``running``: one's name and session, or null."""
    scenarios = _scenarios(request)
    why_not = scenarios.why_not or only_read(hub, request)
    running = scenarios.running
    told: dict[str, Any] = {
        "scenarios": [] if scenarios.why_not else await scenarios.names(),
        "why_not": why_not,
        "running": None if running is None else {"name": running.name, "session": running.session},
    }
    return JSON(told)


@router.post("")
async def start_scenario(request: Request, hub: HubDependency) -> Response:
    """Start the scenario ``{"name": …}``: 201 with the session that it is recorded as, once its engine is linked.

    404: there is none of this name; 409: one runs already, or none can; 403: this server changes nothing for others.
    """
    changing(hub, request)
    body = await request.body()
    if len(body) > _MAX_BODY:
        raise HTTPException(413, f"the body has more than {_MAX_BODY} bytes")
    try:
        asked = msgspec.json.decode(body, type=_Start)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise HTTPException(422, f"a scenario is started with its name ({error})") from None
    try:
        session = await _scenarios(request).start(asked.name, hub)
    except UnknownSessionError as error:
        raise HTTPException(404, str(error)) from None
    except ConflictError as error:
        raise HTTPException(409, str(error)) from None
    except KvariumError as error:
        raise refusal(error) from None
    return JSON({"session": session, "name": asked.name}, status_code=201)
