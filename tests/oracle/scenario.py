"""Random requests as plain data, so that a run can be repeated from its seed and a failing one made smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN, mix
from tests.engine.mirrored import tokens

__all__ = [
    "EOS",
    "Abort",
    "Reset",
    "Scenario",
    "Step",
    "Submit",
    "generate",
    "prompt",
    "sampled_token",
    "shrink",
]


class Submit(NamedTuple):
    """A prompt of ``shared`` tokens of a ``stream``, then ``own`` ones; what is sampled follows the stream as well.

    With other extra keys (``lora_name``, ``cache_salt``) the same tokens are another prefix.
    """

    name: str
    stream: int
    shared: int
    own: int
    max_tokens: int
    priority: int
    ignore_eos: bool
    lora_name: str | None = None
    cache_salt: str | None = None


class Step(NamedTuple):
    """One step."""


class Abort(NamedTuple):
    """The ``pick``-th of the requests in the engine is aborted."""

    pick: int


class Reset(NamedTuple):
    """The prefix cache is reset."""


Event = Submit | Step | Abort | Reset


@dataclass(frozen=True)
class Scenario:
    seed: int
    policy: str
    num_blocks: int
    block_size: int
    budget: int
    seqs: int
    length: int
    caching: bool
    hash_seed: str
    events: list[Event] = field(repr=False)


def prompt(submit: Submit) -> list[int]:
    shared = tokens(submit.stream, submit.shared).tolist()
    return shared + tokens(1000 + submit.stream * 7 + submit.own % 3, submit.own).tolist()


def sampled_token(submit: Submit, position: int) -> int:
    """Requests of one stream, with prompts of one length, sample the same: what they made is hit too."""
    value = mix(submit.stream * 977 + submit.own % 3 * 131 + position)
    return EOS if value % 24 == 0 else value % 900 + FIRST_TOKEN


def generate(seed: int, policy: str, steps: int) -> Scenario:
    """Requests come in bursts, faster than they are served at times, into a pool that seldom holds all that run."""
    rng = random.Random(seed)
    large = rng.random() < 0.1
    block_size = rng.choice([32, 64, 128, 256] if large else [1, 2, 4, 4, 8, 16])
    num_blocks = rng.choice([3, 4] if large else [6, 9, 12, 16, 24, 40])
    seqs = rng.choice([1, 3, 5, 8])
    # As few tokens a step as vLLM allows, or as many as several blocks have.
    budget = max(seqs, rng.choice([0, 3, 7, 16, 40, 100]) * max(1, block_size // 4))
    room = num_blocks * block_size
    length = rng.choice([room, max(2, room // 2), 2 * room])
    longest = max(2, min(room, length, 600) * 2 // 3)
    # Short prompts that grow long: more are admitted than the pool can hold in the end.
    growing = rng.random() < 0.6
    prompts = max(2, longest // 4) if growing else longest
    events: list[Event] = []
    burst = rng.choice([0.15, 0.3, 0.6])
    priorities = rng.choice([1, 2, 2, 1 << 30])  # all equal, with ties, hardly any tie
    names, salts = rng.choice(
        [([None], [None]), ([None, "sql"], [None]), ([None, "sql", "ä"], [None, "pepper"])]
    )
    for number in range(steps):
        while rng.random() < burst:
            events.append(
                Submit(
                    name=f"r{number}.{len(events)}",
                    stream=rng.randrange(3),
                    shared=rng.choice([0, prompts // 2, prompts // 3, rng.randrange(prompts)]),
                    own=rng.randrange(1, max(2, prompts // 3)),
                    max_tokens=rng.choice([1, longest // 2 + 1, rng.randrange(1, longest + 1)]),
                    priority=rng.randrange(priorities),
                    ignore_eos=growing or rng.random() < 0.5,
                    lora_name=rng.choice(names),
                    cache_salt=rng.choice(salts),
                )
            )
        if rng.random() < 0.03:
            events.append(Abort(rng.randrange(1000)))
        if rng.random() < 0.02:
            events.append(Reset())
        events.append(Step())
    return Scenario(
        seed=seed,
        policy=policy,
        num_blocks=num_blocks,
        block_size=block_size,
        budget=budget,
        seqs=seqs,
        length=length,
        caching=rng.random() < 0.9,
        hash_seed=rng.choice(["0", "42", "", "ü"]),
        events=events,
    )


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool], most: int = 1500) -> Scenario:
    """The scenario without events that it fails without, too: halves, then quarters, …, then single ones."""

    def pieces(count: int) -> Iterator[tuple[int, int]]:
        size = max(1, count // 2)
        while True:
            yield from ((start, start + size) for start in range(count - size, -1, -size))
            if size == 1:
                return
            size //= 2

    changed = True
    while changed and most > 0:
        changed = False
        for start, end in pieces(len(scenario.events)):
            if start >= len(scenario.events):
                continue
            smaller = replace(scenario, events=scenario.events[:start] + scenario.events[end:])
            most -= 1
            if most > 0 and fails(smaller):
                scenario, changed = smaller, True
    return scenario
