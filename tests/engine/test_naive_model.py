"""The naive model sees what it is for: an engine with a fault is caught by it, and one without is not."""

import random
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_ledger.violations import Violation
from tests.engine import naive_model
from tests.engine.mirrored import Mirrored, ScriptedRunner, tokens
from tests.engine.naive_model import NaiveModel

Fault = Callable[[Callable[..., Any]], Callable[..., Any]]


def drive(seed: int, policy: str, steps: int = 60) -> Mirrored:
    """Random requests, aborts, failures and resets on a small pool, with the model behind them; no mirror."""
    rng = random.Random(seed)
    runner = ScriptedRunner()
    runner.eos_every = 15
    engine = Mirrored(
        num_blocks=rng.randint(8, 24),
        block_size=rng.choice([1, 2, 4, 8]),
        budget=rng.randint(4, 40),
        seqs=4,
        length=60,
        policy=policy,
        priority_aging=rng.choice([0, 5]),
        free_order=rng.choice(["lru", "unhashed-first"]),
        runner=runner,
        audit_interval=1 << 20,
    )

    def kept() -> list[Violation]:
        engine.sealed += engine._fresh
        engine._fresh.clear()
        return []

    engine.mirror = kept  # type: ignore[method-assign]
    model = NaiveModel(engine)
    for _ in range(steps):
        if rng.random() < 0.5:
            prompt = tokens(rng.randrange(2), rng.choice([0, 8, 16]))
            prompt.extend(tokens(50, rng.choice([1, 8, 8])))
            engine.submit(
                prompt,
                max_tokens=rng.randint(1, 25),
                n=rng.choice([1, 1, 2, 3]),
                priority=rng.randrange(3),
                ignore_eos=False,
                keys=ExtraKeys(rng.choice([None, None, None, "a"]), rng.choice([None, None, None, "b"])),
            )
        if rng.random() < 0.05 and engine.roster.requests:
            engine.engine.scheduler.abort(rng.choice(list(engine.roster.requests.values())))
        if rng.random() < 0.05 and engine.pool.num_free == engine.pool.num_blocks:
            engine.pool.reset_cache()
        runner.fail_with = RuntimeError("planted") if rng.random() < 0.05 else None
        engine.step()
        runner.fail_with = None
        model.catch_up()
        model.assert_equal()
    return engine


def freed_from_the_front(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, table, cause, sequence: plain(self, table[::-1], cause, sequence)


def nothing_to_the_head(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, blocks: self.queue.append_n(blocks)


def a_shorter_hit(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, tokens, most, keys: plain(self, tokens, max(0, most - 1), keys)


def keys_are_ignored(plain: Callable[..., Any]) -> Callable[..., Any]:
    def intern(self: PrefixCache, parent: int, raw: bytes, keys: ExtraKeys) -> Any:
        return plain(self, parent, raw, NO_KEYS)

    return intern


def the_last_duplicate_is_hit(plain: Callable[..., Any]) -> Callable[..., Any]:
    def lookup(self: PrefixCache, raw: bytes, most: int, keys: ExtraKeys) -> Any:
        _, contents = plain(self, raw, most, keys)
        held = [self._blocks[content] for content in contents]
        return [each if isinstance(each, int) else each[-1] for each in held], contents

    return lookup


def the_first_is_the_victim(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: self.roster.running[0]


def labels_stay(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, promises, cause: None


def age_counts_for_nothing(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, priority, step: priority


def a_block_is_kept_back(plain: Callable[..., Any]) -> Callable[..., Any]:
    def decode(self: SlotWriter, sequence: Any) -> None:
        if len(sequence.table) == 3 and not sequence.computed % self.pool.block_size:
            self.pool.take(1)
        plain(self, sequence)

    return decode


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_an_engine_without_a_fault_is_followed(policy: str, rng: random.Random, size: str) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for _ in range(12 if size == "small" else 400):
        seed = rng.randrange(1 << 30)
        try:
            counts += drive(seed, policy).operations()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    happened: Sequence[tuple[str, str]] = (
        ("evict", "allocate"),
        ("evict", "failed_step"),
        ("free", "preempted"),
        ("reuse", "prefix_hit"),
        ("share", "prefix_hit"),
        ("share", "fork"),
        ("copy", "write"),
        ("free", "aborted"),
    )
    assert all(counts[each] for each in happened), counts


@pytest.mark.parametrize(
    ("where", "name", "fault", "policy"),
    [
        (BlockPool, "let_go", freed_from_the_front, "fcfs"),
        (BlockPool, "_enqueue", nothing_to_the_head, "fcfs"),
        (PrefixCache, "lookup", a_shorter_hit, "fcfs"),
        (PrefixCache, "lookup", the_last_duplicate_is_hit, "fcfs"),
        (PrefixCache, "intern", keys_are_ignored, "fcfs"),
        (Scheduler, "_victim", the_first_is_the_victim, "fcfs"),
        (Scheduler, "_victim", the_first_is_the_victim, "priority"),
        (SchedulerConfig, "precedence", age_counts_for_nothing, "priority"),
        (SlotWriter, "_take_back", labels_stay, "fcfs"),
        (SlotWriter, "decode", a_block_is_kept_back, "fcfs"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_fault_is_found(
    where: type, name: str, fault: Fault, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, fault(getattr(where, name)))
    for seed in range(100):
        try:
            drive(seed, policy)
        except AssertionError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == naive_model.__file__:
                return  # the engine's own asserts find some of them too
    pytest.fail("100 runs found nothing")
