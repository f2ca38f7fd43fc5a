"""The comparison sees what it is for: each fault, planted in kvarium, is found within a few runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.free_queue import FreeQueue
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.scheduling.slot_writer import SlotWriter
from tests.engine.planted_faults import PLANTED, Fault, plant
from tests.oracle.foreign import DifferenceError
from tests.oracle.lockstep import run
from tests.oracle.scenario import generate

RUNS = 40


def reversed_at_the_head(plain: Callable[..., Any]) -> Callable[..., Any]:
    def prepend_n(self: FreeQueue, blocks: Sequence[int]) -> list[float]:
        tickets: list[float] = plain(self, list(blocks)[::-1])
        return tickets[::-1]

    return prepend_n


def salt_is_forgotten(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A hit is looked up without the cache salt."""
    return lambda self, tokens, most, keys: plain(self, tokens, most, ExtraKeys(keys.lora_name))


def one_block_too_many(plain: Callable[..., int]) -> Callable[..., int]:
    return lambda self, wants: plain(self, wants) + 1


def no_labels_of_decodes(plain: Callable[..., None]) -> Callable[..., None]:
    return lambda self, sequence, block: None


@pytest.mark.parametrize(
    ("where", "name", "fault", "policy"),
    [
        *PLANTED,
        (FreeQueue, "prepend_n", reversed_at_the_head, "fcfs"),
        (PrefixCache, "lookup", salt_is_forgotten, "fcfs"),
        (SlotWriter, "blocks_needed", one_block_too_many, "fcfs"),
        (SlotWriter, "label_last", no_labels_of_decodes, "fcfs"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_planted_fault_is_found(
    where: type, name: str, fault: Fault, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, where, name, fault)
    for number in range(RUNS):
        seed = 4 * number + 5  # not a multiple of four: no mirror, which would see some of them by itself
        try:
            run(generate(seed, policy, 20))
        except DifferenceError:
            return
        except (AssertionError, KeyError, IndexError):
            continue
    pytest.fail(f"{RUNS} runs found no difference")
