"""The kernels that write the pool: what lies in it afterwards is, to the bit, what the torch reference leaves.

pool before   poison everywhere (all bits set: no number in any of its dtypes)
write_kv      distinct random slots and some of -1            the whole pool is compared, so that a write beside a slot shows
copy_blocks   distinct random blocks, all layers at once
"""

import random
from typing import NamedTuple

import torch

from kvarium_engine.gpu_check.part import Facts, FailedError, Setting
from kvarium_engine.kernels.copy_blocks import copy_blocks as copied_by_torch
from kvarium_engine.kernels.fp8 import FP8
from kvarium_engine.kernels.write_kv import write_kv as written_by_torch

SCALES = (0.5, 0.25)


class PoolCase(NamedTuple):
    """Keys and values of ``dtype``, kept as ``kv_dtype``."""

    head_dim: int
    kv_heads: int
    block_size: int
    dtype: torch.dtype
    kv_dtype: torch.dtype

    def __str__(self) -> str:
        kept = "" if self.kv_dtype == self.dtype else f" in {name(self.kv_dtype)}"
        return f"head_dim {self.head_dim}, {self.kv_heads} KV heads, blocks of {self.block_size}, {name(self.dtype)}{kept}"


ON_CARD = [
    PoolCase(head_dim, kv_heads, block_size, dtype, dtype if same else FP8)
    for head_dim, kv_heads, block_size, dtype, same in (
        (64, 8, 16, torch.bfloat16, True),
        (80, 32, 8, torch.float16, True),
        (96, 32, 32, torch.float32, True),
        (128, 8, 16, torch.bfloat16, True),
        (128, 8, 256, torch.float16, True),
        (256, 4, 64, torch.bfloat16, True),
        (64, 3, 128, torch.float32, False),
        (128, 8, 16, torch.bfloat16, False),
        (256, 4, 16, torch.float16, False),
        (80, 1, 16, torch.bfloat16, False),
    )
]
SMALL = [
    PoolCase(64, 2, 8, torch.float32, torch.float32),
    PoolCase(80, 1, 16, torch.bfloat16, torch.bfloat16),
    PoolCase(16, 2, 8, torch.float16, FP8),
]


def name(dtype: torch.dtype) -> str:
    """As a person writes it."""
    return str(dtype).removeprefix("torch.")


def cases(setting: Setting) -> list[PoolCase]:
    """Those for this device."""
    return ON_CARD if setting.on_card else SMALL


def poisoned(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    """All bits set."""
    return torch.full((*shape, dtype.itemsize), 255, dtype=torch.uint8, device=device).view(dtype)[..., 0]


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Are two tensors the same, poison too?"""
    return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))


def check_write_kv(setting: Setting) -> Facts:
    """Random tokens to random slots. Raises :class:`FailedError` with the cases that differ."""
    from kvarium_engine.kernels.triton_write_kv import write_kv

    wrong: list[str] = []
    checked = cases(setting)
    for number, case in enumerate(checked):
        torch.manual_seed(number)
        tokens = 200 if setting.on_card else 9
        num_blocks = 2 * tokens // case.block_size + 2
        # As a model gives them: parts of one projection, so not contiguous.
        both = torch.randn(tokens, 2, case.kv_heads, case.head_dim, device=setting.device).to(case.dtype)
        key, value = both[:, 0], both[:, 1]
        slots = torch.randperm(num_blocks * case.block_size, device=setting.device)[:tokens]
        padded = slots.clone()
        padded[tokens // 2 :: 3] = -1
        kept = padded >= 0
        shape = (num_blocks, case.block_size, case.kv_heads, case.head_dim)
        found, expected = (poisoned((2, *shape), case.kv_dtype, setting.device) for _ in range(2))
        write_kv(key, value, found[0], found[1], padded, SCALES)
        written_by_torch(key[kept], value[kept], expected[0], expected[1], padded[kept], SCALES)
        if not same_bits(found, expected):
            wrong.append(str(case))
    return told(wrong, checked)


def check_copy_blocks(setting: Setting) -> Facts:
    """Random blocks to others. Raises :class:`FailedError` with the cases that differ."""
    from kvarium_engine.kernels.triton_copy_blocks import copy_blocks

    wrong: list[str] = []
    checked = cases(setting)
    for number, case in enumerate(checked):
        torch.manual_seed(number)
        copies, num_blocks = (20, 64) if setting.on_card else (3, 8)
        layers = 4 if setting.on_card else 2
        blocks = random.Random(number).sample(range(num_blocks), 2 * copies)
        shape = (2, layers, num_blocks, case.block_size, case.kv_heads, case.head_dim)
        found = torch.randn(shape, device=setting.device).to(case.kv_dtype)
        expected = found.clone()
        source, target = torch.tensor(blocks, device=setting.device).view(2, copies)
        copy_blocks(found, source, target)
        copied_by_torch(expected, blocks[:copies], blocks[copies:])
        if not same_bits(found, expected):
            wrong.append(str(case))
    return told(wrong, checked)


def told(wrong: list[str], checked: list[PoolCase]) -> Facts:
    """How many were checked. Raises :class:`FailedError` where some were wrong."""
    facts: Facts = {"cases": len(checked), "wrong": wrong}
    if wrong:
        raise FailedError(
            f"{len(wrong)} of {len(checked)} differ from the torch reference, first {wrong[0]}", facts
        )
    return facts
