"""Faults of an engine, to be patched in: what compares it with anything else must find each of them.

A fault gets the plain function, and gives the one that stands in its place.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.scheduling.scheduler import Scheduler

Fault = Callable[[Callable[..., Any]], Callable[..., Any]]


def head_first(plain: Callable[..., None]) -> Callable[..., None]:
    """A sequence's blocks are freed in the order of its table."""

    def let_go(self: BlockPool, table: Sequence[int], cause: Any, sequence: int) -> None:
        plain(self, table[::-1], cause, sequence)

    return let_go


def all_to_the_tail(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Freed blocks without a label go to the tail of the queue, by either order."""
    return lambda self, blocks: self.queue.append_n(blocks)


def one_block_less(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The longest hit is one block shorter than it may be."""
    return lambda self, tokens, most, keys: plain(self, tokens, max(0, most - 1), keys)


def newest_duplicate(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Of blocks with one content the last labelled one is hit."""

    def lookup(self: PrefixCache, tokens: bytes, most: int, keys: ExtraKeys) -> Any:
        _, contents = plain(self, tokens, most, keys)
        held = [self.holders[content] for content in contents]
        return [each if isinstance(each, int) else each[-1] for each in held], contents

    return lookup


def first_is_the_victim(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Who began to run first is preempted."""
    return lambda self: self.roster.running[0]


PLANTED: list[tuple[type, str, Fault, str]] = [
    (BlockPool, "let_go", head_first, "fcfs"),
    (BlockPool, "_enqueue", all_to_the_tail, "fcfs"),
    (PrefixCache, "lookup", one_block_less, "fcfs"),
    (PrefixCache, "lookup", newest_duplicate, "fcfs"),
    (Scheduler, "_victim", first_is_the_victim, "fcfs"),
    (Scheduler, "_victim", first_is_the_victim, "priority"),
]
"""Where, what, the fault, and the scheduling policy by which it shows."""


def plant(monkeypatch: pytest.MonkeyPatch, where: type, name: str, fault: Fault) -> None:
    """Patch ``fault`` in for the test."""
    monkeypatch.setattr(where, name, fault(getattr(where, name)))
