"""A long run on a model with everything at once, in a pool that is too small: nothing leaks, and no answer is another one.

    small pool   samples and beams, penalties, stops, logprobs, prefix hits, preemptions, aborts, resets, forwards that fail
    large pool   the requests that were not ended by force, again: each token of theirs must be the same

A forward that fails has left numbers that are none in the slots that it wrote: who reads one of them afterwards fails too.
The model computes in float64, so that no two tokens are as likely but for rounding, however a step's work is cut up.
"""

import random
from array import array
from collections import Counter
from typing import Any, NamedTuple

import pytest
import torch
from transformers import PreTrainedModel

from kvarium_engine.kernels.fp8 import FP8
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.kv_cache import KVCache
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_ledger.decisions import Aborted, Finished, SequenceCreated
from kvarium_ledger.ledger import SealedStep
from tests.engine.letters import Letters
from tests.model.paged import Paged
from tests.model.tiny import made, small_llama

EOS = 1
LENGTH = 64
"""Tokens of a request, at most."""


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return made(small_llama(eos_token_id=EOS)).double()


class Asked(NamedTuple):
    prompt: list[int]
    params: SamplingParams
    priority: int
    keys: ExtraKeys


def asked(rng: random.Random) -> Asked:
    """A request of any kind; what it draws depends on its own seed alone."""
    stream = random.Random(rng.randrange(3))
    prompt = [stream.randrange(2, 97) for _ in range(rng.choice([0, 7, 16, 24]))]
    prompt += [rng.randrange(2, 97) for _ in range(rng.randint(1, 8))]
    most = rng.randint(1, 30)
    how: dict[str, Any] = {
        "max_tokens": most,
        "min_tokens": rng.choice([0, 0, min(4, most)]),
        "ignore_eos": rng.random() < 0.5,
        "repetition_penalty": rng.choice([1.0, 1.0, 1.3, 0.8]),
        "logit_bias": rng.choice([{}, {EOS: 2.0}, {5: 3.0, 6: -3.0}]),
        "stop_token_ids": rng.choice([(), (), tuple(rng.sample(range(97), 3))]),
    }
    if rng.random() < 0.3:
        width = rng.randint(2, 4)
        how |= {
            "beam_width": width,
            "n": rng.randint(1, width),
            "length_penalty": rng.choice([0.0, 1.0, 2.0]),
        }
        how |= {"early_stopping": rng.choice([False, True, "never"])}
    else:
        how |= {
            "n": rng.choice([1, 1, 1, 2, 3]),
            "seed": rng.randrange(1000),
            "temperature": rng.choice([0.0, 0.0, 0.7, 1.0]),
            "top_k": rng.choice([0, 5]),
            "top_p": rng.choice([1.0, 0.8]),
            "min_p": rng.choice([0.0, 0.05]),
            "presence_penalty": rng.choice([0.0, 0.5]),
            "frequency_penalty": rng.choice([0.0, -0.3]),
            "logprobs": rng.choice([None, 0, 3]),
            "stop": rng.choice([(), ("ab", "fed")]),
        }
    keys = ExtraKeys(rng.choice([None, None, "a"]), rng.choice([None, None, None, "b"]))
    return Asked(prompt, SamplingParams(**how), rng.randrange(3), keys)


def submitted(engine: Paged, request: Asked) -> Request:
    prompt = array("I", request.prompt)
    return engine.engine.scheduler.submit(
        prompt, request.params, priority=request.priority, keys=request.keys
    )


def answers(engine: Paged, request: Request) -> list[Any]:
    """What a request was given: the tokens of its samples in the order of their index, or its best beams with their ends."""
    if request.params.beam_width is not None:
        return [(each.tokens.tolist(), each.reason) for each in request.hypotheses[: request.params.n]]
    own = [each.sequence for each in engine.decisions(SequenceCreated) if each.request == request.id]
    tokens: dict[int, list[int]] = {sequence: [] for sequence in own}
    for sealed in engine.sealed:
        if not isinstance(sealed, SealedStep):
            continue
        for sequence, token in zip(sealed.sampled, sealed.sampled_tokens, strict=True):
            if sequence in tokens:
                tokens[sequence].append(token)
    return list(tokens.values())


class Faults:
    """Now and then a forward fails: by what it raises, with a wreck left behind, or by logits that are no numbers.

    ``planted`` says of the last forward whether it was one of those.
    """

    planted = False

    def __init__(self, engine: Paged, rng: random.Random) -> None:
        self.runner = engine.runner
        self.rng = rng
        self.plain = self.runner.forward
        self.runner.forward = self.forward  # type: ignore[method-assign]

    def forward(self, batch: Batch) -> torch.Tensor:
        logits = self.plain(batch)
        chance = self.rng.random()
        self.planted = chance < 0.04
        if chance < 0.02:
            self.runner.cache.pool.flatten(2, 3)[:, :, batch.slots] = torch.nan
            raise RuntimeError("planted")
        return logits * torch.nan if self.planted else logits


def soak(model: PreTrainedModel, seed: int, steps: int) -> Counter[str]:
    """One run; raises :class:`AssertionError`. How much of what has happened."""
    rng = random.Random(seed)
    size = rng.choice([1, 2, 4, 8])
    how: dict[str, Any] = {
        "block_size": size,
        "vocabulary": Letters(),
        "kv_dtype": FP8 if rng.random() < 0.3 else None,
        "length": LENGTH,
    }
    engine = Paged(
        model,
        num_blocks=rng.randint(130, 260) // size,
        budget=rng.choice([5, 16, 64]),
        caching=rng.random() < 0.8,
        policy=rng.choice(["fcfs", "priority"]),
        free_order=rng.choice(["lru", "unhashed-first"]),
        **how,
    )
    faults = Faults(engine, rng)
    everything: list[tuple[Asked, Request]] = []
    counts: Counter[str] = Counter()
    for step in range(steps):
        drained = step % 60 >= 45
        if rng.random() < 0.4 and not drained:
            new = asked(rng)
            everything.append((new, submitted(engine, new)))
        if rng.random() < 0.03 and engine.roster.requests:
            engine.engine.scheduler.abort(rng.choice(list(engine.roster.requests.values())))
        if drained and engine.engine.idle and engine.pool.cache is not None:
            engine.pool.reset_cache()
            counts["resets"] += 1
        failed = any(getattr(each, "reason", None) == "error" for each in engine.step().decisions)
        assert faults.planted or not failed, "a forward failed by itself: it read what another had left"
    faults.runner.forward = faults.plain  # type: ignore[method-assign]
    engine.run()
    engine.engine.close()
    assert engine.mirror() == []
    engine.assert_nothing_leaks()
    engine.undo_all()

    ended = {each.request: each.reason for each in engine.decisions(Finished)}
    survivors = [(new, old) for new, old in everything if ended.get(old.id) in ("stop", "length")]
    large = Paged(model, num_blocks=8192 // size, **how)
    again = [submitted(large, new) for new, _ in survivors]
    large.run()
    assert not large.operations()["free", "preempted"]
    for (new, old), other in zip(survivors, again, strict=True):
        assert answers(engine, old) == answers(large, other), f"{old}: {new}"
        counts["beams" if old.params.beam_width else "samples"] += 1
    counts.update(f"{kind} {cause}" for kind, cause in engine.operations())
    counts.update(ended.values())
    counts["aborted"] += len(engine.decisions(Aborted))
    return counts


@pytest.mark.timeout(900)
def test_whatever_is_asked_in_a_small_pool_nothing_leaks_and_each_answer_is_that_of_a_large_one(
    model: PreTrainedModel, rng: random.Random, size: str
) -> None:
    counts: Counter[str] = Counter()
    for _ in range(6 if size == "small" else 20):
        seed = rng.randrange(1 << 30)
        try:
            counts += soak(model, seed, 120 if size == "small" else 240)
        except AssertionError as error:
            raise AssertionError(f"soak(model, {seed}, …): {error}") from error
    happened = ["resets", "error", "aborted", "stop", "length", "samples", "beams"]
    happened += ["free preempted", "evict allocate", "evict failed_step", "share fork", "copy write"]
    happened += ["share prefix_hit", "reuse prefix_hit"]
    assert all(counts[each] for each in happened), counts


def labels_stay(self: SlotWriter, promises: Any, cause: Any) -> None:
    """A failed forward's labels are not taken back."""


def nothing_is_copied(self: KVCache, pairs: Any) -> None:
    """A shared block's first writer gets a new block without what was in the old one."""


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [(SlotWriter, "_take_back", labels_stay), (KVCache, "copy", nothing_is_copied)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_fault_is_found(
    model: PreTrainedModel, where: type, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, fault)
    for seed in range(20):
        try:
            soak(model, seed, 60)
        except AssertionError:
            return
    pytest.fail("20 runs found nothing")
