"""Sessions: lists, seek, frames, the index of steps, landmarks and requests, and text."""

import contextlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from kvarium import __version__
from kvarium.api.answers import InPieces
from kvarium.api.context import JSON, HubDependency, only_read, place_of
from kvarium.api.numbers import IN_DIGITS, ListedNumber, Number, PathU32
from kvarium.errors import DamagedRecordingError, OutOfRangeError, UnknownSessionError
from kvarium.hub import Hub, what_to_do
from kvarium.recording.breakpoints import read_breakpoints
from kvarium.recording.contents import read_contents
from kvarium.recording.database import explain
from kvarium.recording.notes import newest_note, read_landmarks
from kvarium.recording.reader import Reader
from kvarium.recording.targets import step_after, step_at_time, step_of_operation
from kvarium.recording.transcript import read_sequence, read_transcript
from kvarium_ledger import codec

router = APIRouter(prefix="/api")

SessionId = str
_MAX_BYTES = 64 << 20
_MAX_SKETCHES = 50


LandmarkKind = Literal["evict", "copy", "preempted", "refused", "violation", "gap", "note"]


@router.get("/health")
async def health(hub: HubDependency, request: Request) -> Response:
    """Is all well, which version is it, and how far is the engine? Not ok: the recording can't be written, and why.

    ``what_to_do``: what helps then. ``only_read``: why sessions can't be renamed, annotated, removed and imported here; null where they can.
    """
    told = {"version": __version__, "engine": hub.engine_state, "only_read": only_read(hub, request)}
    reason = hub.recording_error
    if reason is None:
        return JSON({"ok": True, **told})
    return JSON({"ok": False, **told, "reason": reason, "what_to_do": what_to_do(reason)}, status_code=503)


async def reading(call: Callable[[], Any]) -> Any:
    """Run a read on a thread; out of range is 404, a damaged recording 500, both with the reason."""
    try:
        return await run_in_threadpool(call)
    except (OutOfRangeError, UnknownSessionError) as error:
        raise HTTPException(404, str(error)) from None
    except DamagedRecordingError as error:
        raise HTTPException(500, f"the recording is damaged: {error}") from None
    except SQLAlchemyError as error:
        raise HTTPException(503, f"the recording can't be read: {explain(error)}") from None


async def read_of(hub: Hub, session: str, call: Callable[[Reader, int], Any]) -> Any:
    """Run a read of one session, wherever it is."""

    def read() -> Any:
        reader, _, number, _ = place_of(hub, session)
        return call(reader, number)

    return await reading(read)


@router.get("/sessions")
async def sessions(hub: HubDependency) -> Response:
    """All sessions, the newest first."""
    return JSON({"sessions": await reading(hub.sessions)})


@router.get("/sketches")
async def sketches(
    session: Annotated[list[Annotated[str, Field(max_length=64)]], Query(max_length=_MAX_SKETCHES)],
    hub: HubDependency,
) -> Response:
    """What a list shows beside a session: how full its pool was, and its newest note. By id; what can't be read is left out.

    ``used`` and ``cached`` are shares of the pool in thousandths, ``notes`` is how many there are.
    """

    def read() -> dict[str, Any]:
        found = {}
        for each in session:
            with contextlib.suppress(UnknownSessionError, DamagedRecordingError):
                reader, _, number, _ = hub.shelf.place(each)
                note, notes = newest_note(reader, number)
                curve = hub.shelf.curves.of(reader, reader.session(number))
                found[each] = curve._asdict() | {"note": note, "notes": notes}
        return found

    return JSON({"sketches": await reading(read)})


@router.get("/sessions/{session}")
async def session(session: SessionId, hub: HubDependency) -> Response:
    """One session, with its hello, and the size of the file that it is in (with all else that is in it)."""

    def read() -> dict[str, Any]:
        reader, _, number, imported = place_of(hub, session)
        told = hub.describe(reader.session(number) | {"imported": imported})
        return told | {"hello": reader.hello(number)[0], "file_bytes": reader.database.size()}

    return JSON(await reading(read))


@router.get("/sessions/{session}/hello")
async def hello(session: SessionId, hub: HubDependency) -> Response:
    """The engine's hello, its bytes: what a page needs before any record."""

    def read() -> bytes:
        reader, seeker, number, _ = place_of(hub, session)
        told = reader.hello(number)[1]
        seeker.prepare(number)
        return told

    frame = await reading(read)
    return Response(frame, media_type="application/octet-stream")


@router.get("/sessions/{session}/seek")
async def seek(
    session: SessionId,
    hub: HubDependency,
    step: Number | None = None,
    record: Number | None = None,
    op: Number | None = None,
    time: Number | None = None,
    ahead_bytes: Annotated[int, Query(ge=0, le=_MAX_BYTES), IN_DIGITS] = 256 << 10,
    contents: Literal["all", "none"] = "all",
    since: Number | None = None,
) -> Response:
    """A keyframe before the target, every frame after it through the target, and some ahead; packed.

    The target is a step, a record, an operation or a time (ns since the session's start): of the last two, the step that
    holds it. The headers tell which record that is, and the step that the state after it belongs to.

    With ``contents=none`` the keyframe need not tell the contents that blocks hold, their parents and so on up, which are a
    third of it; the route of contents tells those of any. With ``since=R`` beside it, whoever has the blocks of the keyframe
    of record R may get one that tells of them only what changed after it (a keyframe with the field ``since``); or a whole one.
    """
    if sum(target is not None for target in (step, record, op, time)) != 1:
        raise HTTPException(422, "give one of step, record, op and time")
    await hub.settle(session)

    def read() -> Response:
        reader, seeker, number, _ = place_of(hub, session)
        if record is not None:
            first = last = record
        else:
            target = step
            if op is not None:
                target = step_of_operation(reader, number, op)
            elif time is not None:
                target = step_at_time(reader, number, time)
            assert target is not None
            first, last = reader.records_of_step(number, target)
        found = seeker.sought(number, first, last, ahead_bytes, contents == "all", since)
        told = {
            "kvarium-step": str(step_after(found.frames, first, found.step)),
            "kvarium-record": str(first),
        }
        pieces = [*codec.pack_in_pieces(found.keyframe), codec.pack(found.frames)]
        return InPieces(pieces, "application/octet-stream", told)

    answer: Response = await reading(read)
    return answer


@router.get("/sessions/{session}/frames")
async def frames(
    session: SessionId,
    hub: HubDependency,
    after: Annotated[int, Query(ge=-1, lt=1 << 53), IN_DIGITS],
    limit_bytes: Annotated[int, Query(ge=0, le=_MAX_BYTES), IN_DIGITS] = 1 << 20,
) -> Response:
    """Frames of the records after ``after``, packed; none when there are none yet."""
    live = hub.live.get(session)
    if live is not None and live.ring.covers(after):
        found = [each.frame for each in live.ring.after(after, limit_bytes)]
    else:
        found = await read_of(
            hub, session, lambda reader, number: reader.frames_after(number, after, limit_bytes)
        )
    return Response(codec.pack(found), media_type="application/octet-stream")


@router.get("/sessions/{session}/steps")
async def steps(
    session: SessionId,
    hub: HubDependency,
    first: Number = 0,
    last: Number | None = None,
) -> Response:
    """Columns, a value a step. ``indexed_record`` says up to which record the index goes: it follows the mirror."""

    def read() -> dict[str, Any]:
        reader, _, number, _ = place_of(hub, session)
        through = reader.session(number)["indexed_record"]
        return {**reader.steps(number, first, last), "indexed_record": through}

    return JSON(await reading(read))


@router.get("/sessions/{session}/landmarks")
async def landmarks(
    session: SessionId, hub: HubDependency, kind: Annotated[list[LandmarkKind] | None, Query()] = None
) -> Response:
    """Where something happened: a row a step and kind, and one for each note; of these kinds, or of all.

    ``indexed_record`` says up to which record, as of steps.
    """

    def read(reader: Reader, number: int) -> dict[str, Any]:
        through = reader.session(number)["indexed_record"]
        return {"landmarks": read_landmarks(reader, number, kind), "indexed_record": through}

    return JSON(await read_of(hub, session, read))


@router.get("/sessions/{session}/requests")
async def requests(session: SessionId, hub: HubDependency) -> Response:
    """Requests, in the order of submission."""
    return JSON({"requests": await read_of(hub, session, Reader.requests)})


@router.get("/sessions/{session}/breakpoints")
async def breakpoints(session: SessionId, hub: HubDependency) -> Response:
    """The breakpoints as the recording has them, whether or not its engine is still there; it is read for that as a whole.

    Each has ``id``, ``when`` (null: not recorded), ``hits``, ``mark``, ``enabled``, ``count`` (when that was told last) and
    ``asked_by``.
    """
    return JSON({"breakpoints": await read_of(hub, session, read_breakpoints)})


@router.get("/sessions/{session}/contents")
async def contents(
    session: SessionId,
    hub: HubDependency,
    content: Annotated[list[ListedNumber], Query(max_length=1000)],
) -> Response:
    """Token ids, parents and extra keys of contents, by their ids; one that is not recorded is left out."""
    found = await read_of(hub, session, lambda reader, number: read_contents(reader, number, content))
    return JSON({"contents": found})


@router.get("/sessions/{session}/pieces")
async def pieces(session: SessionId, hub: HubDependency) -> Response:
    """The vocabulary as far as the session told it: text by token id, of all records up to ``indexed_record``."""

    def read() -> dict[str, Any]:
        reader, _, number, _ = place_of(hub, session)
        through = reader.session(number)["indexed_record"]
        found = reader.pieces(number)
        return {
            "pieces": {str(token): piece for token, piece in found.items()},
            "indexed_record": through,
        }

    return JSON(await reading(read))


@router.get("/sessions/{session}/sequences/{sequence}/tokens")
async def sequence_tokens(
    session: SessionId, sequence: PathU32, hub: HubDependency, record: Number | None = None
) -> Response:
    """The prompt of a sequence and the tokens that it sampled, as of a record (without one: the last committed)."""
    await hub.settle(session, record)
    return JSON(
        await read_of(hub, session, lambda reader, number: read_sequence(reader, number, sequence, record))
    )


@router.get("/sessions/{session}/requests/{request}/tokens")
async def request_tokens(
    session: SessionId, request: PathU32, hub: HubDependency, record: Number | None = None
) -> Response:
    """The prompt of a request, and for each of its sequences the tokens that it sampled itself, as of a record."""
    await hub.settle(session, record)
    return JSON(
        await read_of(hub, session, lambda reader, number: read_transcript(reader, number, request, record))
    )
