"""A foreign engine through the door: vLLM's ledger as bytes, their fold, and that fold against vLLM's own objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from vllm.v1.core.kv_cache_utils import get_block_hash

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import Aborted, Admitted, AnyDecision, Finished, Preempted
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.ledger import Sealed
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Step, Text
from tests.oracle.vllm_session import SchedulerSession, VllmSession


class DifferenceError(AssertionError):
    """Two that must be equal differ."""


def same(what: str, kvarium: Any, vllm: Any) -> None:
    if kvarium != vllm:
        raise DifferenceError(f"{what}: kvarium {kvarium}, vLLM {vllm}")


Row = tuple[Operation, int, str, int, int]
"""An operation without what each engine numbers for itself: kind, block, for whom, table entry, fill after it."""


def rows(columns: OperationColumns, name_of: Callable[[int], str], first_block: int = 0) -> Counter[Row]:
    """The operations of a record, their blocks counted from ``first_block`` on."""
    # A label that goes for another reason than an allocation serves nobody that vLLM would name.
    unserved = columns.mask(Operation.evict) & (columns.cause != Cause.allocate)
    told = zip(
        columns.kind.tolist(),
        columns.block.tolist(),
        np.where(unserved, NONE, columns.sequence).tolist(),
        columns.expand("position").tolist(),
        columns.expand("filled_after").tolist(),
        strict=True,
    )
    return Counter(
        (
            Operation(kind),
            block + first_block,
            "" if sequence == NONE else name_of(sequence),
            position,
            filled,
        )
        for kind, block, sequence, position, filled in told
    )


def moves(decisions: Iterable[AnyDecision], name_of: Callable[[int], str]) -> Counter[tuple[Any, ...]]:
    """Who was admitted with what, preempted for whom at what cost, and has ended why, by the names of requests."""
    told: Counter[tuple[Any, ...]] = Counter()
    for each in decisions:
        if isinstance(each, Admitted):
            told["admitted", name_of(each.request), each.tokens, each.hit, each.cap_applied, each.missed] += 1
        elif isinstance(each, Preempted):
            names = name_of(each.request), name_of(each.victim_of)
            told["preempted", *names, each.blocks, each.tokens] += 1
        elif isinstance(each, Finished):
            told["finished", name_of(each.request), each.reason] += 1
        elif isinstance(each, Aborted):
            told["aborted", name_of(each.request)] += 1
    return told


class ForeignFold:
    """Follows a scheduler of vLLM through its ledger alone. ``counts`` tells how much of each kind it was told.

    ``make`` makes its session; whatever has a scheduler's manager and queues may stand for one then.
    """

    def __init__(
        self,
        scheduler: Any,
        hash_seed: str,
        make: Callable[..., VllmSession] = SchedulerSession,
    ) -> None:
        self.scheduler = scheduler
        self.pool = scheduler.kv_cache_manager.block_pool
        self.block_size = scheduler.block_size
        self.fold = Fold(self.pool.num_gpu_blocks, self.block_size)
        self.counts: Counter[str] = Counter()
        self.frames: list[bytes] = []
        """All that was told, as bytes."""
        self.moves: Counter[tuple[Any, ...]] = Counter()
        self.rows: Counter[Row] = Counter()
        """What was told since these two were last cleared."""
        self._encoder = Encoder(self.pool.num_gpu_blocks)
        self._sealed: list[Sealed] = []
        self._root = root_hash(hash_seed)
        self._tokens: dict[int, bytes] = {}
        self._keys: dict[int, list[list[str]]] = {}
        self._hashes: dict[int, bytes] = {}
        self.session = make(scheduler, self._sealed.append, audit_interval=1)
        self.follow()

    def follow(self) -> None:
        """Fold what was told since the last call, and compare all of it."""
        self.session.seal()
        for sealed in self._sealed:
            for _, frame in self._encoder.encode(sealed):
                self.frames.append(frame)
                record = codec.open_frame(frame)
                found = self.fold.apply(record)
                same("what the fold finds wrong", [str(violation) for violation in found], [])
                if isinstance(record, Step):
                    self._count(record)
                elif isinstance(record, Text):
                    self._read(record)
        self._sealed.clear()
        self.compare()

    def _count(self, step: Step) -> None:
        columns = OperationColumns.decode(step.operations)
        self.moves += moves(step.decisions, lambda request: self.fold.state.facts[request].name)
        self.rows += rows(columns, self.name_of)
        for kind, number in Counter(columns.kind.tolist()).items():
            self.counts[Operation(kind).name] += number
        evicted = columns.mask(Operation.evict) & (columns.cause == Cause.allocate)
        self.counts["evictions"] += int(evicted.sum())
        self.counts["block operations"] += len(columns)
        self.counts["steps"] += 1

    def _read(self, text: Text) -> None:
        size = 4 * self.block_size
        for place, content in enumerate(u32(text.content).tolist()):
            self._tokens[content] = text.tokens[place * size : (place + 1) * size]
        for extra in text.extra:
            self._keys |= dict.fromkeys(u32(extra.content).tolist(), extra.keys)

    def name_of(self, sequence: int) -> str:
        """The name of the request that a sequence belongs to."""
        return self.fold.state.facts[self.fold.state.sequences[sequence].request].name

    def hash_of(self, content: int) -> bytes:
        """The hash that a reader of the ledger computes: of the parent's, and of the tokens and extra keys that were told."""
        if content not in self._hashes:
            parent = self.fold.state.contents.parent(content)
            assert parent is not None, f"content {content} has no parent that was told"
            before = self._root if parent == NONE else self.hash_of(parent)
            tokens = memoryview(self._tokens[content]).cast("I")
            self._hashes[content] = block_hash(before, tokens, self._keys.get(content))
        return self._hashes[content]

    def compare(self) -> None:
        """Free queue, counts, labels, block tables, running and waiting requests: the fold's and vLLM's own."""
        fold, pool, scheduler = self.fold, self.pool, self.scheduler
        blocks = fold.state.blocks
        order = blocks.np_ticket.argsort().tolist()
        queue = [block for block in order if blocks.ticket[block] == blocks.ticket[block]]
        same(
            "free queue of vLLM's ledger",
            queue,
            [block.block_id for block in pool.free_block_queue.get_all_free_blocks()],
        )
        same("counts of vLLM's ledger", list(blocks.count)[1:], [block.ref_cnt for block in pool.blocks[1:]])
        same(
            "pins of vLLM's ledger", {block: pins.total() for block, pins in fold.state.pins.items()}, {0: 1}
        )
        same(
            "labels of vLLM's ledger",
            [None if content == NONE else self.hash_of(content) for content in blocks.content],
            [block.block_hash and get_block_hash(block.block_hash) for block in pool.blocks],
        )
        tables = {
            self.name_of(sequence): [held[at] for at in sorted(held)]
            for (sequence, _), held in fold.state.tables.items()
        }
        names = [request.request_id for request in scheduler.running]
        theirs = {name: scheduler.kv_cache_manager.get_block_ids(name)[0] for name in names}
        same("tables of vLLM's ledger", tables, theirs)
        same("running of vLLM's ledger", self._queue("running"), names)
        same(
            "waiting of vLLM's ledger",
            self._queue("waiting", "preempted"),
            [request.request_id for request in scheduler.waiting],
        )

    def _queue(self, *states: str) -> list[str]:
        """The names of the fold's requests in these states, in order."""
        facts = self.fold.state.facts
        waiting = "running" not in states
        rows = [
            (facts[number].precedence if waiting else 0, row.place, facts[number].name)
            for number, row in self.fold.state.requests.items()
            if row.state in states
        ]
        return [name for _, _, name in sorted(rows)]
