"""Prefix hits between requests: what is shared, what the rest allocates, and what nobody may take."""

from array import array

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_ledger.decisions import Admitted, Waiting
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import Cause
from tests.engine.mirrored import Mirrored, table, tokens


def prompt_of(*parts: tuple[int, int]) -> "array[int]":
    """A prompt of parts, each (seed, tokens)."""
    prompt = tokens(*parts[0])
    for part in parts[1:]:
        prompt.extend(tokens(*part))
    return prompt


def test_a_second_request_shares_the_prefix_and_allocates_for_its_tail_only() -> None:
    engine = Mirrored()
    first = engine.submit(prompt_of((1, 48), (2, 5)), max_tokens=9)
    engine.step(2)
    second = engine.submit(prompt_of((1, 48), (3, 20)), max_tokens=9)
    engine.step()
    assert table(first) == [0, 1, 2, 3]
    assert table(second) == [0, 1, 2, 4, 5], "three blocks are shared; 20 tokens take two more"
    assert engine.operations(engine.last)["share", "prefix_hit"] == 3
    assert engine.blocks("allocate") == [4, 5]
    assert list(engine.pool.state.count[:6]) == [2, 2, 2, 1, 1, 1]
    assert engine.decisions(Admitted)[-1].hit == 48
    engine.run()
    engine.assert_nothing_leaks()


def test_what_is_recomputed_for_the_cap_is_a_second_block_of_the_same_hash_and_either_is_hit() -> None:
    engine = Mirrored(num_blocks=8)
    for _ in range(2):
        engine.submit(tokens(1, 32), max_tokens=1)
        engine.run()
    content = engine.pool.state.content
    assert content[1] == content[2], "its last token had to be computed, so the whole block was"
    assert len(engine.pool.cache) == 2
    for block in (1, 2):
        engine.submit(tokens(1, 40), max_tokens=1)
        engine.step()
        assert engine.decisions(Admitted)[-1].hit == 32
        assert engine.blocks("reuse") == [0, block]
        if block == 1:
            engine.pool.evict([1], Cause.reset)  # one of the two loses its label


def test_what_was_just_hit_is_not_evicted_for_the_rest_of_the_same_request() -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(tokens(1, 32), max_tokens=1)
    engine.run()
    engine.submit(tokens(2, 48), max_tokens=1)
    engine.run()
    # The freed prefix stands at the head, and is what an allocation would take first.
    assert engine.pool.queue.walk()[:3] == [5, 1, 0]
    again = engine.submit(prompt_of((1, 32), (4, 60)), max_tokens=3)
    engine.step()
    assert table(again)[:2] == [0, 1]
    assert engine.decisions(Admitted)[-1].hit == 32
    assert sorted(table(again)) == [0, 1, 2, 3, 4, 5]
    assert set(engine.blocks("evict")).isdisjoint({0, 1})
    engine.run()
    engine.assert_nothing_leaks()


def test_a_request_whose_hits_would_do_but_not_the_rest_waits_and_changes_nothing() -> None:
    engine = Mirrored(num_blocks=6)
    engine.submit(tokens(1, 32), max_tokens=1)
    engine.run()
    engine.submit(tokens(2, 48), max_tokens=10)
    engine.step()
    before = engine.engine.snapshot()
    waiting = engine.submit(prompt_of((1, 32), (4, 40)), max_tokens=1)
    engine.engine.scheduler._admit(StepPlan(0))
    after = engine.engine.snapshot()
    assert (after.blocks, after.tables, after.contents) == (before.blocks, before.tables, before.contents)
    [why] = [decision for decision in engine.engine.ledger._decisions if isinstance(decision, Waiting)]
    assert (why.request, why.reason, why.needs, why.free) == (waiting.id, "blocks", 5, 3)
    engine.run()
    engine.assert_nothing_leaks()


def test_a_hash_is_one_of_its_seed_its_name_and_its_salt() -> None:
    prompt = tokens(1, 16)
    every = [ExtraKeys(lora, salt) for lora in (None, "a", "b") for salt in (None, "a", "b")]
    hashes = {
        (seed, keys.lora_name, keys.cache_salt): PrefixCache(16, seed).missed_hash(prompt.tobytes(), [], keys)
        for seed in ("0", "42")
        for keys in every
    }
    assert len(set(hashes.values())) == len(hashes) == 18, "a LoRA is no salt of the same name"
    assert hashes["42", None, None] == block_hash(root_hash("42"), prompt)


def test_the_seed_of_an_engine_is_that_of_its_hashes() -> None:
    def missed(seed: str) -> bytes | None:
        engine = Engine(EngineConfig(num_blocks=8, hash_seed=seed), NullRunner(), Ledger(lambda sealed: None))
        engine.scheduler.submit(tokens(1, 40), SamplingParams(max_tokens=1))
        engine.scheduler.schedule()
        [admitted] = [d for d in engine.ledger._decisions if isinstance(d, Admitted)]
        return admitted.missed

    assert missed("42") == block_hash(root_hash("42"), tokens(1, 16))
    assert missed("42") != missed("0")
