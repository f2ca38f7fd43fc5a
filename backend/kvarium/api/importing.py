"""Importing: a file comes in, is inspected, and lies beside the recording from then on, to be read and nothing else."""

import asyncio
import contextlib
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from kvarium.api.context import JSON, HubDependency
from kvarium.api.keeping import changing, refusal
from kvarium.errors import KvariumError, UnwritableError
from kvarium.hub import Hub
from kvarium.recording.inspection import RefusedFileError

router = APIRouter(prefix="/api")

_WRITE_BYTES = 1 << 20
_NAME = re.compile(r"[^\w .()-]+")


@router.post("/import")
async def import_file(request: Request, hub: HubDependency, name: str = "the file") -> Response:
    """Take a file (the body, as it is) with one session, as a download is. ``name`` is what the answer calls it.

    201 with the session's id; 422 with the reason when it is not let in; 409 when its session is here already.
    """
    changing(hub, request)
    shown = _NAME.sub("-", name)[:80].strip() or "the file"
    with hub.importing() as cancelled:
        if cancelled is None:
            raise HTTPException(
                503, "another file is being imported: try again in a moment", headers={"Retry-After": "5"}
            )
        try:
            with hub.shelf.imports.arriving() as place:
                await _receive(request, hub, place, shown)
                async with _watched(request, cancelled):
                    session = await run_in_threadpool(
                        hub.shelf.imports.admit, place, shown, hub.reader, cancelled
                    )
        except RefusedFileError as error:
            raise HTTPException(422, str(error)) from None
        except KvariumError as error:
            raise refusal(error) from None
        except OSError as error:
            told = UnwritableError(f"{shown} can't be kept", error.strerror or str(error))
            room = f": make room for {hub.shelf.imports.folder}" if told.full else ""
            raise HTTPException(507, f"{told}; nothing was imported{room}") from None
    return JSON({"session": session}, status_code=201)


async def _receive(request: Request, hub: Hub, place: Path, name: str) -> None:
    most = hub.import_bytes
    too_large = HTTPException(413, f"{name} has more than {most} bytes, the most that this server takes")
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told[:18]) > most:
        raise too_large
    size = 0
    waiting = bytearray()
    with place.open("wb") as file:
        try:
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large
                waiting += part
                if len(waiting) >= _WRITE_BYTES:
                    await run_in_threadpool(file.write, bytes(waiting))
                    waiting.clear()
        except ClientDisconnect:
            raise HTTPException(400, f"{name} did not come to its end") from None
        await run_in_threadpool(file.write, bytes(waiting))


@contextlib.asynccontextmanager
async def _watched(request: Request, cancelled: threading.Event) -> AsyncIterator[None]:
    """Nobody waits for it any more: then it is not inspected to its end."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        cancelled.set()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
