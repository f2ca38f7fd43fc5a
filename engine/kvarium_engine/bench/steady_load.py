"""A steady load: so many sequences run at any time, and who ends is followed by the next one.

    running   ████████████████  16 of 16      prompts and answers from a quarter of a limit to all of it; some of the
    waiting   █                 the next      prompts begin with one of a few common prefixes

It is the same requests for every engine that is fed, made before: what making them costs is none of the engine's.
"""

import random
from array import array
from dataclasses import dataclass

from kvarium_engine.engine import Engine
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.scheduling.sampling_params import SamplingParams

_PREFIXES = 16
_SHARED = 0.3
"""Of the prompts, those that begin with a common prefix."""


@dataclass(frozen=True, slots=True)
class Load:
    """``sequences`` at once; ``prompt`` and ``output`` are the longest, in tokens."""

    sequences: int
    prompt: int
    output: int

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt + self.output

    def requests(
        self, steps: int, vocab_size: int, seed: int = 0
    ) -> "list[tuple[array[int], SamplingParams]]":
        """As many requests as ``steps`` steps may ask for, of token ids below ``vocab_size``."""
        draw = random.Random(seed)
        found = []
        for number in range(2 * self.sequences + 3 * steps * self.sequences // self.output):
            tokens = seeded_tokens(number + 1_000_000, draw.randint(self.prompt // 4, self.prompt))
            if draw.random() < _SHARED:
                prefix = seeded_tokens(draw.randrange(_PREFIXES), self.prompt // 2)
                tokens[: len(prefix)] = prefix[: len(tokens)]
            prompt = array("I", (token % vocab_size for token in tokens))
            output = draw.randint(self.output // 4, self.output)
            found.append((prompt, SamplingParams(max_tokens=output, temperature=0, ignore_eos=True)))
        return found


class SteadyLoad:
    """Feeds one engine with ``requests``, in order, so that one always waits while ``sequences`` run."""

    def __init__(self, sequences: int, requests: "list[tuple[array[int], SamplingParams]]") -> None:
        self._sequences = sequences
        self._left = iter(requests)

    def feed(self, engine: Engine) -> None:
        """Submit what the next step needs."""
        roster = engine.scheduler.roster
        for _ in range(self._sequences - roster.width + 1 - len(roster.waiting)):
            engine.scheduler.submit(*next(self._left))
