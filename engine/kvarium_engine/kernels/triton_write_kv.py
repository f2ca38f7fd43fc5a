"""Write the keys and values of new tokens to their slots, in Triton; :mod:`kvarium_engine.kernels.write_kv` is what it must do.

    key, value   [tokens, kv_heads, head_dim]   any strides: a model gives views of its projections
                 token t ─┬─ numbers 0 … BLOCK−1              one program: keys and values
                          └─ numbers BLOCK … 2·BLOCK−1        the next       number = head × head_dim + place in the head
    slots        [tokens]        s = slots[t];  s = −1: padding, nothing is written
    pools        [num_blocks × block_size, kv_heads × head_dim]         row s, contiguous

Bytes moved a token: 2 (K and V) × kv_heads × head_dim × (itemsize read + itemsize written), and 8 of its slot; 4 KiB read and 4 KiB
written a layer for Llama 3.1 8B in 16 bits, of FP8 half as many written. Nothing is read twice.
"""

from collections.abc import Iterator
from itertools import product

import torch
import triton
import triton.language as tl

from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales, movable
from kvarium_engine.kernels.triton_fp8 import to_e4m3
from kvarium_engine.kernels.variants import DTYPES, HEAD_DIMS, KV_DTYPES, LAUNCH, Variant, pointer

BLOCK = 1024
"""Numbers a program moves of keys, and of values."""
NUM_WARPS = 4


@triton.jit
def write_kv_kernel(
    key,
    value,
    key_pool,
    value_pool,
    slots,
    key_token_stride,
    key_head_stride,
    value_token_stride,
    value_head_stride,
    numbers,
    key_scale,
    value_scale,
    HEAD_DIM: tl.constexpr,
    TO_FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token)
    if slot >= 0:
        number = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        there = number < numbers
        head, place = (number // HEAD_DIM).to(tl.int64), number % HEAD_DIM
        new_key = tl.load(key + token * key_token_stride + head * key_head_stride + place, mask=there)
        new_value = tl.load(value + token * value_token_stride + head * value_head_stride + place, mask=there)
        if TO_FP8:
            new_key = to_e4m3(tl.div_rn(new_key.to(tl.float32), key_scale))
            new_value = to_e4m3(tl.div_rn(new_value.to(tl.float32), value_scale))
        tl.store(key_pool + slot * numbers + number, new_key, mask=there)
        tl.store(value_pool + slot * numbers + number, new_value, mask=there)


KERNELS = {"write_kv": write_kv_kernel}


def write_kv(
    key: torch.Tensor,
    value: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    slots: torch.Tensor,
    scales: Scales = NO_SCALES,
) -> None:
    """Scatter ``key`` and ``value`` ``[tokens, kv_heads, head_dim]`` into one layer's pools by ``slots`` (``[tokens]`` i64).

    The pools are ``[num_blocks, block_size, kv_heads, head_dim]``, contiguous, of the dtype of ``key`` or of FP8; they are written in
    place. A slot of −1 is padding: its token is skipped. Other slots are distinct; they are not checked, as that would wait for the
    device. ``scales``: by what keys and values are divided, where the pools are FP8.
    """
    tokens, kv_heads, head_dim = key.shape
    to_fp8 = key_pool.dtype == FP8
    assert value.shape == key.shape and slots.shape == (tokens,) and slots.dtype == torch.int64
    assert key_pool.shape[2:] == (kv_heads, head_dim) and value_pool.shape == key_pool.shape
    assert key_pool.is_contiguous() and value_pool.is_contiguous() and slots.is_contiguous()
    assert to_fp8 or key_pool.dtype == key.dtype, f"{key.dtype} is written to a pool of {key_pool.dtype}"
    if tokens == 0:
        return
    key, value = (new if new.stride(2) == 1 else new.contiguous() for new in (key, value))
    numbers = kv_heads * head_dim
    write_kv_kernel[(tokens, triton.cdiv(numbers, BLOCK))](
        key,
        value,
        movable(key_pool),
        movable(value_pool),
        slots,
        key.stride(0),
        key.stride(1),
        value.stride(0),
        value.stride(1),
        numbers,
        float(scales[0]),
        float(scales[1]),
        HEAD_DIM=head_dim,
        TO_FP8=to_fp8,
        BLOCK=BLOCK,
        num_warps=NUM_WARPS,
        **LAUNCH,
    )


def variants() -> Iterator[Variant]:
    """What the kernel can be compiled as: one for each head_dim, dtype and kv_dtype."""
    for head_dim, dtype, kv_dtype in product(HEAD_DIMS, DTYPES, KV_DTYPES):
        new, pool = pointer(dtype), pointer(dtype, kv_dtype)
        yield Variant(
            "write_kv",
            {"head_dim": head_dim, "dtype": dtype, "kv_dtype": kv_dtype},
            {
                "key": new,
                "value": new,
                "key_pool": pool,
                "value_pool": pool,
                "slots": "*i64",
                "key_token_stride": "i32",
                "key_head_stride": "i32",
                "value_token_stride": "i32",
                "value_head_stride": "i32",
                "numbers": "i32",
                "key_scale": "fp32",
                "value_scale": "fp32",
            },
            {"HEAD_DIM": head_dim, "TO_FP8": kv_dtype != "same", "BLOCK": BLOCK},
            NUM_WARPS,
        )
