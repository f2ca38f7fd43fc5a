"""The comparison sees what it is for: each fault, planted in kvarium, is found within a few runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.scheduling.scheduler import Scheduler
from kvarium_engine.scheduling.slot_writer import SlotWriter
from tests.oracle.foreign import DifferenceError
from tests.oracle.lockstep import run
from tests.oracle.scenario import generate


def head_first(plain: Callable[..., None]) -> Callable[..., None]:
    """A sequence's blocks are freed in the order of its table."""

    def let_go(self: BlockPool, table: Sequence[int], cause: Any, sequence: int) -> None:
        plain(self, table[::-1], cause, sequence)

    return let_go


def all_to_the_tail(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, blocks: self.queue.append_n(blocks)


def reversed_at_the_head(plain: Callable[..., Any]) -> Callable[..., Any]:
    def prepend_n(self: FreeQueue, blocks: Sequence[int]) -> list[float]:
        tickets: list[float] = plain(self, list(blocks)[::-1])
        return tickets[::-1]

    return prepend_n


def one_block_less(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The longest hit is one block shorter than it may be."""
    return lambda self, tokens, most, keys: plain(self, tokens, max(0, most - 1), keys)


def newest_duplicate(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Of blocks with one content the last labelled one is hit."""

    def lookup(self: PrefixCache, tokens: bytes, most: int, keys: ExtraKeys) -> Any:
        _, contents = plain(self, tokens, most, keys)
        held = [self._blocks[content] for content in contents]
        return [each if isinstance(each, int) else each[-1] for each in held], contents

    return lookup


def salt_is_forgotten(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A hit is looked up without the cache salt."""
    return lambda self, tokens, most, keys: plain(self, tokens, most, ExtraKeys(keys.lora_name))


def first_is_the_victim(plain: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: self.roster.running[0]


def one_block_too_many(plain: Callable[..., int]) -> Callable[..., int]:
    return lambda self, wants: plain(self, wants) + 1


def no_labels_of_decodes(plain: Callable[..., None]) -> Callable[..., None]:
    return lambda self, sequence, block: None


@pytest.mark.parametrize(
    ("where", "name", "fault", "policy"),
    [
        (BlockPool, "let_go", head_first, "fcfs"),
        (BlockPool, "_enqueue", all_to_the_tail, "fcfs"),
        (FreeQueue, "prepend_n", reversed_at_the_head, "fcfs"),
        (PrefixCache, "lookup", one_block_less, "fcfs"),
        (PrefixCache, "lookup", newest_duplicate, "fcfs"),
        (PrefixCache, "lookup", salt_is_forgotten, "fcfs"),
        (Scheduler, "_victim", first_is_the_victim, "fcfs"),
        (Scheduler, "_victim", first_is_the_victim, "priority"),
        (SlotWriter, "blocks_needed", one_block_too_many, "fcfs"),
        (SlotWriter, "label_last", no_labels_of_decodes, "fcfs"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_planted_fault_is_found(
    where: type, name: str, fault: Callable[..., Any], policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, fault(getattr(where, name)))
    for seed in range(1, 40):  # not a multiple of four: no mirror, which would see some of them by itself
        try:
            run(generate(4 * seed + 1, policy, 20))
        except DifferenceError:
            return
        except (AssertionError, KeyError, IndexError):
            continue
    pytest.fail("40 runs found no difference")
