"""Decodes by graphs: padded, replayed, and the same as without. What records is faked, as there is no card."""

import random
from array import array

import pytest
import torch

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.capture_sizes import CaptureError
from kvarium_engine.model.cuda_graphs import DecodeGraphs
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import Prefill, StepPlan
from tests.model.paged import Paged, random_prompt
from tests.model.rerun import Rerun
from tests.model.tiny import made, small_llama

CPU = torch.device("cpu")
BLOCK_SIZE = 4
BLOCKS = 64


class Sums:
    """A forward without a model: each token leaves a number in its slot, and its logits are sums over its context."""

    def __init__(self) -> None:
        self.pool = torch.full((BLOCKS, BLOCK_SIZE), torch.nan, dtype=torch.float64)

    def __call__(self, batch: Batch) -> torch.Tensor:
        kept = batch.slots >= 0
        self.pool.view(-1)[batch.slots[kept]] = (batch.input_ids * 1000 + batch.positions)[kept].double()
        context = self.pool[batch.block_tables.long()].flatten(1)
        read = torch.arange(context.shape[1]) < batch.lengths_i32[:, None]
        total = context.masked_fill(~read, 0).sum(dim=1)
        return torch.stack([total, batch.lengths_i32.double()], dim=1)[batch.rows]


def decoding(rng: random.Random, count: int) -> list[Sequence]:
    """Sequences of random lengths in random blocks; all but their last token are to be in the pool."""
    blocks = rng.sample(range(BLOCKS), BLOCKS)
    found = []
    for index in range(count):
        tokens = array("I", (rng.randrange(97) for _ in range(rng.randrange(1, 24))))
        sequence = Sequence(index, Request(index, "r", tokens, SamplingParams(), 0, BLOCK_SIZE), 0, tokens)
        sequence.computed = len(tokens)
        sequence.table = [blocks.pop() for _ in range(blocks_for(len(tokens), BLOCK_SIZE))]
        found.append(sequence)
    return found


def prefilled(forward: Sums, sequences: list[Sequence]) -> None:
    for sequence in sequences:
        for place in range(len(sequence.tokens) - 1):
            slot = sequence.table[place // BLOCK_SIZE] * BLOCK_SIZE + place % BLOCK_SIZE
            forward.pool.view(-1)[slot] = sequence.tokens[place] * 1000 + place


def batch_of(plan: StepPlan) -> Batch:
    return Batch(plan, BLOCK_SIZE, CPU, "triton")


def test_a_replayed_decode_is_the_eager_one(rng: random.Random) -> None:
    eager, graphed, recorder = Sums(), Sums(), Rerun()
    graphs = DecodeGraphs(graphed, (1, 2, 4, 8), 8, CPU, recorder)
    assert bool(graphed.pool.isnan().all()), "a row of padding was written"
    for count in [5, 3, 8, 1, 2, 7, 4, 6]:
        sequences = decoding(rng, count)
        prefilled(eager, sequences)
        prefilled(graphed, sequences)
        batch = batch_of(StepPlan(0, decodes=sequences))
        found = graphs.replay(batch)
        assert found is not None and torch.equal(found, eager(batch))
        torch.testing.assert_close(graphed.pool, eager.pool, rtol=0, atol=0, equal_nan=True)
    assert recorder.replays == [8, 4, 8, 1, 2, 8, 4, 8]


def test_rows_of_padding_have_no_slot_and_no_length(rng: random.Random) -> None:
    graphs = DecodeGraphs(Sums(), (2, 8), 8, CPU, Rerun())
    for count in (8, 5):
        sequences = decoding(rng, count)
        assert graphs.replay(batch_of(StepPlan(0, decodes=sequences))) is not None
    buffers = graphs.buffers
    assert buffers.slots[5:].tolist() == [-1] * 3 and buffers.lengths[5:].tolist() == [0] * 3
    assert buffers.lengths[:5].tolist() == [sequence.computed for sequence in sequences]
    for row, sequence in zip(buffers.block_tables, sequences, strict=False):
        assert row[: len(sequence.table)].tolist() == sequence.table
    assert (buffers.block_tables.dtype, buffers.lengths.dtype) == (torch.int32, torch.int32)


def test_larger_batches_and_prefills_are_not_replayed(rng: random.Random) -> None:
    recorder = Rerun()
    graphs = DecodeGraphs(Sums(), (2, 4), 8, CPU, recorder)
    sequences = decoding(rng, 5)
    assert graphs.replay(batch_of(StepPlan(0, decodes=sequences))) is None
    beside = Prefill(sequences[3], 0, sequences[3].computed, 1)
    assert graphs.replay(batch_of(StepPlan(0, decodes=sequences[:3], prefills=[beside]))) is None
    assert recorder.replays == []


def test_the_largest_is_recorded_first() -> None:
    recorder = Rerun()
    DecodeGraphs(Sums(), (1, 2, 4, 8), 8, CPU, recorder)
    assert recorder.sizes == [8, 4, 2, 1]


def test_a_forward_that_can_not_be_recorded_tells_the_size_and_why() -> None:
    def looking(batch: Batch) -> torch.Tensor:
        raise RuntimeError("operation not permitted when stream is capturing\nand more lines")

    with pytest.raises(CaptureError) as told:
        DecodeGraphs(looking, (1, 4), 8, CPU, Rerun())
    assert (
        str(told.value) == "a decode of 4 can't be recorded: operation not permitted when stream is capturing"
    )

    def too_large(batch: Batch) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        DecodeGraphs(too_large, (1, 4), 8, CPU, Rerun())


def test_an_engine_with_graphs_makes_the_same_tokens() -> None:
    model = made(small_llama(num_hidden_layers=1, head_dim=16))
    prompts = [random_prompt(seed, count) for seed, count in ((1, 5), (2, 9), (3, 3))]
    expected = Paged(model, block_size=8).greedy(prompts, 4)
    engine = Paged(model, block_size=8)
    engine.runner.cache.backend = "triton"
    recorder = Rerun()
    engine.runner.capture((1, 4), 16, recorder)
    assert engine.greedy(prompts, 4) == expected
    assert recorder.replays == [4] * 3, "three decode after the prefill"
