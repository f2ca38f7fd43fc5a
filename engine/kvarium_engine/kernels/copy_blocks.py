"""Copy whole blocks, keys and values of all layers at once: the device's half of copy-on-write.

    pool [2, layers, num_blocks, block_size, kv_heads, head_dim]

    sources   4   9            block 4  ──▶  block 15
    targets  15   2            block 9  ──▶  block 2         in every layer, keys and values, in one launch

Bytes moved: 2 (read and write) × 2 (K and V) × layers × block_size × kv_heads × head_dim × itemsize a block; for Llama 3.1 8B
and blocks of 16 that is 2 MiB read and 2 MiB written, however long the shared prompt is.
"""

from collections.abc import Sequence

import torch

from kvarium_engine.kernels.backend import Backend
from kvarium_engine.kernels.fp8 import movable


def copy_blocks(
    pool: torch.Tensor, sources: Sequence[int], targets: Sequence[int], backend: Backend = "torch"
) -> None:
    """Copy the blocks ``sources`` to ``targets``, pairwise, in ``pool`` (see above).

    No block is a target twice, or both a source and a target: in which order they are copied says nothing. With ``backend`` triton the
    kernel beside this file does it.
    """
    assert len(sources) == len(targets) == len(set(targets) - set(sources)), (
        "a block is copied to twice, or on"
    )
    source, target = torch.tensor([sources, targets], dtype=torch.int64, device=pool.device)
    if backend == "triton":
        from kvarium_engine.kernels import triton_copy_blocks

        triton_copy_blocks.copy_blocks(pool, source, target)
        return
    numbers = movable(pool)
    numbers.index_copy_(2, target, numbers.index_select(2, source))
