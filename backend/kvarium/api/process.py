"""A process that answers one question for a route, and is ended when nobody waits for it any more."""

import asyncio
import contextlib
import sys
import threading
from typing import Final, Literal, NamedTuple

from fastapi import Request

from kvarium.recording.database import Database

_LOOK_SECONDS: Final = 0.2


class Answer(NamedTuple):
    """What it said. ``ended``: why it was ended before it said it; "" where it came to its end, with ``status``."""

    output: bytes
    status: int | None
    ended: Literal["", "gone", "late", "cancelled"] = ""


def address_of(database: Database) -> str:
    """The file or the URL, with its password: for a process that reads it too."""
    if database.path is not None:
        return str(database.path)
    return database.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)


async def ask(
    module: str,
    question: bytes,
    request: Request,
    seconds: float | None = None,
    cancelled: threading.Event | None = None,
) -> Answer:
    """Ask the process ``python -m module``. It is killed when it is late, when nobody waits for it, and when it is cancelled."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    asking = asyncio.create_task(process.communicate(question))
    ends: dict[asyncio.Task[None], Literal["gone", "cancelled"]] = {
        asyncio.create_task(left(request)): "gone"
    }
    if cancelled is not None:
        ends[asyncio.create_task(_set(cancelled))] = "cancelled"
    try:
        await asyncio.wait((asking, *ends), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            return Answer(b"", None, next((why for end, why in ends.items() if end.done()), "late"))
        output, _ = asking.result()
        return Answer(output, process.returncode)
    finally:
        for end in ends:
            end.cancel()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.wait((asking,))


async def left(request: Request) -> None:
    """Until nobody waits for the answer any more."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _set(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(_LOOK_SECONDS)
