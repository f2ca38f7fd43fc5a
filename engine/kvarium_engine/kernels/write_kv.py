"""Write the keys and values of new tokens to their slots.

    key    [tokens, kv_heads, head_dim]        token 0   token 1   token 2
    slots  [tokens]                              127       304       305
                                                  │         │         │
    pool   [num_blocks × block_size, …]   … 126 [127] 128 … [304]   [305] …        slot = block × block size + offset

In a pool of FP8 the keys and values are quantized on the way (:mod:`kvarium_engine.kernels.fp8`).

With ``backend`` triton the kernel beside this file does it. It skips a slot of −1, which is padding as a CUDA graph has it; the reference
takes none.

Bytes moved: each token's keys and values are read once and written once, 2 × 2 × kv_heads × head_dim × itemsize.
"""

import torch

from kvarium_engine.kernels.backend import Backend
from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales, movable, quantized


def write_kv(
    key: torch.Tensor,
    value: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    slots: torch.Tensor,
    scales: Scales = NO_SCALES,
    backend: Backend = "torch",
) -> None:
    """Scatter ``key`` and ``value`` ``[tokens, kv_heads, head_dim]`` into one layer's pools by ``slots`` (``[tokens]`` i64).

    The pools are ``[num_blocks, block_size, kv_heads, head_dim]`` and contiguous; they are written in place. Slots are
    distinct. ``scales``: by what keys and values are divided, where the pools are FP8. This is vLLM's
    ``reshape_and_cache``.
    """
    if backend == "triton":
        from kvarium_engine.kernels import triton_write_kv

        triton_write_kv.write_kv(key, value, key_pool, value_pool, slots, scales)
        return
    for new, pool, scale in ((key, key_pool, scales[0]), (value, value_pool, scales[1])):
        numbers = quantized(new, scale) if pool.dtype == FP8 else new
        movable(pool).flatten(0, 1).index_copy_(0, slots, movable(numbers))
