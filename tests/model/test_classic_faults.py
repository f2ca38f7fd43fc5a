"""The classic faults of a KV cache, each planted here: the checks of the suite catch it, and pass without it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from kvarium_engine.kernels import paged_attention as kernels
from kvarium_engine.memory.block_table import slots
from kvarium_engine.model import attention
from kvarium_engine.model.batch import Batch
from kvarium_engine.scheduling.step_plan import StepPlan
from tests.model.paged import check_broadcast, check_logits, check_second_owner, check_tokens
from tests.model.tiny import made, small_llama


@pytest.fixture(scope="module")
def paged() -> PreTrainedModel:
    return made(small_llama())


@pytest.fixture(scope="module")
def plain() -> PreTrainedModel:
    return made(small_llama(), attention="eager")


def after_each_batch(monkeypatch: pytest.MonkeyPatch, change: Callable[[Batch, StepPlan, int], None]) -> None:
    """Let ``change`` spoil each batch that is made."""
    original = Batch.__init__

    def spoiled(self: Batch, plan: StepPlan, block_size: int, *more: Any) -> None:
        original(self, plan, block_size, *more)
        change(self, plan, block_size)

    monkeypatch.setattr(Batch, "__init__", spoiled)


def see(batch: Batch, plan: StepPlan, block_size: int, lengths: list[int]) -> None:
    """Let the decodes attend to ``lengths`` slots of their blocks, filled or not."""
    wide = max(lengths)
    context = np.zeros((len(lengths), wide), dtype=np.int64)
    for row, sequence, length in zip(context, plan.decodes, lengths, strict=True):
        row[:length] = slots(sequence.table, 0, length, block_size)
    batch.context = torch.from_numpy(context)
    batch.mask = torch.arange(wide) < torch.tensor(lengths)[:, None]


def test_without_a_fault_every_check_passes(paged: PreTrainedModel, plain: PreTrainedModel) -> None:
    check_tokens(paged, plain)
    check_logits(paged, plain)
    check_second_owner(paged, plain)
    check_broadcast()


def test_a_decoded_token_that_is_rotated_as_if_it_stood_at_0(
    paged: PreTrainedModel, plain: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_zero(batch: Batch, plan: StepPlan, block_size: int) -> None:
        batch.positions[: batch.decodes] = 0

    after_each_batch(monkeypatch, at_zero)
    with pytest.raises(AssertionError, match="alone"):
        check_tokens(paged, plain)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        check_logits(paged, plain)


def test_slots_that_are_not_filled_are_attended_to(
    paged: PreTrainedModel, plain: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of zeros has the score 0, and so a weight of e⁰ = 1 before the softmax divides."""

    def all_slots(batch: Batch, plan: StepPlan, block_size: int) -> None:
        if plan.decodes:
            see(batch, plan, block_size, [len(sequence.table) * block_size for sequence in plan.decodes])

    after_each_batch(monkeypatch, all_slots)
    with pytest.raises(AssertionError, match="alone"):
        check_tokens(paged, plain)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        check_logits(paged, plain)


def test_a_cache_that_is_not_reset_between_requests(
    paged: PreTrainedModel, plain: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How far a block is filled is remembered of its first owner on: the next one reads keys that are not its own."""
    filled: dict[int, int] = {}

    def remembered(batch: Batch, plan: StepPlan, block_size: int) -> None:
        for sequence in [*plan.decodes, *(prefill.sequence for prefill in plan.prefills)]:
            for index, block in enumerate(sequence.table):
                own = min(block_size, sequence.computed - index * block_size)
                filled[block] = max(filled.get(block, 0), own)
        if plan.decodes:
            last = [len(sequence.table) - 1 for sequence in plan.decodes]
            lengths = [
                index * block_size + filled[sequence.table[index]]
                for index, sequence in zip(last, plan.decodes, strict=True)
            ]
            see(batch, plan, block_size, lengths)

    after_each_batch(monkeypatch, remembered)
    with pytest.raises(AssertionError, match=r"owner [1-9]"):
        check_second_owner(paged, plain)


def copied(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *rest: object) -> torch.Tensor:
    """Right, but with a copy of each KV head for each of its query heads."""
    group = query.shape[1] // keys.shape[2]
    wide = keys.repeat_interleave(group, dim=2), values.repeat_interleave(group, dim=2)
    return kernels.decode_attention(query, *wide, *rest)  # type: ignore[arg-type]


def test_kv_heads_that_are_copied_instead_of_broadcast(
    paged: PreTrainedModel, plain: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "decode_attention", copied)
    with pytest.raises(AssertionError, match="a decode copies KV heads"):
        check_broadcast()
    check_tokens(paged, plain, 20)  # the tokens are right all the same: only the memory tells


def test_query_heads_that_are_grouped_in_the_other_order(
    paged: PreTrainedModel, plain: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Head h belongs to KV head h // group, not to h % kv_heads."""

    def interleaved(query: torch.Tensor, keys: torch.Tensor, *rest: object) -> torch.Tensor:
        heads = query.shape[1]
        order = torch.arange(heads).view(-1, keys.shape[2]).t().flatten()
        out = kernels.decode_attention(query[:, order], keys, *rest)  # type: ignore[arg-type]
        return out[:, order.argsort()]

    monkeypatch.setattr(attention, "decode_attention", interleaved)
    with pytest.raises(AssertionError, match="alone"):
        check_tokens(paged, plain)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        check_logits(paged, plain)
