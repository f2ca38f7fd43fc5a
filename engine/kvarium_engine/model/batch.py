"""A step's plan as tensors: all tokens of all sequences in one row.

    decodes: one token each     prefills: a chunk each
    [ a ][ b ][ c ]             [ d d d d d d ][ e e ]        input_ids, positions, slots   [tokens]
      │    │    │                          │      │
      └────┴────┴── logits are wanted of ──┴──────┘           rows                          [rows]

A chunk that is not its prompt's last wants no logits; the last one of a prompt that forks has its row sampled n times.

What a token attends to is told to the kernels in their own way:

    torch    the slot of each position of its context, gathered    context, mask, lengths;        chunks
    triton   block tables, as they are                             block_tables, lengths_i32;     chunk_tables, starts, chunk_lengths
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from kvarium_engine.kernels.backend import Backend
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
    """The tensors of one step, on ``device``, for the kernels of ``backend``.

    ``input_ids``, ``positions``, ``slots`` ``[tokens]`` i64; ``rows`` ``[rows]`` i64, the tokens whose logits are wanted. The first
    ``decodes`` tokens are decodes, the others those of the chunks.

    For torch: ``context`` (i64) and ``mask`` (bool) ``[decodes, longest]`` are the decodes' slots and which of them count, ``lengths``
    ``[decodes]`` i64 the tokens of each, its new one included; ``chunks`` has the others.

    For triton, all i32: ``block_tables`` ``[decodes, blocks]`` and ``lengths_i32`` ``[decodes]``; of the chunks ``chunk_tables`` ``[chunks,
    blocks]``, ``chunk_lengths`` ``[chunks]`` (tokens up to and with the chunk), ``starts`` ``[chunks + 1]`` (where each begins and ends among
    the tokens that are no decodes) and ``longest_chunk``, the tokens of the longest.
    """

    def __init__(
        self, plan: StepPlan, block_size: int, device: torch.device, backend: Backend = "torch"
    ) -> None:
        self.decodes = len(plan.decodes)
        tokens = [sequence.tokens[sequence.computed - 1] for sequence in plan.decodes]
        positions: list[np.ndarray] = []
        slot_list: list[np.ndarray] = []
        rows: list[int] = list(range(self.decodes))
        self.chunks: list[Chunk] = []

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        if plan.decodes:
            lengths = np.array([sequence.computed for sequence in plan.decodes], dtype=np.int64)
            tables = tables_of(plan.decodes, lengths, block_size)
            last = lengths - 1
            positions.append(last)
            own = tables[np.arange(self.decodes), last // block_size].astype(np.int64)
            slot_list.append(own * block_size + last % block_size)
            if backend == "triton":
                self.block_tables = tensor(tables)
                self.lengths_i32 = tensor(lengths.astype(np.int32))
            else:
                context = decode_context(tables, lengths, block_size)
                self.context = tensor(context)
                self.lengths = tensor(lengths)
                self.mask = tensor(np.arange(context.shape[1]) < lengths[:, None])
        for sequence, start, count, samples in plan.prefills:
            end = start + count
            first = len(tokens)
            tokens += sequence.tokens[start:end]
            positions.append(np.arange(start, end))
            if backend == "triton":
                slot_list.append(slots(sequence.table, start, count, block_size))
            else:
                context = slots(sequence.table, 0, end, block_size)
                slot_list.append(context[start:])
                self.chunks.append(Chunk(first, first + count, start, tensor(context)))
            if samples:
                rows.append(len(tokens) - 1)
        if plan.prefills and backend == "triton":
            counts = np.array([prefill.tokens for prefill in plan.prefills], dtype=np.int32)
            ends = np.array([prefill.start for prefill in plan.prefills], dtype=np.int32) + counts
            prefilled = [prefill.sequence for prefill in plan.prefills]
            self.chunk_tables = tensor(tables_of(prefilled, ends, block_size))
            self.chunk_lengths = tensor(ends)
            self.starts = tensor(np.concatenate([[0], counts]).cumsum(dtype=np.int32))
            self.longest_chunk = int(counts.max())
        self.input_ids = tensor(np.array(tokens, dtype=np.int64))
        self.positions = tensor(np.concatenate(positions))
        self.slots = tensor(np.concatenate(slot_list))
        self.rows = tensor(np.array(rows, dtype=np.int64))


def tables_of(sequences: list[Sequence], lengths: np.ndarray, block_size: int) -> np.ndarray:
    """The block tables ``[sequences, blocks]`` (i32) of the first ``lengths`` tokens of each; 0 past its blocks."""
    tables = np.zeros((len(sequences), blocks_for(int(lengths.max()), block_size)), dtype=np.int32)
    for row, sequence, length in zip(tables, sequences, lengths.tolist(), strict=True):
        blocks = blocks_for(length, block_size)
        row[:blocks] = sequence.table[:blocks]
    return tables


def decode_context(tables: np.ndarray, lengths: np.ndarray, block_size: int) -> np.ndarray:
    """The slots ``[sequences, longest]`` (i64) of the positions of sequences with these ``tables`` and ``lengths``.

    Past a sequence's end its first slot is repeated: a place of its own that is filled.
    """
    longest = int(lengths.max())
    firsts = tables[:, :, None].astype(np.int64) * block_size
    context = (firsts + np.arange(block_size)).reshape(len(tables), -1)[:, :longest]
    return np.where(np.arange(longest) < lengths[:, None], context, context[:, :1])


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
