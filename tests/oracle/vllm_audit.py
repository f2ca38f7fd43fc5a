"""The audit of a vLLM: what the ledger says, recomputed from vLLM's own objects.

    ref_cnt, block_hash       of every block                ┐
    free_block_queue          walked from link to link      ├─▶ BlockState, tables, requests ─▶ lanes, or a keyframe
    req_to_blocks             of every request              │
    running, waiting          in their order                ┘

A ticket, like a place, is not vLLM's: its *order* is. So the tickets that the ledger gave to those that the walk meets are
dealt out anew in the order of the walk: the result is the ledger's only if the order is. Generation and hits are the
ledger's alone, and the fill of a block that no table has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from vllm.v1.core.kv_cache_utils import get_block_hash
from vllm.v1.request import Request, RequestStatus

from kvarium_ledger.decisions import State as Standing
from kvarium_ledger.digest import Lanes
from kvarium_ledger.operations import Pin
from kvarium_ledger.records import (
    Contents,
    Digest,
    Keyframe,
    PinColumns,
    RequestState,
    SequenceState,
    TableColumns,
)
from kvarium_ledger.state import BlockState, request_sums, table_sums
from tests.oracle.vllm_ledger import VllmLedger
from tests.oracle.vllm_request import Known

STANDINGS: dict[RequestStatus, Standing] = {
    RequestStatus.WAITING: "waiting",
    RequestStatus.RUNNING: "running",
    RequestStatus.PREEMPTED: "preempted",
}


class VllmAudit:
    """Reads the state of one watched manager between two steps."""

    def __init__(self, told: VllmLedger) -> None:
        self.told = told

    def blocks(self) -> BlockState:
        """The columns of all blocks."""
        told, pool = self.told, self.told.pool
        found = BlockState(pool.num_gpu_blocks)
        for name in ("generation", "filled", "hits"):
            getattr(found, f"np_{name}")[:] = getattr(told.blocks, f"np_{name}")
        found.np_ticket[:] = np.nan
        walk = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
        tickets = sorted(told.blocks.ticket[block] for block in walk)
        for block, ticket in zip(walk, tickets, strict=True):
            found.ticket[block] = ticket
        for each in pool.blocks:
            found.count[each.block_id] = 1 if each.is_null else each.ref_cnt
            if each.block_hash is not None:
                found.content[each.block_id] = told.contents.number(get_block_hash(each.block_hash))
        for known, table in self._tables():
            computed = known.request.num_computed_tokens
            for position, block in enumerate(table):
                found.filled[block] = min(max(0, computed - position * told.block_size), told.block_size)
        return found

    def _tables(self) -> Iterable[tuple[Known, list[int]]]:
        for name, known in self.told.requests.items():
            yield known, [block.block_id for block in self.told.group.req_to_blocks.get(name, ())]

    def table_columns(self) -> TableColumns:
        """All entries of all block tables."""
        rows = [
            (known.number, position, block)
            for known, table in self._tables()
            for position, block in enumerate(table)
        ]
        words = np.array(rows, dtype="<u4").reshape(len(rows), 3)
        return TableColumns(
            sequence=words[:, 0].tobytes(), position=words[:, 1].tobytes(), block=words[:, 2].tobytes()
        )

    def standings(self, queues: Sequence[Iterable[Request]]) -> list[tuple[Known, Standing, float]]:
        """Each request of vLLM's ``queues`` with its state, and a place in the order of its queue."""
        rows: list[tuple[Known, Standing, float]] = []
        for queue in queues:
            known = [self.told.requests[request.request_id] for request in queue]
            places = sorted(each.place for each in known)
            states = [STANDINGS[each.request.status] for each in known]
            rows += zip(known, states, places, strict=True)
        return rows

    def digest(self, queues: Sequence[Iterable[Request]]) -> Digest:
        """The lanes of vLLM's objects."""
        return self._digest(self.blocks(), self.table_columns(), self.standings(queues))

    def _digest(
        self, blocks: BlockState, tables: TableColumns, standings: list[tuple[Known, Standing, float]]
    ) -> Digest:
        lanes = Lanes()
        lanes.add("blocks", blocks.sums())
        lanes.add("tables", table_sums(tables))
        lanes.add(
            "requests", request_sums([(known.number, state, place) for known, state, place in standings])
        )
        return lanes.digest()

    def keyframe(self, queues: Sequence[Iterable[Request]]) -> Keyframe:
        """The whole state after the last step; its number is set by the encoder."""
        told, ledger = self.told, self.told.ledger
        now = ledger.now()
        blocks, tables, standings = self.blocks(), self.table_columns(), self.standings(queues)
        held = sorted(told.contents.parents.items())
        contents = np.array(held, dtype="<u4").reshape(len(held), 2)
        return Keyframe(
            record=0,
            step=ledger.step,
            time=now,
            utc_us=ledger.utc_us + now // 1000,
            op=ledger.op,
            digest=self._digest(blocks, tables, standings),
            blocks=blocks.columns(),
            tables=tables,
            pins=PinColumns(
                block=np.array([told.pool.null_block.block_id], dtype="<u4").tobytes(),
                pin=bytes([Pin.null_block]),
            ),
            requests=[_request(known, state, place) for known, state, place in standings],
            sequences=[
                SequenceState(sequence=known.number, request=known.number, index=0)
                for known, _, _ in standings
            ],
            contents=Contents(content=contents[:, 0].tobytes(), parent=contents[:, 1].tobytes()),
            next_content=told.contents.next,
            audited=True,
        )


def _request(known: Known, state: Standing, place: float) -> RequestState:
    request: Any = known.request
    return RequestState(
        request=known.number,
        name=request.request_id,
        state=state,
        place=place,
        prompt_tokens=request.num_prompt_tokens,
        max_tokens=request.max_tokens,
        priority=request.priority,
        precedence=known.precedence,
        lora_name=request.lora_request.name if request.lora_request else None,
    )
