"""The audit: the engine's state read from its real objects, to be compared with what the ledger says.

Nothing here asks the ledger. The free queue is walked entry by entry, and only a block that the walk reaches has a ticket;
the tables are those of the sequences, the counts those of the pool. So a change that forgot its operation differs in a
digest, and an entry that is lost does too.
"""

import logging

import numpy as np

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.free_queue import BrokenQueueError
from kvarium_engine.scheduling.roster import Roster
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.digest import Lanes
from kvarium_ledger.hashes import HASH_BYTES
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

log = logging.getLogger(__name__)


def default_interval(num_blocks: int) -> int:
    """Steps between two audits, so that they cost under 1 %: an audit walks all blocks, at some 0.1 µs each."""
    return max(64, num_blocks // 8)


class Auditor:
    """Reads the state of a pool and a roster between two steps."""

    def __init__(self, pool: BlockPool, roster: Roster) -> None:
        self.pool = pool
        self.roster = roster
        self._told = False

    def _blocks(self) -> BlockState:
        """The block columns, with tickets for the blocks that the queue's entries reach."""
        try:
            reached = self.pool.queue.walk()
        except BrokenQueueError as error:
            if not self._told:
                log.error("the free queue is broken: %s", error.args[0])
                self._told = True
            reached = error.args[1]
        found = self.pool.state.as_arrays()
        rows = np.array(reached, dtype=np.int64)
        tickets = found.np_ticket[rows]
        found.np_ticket[:] = np.nan
        found.np_ticket[rows] = tickets
        return found

    def _sequences(self) -> list[Sequence]:
        """All sequences of all requests in the engine, in the order of their ids."""
        every = [sequence for request in self.roster.requests.values() for sequence in request.live]
        return sorted(every, key=lambda sequence: sequence.id)

    def _tables(self) -> TableColumns:
        sequence: list[int] = []
        position: list[int] = []
        block: list[int] = []
        for holder in self._sequences():
            held = holder.held
            sequence += [holder.id] * len(held)
            position += range(len(held))
            block += held
        return TableColumns(
            sequence=np.array(sequence, dtype="<u4").tobytes(),
            position=np.array(position, dtype="<u4").tobytes(),
            block=np.array(block, dtype="<u4").tobytes(),
        )

    def _digest(self, blocks: BlockState, tables: TableColumns) -> Digest:
        lanes = Lanes()
        lanes.add("blocks", blocks.sums())
        lanes.add("tables", table_sums(tables))
        rows = [
            (request.id, request.state, request.place)
            for request in self.roster.requests.values()
            if request.state is not None and request.place is not None
        ]
        lanes.add("requests", request_sums(rows))
        return lanes.digest()

    def digest(self) -> Digest:
        """The lanes of the real objects."""
        return self._digest(self._blocks(), self._tables())

    def keyframe(self, step: int, op: int, time: int, utc_us: int) -> Keyframe:
        """The whole state of the real objects after ``step``; its number is set by the encoder."""
        blocks, tables = self._blocks(), self._tables()
        return Keyframe(
            record=0,
            step=step,
            time=time,
            utc_us=utc_us,
            op=op,
            digest=self._digest(blocks, tables),
            blocks=blocks.columns(),
            tables=tables,
            pins=PinColumns(
                block=np.array(sorted(self.pool.pins.elements()), dtype="<u4").tobytes(),
                pin=bytes([Pin.copy_source]) * self.pool.pins.total(),
            ),
            requests=[
                RequestState(
                    request=request.id,
                    name=request.name,
                    state=request.state,
                    place=request.place,
                    prompt_tokens=request.prompt_tokens,
                    max_tokens=request.max_tokens,
                    n=request.params.n,
                    priority=request.priority,
                    precedence=request.precedence,
                    beam_width=request.params.beam_width,
                    lora_name=request.keys.lora_name,
                )
                for request in self.roster.requests.values()
                if request.state is not None and request.place is not None
            ],
            sequences=[
                SequenceState(
                    sequence=sequence.id,
                    request=sequence.request.id,
                    index=sequence.index,
                    parent=sequence.parent,
                )
                for sequence in self._sequences()
            ],
            contents=self._contents(),
            next_content=self.pool.cache.next_content if self.pool.cache is not None else 0,
            audited=True,
        )

    def _contents(self) -> Contents:
        """The contents that blocks hold, each with its parent, and with its hash where the ledger tells hashes."""
        cache = self.pool.cache
        pairs = cache.held() if cache is not None else []
        columns = np.array(pairs, dtype="<u4").reshape(len(pairs), 2)
        hashes = [told for content, _ in pairs if cache is not None and (told := cache.hash_of(content))]
        return Contents(
            content=columns[:, 0].tobytes(),
            parent=columns[:, 1].tobytes(),
            hash=b"".join(hashes),
            hash_size=HASH_BYTES if hashes else 0,
        )
