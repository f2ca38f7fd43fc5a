"""Decodes as CUDA graphs: what a step launches is recorded once for each batch size, and launched again as one.

    start     buffers ──▶ forward of 512, 504, … 8, 4, 2, 1 padding rows, each recorded        one memory pool, the largest first
    a step    batch of 5 ──copied──▶ buffers [ a b c d e · · · ] ──▶ graph of 8 ──▶ its logits [8, vocabulary] ──▶ the first 5

    buffers   input_ids, positions, slots [largest]; lengths [largest]; block_tables [largest, blocks of the longest sequence]

A graph reads and writes the addresses that it was recorded with: so the buffers stay where they are, and the logits of a step are
overwritten by the next one's. A row of padding has slot -1, so that it writes nothing, and length 0, so that it reads nothing.
Larger batches, and steps with a prefill among them, run eagerly.

What records is a :class:`Recorder`; a card's own is :class:`CudaRecorder`, and the only thing here that knows CUDA.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch

from kvarium_engine.model.batch import Batch
from kvarium_engine.model.capture_sizes import CaptureError, padded_size

Forward = Callable[[Batch], torch.Tensor]
"""Computes a batch, on the current stream, without a look at what comes out: the logits ``[rows, vocabulary]``."""


class Recording(NamedTuple):
    """``replay`` launches all of it again; ``logits`` ``[size, vocabulary]`` are where it leaves them."""

    replay: Callable[[], None]
    logits: torch.Tensor


class Recorder(Protocol):
    """Records what a callable launches."""

    def record(self, run: Callable[[], torch.Tensor]) -> Recording:
        """Run it, so that kernels are compiled and workspaces made; then run it once more and record that."""
        ...


class PaddedDecodes(Batch):
    """The first ``size`` rows of static buffers, as a batch of decodes."""

    def __init__(self, buffers: "DecodeBuffers", size: int) -> None:
        self.decodes = size
        self.input_ids = buffers.input_ids[:size]
        self.positions = buffers.positions[:size]
        self.slots = buffers.slots[:size]
        self.block_tables = buffers.block_tables[:size]
        self.lengths_i32 = buffers.lengths[:size]
        self.rows = buffers.rows[:size]


class DecodeBuffers:
    """Where graphs find a step's inputs, for ``rows`` sequences of at most ``blocks`` blocks. At first all rows are padding."""

    def __init__(self, rows: int, blocks: int, device: torch.device) -> None:
        self.input_ids = torch.zeros(rows, dtype=torch.int64, device=device)
        self.positions = torch.zeros(rows, dtype=torch.int64, device=device)
        self.slots = torch.full((rows,), -1, dtype=torch.int64, device=device)
        self.lengths = torch.zeros(rows, dtype=torch.int32, device=device)
        self.block_tables = torch.zeros(rows, blocks, dtype=torch.int32, device=device)
        self.rows = torch.arange(rows, device=device)

    def fill(self, batch: Batch, size: int) -> None:
        """Take over a batch of decodes, and make rows of padding of the others up to ``size``.

        What is copied is as long as the batch needs it: past a sequence's length its block table is not read.
        """
        count = batch.decodes
        blocks = batch.block_tables.shape[1]
        assert count <= size <= len(self.slots) and blocks <= self.block_tables.shape[1]
        self.input_ids[:count].copy_(batch.input_ids)
        self.positions[:count].copy_(batch.positions)
        self.slots[:count].copy_(batch.slots)
        self.lengths[:count].copy_(batch.lengths_i32)
        self.block_tables[:count, :blocks].copy_(batch.block_tables)
        if count < size:
            self.slots[count:size].fill_(-1)
            self.lengths[count:size].fill_(0)


class DecodeGraphs:
    """The graphs of decodes of ``sizes`` (ascending) sequences, with at most ``blocks`` blocks each.

    They are recorded here, the largest first, so that the others fit into its memory. ``forward`` must not look at what it computes, and
    must launch the same for any content of the buffers. Raises :class:`CaptureError` where it can't be recorded, and
    :class:`torch.OutOfMemoryError` where there is no room.
    """

    def __init__(
        self, forward: Forward, sizes: Sequence[int], blocks: int, device: torch.device, recorder: Recorder
    ) -> None:
        self.sizes = tuple(sizes)
        self.buffers = DecodeBuffers(self.sizes[-1], blocks, device)
        self._recordings: dict[int, Recording] = {}
        for size in reversed(self.sizes):
            batch = PaddedDecodes(self.buffers, size)
            try:
                self._recordings[size] = recorder.record(lambda batch=batch: forward(batch))  # type: ignore[misc]
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # whatever a forward raises that wants to look at its numbers
                line = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise CaptureError(f"a decode of {size} can't be recorded: {line}") from error

    def replay(self, batch: Batch) -> torch.Tensor | None:
        """The logits ``[decodes, vocabulary]`` of a batch, good until the next call; None where no graph is of its kind."""
        size = padded_size(self.sizes, batch.decodes)
        if size is None or len(batch.input_ids) > batch.decodes:  # too many, or a prefill is among them
            return None
        self.buffers.fill(batch, size)
        recording = self._recordings[size]
        recording.replay()
        return recording.logits[: batch.decodes]


class CudaRecorder:
    """Records CUDA graphs on ``device``, on a stream of its own; all of them share one pool of memory."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, run: Callable[[], torch.Tensor]) -> Recording:
        usual = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(usual)
        with torch.cuda.stream(self._stream):
            run()
        usual.wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
                logits = run()
        finally:
            torch.cuda.set_stream(usual)  # where recording failed, torch leaves its own in place
        return Recording(graph.replay, logits)
