"""vLLM's KVCacheManager without its scheduler: whoever asks for slots, in any order, gets the same blocks from kvarium."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.request import RequestStatus

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import Cause
from kvarium_ledger.step_text import one_by_one
from tests.oracle import vllm_side
from tests.oracle.differences import numbered
from tests.oracle.foreign import ForeignFold, same
from tests.oracle.lockstep import Hashes, compare_pools
from tests.oracle.scenario import Scenario, Submit, prompt, sampled_token
from tests.oracle.vllm_session import VllmSession

ENDS = {
    Cause.finished: RequestStatus.FINISHED_STOPPED,
    Cause.aborted: RequestStatus.FINISHED_ABORTED,
    Cause.preempted: RequestStatus.RUNNING,
}


class Line:
    """A request on both sides."""

    def __init__(self, number: int, submit: Submit, block_size: int) -> None:
        ids = prompt(submit)
        self.submit = submit
        self.theirs = vllm_side.make_request(submit, ids, number, block_size)
        keys = ExtraKeys(submit.lora_name, submit.cache_salt)
        params = SamplingParams(max_tokens=submit.max_tokens)
        request = Request(number, submit.name, array("I", ids), params, 0, submit.max_tokens, keys)
        self.keys = keys
        self.ours = Sequence(number, request, 0, array("I", ids))


class TwoManagers:
    """The operations, each on both; after each all is compared, and the fold of vLLM's ledger with vLLM."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        size = self.size = rng.choice([1, 2, 4, 16, 32, 256])
        blocks = rng.choice([2, 5, 12, 40])
        scenario = Scenario(0, "fcfs", blocks, size, 8, 8, 1 << 20, True, vllm_side.HASH_SEED, [])
        self.manager: KVCacheManager = vllm_side.make_scheduler(scenario).kv_cache_manager
        self.cache = PrefixCache(size, vllm_side.HASH_SEED)
        self.ledger = Ledger(lambda sealed: None)
        self.pool = BlockPool(blocks, size, self.ledger, self.cache, "unhashed-first")
        self.slots = SlotWriter(self.pool, self.ledger)
        self.hashes = Hashes(vllm_side.HASH_SEED)
        self.running: list[Line] = []
        self.waiting: list[Line] = []
        self.counts: Counter[str] = Counter()
        self.stand_in = SimpleNamespace(kv_cache_manager=self.manager, block_size=size)
        self._tell_queues()
        self.foreign = ForeignFold(
            self.stand_in,
            vllm_side.HASH_SEED,
            lambda scheduler, sink, audit_interval: VllmSession(
                self.manager, lambda: [scheduler.running, scheduler.waiting], sink, audit_interval
            ),
        )

    def _tell_queues(self) -> None:
        self.stand_in.running = [line.theirs for line in self.running]
        self.stand_in.waiting = [line.theirs for line in self.waiting]

    # -- operations -------------------------------------------------------------------------------------------------

    def submit(self) -> None:
        rng, size = self.rng, self.size
        number = self.counts["submitted"]
        room = max(2, min(self.pool.num_blocks * size, 400))
        line = Line(
            number,
            Submit(
                name=f"r{number}",
                stream=rng.randrange(2),
                shared=rng.randrange(room),
                own=rng.randrange(1, 1 + room // 2),
                max_tokens=1000,
                priority=0,
                ignore_eos=True,
                cache_salt=rng.choice([None, None, None, "pepper"]),
            ),
            size,
        )
        self.counts["submitted"] += 1
        self.waiting.append(line)
        self.foreign.session.told.submit(line.theirs)

    def admit(self) -> None:
        """The first in line begins with what is cached and a chunk of the rest; or can't, and nothing changes."""
        if not self.waiting:
            return
        line, size = self.waiting[0], self.size
        sequence, request = line.ours, line.theirs
        hits, contents = self.cache.lookup(
            sequence.tokens.tobytes(), (sequence.length - 1) // size, line.keys
        )
        found, hit, _ = self.manager.get_computed_blocks(request)
        same("hits", hits, numbered(found.get_block_ids()[0]))
        same("tokens hit", len(hits) * size, hit)
        tokens = self.rng.randrange(1, sequence.length - hit + 1)
        idle = sum(self.pool.state.count[block] == 0 for block in hits)
        fits = blocks_for(hit + tokens, size) - len(hits) + idle <= self.pool.num_free
        got = self.manager.allocate_slots(request, tokens, hit, found)
        same("fits", fits, got is not None)
        self.counts["admitted" if fits else "not admitted"] += 1
        if not fits:
            return
        self.counts["hits"] += len(hits)
        self.counts["hits on freed blocks"] += idle
        if hits:
            self.pool.hit(hits, sequence.id, 0)
            sequence.table, sequence.computed = hits, hit
            sequence.labelled, sequence.content = len(hits), contents[-1]
        self.slots.prefill(sequence, tokens)
        self._computed(line)
        request.status = RequestStatus.RUNNING
        self.running.append(self.waiting.pop(0))

    def go_on(self) -> None:
        """A running one gets slots for its next tokens, a sampled one first if it has computed all it knows."""
        if not self.running:
            return
        line = self.rng.choice(self.running)
        sequence, request = line.ours, line.theirs
        if sequence.computed == sequence.length:
            token = sampled_token(line.submit, sequence.length)
            sequence.tokens.append(token)
            sequence.length += 1
            request.append_output_token_ids(token)
        tokens = self.rng.randrange(1, sequence.length - sequence.computed + 1)
        fits = self.slots.blocks_needed([(sequence, tokens)]) <= self.pool.num_free
        got = self.manager.allocate_slots(request, tokens)
        same("fits", fits, got is not None)
        self.counts["went on" if fits else "did not go on"] += 1
        if not fits:
            return
        if sequence.length - sequence.computed == 1:
            self.slots.decode(sequence)
        else:
            self.slots.prefill(sequence, tokens)
        self._computed(line)

    def _computed(self, line: Line) -> None:
        self.slots.launch()
        self.slots.settle()
        line.theirs.num_computed_tokens = line.ours.computed

    def end(self) -> None:
        """A running one is finished, aborted or preempted, or a waiting one aborted."""
        cause = self.rng.choice(list(ENDS))
        lines = self.waiting if cause is Cause.aborted and self.rng.random() < 0.5 else self.running
        if not lines:
            return
        line = lines.pop(self.rng.randrange(len(lines)))
        line.theirs.status = ENDS[cause]
        self.pool.let_go(line.ours.table, cause, line.ours.id)
        self.manager.free(line.theirs)
        line.ours.forget()
        self.counts[cause.name] += 1
        if cause is Cause.preempted:
            line.theirs.status, line.theirs.num_computed_tokens = RequestStatus.PREEMPTED, 0
            self.waiting.insert(0, line)

    def reset(self) -> None:
        while self.running:
            self.end()
        assert self.manager.reset_prefix_cache()
        self.pool.reset_cache()
        self.counts["resets"] += 1

    # -- all --------------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        self.hashes.learn(one_by_one(self.ledger._contents))
        compare_pools(self.pool, self.manager.block_pool, self.hashes)
        for line in self.running:
            theirs = numbered(self.manager.get_block_ids(line.theirs.request_id)[0])
            same(f"table of {line.submit.name}", line.ours.table, theirs)
        self._tell_queues()
        self.foreign.follow()

    @property
    def calls(self) -> int:
        """How often both were asked for something: a prompt's or a decode's slots, or the end of a request, or a reset."""
        asked = (
            "admitted",
            "not admitted",
            "went on",
            "did not go on",
            *(cause.name for cause in ENDS),
            "resets",
        )
        return sum(self.counts[name] for name in asked)

    def run(self, operations: int) -> None:
        steps = [
            self.submit,
            self.admit,
            self.admit,
            self.go_on,
            self.go_on,
            self.go_on,
            self.go_on,
            self.end,
        ]
        for _ in range(operations):
            step = self.rng.choice(steps) if self.rng.random() < 0.99 else self.reset
            step()
            self.compare()


def test_any_calls_leave_both_with_the_same_blocks(seed: int, size: str, told: Callable[..., None]) -> None:
    vllm_side.seed_hashes(vllm_side.HASH_SEED)
    counts: Counter[str] = Counter()
    for run in range(15 if size == "small" else 200):
        two = TwoManagers(random.Random(seed + run))
        try:
            two.run(200)
        except AssertionError as error:
            raise AssertionError(f"run {run} (random.Random({seed + run})): {error}") from error
        counts += two.counts + Counter(evictions=two.foreign.counts["evictions"], calls=two.calls)
    shown = (
        "calls",
        "went on",
        "did not go on",
        "admitted",
        "not admitted",
        "preempted",
        "evictions",
        "hits",
        "hits on freed blocks",
    )
    told("KVCacheManager alone", counts, *shown, "aborted", "resets")
    assert min(counts[name] for name in (*shown, "aborted", "resets")) >= 10, counts
    assert counts["calls"] >= (1_500 if size == "small" else 20_000), counts
