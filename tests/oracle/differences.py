"""What is meant to differ between kvarium and vLLM 0.32, in one place (reasons: docs/vllm.md).

Each is either a setting of vLLM's, a translation, or a request or a moment that is left out and counted; no comparison has
a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm.lora.request import LoRARequest
from vllm.v1.core.sched.scheduler import Scheduler as VllmScheduler

from kvarium_engine.scheduling.request import Request
from kvarium_ledger.decisions import AnyDecision, Preempted

SETTINGS: dict[str, Any] = {
    "is_encoder_decoder": False,
    "enable_chunked_prefill": True,
    "async_scheduling": False,
    # Lazy allocation: a prompt is admitted when its first chunk's blocks are free, not those of the whole prompt.
    "scheduler_reserve_full_isl": False,
}


# -- the null block: vLLM's block 0 is nobody's --------------------------------------------------------------------


def vllm_blocks(num_blocks: int) -> int:
    """How many blocks vLLM needs for as many usable ones."""
    return num_blocks + 1


def numbered(vllm_blocks: Iterable[int]) -> list[int]:
    """vLLM's block numbers as kvarium's."""
    return [block - 1 for block in vllm_blocks]


# -- a LoRA: its weights are not loaded, so that its path is its name --------------------------------------------------


def adapter(name: str | None) -> LoRARequest | None:
    return None if name is None else LoRARequest(name, 1, name)


# -- requests that can never fit: refused at once, while vLLM takes them in and preempts them for ever -----------------


def never_fits(request: Request) -> bool:
    return request.state is None


# -- freed blocks without a label: to the head in vLLM, to the tail with free_order=lru ----------------------------------


def free_to_the_tail(pool: Any) -> None:
    """Let a pool of vLLM put what it would put at the head of its queue at the tail: all that ``lru`` changes."""
    pool.free_block_queue.prepend_n = pool.free_block_queue.append_n


# -- labels of a step that does not happen -----------------------------------------------------------------------------


class Scheduler(VllmScheduler):
    """vLLM's own, but for a request that is preempted in the very step that had scheduled it (by priority only).

    vLLM leaves the labels that it gave to this request's blocks in that step, although nobody will compute them, so these
    blocks go to the tail; kvarium takes the labels back first, so they go to the head. Here vLLM's are taken back as well.
    """

    unscheduled = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self._labelled = dict(self._manager.num_cached_block)
        return super().schedule(*args, **kwargs)

    @property
    def _manager(self) -> Any:
        return self.kv_cache_manager.coordinator.single_type_managers[0]

    def _preempt_request(self, request: Any, *args: Any, **kwargs: Any) -> None:
        name, manager = request.request_id, self._manager
        first = self._labelled.get(name, 0)
        promised = manager.req_to_blocks[name][first : manager.num_cached_block.get(name, 0)]
        if promised:
            self.unscheduled += 1
            self.kv_cache_manager.evict_blocks({block.block_id for block in promised})
        super()._preempt_request(request, *args, **kwargs)


# -- after a request had to preempt itself (by priority only) ----------------------------------------------------------


def others_go_on(decisions: Iterable[AnyDecision], running: Iterable[Request]) -> bool:
    """A request that needed blocks was itself the least urgent, and requests behind it run on.

    kvarium schedules those in the same step, now that blocks are free; vLLM ends its loop there and lets them idle
    for a step. From here on the two are out of step: the run ends.
    """
    places = [request.place for request in running if request.place is not None]
    return any(
        isinstance(decision, Preempted)
        and decision.request == decision.victim_of
        and any(place > decision.place_before for place in places)  # type: ignore[operator]
        for decision in decisions
    )
