"""What the demo asks: the texts of ``demo_prompts.toml``, and in which order, by a seed."""

import random
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

_PATTERN = ("chat", "chat", "samples", "text", "chat", "text", "samples", "text")
"""The kinds of conversations in turn. So much is read, and not only written, that the pool is soon used up."""

_SAMPLES = 3


class Subject(NamedTuple):
    """Something to talk about: ``n`` answers to each of ``turns``."""

    name: str
    system: str
    turns: tuple[str, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Prompts:
    """All subjects, by kind: ``chat`` of several turns, ``samples`` with n > 1, ``text`` with a longer one to read."""

    subjects: dict[str, tuple[Subject, ...]]


@cache
def prompts() -> Prompts:
    """The texts of the data file."""
    data: dict[str, Any] = tomllib.loads(
        resources.files("kvarium_engine.workload").joinpath("demo_prompts.toml").read_text("utf-8")
    )
    systems: list[str] = data["systems"]
    chats = [
        Subject(entry["name"], systems[entry["system"]], tuple(entry["turns"]), 1)
        for entry in data["conversations"]
    ]
    samples = [
        Subject(entry["name"], systems[entry["system"]], (entry["prompt"],), _SAMPLES)
        for entry in data["samples"]
    ]
    texts = [
        Subject(entry["name"], systems[0], (f"{entry['task']}\n\n{entry['text']}",), 1)
        for entry in data["texts"]
    ]
    return Prompts({"chat": tuple(chats), "samples": tuple(samples), "text": tuple(texts)})


class Deck:
    """Subjects without end, in an order that depends on ``seed`` alone; none comes twice before all of its kind came."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._drawn = 0
        self._left: dict[str, list[Subject]] = {}

    def draw(self) -> Subject:
        """The next subject."""
        kind = _PATTERN[self._drawn % len(_PATTERN)]
        self._drawn += 1
        left = self._left.setdefault(kind, [])
        if not left:
            left += prompts().subjects[kind]
            self._random.shuffle(left)
        return left.pop()
