"""A model that searches for a bench: loaded once, with a cache as large as each run needs, and real texts as prompts."""

import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from kvarium_engine.model.choice import choose_model
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


def load_searcher(model: str, block_size: int) -> Searcher:
    """Load a model (a known name, or a folder); one without a tokenizer gets seeded tokens as its text.

    Raises :class:`~kvarium_engine.errors.UsageError` where it is not there.
    """
    choice = choose_model(model)

    from kvarium_engine.model.loader import choose_device, load_model, use_threads
    from kvarium_engine.model.tokenizer import load_tokenizer
    from kvarium_engine.model.torch_runner import TorchRunner, device_name

    threads = use_threads()
    device = choose_device()
    vocabulary = load_tokenizer(choice.folder)
    text = array("I", vocabulary.encode(demo_text())) if vocabulary is not None else seeded_tokens(0, 4096)
    size = choice.geometry.vocab_size
    module = load_model(choice.folder, choice.dtype, device)

    def make(num_blocks: int) -> Runner:
        return TorchRunner(module, vocabulary, choice.name, num_blocks, block_size)

    where = device_name(device) if device.type == "cuda" else f"cpu, {threads} thread{'s' * (threads > 1)}"
    return Searcher(choice.name, where, make, array("I", (token % size for token in text)))
