"""A model that searches for a bench: loaded once, with a cache as large as each run needs, and real texts as prompts."""

import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from kvarium_engine.bench.loading import load_for_bench
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.workload.demo_prompts import prompts


@dataclass(frozen=True, slots=True)
class Searcher:
    """``make_runner`` gives a runner with so many blocks; prompts are pieces of ``text`` (token ids)."""

    name: str
    device: str
    make_runner: Callable[[int], Runner]
    text: "array[int]"

    def prompt(self, seed: int, tokens: int) -> "array[int]":
        """So many tokens of the text, from a place that depends on ``seed``; behind its end it begins anew."""
        start = random.Random(seed).randrange(len(self.text))
        return array("I", (self.text[(start + i) % len(self.text)] for i in range(tokens)))


def demo_text() -> str:
    """All that the demo asks, one text after the other."""
    return "\n\n".join(
        turn for subjects in prompts().subjects.values() for subject in subjects for turn in subject.turns
    )


def load_searcher(choice: ModelChoice, block_size: int) -> Searcher:
    """Load a model; one without a tokenizer gets seeded tokens as its text.

    Raises :class:`~kvarium_engine.errors.UsageError` where it can't be had.
    """
    loaded = load_for_bench(choice)
    if loaded.vocabulary is not None:
        text = array("I", loaded.vocabulary.encode(demo_text()))
    else:
        text = seeded_tokens(0, 4096)
    size = choice.geometry.vocab_size
    return Searcher(
        loaded.name,
        loaded.device,
        lambda num_blocks: loaded.runner(num_blocks, block_size),
        array("I", (token % size for token in text)),
    )
