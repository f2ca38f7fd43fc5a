"""Both engines, one step after the other, and every comparison between them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from vllm.v1.core.kv_cache_utils import get_block_hash

from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Admitted, Finished, Preempted, SequenceCreated
from kvarium_ledger.encoder import columns_of
from kvarium_ledger.hashes import block_hash, root_hash, short
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.ledger import SealedStep, StepTimes
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.step_text import ContentText, one_by_one
from tests.engine.mirrored import Mirrored, table
from tests.oracle import differences, vllm_side
from tests.oracle.foreign import DifferenceError, ForeignFold, moves, rows, same
from tests.oracle.scenario import (
    Abort,
    Reset,
    Scenario,
    Step,
    Submit,
    generate,
    prompt,
    sampled_token,
    shrink,
)

MIRRORED_EVERY = 4
"""In one run of so many the ledger's mirror follows: kvarium's state is then the fold's as well."""

MOST_STEPS = 20_000
"""So long a run takes at most to finish what is left when its events are over."""


class Hashes:
    """vLLM's hash of each content that kvarium has told."""

    def __init__(self, seed: str) -> None:
        self.of: dict[int, bytes] = {NONE: root_hash(seed)}

    def learn(self, contents: Iterable[ContentText]) -> None:
        """What was told since the last call (and maybe before); one that is evicted in the same step may come back."""
        for told in contents:
            if told.content not in self.of:
                self.of[told.content] = block_hash(self.of[told.parent], told.tokens, told.extra)


def compare_pools(pool: Any, vllm_pool: Any, hashes: Hashes) -> None:
    """Order of the free queue, counts and labels of all blocks."""
    free = [block.block_id for block in vllm_pool.free_block_queue.get_all_free_blocks()]
    same("free queue", pool.queue.walk(), differences.numbered(free))
    blocks = vllm_pool.blocks[1:]
    same("counts", list(pool.state.count), [block.ref_cnt for block in blocks])
    labels = [None if content == NONE else hashes.of[content] for content in pool.state.content]
    same("labels", labels, [block.block_hash and get_block_hash(block.block_hash) for block in blocks])


class LockStep:
    """One scenario. ``counts`` tells how much of each kind happened.

    A ``driven`` operation is what a request or its end asks of both: a request that is admitted, computes in a step (a decode or
    a chunk of its prompt), is preempted, finishes or is aborted; and a reset. ``block operations`` are what the ledger tells of it.

    ``free_order`` is kvarium's. vLLM's own is ``unhashed-first``; to go with ``lru`` it is changed, unless it is ``unlike``.
    """

    def __init__(self, scenario: Scenario, free_order: str = "unhashed-first", unlike: bool = False) -> None:
        self.scenario = scenario
        self.mirrored = scenario.seed % MIRRORED_EVERY == 0
        self.kvarium = Mirrored(
            num_blocks=scenario.num_blocks,
            block_size=scenario.block_size,
            budget=scenario.budget,
            seqs=scenario.seqs,
            length=scenario.length,
            policy=scenario.policy,
            caching=scenario.caching,
            free_order=free_order,
            hash_seed=scenario.hash_seed,
            audit_interval=1 if self.mirrored else 1 << 20,
        )
        self.vllm = vllm_side.make_scheduler(scenario)
        self.foreign = ForeignFold(self.vllm, scenario.hash_seed)
        if free_order == "lru" and not unlike:
            differences.free_to_the_tail(self.manager.block_pool)
        self.submits: dict[str, Submit] = {}
        self.names: dict[int, str] = {}
        self.sequences: dict[int, str] = {}
        self.counts: Counter[str] = Counter()
        self.ended_early = False
        self.hashes = Hashes(scenario.hash_seed)
        self._hit = self.kvarium.pool.hit
        self.kvarium.pool.hit = self._count_hit  # type: ignore[method-assign]
        self.scheduler = self.kvarium.engine.scheduler
        self.roster = self.scheduler.roster

    @property
    def manager(self) -> Any:
        return self.vllm.kv_cache_manager

    def run(self) -> None:
        """Follow the scenario, then step until nobody is left, and see that nothing is."""
        for event in self.scenario.events:
            self._follow(event)
            if self.ended_early:
                return
        for _ in range(MOST_STEPS):
            if self.scheduler.idle:
                break
            self._step()
            if self.ended_early:
                return
        else:
            raise DifferenceError(f"not idle after {MOST_STEPS} more steps: {self.roster.requests}")
        self.kvarium.assert_nothing_leaks()
        same("requests", 0, self.vllm.get_num_unfinished_requests())
        same("operations", self.kvarium.engine.ledger.op, self.foreign.session.ledger.op)

    def _follow(self, event: Submit | Step | Abort | Reset) -> None:
        if isinstance(event, Submit):
            self._submit(event)
        elif isinstance(event, Step):
            self._step()
        elif isinstance(event, Abort):
            names = sorted(request.name for request in self.roster.requests.values())
            if names:
                self._abort(names[event.pick % len(names)])
        elif self.kvarium.pool.cache is not None:
            try:
                self.kvarium.pool.reset_cache()
                done = True
            except ValueError:
                done = False
            same("reset", done, self.vllm.reset_prefix_cache())
            self.manager.take_events()
            self.counts["resets" if done else "resets refused"] += 1
            self.counts["driven"] += 1
            self._compare()
            self.foreign.follow()

    def _submit(self, submit: Submit) -> None:
        ids = prompt(submit)
        request = self.kvarium.submit(
            array("I", ids),
            max_tokens=submit.max_tokens,
            priority=submit.priority,
            name=submit.name,
            ignore_eos=submit.ignore_eos,
            keys=ExtraKeys(submit.lora_name, submit.cache_salt),
        )
        if differences.never_fits(request):
            self.counts["refused"] += 1
            return
        self.submits[submit.name] = submit
        self.names[request.id] = submit.name
        self.counts["requests"] += 1
        self.vllm.add_request(vllm_side.make_request(submit, ids, request.id, self.scenario.block_size))

    def _abort(self, name: str) -> None:
        request = self.roster.find(name)
        assert request is not None
        self.scheduler.abort(request)
        vllm_side.abort(self.vllm, name)
        self.counts["aborts"] += 1
        self.counts["driven"] += 1
        self._compare()
        self.foreign.follow()

    def _step(self) -> None:
        engine = self.kvarium.engine
        plan = self.scheduler.schedule()
        if differences.others_go_on(engine.ledger._decisions, self.roster.running):
            self.counts["ended where the others go on"] += 1
            self.ended_early = True
            return
        output = self.vllm.schedule()
        removed = [event for event in self.manager.take_events() if type(event).__name__ == "BlockRemoved"]
        self._compare_plan(plan, output)
        self._compare_statistics()
        self._compare()
        sampled = {
            name: sampled_token(self.submits[name], self.vllm.requests[name].num_tokens)
            for name in output.num_scheduled_tokens
            if self.vllm.requests[name].num_computed_tokens == self.vllm.requests[name].num_tokens
        }
        sampling = plan.decodes + [prefill.sequence for prefill in plan.prefills if prefill.samples]
        same("who samples", {sequence.request.name for sequence in sampling}, set(sampled))
        self.scheduler.update(plan, [sampled[sequence.request.name] for sequence in sampling])
        self.vllm.update_from_output(output, vllm_side.runner_output(output, sampled))
        engine._seal(StepTimes(engine.ledger.now(), 0, 0, 0), plan.tokens)
        self._mirror()
        self._compare()
        self.foreign.follow()
        self._compare_record(output, removed)

    def _count_hit(self, blocks: list[int], sequence: int, position: int) -> None:
        """Where in the queue each hit block is at that moment: taken from the middle, or from an end."""
        pool = self.kvarium.pool
        queue = pool.queue.walk()
        for block in blocks:
            if pool.state.count[block] == 0:
                self.counts["hits on freed blocks"] += 1
                self.counts["hits in the middle"] += block not in (queue[0], queue[-1])
                queue.remove(block)
        self._hit(blocks, sequence, position)

    def _mirror(self) -> None:
        """What was sealed goes through bytes into the fold, which then equals vLLM too; or, in most runs, is only kept."""
        if self.mirrored:
            same("violations", self.kvarium.mirror(), [])
            self._compare_fold()
        else:
            self.kvarium.sealed = self.kvarium._fresh.copy()
            self.kvarium._fresh.clear()

    # -- comparisons --------------------------------------------------------------------------------------------

    def _compare_plan(self, plan: StepPlan, output: Any) -> None:
        tokens = {sequence.request.name: 1 for sequence in plan.decodes}
        tokens |= {prefill.sequence.request.name: prefill.tokens for prefill in plan.prefills}
        same("tokens scheduled", tokens, output.num_scheduled_tokens)

    def _compare_statistics(self) -> None:
        """vLLM's hit statistics of this step, against what ``admitted`` tells: an attempt that failed is in neither."""
        theirs = self.manager.prefix_cache_stats
        told = HitStatistics()
        if self.scenario.caching:
            for decision in self.kvarium.engine.ledger._decisions:
                if isinstance(decision, Admitted):
                    told.count(decision)
        for name in asdict(told):
            same(f"statistics: {name}", getattr(told, name), getattr(theirs, name))
        self.counts["tokens queried"] += told.queries + told.preempted_queries
        self.counts["tokens hit"] += told.hits + told.preempted_hits
        self.counts["tokens hit when resumed"] += told.preempted_hits

    def _compare(self) -> None:
        """All that is there between two decisions."""
        self.hashes.learn(one_by_one(self.kvarium.engine.ledger._contents))
        compare_pools(self.kvarium.pool, self.manager.block_pool, self.hashes)
        running, waiting = self.roster.running, self.roster.waiting.requests()
        same("running", [r.name for r in running], [r.request_id for r in self.vllm.running])
        same("waiting", [r.name for r in waiting], [r.request_id for r in self.vllm.waiting])
        for request in running:
            self._compare_request(request)

    def _compare_fold(self) -> None:
        """What a reader of the ledger knows, against vLLM's own objects."""
        state = self.kvarium.fold.state
        tickets = state.blocks.np_ticket
        order = [block for block in tickets.argsort().tolist() if tickets[block] == tickets[block]]
        queue = SimpleNamespace(walk=lambda: order)
        folded = SimpleNamespace(queue=queue, state=state.blocks)
        compare_pools(folded, self.manager.block_pool, self.hashes)
        tables = {
            self.names[state.sequences[sequence].request]: [held[position] for position in sorted(held)]
            for (sequence, _), held in state.tables.items()
            if held
        }
        theirs = {
            request.request_id: differences.numbered(self.manager.get_block_ids(request.request_id)[0])
            for request in self.vllm.running
        }
        same("tables of the fold", tables, theirs)
        self.counts["steps folded"] += 1

    def _compare_request(self, request: Request) -> None:
        name, other = request.name, self.vllm.requests[request.name]
        same(
            f"table of {name}",
            list(table(request)),
            differences.numbered(self.manager.get_block_ids(name)[0]),
        )
        same(f"computed of {name}", request.live[0].computed, other.num_computed_tokens)
        same(f"tokens of {name}", request.live[0].tokens.tolist(), list(other.all_token_ids))

    def _compare_record(self, output: Any, removed: list[Any]) -> None:
        """What the step's record says: preemptions, hits, evictions."""
        last, counts = self.kvarium.last, self.counts
        names = self.names
        preempted = [d.request for d in last.decisions if isinstance(d, Preempted)]
        same("preempted", {names[number] for number in preempted}, output.preempted_req_ids or set())
        admitted = {names[d.request]: d.hit for d in last.decisions if isinstance(d, Admitted)}
        cached = output.scheduled_cached_reqs
        hits = {new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs}
        hits |= {
            name: computed
            for name, computed in zip(cached.req_ids, cached.num_computed_tokens, strict=True)
            if name in cached.resumed_req_ids
        }
        same("admitted with a hit of", admitted, hits)
        evicted: Counter[int] = Counter()
        for part in last.slices:
            if part.kind is Operation.evict and part.cause is not Cause.reset:
                evicted.update(short(self.hashes.of[content]) for content in part.extra[0])  # type: ignore[arg-type]
            if part.kind is Operation.share:
                counts["hits on blocks in use"] += len(part.blocks)
        same("evicted", evicted, Counter(int(value) for event in removed for value in event.block_hashes))
        self._compare_ledgers(last)
        counts["steps"] += 1
        counts["evictions"] += evicted.total()
        counts["preemptions"] += len(preempted)
        counts["preempted when scheduled"] = self.vllm.unscheduled
        counts["block operations"] = self.kvarium.engine.ledger.op
        counts["driven"] += len(output.num_scheduled_tokens) + len(admitted) + len(preempted)
        counts["driven"] += sum(isinstance(decision, Finished) for decision in last.decisions)

    def _compare_ledgers(self, last: SealedStep) -> None:
        """Both engines' ledgers since the last step, decision by decision, operation by operation.

        The order within a step is each engine's own: kvarium tells decodes of one step together.
        """
        for decision in last.decisions:
            if isinstance(decision, SequenceCreated):
                self.sequences[decision.sequence] = self.names[decision.request]
        decisions = moves(last.decisions, self.names.__getitem__)
        same("decisions of the ledgers", decisions, self.foreign.moves)
        columns = OperationColumns.decode(columns_of(last.told))
        operations = rows(columns, self.sequences.__getitem__, first_block=1)
        same("operations of the ledgers", operations, self.foreign.rows)
        self.foreign.moves.clear()
        self.foreign.rows.clear()


def run(scenario: Scenario, free_order: str = "unhashed-first", unlike: bool = False) -> LockStep:
    """Both engines through one scenario; raises :class:`DifferenceError`."""
    vllm_side.seed_hashes(scenario.hash_seed)
    both = LockStep(scenario, free_order, unlike)
    both.run()
    return both


def run_many(policy: str, seeds: range, steps: int, free_order: str = "unhashed-first") -> Counter[str]:
    """Many scenarios; one that fails is made small and shown with its seed."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        scenario = generate(seed, policy, steps)
        try:
            both = run(scenario, free_order)
        except AssertionError as error:
            raise AssertionError(_smallest(scenario, free_order, error)) from error
        counts += both.counts
        counts["runs"] += 1
    return counts


def _smallest(scenario: Scenario, free_order: str, error: AssertionError) -> str:
    def message(candidate: Scenario) -> str:
        try:
            run(candidate, free_order)
        except AssertionError as found:
            return f"{type(found).__name__}: {found}"
        return ""

    small = shrink(scenario, lambda candidate: bool(message(candidate)))
    events = "\n".join(f"  {event}" for event in small.events)
    return f"seed {scenario.seed}: {error}\n{small}\n{events}\n{message(small)}"
