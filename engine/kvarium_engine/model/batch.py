"""A step's plan as tensors: all tokens of all sequences in one row.

    decodes: one token each     prefills: a chunk each
    [ a ][ b ][ c ]             [ d d d d d d ][ e e ]        input_ids, positions, slots   [tokens]
      │    │    │                          │      │
      └────┴────┴── logits are wanted of ──┴──────┘           rows                          [rows]

A chunk that is not its prompt's last wants no logits; the last one of a prompt that forks has its row sampled n times.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from kvarium_engine.memory.block_table import blocks_for, slots
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import StepPlan


class Chunk(NamedTuple):
    """A prefill's tokens ``first`` … ``last - 1`` of the row, which stand at ``start``, ``start + 1``, … of their sequence.

    ``context`` (``[start + tokens]`` i64) has the slots of all positions up to the chunk's end.
    """

    first: int
    last: int
    start: int
    context: torch.Tensor


class Sample(NamedTuple):
    """One token to be sampled: of which row of the logits, and for which sequence of a request, by its index."""

    row: int
    sequence: Sequence
    sequence_index: int


class Batch:
    """The tensors of one step, on ``device``; i64, but for ``mask`` (bool).

    ``input_ids``, ``positions``, ``slots`` ``[tokens]``; ``rows`` ``[rows]``, the tokens whose logits are wanted. The first
    ``decodes`` tokens are decodes: ``context`` and ``mask`` ``[decodes, longest]`` are their slots and which of them count,
    ``lengths`` ``[decodes]`` the tokens of each, its new one included.
    """

    def __init__(self, plan: StepPlan, block_size: int, device: torch.device) -> None:
        self.decodes = len(plan.decodes)
        tokens = [sequence.tokens[sequence.computed - 1] for sequence in plan.decodes]
        positions: list[np.ndarray] = []
        slot_list: list[np.ndarray] = []
        rows: list[int] = list(range(self.decodes))
        self.chunks: list[Chunk] = []

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        if plan.decodes:
            context, lengths = decode_context(plan.decodes, block_size)
            last = lengths - 1
            positions.append(last)
            slot_list.append(context[np.arange(self.decodes), last])
            self.context = tensor(context)
            self.lengths = tensor(lengths)
            self.mask = tensor(np.arange(context.shape[1]) < lengths[:, None])
        for sequence, start, count, samples in plan.prefills:
            end = start + count
            first = len(tokens)
            tokens += sequence.tokens[start:end]
            context = slots(sequence.table, 0, end, block_size)
            positions.append(np.arange(start, end))
            slot_list.append(context[start:])
            self.chunks.append(Chunk(first, first + count, start, tensor(context)))
            if samples:
                rows.append(len(tokens) - 1)
        self.input_ids = tensor(np.array(tokens, dtype=np.int64))
        self.positions = tensor(np.concatenate(positions))
        self.slots = tensor(np.concatenate(slot_list))
        self.rows = tensor(np.array(rows, dtype=np.int64))


def decode_context(decodes: list[Sequence], block_size: int) -> tuple[np.ndarray, np.ndarray]:
    """The slots ``[sequences, longest]`` of each decoding sequence's positions, and how many they are ``[sequences]``.

    Past a sequence's end its first slot is repeated: a place of its own that is filled.
    """
    lengths = np.array([sequence.computed for sequence in decodes], dtype=np.int64)
    longest = int(lengths.max())
    tables = np.zeros((len(decodes), blocks_for(longest, block_size)), dtype=np.int64)
    for row, sequence in zip(tables, decodes, strict=True):
        row[: len(sequence.table)] = sequence.table
    context = (tables[:, :, None] * block_size + np.arange(block_size)).reshape(len(decodes), -1)[:, :longest]
    return np.where(np.arange(longest) < lengths[:, None], context, context[:, :1]), lengths


def samples_of(plan: StepPlan) -> Iterator[Sample]:
    """The tokens to be sampled, in the order that :meth:`~kvarium_engine.scheduling.step_plan.Runner.execute` returns them."""
    row = 0
    for sequence in plan.decodes:
        yield Sample(row, sequence, sequence.index)
        row += 1
    for prefill in plan.prefills:
        for index in range(prefill.sequence.index, prefill.sequence.index + prefill.samples):
            yield Sample(row, prefill.sequence, index)
        row += bool(prefill.samples)
