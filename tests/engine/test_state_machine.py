"""Anything that can be asked of an engine, in any order: it does what a naive model says, the mirror agrees, nothing leaks."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN
from kvarium_engine.scheduling.sampling_params import EarlyStopping, SamplingParams
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE
from tests.engine.letters import Letters
from tests.engine.mirrored import Mirrored, ScriptedRunner, tokens
from tests.engine.naive_model import NaiveModel
from tests.plain_state import plain_state


class EngineMachine(RuleBasedStateMachine):
    """A small pool, so that everything that lacks of room happens soon.

    What is done between two steps is in no record until the next one. Such a rule draws whether it is sealed at once, by a step
    without work, so that the fold is compared right after it as well.
    """

    engine: Mirrored
    runner: ScriptedRunner
    model: NaiveModel | None = None

    @initialize(
        blocks=st.integers(4, 24),
        size=st.sampled_from([1, 2, 4, 8]),
        budget=st.integers(1, 40),
        seqs=st.integers(1, 6),
        policy=st.sampled_from(["fcfs", "priority"]),
        aging=st.sampled_from([0, 1, 9]),
        free_order=st.sampled_from(["lru", "unhashed-first"]),
        caching=st.booleans(),
    )
    def start(
        self,
        blocks: int,
        size: int,
        budget: int,
        seqs: int,
        policy: str,
        aging: int,
        free_order: str,
        caching: bool,
    ) -> None:
        self.runner = ScriptedRunner(vocabulary=Letters())
        self.runner.eos_every = 12
        self.engine = Mirrored(
            num_blocks=blocks,
            block_size=size,
            budget=budget,
            seqs=min(seqs, budget),
            length=60,
            policy=policy,
            priority_aging=aging,
            free_order=free_order,
            caching=caching,
            runner=self.runner,
        )
        self.model = NaiveModel(self.engine)

    def seal(self) -> None:
        self.engine.engine.step_without_work()
        assert self.engine.mirror() == []
        assert not self.engine.engine.ledger.pending

    @rule(
        prefix=st.integers(0, 3),
        shared=st.integers(0, 24),
        own=st.integers(1, 9),
        n=st.integers(1, 4),
        max_tokens=st.one_of(st.none(), st.integers(1, 30)),
        priority=st.integers(0, 2),
        ignore_eos=st.booleans(),
        beams=st.one_of(st.none(), st.integers(2, 4)),
        early_stopping=st.sampled_from([False, True, "never"]),
        length_penalty=st.sampled_from([0.0, 1.0, -2.0, 4.0]),
        stop=st.lists(st.text("abcdef", min_size=1, max_size=3), max_size=2),
        stop_tokens=st.sampled_from([(), (), (EOS,), (FIRST_TOKEN, EOS)]),
        min_tokens=st.sampled_from([0, 0, 1, 4, 12]),
        seed=st.one_of(st.none(), st.integers(0, 2)),
        lora_name=st.sampled_from([None, None, "a"]),
        cache_salt=st.sampled_from([None, None, "a", "b"]),
        sealed=st.booleans(),
    )
    def submit(
        self,
        prefix: int,
        shared: int,
        own: int,
        n: int,
        max_tokens: int | None,
        priority: int,
        ignore_eos: bool,
        beams: int | None,
        early_stopping: EarlyStopping,
        length_penalty: float,
        stop: list[str],
        stop_tokens: tuple[int, ...],
        min_tokens: int,
        seed: int | None,
        lora_name: str | None,
        cache_salt: str | None,
        sealed: bool,
    ) -> None:
        engine = self.engine
        prompt = tokens(prefix, shared)
        prompt.extend(tokens(100 + own % 3, own))
        most = engine.engine.config.scheduler.max_num_seqs
        how: dict[str, Any] = {"n": min(n, most), "stop": tuple(stop), "seed": seed}
        if beams is not None and beams <= most and engine.engine.config.memory_backend == "paged":
            how = {"n": min(n, beams), "beam_width": beams}
            how |= {"early_stopping": early_stopping, "length_penalty": length_penalty}
        params = SamplingParams(
            max_tokens=max_tokens,
            ignore_eos=ignore_eos,
            stop_token_ids=stop_tokens,
            min_tokens=min_tokens if max_tokens is None else min(min_tokens, max_tokens),
            **how,
        )
        keys = ExtraKeys(lora_name, cache_salt)
        request = engine.engine.scheduler.submit(prompt, params, priority=priority, keys=keys)
        if request.state is None:
            needs = request.worst_case_blocks(engine.pool.block_size)
            assert needs > engine.pool.num_blocks or request.max_tokens < 1
        if sealed:
            self.seal()

    @rule(steps=st.integers(1, 6))
    def step(self, steps: int) -> None:
        self.engine.step(steps)

    @rule(pick=st.integers(0, 1000), sealed=st.booleans())
    @precondition(lambda self: self.engine.roster.requests)
    def abort(self, pick: int, sealed: bool) -> None:
        requests = list(self.engine.roster.requests.values())
        self.engine.engine.scheduler.abort(requests[pick % len(requests)], "a rule")
        if sealed:
            self.seal()

    @rule()
    def keyframe(self) -> None:
        self.engine.engine.keyframe()
        assert self.engine.mirror() == []

    @rule()
    def fail_a_forward(self) -> None:
        self.runner.fail_with = RuntimeError("a rule")
        before = set(self.engine.pool.state.content)
        self.engine.step()
        if self.runner.fail_with is None:
            labels = set(self.engine.pool.state.content)
            assert labels <= before | {NONE}, "no label of a step that failed is left"
            assert not self.engine.last.sampled
        self.runner.fail_with = None

    @rule(sealed=st.booleans())
    def reset_the_cache(self, sealed: bool) -> None:
        if self.engine.pool.cache is not None:
            used = self.engine.pool.num_blocks - self.engine.pool.num_free
            if used:
                with pytest.raises(
                    ValueError, match=f"{used} of {self.engine.pool.num_blocks} blocks are in use"
                ):
                    self.engine.pool.reset_cache()
            else:
                self.engine.pool.reset_cache()
                assert len(self.engine.pool.cache) == 0
        if sealed:
            self.seal()

    @rule()
    def undo_the_last_records_and_follow_them_again(self) -> None:
        engine = self.engine
        fold, records = engine.fold, engine.records
        back = min(5, len(records) - 1)
        state, earlier = plain_state(fold), Fold(engine.pool.num_blocks, engine.pool.block_size)
        for record in records[: len(records) - back]:
            earlier.apply(record)
        for record in reversed(records[len(records) - back :]):
            fold.undo(record)
        assert plain_state(fold) == plain_state(earlier), "undone, it is what it was then"
        for record in records[len(records) - back :]:
            assert fold.apply(record) == []
        assert plain_state(fold) == state

    @invariant()
    def the_model_has_the_same(self) -> None:
        if self.model is not None:
            self.model.catch_up()
            self.model.assert_equal()

    @invariant()
    def the_fold_has_the_same(self) -> None:
        engine = self.engine
        if engine.engine.ledger.pending:
            return  # what was done since the last step is in no record yet: sealed rules are compared
        fold, real = engine.fold.keyframe(), engine.engine.snapshot()
        assert (fold.step, fold.op, fold.digest) == (real.step, real.op, real.digest)
        assert (fold.blocks, fold.tables, fold.pins) == (real.blocks, real.tables, real.pins)
        assert (fold.requests, fold.sequences) == (real.requests, real.sequences)
        assert engine.fold.check_all() == []

    @invariant()
    def the_blocks_are_lawful(self) -> None:
        engine = self.engine
        pool, state = engine.pool, engine.pool.state
        holders = [0] * pool.num_blocks
        for request in engine.roster.requests.values():
            for sequence in request.live:
                assert len(sequence.table) == blocks_for(sequence.computed, pool.block_size)
                assert sequence.computed < sequence.length <= sequence.limit
                for block in sequence.held:
                    holders[block] += 1
                for position, block in enumerate(sequence.table):
                    full = (position + 1) * pool.block_size <= sequence.computed
                    assert state.filled[block] == pool.block_size or not full
        assert holders == list(state.count), "a count is its entries: there are no pins between steps"
        assert not pool.pins
        assert sorted(engine.pool.queue.walk()) == [b for b in range(pool.num_blocks) if not holders[b]]
        for block in range(pool.num_blocks):
            content = state.content[block]
            assert content == NONE or state.filled[block] == pool.block_size
            if content != NONE:
                held = pool.cache.holders[content]
                assert block == held or (isinstance(held, list) and block in held)

    @invariant()
    def the_queues_are_lawful(self) -> None:
        roster = self.engine.roster
        assert roster.width == sum(request.width for request in roster.running)
        assert roster.width <= roster.config.max_num_seqs
        places = [request.place for request in roster.running]
        assert places == sorted(places)
        assert len(roster.waiting) == len(roster.waiting.requests())
        assert len(roster.requests) == len(roster.running) + len(roster.waiting)

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        self.engine.run()
        self.engine.engine.close()
        assert self.engine.mirror() == []
        self.engine.assert_nothing_leaks()
        self.engine.undo_all()


TestEngineMachine = pytest.mark.timeout(900)(EngineMachine.TestCase)
TestEngineMachine.settings = settings(stateful_step_count=40)
