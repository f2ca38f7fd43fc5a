"""Sessions as files: the download, which is a recording of its own, and exports for other programs."""

import asyncio
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from kvarium.api import process
from kvarium.api.context import HubDependency, place_of
from kvarium.api.numbers import IN_DIGITS
from kvarium.api.sessions import reading
from kvarium.errors import KvariumError, UnwritableError
from kvarium.exchange.formats import Format
from kvarium.exchange.process import Made, Order, Outcome
from kvarium.hub import Hub
from kvarium.recording.export import ExportCancelledError, export_session
from kvarium.recording.shelf import Place
from kvarium.recording.stripping import Strip
from kvarium.workplace import Workplace

router = APIRouter(prefix="/api")

_PART_BYTES: Final = 256 << 10
_MEDIA_TYPES: Final = {
    Format.kvarium: "application/vnd.sqlite3",
    Format.parquet: "application/zip",
    Format.jsonl: "application/jsonl",
    Format.perfetto: "application/json",
    # Not as a page: it would open here, as if it were this server's.
    Format.html: "application/octet-stream",
}
_STATUS: Final = {"asked": 422, "missing": 404, "damaged": 500, "failed": 503}
_STEPS: Final = re.compile(r"(\d{1,15})?\.\.(\d{1,15})?", re.ASCII)

StripText = Literal["none", "hash"]

DOWNLOADS: Final = "kvarium-download-"
"""How the name of a folder begins in which a file to download is made."""


class _Download(Response):
    """Sends a file and removes its folder, however the sending ends."""

    def __init__(self, path: Path, folder: Workplace, media_type: str) -> None:
        self._path = path
        self._folder = folder
        headers = {
            "content-length": str(path.stat().st_size),
            "content-disposition": f'attachment; filename="{path.name}"',
        }
        super().__init__(media_type=media_type, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            with self._path.open("rb") as file:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                while data := await run_in_threadpool(file.read, _PART_BYTES):
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._folder.remove()


def _strip(text: StripText | None, notes: bool) -> Strip | None:
    if text is not None:
        return Strip(text, notes)
    if notes:
        raise HTTPException(
            422, "strip_notes belongs to strip_text: give strip_text=none or strip_text=hash with it"
        )
    return None


@contextmanager
def _making(hub: Hub) -> Iterator[threading.Event]:
    """A place for a file that is made; what cancels it."""
    with hub.exporting() as cancelled:
        if cancelled is None:
            raise HTTPException(
                503, "other downloads are being made: try again in a moment", headers={"Retry-After": "5"}
            )
        yield cancelled


@contextmanager
def _folder() -> Iterator[Workplace]:
    """A folder for a file that is made: it goes, unless the file is made and sent."""
    folder = Workplace(Path(tempfile.gettempdir()), DOWNLOADS)
    try:
        folder.make()
        yield folder
    except OSError as error:
        folder.remove()
        raise _no_room(error.strerror or str(error)) from None
    except BaseException:
        folder.remove()
        raise


def _no_room(reason: str) -> HTTPException:
    """The server's place for what is downloaded can't hold it."""
    error = UnwritableError("the file can't be made", reason)
    todo = "make room there, or start the server" if error.full else "start the server"
    return HTTPException(
        507, f"{error}; the server makes it in {tempfile.gettempdir()}: {todo} with TMPDIR at another place"
    )


@router.get("/sessions/{session}/download")
async def download(
    session: str,
    hub: HubDependency,
    request: Request,
    strip_text: StripText | None = None,
    strip_notes: bool = False,
) -> Response:
    """This one session as one SQLite file, as it is now, with nothing beside it. At most two files are made at once.

    With ``strip_text`` its text is left out, and with ``strip_notes`` its notes too.
    """
    strip = _strip(strip_text, strip_notes)
    place = await reading(lambda: place_of(hub, session))
    await hub.settle(session)
    with _making(hub) as cancelled:
        watching = asyncio.create_task(_cancel_when_gone(request, cancelled))
        try:
            return await _copied(place, cancelled, strip)
        finally:
            watching.cancel()


async def _cancel_when_gone(request: Request, cancelled: threading.Event) -> None:
    """Nobody waits for the download any more: then it is not made."""
    await process.left(request)
    cancelled.set()


async def _copied(place: Place, cancelled: threading.Event, strip: Strip | None) -> Response:
    with _folder() as folder:
        try:
            path = await reading(
                lambda: export_session(place.reader, place.number, folder.path, cancelled, strip)
            )
        except ExportCancelledError as error:
            raise HTTPException(503, str(error), headers={"Retry-After": "5"}) from None
        except UnwritableError as error:
            raise _no_room(error.reason.replace(f"{folder.path}/", "")) from None
        except KvariumError as error:
            raise HTTPException(503, str(error)) from None
        return _Download(path, folder, _MEDIA_TYPES[Format.kvarium])


@router.get("/sessions/{session}/export")
async def export(
    session: str,
    hub: HubDependency,
    request: Request,
    format: Format,
    steps: Annotated[str | None, Query(max_length=40)] = None,
    answers: Annotated[int | None, Query(ge=0, le=100_000), IN_DIGITS] = None,
    strip_text: StripText | None = None,
    strip_notes: bool = False,
) -> Response:
    """This session in a format for another program, as ``kvarium export`` writes it: made whole first, then sent.

    ``steps=A..B`` (either may be left out) takes a part of it as a page, and ``answers`` says how many answers to why are in it. With ``strip_text`` its text is left out, and with
    ``strip_notes`` its notes too. It is given up when nobody waits for it.
    """
    strip = _strip(strip_text, strip_notes)
    from_step, to_step = _part(format, steps)
    if answers is not None and format is not Format.html:
        raise HTTPException(422, f"answers are part of html; {format} has none")
    place = await reading(lambda: place_of(hub, session))
    await hub.settle(session)
    with _making(hub) as cancelled, _folder() as folder:
        order = Order(
            database=process.address_of(place.reader.database),
            session=place.number,
            folder=str(folder.path),
            format=format,
            strip=strip,
            from_step=from_step,
            to_step=to_step,
            answers=answers,
        )
        told = await process.ask(
            "kvarium.exchange.process", msgspec.msgpack.encode(order), request, cancelled=cancelled
        )
        if told.ended:
            raise HTTPException(503, "the export was given up: nobody waits for it, or the server ends")
        if told.status or not told.output:
            raise HTTPException(
                500, f"the export's process ended with status {told.status}, without a file: try again"
            )
        outcome = msgspec.msgpack.decode(told.output, type=Outcome)
        if isinstance(outcome, Made):
            return _Download(folder.path / outcome.name, folder, _MEDIA_TYPES[format])
        if outcome.fault == "unwritten":
            raise _no_room(outcome.message)
        raise HTTPException(_STATUS[outcome.fault], outcome.message)


def _part(format: Format, steps: str | None) -> tuple[int | None, int | None]:
    if steps is None:
        return None, None
    found = _STEPS.fullmatch(steps)
    if found is None:
        raise HTTPException(422, f"steps={steps!r} is no part: steps=100..200, steps=100.. or steps=..200")
    if format is not Format.html:
        raise HTTPException(422, f"steps takes a part as html; {format} is written whole")
    first, last = (None if each is None else int(each) for each in found.groups())
    if first is not None and last is not None and first > last:
        raise HTTPException(422, f"steps={steps} is no part: step {first} is after step {last}")
    return first, last
