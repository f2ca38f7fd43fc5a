"""Blocks: what happened to one of them."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from kvarium.api.context import JSON, HubDependency
from kvarium.api.numbers import IN_DIGITS, Number, PathU32
from kvarium.api.sessions import SessionId, read_of
from kvarium.recording.block_operations import read_block_operations

router = APIRouter(prefix="/api")


@router.get("/sessions/{session}/blocks/{block}/operations")
async def block_operations(
    session: SessionId,
    block: PathU32,
    hub: HubDependency,
    before: Number | None = None,
    after: Annotated[int | None, Query(ge=-1, lt=1 << 53), IN_DIGITS] = None,
    limit: Annotated[int, Query(ge=1, le=10_000), IN_DIGITS] = 100,
) -> Response:
    """The operations of a block, of committed records: those before operation ``before``, the newest first, or after ``after``."""
    if (before is None) == (after is None):
        raise HTTPException(
            422, "give either before or after: the number of an operation (after=-1: from the first)"
        )
    await hub.settle(session)
    return JSON(
        await read_of(
            hub,
            session,
            lambda reader, number: read_block_operations(reader, number, block, before, after, limit),
        )
    )
