"""Why, and findings: answers derived from the ledger, each in a process of its own."""

import signal
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from kvarium.api import process
from kvarium.api.context import HubDependency, place_of
from kvarium.api.numbers import U32, Number
from kvarium.api.sessions import SessionId
from kvarium.hub import Hub
from kvarium.why import questions
from kvarium.why.messages import Asked, Failure

router = APIRouter(prefix="/api")

CPU_SECONDS: Final = 60.0
"""Of a processor, for a question. By the clock it has what it takes: who waits no longer goes, and it ends."""
AT_ONCE: Final = 4
"""Questions at once, over all sessions."""

RequestName = Annotated[str, Query(min_length=1, max_length=1000)]


@router.get("/sessions/{session}/why/evicted")
async def evicted(
    session: SessionId,
    request: Request,
    hub: HubDependency,
    block: U32 | None = None,
    generation: U32 | None = None,
    op: Number | None = None,
    step: Number | None = None,
) -> Response:
    """Why a block was evicted (docs/why.md): the last time, up to ``step``, of that life; or the eviction that ``op`` is."""
    if (block is None) == (op is None) or (op is not None and (generation, step) != (None, None)):
        raise HTTPException(422, "give either a block (with generation and step, if you like) or op")
    question = questions.Evicted(block=block, generation=generation, op=op, step=step)
    return await _answer(session, question, request, hub)


@router.get("/sessions/{session}/why/preempted")
async def preempted(
    session: SessionId, request: Request, hub: HubDependency, of: RequestName, step: Number | None = None
) -> Response:
    """Why a request (``of``: r17, 17 or its name) was preempted, the last time, up to ``step``."""
    return await _answer(session, questions.PreemptedAt(request=of, step=step), request, hub)


@router.get("/sessions/{session}/why/waits")
async def waits(
    session: SessionId, request: Request, hub: HubDependency, of: RequestName, step: Number | None = None
) -> Response:
    """Why a request (``of``: r17, 17 or its name) waits after ``step``; without one: the last."""
    return await _answer(session, questions.WaitsAt(request=of, step=step), request, hub)


@router.get("/sessions/{session}/why/missed")
async def missed(
    session: SessionId, request: Request, hub: HubDependency, of: RequestName, step: Number | None = None
) -> Response:
    """Why the prefix of a request (``of``: r17, 17 or its name) missed, at its first admission; with ``step``: the last up to it."""
    return await _answer(session, questions.MissedAt(request=of, step=step), request, hub)


@router.get("/sessions/{session}/why/memory")
async def memory(
    session: SessionId, request: Request, hub: HubDependency, step: Number | None = None
) -> Response:
    """Where the memory goes after ``step``; without one: the last."""
    return await _answer(session, questions.MemoryAt(step=step), request, hub)


@router.get("/sessions/{session}/why/leaks")
async def leaks(
    session: SessionId,
    request: Request,
    hub: HubDependency,
    baseline: Number = 0,
    step: Number | None = None,
) -> Response:
    """What is held for nobody after ``step`` (without one: the last), against the state after step ``baseline``."""
    return await _answer(session, questions.LeaksAt(baseline=baseline, step=step), request, hub)


@router.get("/sessions/{session}/findings")
async def findings(session: SessionId, request: Request, hub: HubDependency) -> Response:
    """What is wrong in the whole recording (docs/findings.md), each finding with the events that prove it."""
    return await _answer(session, questions.FindingsIn(), request, hub)


async def _answer(session: str, question: questions.Question, request: Request, hub: Hub) -> Response:
    """Ask a process of its own. It ends itself when it takes too long, and is killed when nobody waits for it any more."""
    reader, _, number, _ = await run_in_threadpool(place_of, hub, session)
    running: set[object] = request.app.state.why_running
    if len(running) >= AT_ONCE:
        raise HTTPException(429, f"{AT_ONCE} questions run: wait for their end", headers={"Retry-After": "1"})
    own = object()
    running.add(own)
    try:
        await hub.settle(session)
        address = process.address_of(reader.database)
        asked = Asked(database=address, session=number, question=question, cpu_seconds=CPU_SECONDS)
        told = await process.ask("kvarium.why.process", msgspec.msgpack.encode(asked), request)
    finally:
        running.discard(own)
    if told.ended:
        raise HTTPException(503, "the question was ended: nobody waits for it")
    if told.status == -signal.SIGPROF:
        why = f"it took more than {CPU_SECONDS:g} s of processor time"
        raise HTTPException(
            503, f"the question was ended: {why}; `kvarium why` and `kvarium findings` have no limit"
        )
    if told.status or not told.output:
        raise HTTPException(500, f"the question's process ended with status {told.status}")
    found: Any = msgspec.json.decode(told.output, type=dict[str, msgspec.Raw])
    if "answer" not in found:
        failure = msgspec.json.decode(told.output, type=Failure)
        raise HTTPException(failure.status, failure.message)
    return Response(bytes(found["answer"]), media_type="application/json")
