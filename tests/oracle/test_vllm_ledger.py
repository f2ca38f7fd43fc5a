"""vLLM alone, by its own rules, emits kvarium's ledger: the fold of it is vLLM's state, and what is left out is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from vllm.v1.core.sched.scheduler import Scheduler

from kvarium_ledger.decisions import Admitted, Finished, Preempted, SequenceCreated, Submitted
from tests.oracle import vllm_side
from tests.oracle.foreign import DifferenceError, ForeignFold, same
from tests.oracle.scenario import Abort, Reset, Scenario, Step, Submit, generate, prompt, sampled_token
from tests.oracle.vllm_ledger import watch

PLAIN: dict[str, Any] = {"is_encoder_decoder": False, "async_scheduling": False}
"""vLLM's own settings else: a prompt is admitted when all of it fits, labels of a step that doesn't happen stay."""


class Alone:
    """vLLM through one scenario, with the fold of its ledger behind it; requests that can never fit are left out."""

    def __init__(self, scenario: Scenario) -> None:
        vllm_side.seed_hashes(scenario.hash_seed)
        self.scenario = scenario
        self.scheduler = vllm_side.make_scheduler(scenario, Scheduler, PLAIN)
        self.foreign = ForeignFold(self.scheduler, scenario.hash_seed)
        self.submits: dict[str, Submit] = {}

    def run(self) -> Counter[str]:
        for event in self.scenario.events:
            if isinstance(event, Submit):
                self._submit(event)
            elif isinstance(event, Step):
                self.step()
            elif isinstance(event, Abort):
                names = sorted(self.scheduler.requests)
                if names:
                    vllm_side.abort(self.scheduler, names[event.pick % len(names)])
                    self.foreign.counts["aborts"] += 1
                    self.foreign.follow()
            elif isinstance(event, Reset):
                self.foreign.counts["resets"] += self.scheduler.reset_prefix_cache()
                self.foreign.follow()
        while self.scheduler.has_unfinished_requests():
            self.step()
        same("used in the end", self.foreign.fold.usage()[:2], (1, 0))  # the null block
        return self.foreign.counts

    def _submit(self, submit: Submit) -> None:
        ids, scenario = prompt(submit), self.scenario
        if len(ids) + submit.max_tokens > min(scenario.length, scenario.num_blocks * scenario.block_size):
            return
        self.submits[submit.name] = submit
        arrival = len(self.submits)
        self.scheduler.add_request(vllm_side.make_request(submit, ids, arrival, scenario.block_size))

    def step(self) -> None:
        output = self.scheduler.schedule()
        requests = self.scheduler.requests
        sampled = {
            name: sampled_token(self.submits[name], requests[name].num_tokens)
            for name in output.num_scheduled_tokens
            if requests[name].num_computed_tokens == requests[name].num_tokens
        }
        self.scheduler.update_from_output(output, vllm_side.runner_output(output, sampled))
        self.foreign.counts["preemptions"] += len(output.preempted_req_ids or ())
        self.foreign.follow()


LEAST = {
    "block operations": 50_000,
    "evictions": 2_000,
    "preemptions": 100,
    "reuse": 500,
    "share": 200,
    "aborts": 50,
    "resets": 20,
}
"""What a full run must have been told of each."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_the_fold_of_vllms_ledger_is_vllms_state(
    policy: str, seed: int, size: str, told: Callable[..., None]
) -> None:
    part = 20 if size == "small" else 1
    wanted = {name: least // part for name, least in LEAST.items()}
    counts: Counter[str] = Counter()
    run = seed
    while any(counts[name] < least for name, least in wanted.items()):
        try:
            counts += Alone(generate(run, policy, 20)).run()
        except AssertionError as error:
            raise AssertionError(f"generate({run}, {policy!r}, 20): {error}") from error
        counts["runs"] += 1
        run += 1
        assert run < seed + 5000, counts
    told(f"vLLM's own ledger, {policy}", counts, *LEAST, "steps", "runs")


# -- faults: the ledger leaves something out ---------------------------------------------------------------------------


def silent(plain: Callable[..., Any], *given: Any, **named: Any) -> None:
    """Nothing is told."""


def without(kind: type) -> Callable[..., None]:
    """Decisions of one kind are not told."""

    def decide(plain: Callable[[Any], None], decision: Any) -> None:
        if not isinstance(decision, kind):
            plain(decision)

    decide.__name__ = f"without_{kind.__name__}"
    return decide


def cut(
    plain: Callable[..., None], blocks: list[int], cause: Any, sequence: int, positions: Any, tickets: Any
) -> None:
    """Of several blocks that are freed the last is not told."""
    kept = max(1, len(blocks) - 1)
    plain(blocks[:kept], cause, sequence, positions[:kept], tickets[:kept])


def backwards(
    plain: Callable[..., None],
    blocks: list[int],
    cause: Any,
    sequence: int,
    positions: Any,
    tickets: list[float],
) -> None:
    """Blocks are told to enter the queue in the other order."""
    plain(blocks, cause, sequence, positions, tickets[::-1])


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(
            (name, silent)
            for name in ("allocate", "evict", "reuse", "share", "fill", "cache", "release", "free")
        ),
        ("contents", silent),
        *(("decide", without(kind)) for kind in (Submitted, SequenceCreated, Admitted, Preempted, Finished)),
        ("free", cut),
        ("free", backwards),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_emission_that_is_left_out_is_found(name: str, fault: Callable[..., Any]) -> None:
    for seed in range(40):
        alone = Alone(generate(seed, "fcfs", 20))
        watch(alone.foreign.session.ledger, name, fault)
        try:
            alone.run()
        except DifferenceError:
            return
    pytest.fail("40 runs found nothing")


# -- faults: vLLM changes something behind the ledger's back -------------------------------------------------------------


def count_grows(scheduler: Any) -> None:
    scheduler.kv_cache_manager.block_pool.blocks[1].ref_cnt += 1


def queue_turns(scheduler: Any) -> None:
    queue = scheduler.kv_cache_manager.block_pool.free_block_queue
    first = queue.popleft()
    queue.append(first)


def label_goes(scheduler: Any) -> None:
    pool = scheduler.kv_cache_manager.block_pool
    pool._maybe_evict_cached_block(next(block for block in pool.blocks if block.block_hash is not None))


def entry_moves(scheduler: Any) -> None:
    table = next(t for t in _tables(scheduler) if len(t) > 1)
    table[0], table[1] = table[1], table[0]


def running_turn(scheduler: Any) -> None:
    scheduler.running.reverse()


def computed_less(scheduler: Any) -> None:
    next(request for request in scheduler.running if request.num_computed_tokens).num_computed_tokens -= 1


def _tables(scheduler: Any) -> list[list[Any]]:
    (group,) = scheduler.kv_cache_manager.coordinator.single_type_managers
    return list(group.req_to_blocks.values())


@pytest.mark.parametrize(
    ("change", "lane"),
    [
        (count_grows, "blocks"),
        (queue_turns, "blocks"),
        (label_goes, "blocks"),
        (entry_moves, "tables"),
        (running_turn, "requests"),
        (computed_less, "blocks"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_change_behind_the_ledgers_back_is_found_by_the_audit(
    change: Callable[[Any], None], lane: str
) -> None:
    alone = Alone(
        Scenario(
            0,
            "fcfs",
            num_blocks=24,
            block_size=4,
            budget=40,
            seqs=3,
            length=96,
            caching=True,
            hash_seed="0",
            events=[],
        )
    )
    for number in range(3):
        alone._submit(Submit(f"r{number}", number, 8, 2, 30, 0, ignore_eos=True))
    for _ in range(3):
        alone.step()
    told = alone.foreign.session.audit.digest(alone.foreign.session.queues())
    assert told == alone.foreign.fold.lanes.digest()
    change(alone.scheduler)
    found = alone.foreign.session.audit.digest(alone.foreign.session.queues())
    same_lanes = {
        name for name in ("blocks", "tables", "requests") if getattr(found, name) == getattr(told, name)
    }
    assert lane not in same_lanes
    if change is not entry_moves:  # whose blocks' fill is that of other entries then
        assert len(same_lanes) == 2
