"""The naive model sees what it is for: an engine with a fault is caught by it, and one without is not."""

import random
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_ledger.decisions import Finished, Hypothesis, SequenceDropped
from kvarium_ledger.violations import Violation
from tests.engine import naive_model
from tests.engine.letters import Letters
from tests.engine.mirrored import Mirrored, ScriptedRunner, tokens
from tests.engine.naive_model import NaiveModel
from tests.engine.planted_faults import PLANTED, Fault, plant


def how_it_ends(rng: random.Random, max_tokens: int) -> dict[str, Any]:
    """Samples or beams, and what ends them."""
    how: dict[str, Any] = {"max_tokens": max_tokens, "min_tokens": rng.choice([0, 0, min(5, max_tokens)])}
    how["ignore_eos"] = False
    if rng.random() < 0.3:
        # The runner's own end token, as one that is asked for: others come up too seldom.
        how |= {"ignore_eos": True, "stop_token_ids": (FIRST_TOKEN, EOS)}
    if rng.random() < 0.3:
        width = rng.randint(2, 4)
        return how | {
            "beam_width": width,
            "n": rng.randint(1, width),
            "length_penalty": rng.choice([0.0, 1.0, -2.0, 4.0]),
            "early_stopping": rng.choice([False, True, "never"]),
        }
    if rng.random() < 0.3:
        how["stop"] = tuple("".join(rng.choices("abcdef", k=2)) for _ in range(2))
    return how | {"n": rng.choice([1, 1, 2, 3]), "seed": rng.choice([None, None, 0, 1])}


def drive(seed: int, policy: str, steps: int = 60) -> Mirrored:
    """Random requests, aborts, failures and resets on a small pool, with the model behind them; no mirror."""
    rng = random.Random(seed)
    runner = ScriptedRunner(vocabulary=Letters())
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
                priority=rng.randrange(3),
                keys=ExtraKeys(rng.choice([None, None, None, "a"]), rng.choice([None, None, None, "b"])),
                **how_it_ends(rng, rng.randint(1, 25)),
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


def keys_are_ignored(plain: Callable[..., Any]) -> Callable[..., Any]:
    def intern_n(self: PrefixCache, parent: int, raw: bytes, keys: ExtraKeys) -> Any:
        return plain(self, parent, raw, NO_KEYS)

    return intern_n


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


def how_they_ended(engine: Mirrored) -> "Counter[tuple[str, str]]":
    """(kind of decision, reason) of all ends of requests, of samples and of beams' answers."""
    ends: Counter[tuple[str, str]] = Counter()
    for kind in (Finished, SequenceDropped, Hypothesis):
        for decision in engine.decisions(kind):
            stop = getattr(decision, "stop_reason", None)
            what = decision.reason if stop is None else "stop id" if isinstance(stop, int) else "stop string"
            ends[kind.__name__, str(what)] += 1
    return ends


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_an_engine_without_a_fault_is_followed(policy: str, rng: random.Random, size: str) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    ends: Counter[tuple[str, str]] = Counter()
    for _ in range(60 if size == "small" else 800):
        seed = rng.randrange(1 << 30)
        try:
            engine = drive(seed, policy)
            counts += engine.operations()
            ends += how_they_ended(engine)
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
    kinds = "SequenceDropped", "Finished", "Hypothesis"
    reasons = "length", "stop", "stop string", "stop id"
    seen: set[tuple[str, str]] = {(kind, reason) for kind in kinds for reason in reasons}
    seen -= {("Hypothesis", "stop string"), ("Hypothesis", "stop id")}  # a beam search takes none; tells none
    assert seen | {("Finished", "error")} <= set(ends), ends


@pytest.mark.parametrize(
    ("where", "name", "fault", "policy"),
    [
        *PLANTED,
        (PrefixCache, "intern_n", keys_are_ignored, "fcfs"),
        (SchedulerConfig, "precedence", age_counts_for_nothing, "priority"),
        (SlotWriter, "_take_back", labels_stay, "fcfs"),
        (SlotWriter, "decode", a_block_is_kept_back, "fcfs"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_fault_is_found(
    where: type, name: str, fault: Fault, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, where, name, fault)
    for seed in range(2000):  # one run in a hundred meets the rarest
        try:
            drive(seed, policy)
        except AssertionError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == naive_model.__file__:
                return  # the engine's own asserts find some of them too
    pytest.fail("2000 runs found nothing")
