"""What the page changes in a recording: a session's name, notes and marks, and which sessions there are.

All of it only where changes are allowed (by default where the server listens on this machine alone) and, as for every
route, not to pages of other sites.
"""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from sqlalchemy.exc import SQLAlchemyError

from kvarium.api import bodies
from kvarium.api.context import JSON, HubDependency, only_read, own_number_of, place_of
from kvarium.api.numbers import PathNumber
from kvarium.errors import (
    ConflictError,
    InvalidValueError,
    KvariumError,
    OutOfRangeError,
    UnknownSessionError,
)
from kvarium.housekeeper import Housekeeper
from kvarium.hub import Hub
from kvarium.recording.database import explain
from kvarium.recording.index_rows import Row
from kvarium.recording.notes import read_notes

router = APIRouter(prefix="/api/sessions")

_Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class _Rename(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _NewNote(msgspec.Struct, forbid_unknown_fields=True):
    text: str = ""
    step: _Place | None = None
    record: _Place | None = None
    op: _Place | None = None
    mark: str | None = None
    colour: str | None = None


class _ChangedNote(msgspec.Struct, forbid_unknown_fields=True):
    text: str | msgspec.UnsetType = msgspec.UNSET
    colour: str | msgspec.UnsetType | None = msgspec.UNSET


_STATUS: list[tuple[type[KvariumError], int]] = [
    (UnknownSessionError, 404),
    (OutOfRangeError, 404),
    (ConflictError, 409),
    (InvalidValueError, 422),
    (KvariumError, 503),
]


def refusal(error: KvariumError) -> HTTPException:
    """How an answer tells of an error."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    return HTTPException(status, str(error))


def changing(hub: Hub, request: Request) -> Housekeeper:
    """Who makes changes; 409 or 403 where none are made."""
    reason = only_read(hub, request)
    if reason is not None:
        raise HTTPException(409 if hub.housekeeper is None else 403, reason)
    assert hub.housekeeper is not None
    return hub.housekeeper


async def _change(call: Callable[[], Any]) -> Any:
    try:
        return await run_in_threadpool(call)
    except KvariumError as error:
        raise refusal(error) from None
    except SQLAlchemyError as error:
        raise HTTPException(503, f"the recording can't be read: {explain(error)}") from None


@router.patch("/{session}")
async def rename(session: str, request: Request, hub: HubDependency) -> Response:
    """Give a session another name."""
    keeper = changing(hub, request).keeper
    body = await bodies.read(request, _Rename, "a renaming")

    def change() -> dict[str, Any]:
        number = own_number_of(hub, session)
        keeper.rename(number, body.name)
        return hub.describe(hub.reader.session(number) | {"imported": False})

    return JSON(await _change(change))


@router.delete("/{session}")
async def remove(session: str, request: Request, hub: HubDependency) -> Response:
    """Remove a session that is not live; how many bytes went back to the disk, and how many are free in the file."""
    housekeeper = changing(hub, request)
    if (await _change(lambda: place_of(hub, session))).imported:
        freed = await _change(lambda: hub.shelf.imports.remove(session))
        return JSON({"removed": [session], "freed_bytes": freed, "reusable_bytes": 0})
    asked_by = request.headers.get("x-kvarium-by", "") or "the page"
    try:
        done = await housekeeper.remove(session, asked_by[:100])
    except KvariumError as error:
        raise refusal(error) from None
    except SQLAlchemyError as error:
        raise HTTPException(503, f"the recording can't be read: {explain(error)}") from None
    return JSON({"removed": [session], "freed_bytes": done.freed, "reusable_bytes": done.reusable})


@router.get("/{session}/notes")
async def notes(session: str, hub: HubDependency) -> Response:
    """The notes and marks of a session, by their places."""

    def read() -> list[Row]:
        place = place_of(hub, session)
        return read_notes(place.reader, place.number)

    return JSON({"notes": await _change(read)})


@router.post("/{session}/notes")
async def add_note(session: str, request: Request, hub: HubDependency) -> Response:
    """Write a note (or set a mark, which is moved if it was set) beside a step, a record or an operation."""
    keeper = changing(hub, request).keeper
    body = await bodies.read(request, _NewNote, "a note")
    await hub.settle(session)
    values = msgspec.structs.asdict(body)
    made = await _change(lambda: keeper.add_note(own_number_of(hub, session), **values))
    return JSON(made, status_code=201)


@router.patch("/{session}/notes/{note}")
async def change_note(session: str, note: PathNumber, request: Request, hub: HubDependency) -> Response:
    """Change a note's text or colour."""
    keeper = changing(hub, request).keeper
    body = await bodies.read(request, _ChangedNote, "a changed note")
    changes = {
        name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET
    }
    return JSON(await _change(lambda: keeper.change_note(own_number_of(hub, session), note, changes)))


@router.delete("/{session}/notes/{note}")
async def remove_note(session: str, note: PathNumber, request: Request, hub: HubDependency) -> Response:
    """Remove a note."""
    keeper = changing(hub, request).keeper
    await _change(lambda: keeper.remove_note(own_number_of(hub, session), note))
    return JSON({"removed": note})
