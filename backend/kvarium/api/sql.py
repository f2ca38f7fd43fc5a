"""SQL of a session, for the screen: each query in a process of its own, one at a time a session."""

import json
import time
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from kvarium.api import bodies, process
from kvarium.api.context import JSON, HubDependency, place_of
from kvarium.sql.messages import Failure, Outcome, Question
from kvarium.sql.schema import TABLES

router = APIRouter(prefix="/api")

SECONDS: Final = 30.0
MEMORY_BYTES: Final = 1 << 30
MOST_ROWS: Final = 100_000
AT_ONCE: Final = 4
"""Queries at once, over all sessions."""

_STARTS_SECONDS: Final = 15.0
"""How long a process may take beyond its query's limit, to begin and to end."""


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=65536)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)] = 1000


@router.get("/sql")
async def guide() -> Response:
    """What can be asked: the tables with their columns, the worked questions of docs/sql.md, and the limits."""
    return JSON(_guide())


@cache
def _guide() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((files("kvarium.sql") / "guide.json").read_text("utf-8"))
    for table in told["tables"]:
        for column in table["columns"]:
            column["type"] = TABLES[table["name"]].column(column["name"]).type
    return told | {"limits": {"seconds": SECONDS, "memory_bytes": MEMORY_BYTES, "rows": MOST_ROWS}}


@router.post("/sessions/{session}/sql")
async def sql(session: str, request: Request, hub: HubDependency) -> Response:
    """Rows of one query: ``columns``, ``types``, ``rows``, ``truncated``, ``elapsed_ms``.

    A query that fails is 422 with ``detail``, ``fault`` (sql, refused, time, memory) and, where it is known, ``line`` and
    ``column``. A second one of the same session is 429.
    """
    body = await bodies.read(request, _Body, "a query")
    reader, _, number, _ = await run_in_threadpool(place_of, hub, session)
    running: set[str] = request.app.state.sql_running
    if session in running or len(running) >= AT_ONCE:
        why = "another query of this session runs" if session in running else f"{AT_ONCE} queries run"
        raise HTTPException(429, f"{why}: wait for its end", headers={"Retry-After": "1"})
    running.add(session)
    began = time.monotonic()
    try:
        await hub.settle(session)
        answer = await _answer(
            Question(
                database=process.address_of(reader.database),
                session=number,
                sql=body.sql,
                limit=body.limit,
                seconds=SECONDS,
                memory_bytes=MEMORY_BYTES,
                threads=2,
            ),
            request,
        )
    finally:
        running.discard(session)
    if isinstance(answer, Failure):
        if answer.fault is None:
            raise HTTPException(500, answer.message)
        told = {"detail": answer.message, "fault": answer.fault, "line": answer.line, "column": answer.column}
        return JSON(told, status_code=422)
    elapsed = round((time.monotonic() - began) * 1000)
    rows: dict[str, Any] = {name: getattr(answer, name) for name in ("columns", "types", "rows", "truncated")}
    return JSON(rows | {"elapsed_ms": elapsed})


async def _answer(question: Question, request: Request) -> Outcome:
    """Ask a process of its own. It is killed when it does not end in time, or when nobody waits for it any more."""
    told = await process.ask(
        "kvarium.sql.process",
        msgspec.msgpack.encode(question),
        request,
        question.seconds + _STARTS_SECONDS,
    )
    if told.ended:
        why = "nobody waits for it" if told.ended == "gone" else f"it took longer than {question.seconds:g} s"
        return Failure(message=f"the query was ended: {why}", fault="time")
    if told.status or not told.output:
        return Failure(message=_crashed(told.status, question), fault="memory")
    return msgspec.msgpack.decode(told.output, type=Outcome)


def _crashed(status: int | None, question: Question) -> str:
    """The process ended without an answer: what it could not allocate took it down."""
    most = question.memory_bytes >> 20
    return (
        f"the query's process ended with status {status}: most likely it needs more than {most} MiB of memory"
    )
