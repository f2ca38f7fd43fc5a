"""vLLM through kvarium's door: the ledger of what vLLM's own pool does to its blocks.

    Scheduler ──▶ KVCacheManager ──▶ BlockPool ──▶ FreeKVCacheBlockQueue      vLLM 0.32, its code unchanged
        │ who comes    │ for whom        │ which blocks     │ which end
        └──────────────┴───────┬─────────┴──────────────────┘
                          VllmLedger ──▶ kvarium_ledger.Ledger ──▶ encoder, link, fold …

Methods of these *objects* are watched; no class is touched. What vLLM knows is told as it is, blocks by its own numbers. What
it has no word for is derived: the fill of a block from the slots that ``allocate_slots`` gives, a place in a queue from the
end at which it puts a block or a request. Its null block, number 0, has a pin for ever; vLLM doesn't count its references.

It follows one KV-cache group whose blocks are hashed one by one, without connectors, copies of partial hits, async
scheduling, or several engine processes. Anything that changes a block on another way is not overlooked: it differs in the
next audit (:mod:`tests.oracle.vllm_audit`).

Only kvarium_ledger and vLLM are imported here: it is what an adapter inside a vLLM would be.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, Literal

from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import generate_block_hash_extra_keys, get_block_hash
from vllm.v1.request import Request, RequestStatus

from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    Finished,
    Preempted,
    Scheduled,
    SequenceCreated,
    State,
    Submitted,
    Waiting,
)
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause
from kvarium_ledger.state import BlockState
from tests.oracle.vllm_contents import VllmContents
from tests.oracle.vllm_request import Known, Serving

REASONS: Final[dict[RequestStatus, Literal["stop", "length", "error"]]] = {
    RequestStatus.FINISHED_STOPPED: "stop",
    RequestStatus.FINISHED_LENGTH_CAPPED: "length",
    RequestStatus.FINISHED_ERROR: "error",
}


def watch(owner: object, name: str, around: Callable[..., Any]) -> None:
    """Let ``around(plain, …)`` stand for the method ``name`` of this one object; ``plain`` is the method itself."""
    setattr(owner, name, partial(around, getattr(owner, name)))


class VllmLedger:
    """Watches a ``KVCacheManager`` and tells ``ledger`` what its pool does.

    ``blocks`` has what vLLM doesn't keep (generation, ticket, fill, hits, content by number) beside what it does, as it was
    told. :meth:`submit` must be called for each request before the manager meets it.
    """

    def __init__(self, manager: KVCacheManager, ledger: Ledger) -> None:
        (self.group,) = manager.coordinator.single_type_managers
        self.manager = manager
        self.pool = manager.block_pool
        self.ledger = ledger
        self.block_size = self.group.block_size
        self.blocks = BlockState(self.pool.num_gpu_blocks)
        null = self.pool.null_block.block_id
        self.blocks.count[null], self.blocks.ticket[null] = 1, float("nan")
        self.requests: dict[str, Known] = {}
        self.contents = VllmContents()
        self._next_number = 0
        self._head, self._tail = -1.0, float(self.pool.num_gpu_blocks)
        self._first, self._last, self._running = -1.0, 0.0, 0.0
        self._serving: Serving | None = None
        self._lacking: Known | None = None
        self._ending: tuple[Known, Cause] | None = None
        self._queued: list[list[int]] = []
        watch(manager, "allocate_slots", self._allocate_slots)
        watch(manager, "free", self._free)
        watch(self.pool, "touch", self._touch)
        watch(self.pool, "get_new_blocks", self._get_new_blocks)
        watch(self.pool, "cache_full_blocks", self._cache_full_blocks)
        watch(self.pool, "free_blocks", self._free_blocks)
        watch(self.pool, "evict_blocks", self._evict_blocks)
        watch(self.pool, "reset_prefix_cache", self._reset_prefix_cache)
        watch(self.pool.free_block_queue, "prepend_n", self._prepend_n)
        watch(self.pool.free_block_queue, "append_n", self._append_n)

    # -- requests ---------------------------------------------------------------------------------------------------

    def submit(self, request: Request, precedence: int = 0) -> None:
        """A request comes in and waits; who has the smallest ``precedence`` is next, and of equals who came first."""
        ledger = self.ledger
        known = Known(self._next_number, request, self._last, precedence)
        self._next_number += 1
        self._last += 1.0
        self.requests[request.request_id] = known
        prompt = request.prompt_token_ids or []
        ledger.decide(
            Submitted(
                op=ledger.op,
                request=known.number,
                state_after="waiting",
                place_after=known.place,
                name=request.request_id,
                prompt_tokens=len(prompt),
                max_tokens=request.max_tokens,
                priority=request.priority,
                precedence=precedence,
                lora_name=request.lora_request.name if request.lora_request else None,
                cache_salt=request.cache_salt,
            )
        )
        ledger.prompt(known.number, array("I", prompt).tobytes())
        ledger.decide(
            SequenceCreated(op=ledger.op, request=known.number, sequence=known.number, index=0, parent=None)
        )

    def _move(self, known: Known, state: State | None, place: float | None) -> dict[str, Any]:
        """The fields of a decision that moves a request."""
        told = {
            "op": self.ledger.op,
            "request": known.number,
            "state_before": known.state,
            "place_before": known.place,
            "state_after": state,
            "place_after": place,
        }
        if state is not None and place is not None:
            known.state, known.place = state, place
        else:
            del self.requests[known.request.request_id]
        return told

    def _admit(self, known: Known, hit: int) -> None:
        """It is certain now that a waiting request begins to run: what it has been given is about to be told."""
        request, size = known.request, self.block_size
        at = hit // size
        missed = (
            request.block_hashes[at] if self.pool.enable_caching and at < len(request.block_hashes) else None
        )
        cap_applied = (
            missed is not None and hit + size == request.num_tokens and self.contents.number(missed) != NONE
        )
        place = self._running
        self._running += 1.0
        self.ledger.decide(
            Admitted(
                **self._move(known, "running", place),
                tokens=request.num_tokens,
                hit=hit,
                cap_applied=cap_applied,
                missed=None if cap_applied else missed,
            )
        )
        known.waits_for_blocks = False

    # -- KVCacheManager ---------------------------------------------------------------------------------------------

    def _allocate_slots(
        self,
        plain: Callable[..., Any],
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        *more: Any,
        **named: Any,
    ) -> Any:
        known = self.requests[request.request_id]
        start = request.num_computed_tokens + num_new_computed_tokens
        serving = self._serving = Serving(known, start, start + num_new_tokens)
        got = plain(request, num_new_tokens, num_new_computed_tokens, *more, **named)
        if got is None:
            self._lacking = known
            self._tell_waiting(known)
        else:
            self._lacking = None
            self._begin()
            self._fill(serving)
        self._serving = None
        return got

    def _tell_waiting(self, known: Known) -> None:
        if known.state == "running" or known.waits_for_blocks:
            return
        known.waits_for_blocks = True
        self.ledger.decide(
            Waiting(
                op=self.ledger.op,
                request=known.number,
                reason="blocks",
                free=self.pool.get_num_free_blocks(),
            )
        )

    def _begin(self) -> Known:
        """Who is served; a request that waited is admitted before the first thing that is done for it."""
        assert self._serving is not None, "blocks are given to nobody that this ledger knows"
        known = self._serving.known
        if known.state != "running":
            self._admit(known, self._serving.start)
        return known

    def _fill(self, serving: Serving) -> None:
        """The slots are assigned: told once a call, before the labels of the blocks that are full then."""
        if serving.filled:
            return
        serving.filled = True
        known, start, end = serving.known, serving.start, serving.end
        ledger, size = self.ledger, self.block_size
        if serving.cause is Cause.prefill:
            ledger.decide(
                Scheduled(
                    op=ledger.op,
                    request=known.number,
                    sequence=known.number,
                    start=start,
                    tokens=end - start,
                )
            )
        positions = range(start // size, (end - 1) // size + 1)
        blocks = [known.table[position] for position in positions]
        before = [max(0, start - position * size) for position in positions]
        after = [min(size, end - position * size) for position in positions]
        for block, filled in zip(blocks, after, strict=True):
            self.blocks.filled[block] = filled
        ledger.fill(blocks, serving.cause, known.number, before, after)

    def _free(self, plain: Callable[..., Any], request: Request) -> None:
        """All of a request's blocks go: it is preempted, or has ended (or waited, and is aborted)."""
        known = self.requests[request.request_id]
        if request.status is RequestStatus.RUNNING:
            cause = Cause.preempted
            tokens, place = request.num_computed_tokens, self._first
            self._first -= 1.0
            self.ledger.decide(
                Preempted(
                    **self._move(known, "preempted", place),
                    victim_of=(self._lacking or known).number,
                    blocks=len(known.table),
                    tokens=tokens,
                )
            )
        elif request.status in REASONS:
            cause = Cause.finished
            self.ledger.decide(Finished(**self._move(known, None, None), reason=REASONS[request.status]))
        else:
            cause = Cause.aborted
            self.ledger.decide(Aborted(**self._move(known, None, None)))
        self._ending = known, cause
        plain(request)
        self._ending = None
        assert not known.table, f"blocks {known.table} of {request.request_id} are not freed"

    # -- BlockPool --------------------------------------------------------------------------------------------------

    def _touch(self, plain: Callable[..., Any], blocks: Sequence[Any]) -> None:
        known, state, ledger = self._begin(), self.blocks, self.ledger
        idle = [block.ref_cnt == 0 for block in blocks]
        plain(blocks)
        for reused, run in groupby(zip(idle, blocks, strict=True), key=lambda pair: pair[0]):
            ids = [block.block_id for _, block in run]
            position = len(known.table)
            if reused:
                ledger.reuse(ids, known.number, position, [state.ticket[block] for block in ids])
            else:
                ledger.share(ids, Cause.prefix_hit, known.number, position)
            for block in ids:
                state.ticket[block] = float("nan")
                state.count[block] += 1
                state.hits[block] += 1
            known.table += ids
            known.contents += [state.content[block] for block in ids]

    def _get_new_blocks(self, plain: Callable[..., Any], num_blocks: int) -> list[Any]:
        taken: list[Any] = plain(num_blocks)
        known, state = self._begin(), self.blocks
        assert self._serving is not None
        ids = [block.block_id for block in taken]
        self._tell_evicted(ids, Cause.allocate, known.number)
        tickets = [state.ticket[block] for block in ids]
        filled = [state.filled[block] for block in ids]
        self.ledger.allocate(ids, self._serving.cause, known.number, len(known.table), tickets, filled)
        for block in ids:
            state.ticket[block] = float("nan")
            state.count[block] = 1
            state.generation[block] += 1
            state.filled[block] = 0
        known.table += ids
        return taken

    def _cache_full_blocks(
        self,
        plain: Callable[..., Any],
        request: Request,
        blocks: list[Any],
        num_cached_blocks: int,
        num_full_blocks: int,
        **named: Any,
    ) -> None:
        if self._serving is not None:
            self._fill(self._serving)
        plain(
            request=request,
            blocks=blocks,
            num_cached_blocks=num_cached_blocks,
            num_full_blocks=num_full_blocks,
            **named,
        )
        known, size = self.requests[request.request_id], self.block_size
        ids: list[int] = []
        for position in range(num_cached_blocks, num_full_blocks):
            block = blocks[position]
            tokens = request.all_token_ids[position * size : (position + 1) * size]
            before = known.contents[-1] if known.contents else NONE
            content, new = self.contents.hold(get_block_hash(block.block_hash), before)
            if new:
                extra, _ = generate_block_hash_extra_keys(request, position * size, (position + 1) * size, 0)
                self.ledger.contents(content, before, 1, array("I", tokens).tobytes(), extra)
            known.contents.append(content)
            self.blocks.content[block.block_id] = content
            ids.append(block.block_id)
        self.ledger.cache(ids, known.number, known.contents[num_cached_blocks:num_full_blocks])

    def _free_blocks(self, plain: Callable[..., Any], ordered_blocks: Iterable[Any]) -> None:
        ordered = [block for block in ordered_blocks if not block.is_null]
        assert self._ending is not None or not ordered, "blocks are freed by nobody that this ledger knows"
        plain(ordered)
        if self._ending is None:
            return
        known, cause = self._ending
        place = {block: position for position, block in enumerate(known.table)}
        shared = [block.block_id for block in ordered if block.ref_cnt > 0]
        if shared:
            self.ledger.release(shared, cause, known.number, [place[block] for block in shared])
        for ids in self._queued:
            tickets = [self.blocks.ticket[block] for block in ids]
            self.ledger.free(ids, cause, known.number, [place[block] for block in ids], tickets)
        for block in ordered:
            self.blocks.count[block.block_id] -= 1
        self._queued.clear()
        known.table.clear()
        known.contents.clear()

    def _evict_blocks(self, plain: Callable[..., Any], block_ids: set[int]) -> None:
        """Somebody outside of the pool wants labels gone; why, vLLM does not say."""
        plain(block_ids)
        self._tell_evicted(block_ids, Cause.foreign, NONE)

    def _reset_prefix_cache(self, plain: Callable[..., Any]) -> bool:
        done: bool = plain()
        if done:
            self._tell_evicted(range(self.blocks.num_blocks), Cause.reset, NONE)
        return done

    def _tell_evicted(self, blocks: Iterable[int], cause: Cause, sequence: int) -> None:
        """Those of ``blocks`` that had a label have lost it."""
        state = self.blocks
        ids = [block for block in blocks if state.content[block] != NONE]
        if not ids:
            return
        contents = [state.content[block] for block in ids]
        self.ledger.evict(ids, cause, sequence, contents, [state.hits[block] for block in ids])
        for block, content in zip(ids, contents, strict=True):
            state.content[block], state.hits[block] = NONE, 0
            self.contents.let_go(content)

    # -- FreeKVCacheBlockQueue --------------------------------------------------------------------------------------

    def _prepend_n(self, plain: Callable[..., Any], blocks: list[Any]) -> None:
        plain(blocks)
        self._head -= len(blocks)
        self._enter(blocks, self._head + 1.0)

    def _append_n(self, plain: Callable[..., Any], blocks: list[Any]) -> None:
        plain(blocks)
        self._enter(blocks, self._tail)
        self._tail += len(blocks)

    def _enter(self, blocks: list[Any], first: float) -> None:
        for ticket, block in enumerate(blocks):
            self.blocks.ticket[block.block_id] = first + ticket
        if blocks:
            self._queued.append([block.block_id for block in blocks])
