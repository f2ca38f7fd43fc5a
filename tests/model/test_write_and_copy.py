"""The Triton kernels that write and copy, interpreted: bit by bit what their references do, and nothing beside it."""

import random
from itertools import product

import pytest
import torch

from kvarium_engine.kernels import triton_copy_blocks, triton_write_kv
from kvarium_engine.kernels.copy_blocks import copy_blocks
from kvarium_engine.kernels.fp8 import FP8, quantized
from kvarium_engine.kernels.write_kv import write_kv

pytestmark = pytest.mark.timeout(1800)
"""Of the full size, interpreted on a loaded machine."""

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def poisoned(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Memory with any bits at all."""
    itemsize = torch.empty(0, dtype=dtype).element_size()
    bits = torch.randint(0, 256, (*shape[:-1], shape[-1] * itemsize), dtype=torch.uint8, generator=generator)
    return bits.view(dtype)


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    return torch.equal(left.view(torch.uint8), right.view(torch.uint8))


@pytest.mark.parametrize(("dtype", "fp8"), list(product(DTYPES, (False, True))))
def test_what_is_written_is_what_the_reference_writes(
    dtype: torch.dtype, fp8: bool, rng: random.Random, size: str
) -> None:
    for _ in range(24 if size == "full" else 4):
        generator = torch.Generator().manual_seed(rng.randrange(1 << 31))
        kv_heads, head_dim = rng.randrange(1, 9), rng.choice([1, 5, 8, 64, 80, 96, 128, 256])
        block_size, num_blocks = 1 << rng.randrange(9), rng.randrange(2, 9)
        tokens = rng.randrange(min(20, block_size * num_blocks) + 1)
        # As a model gives them: keys after their rotation heads first, values as a view of a wider projection.
        keys = torch.randn(kv_heads, tokens, head_dim, generator=generator).to(dtype).transpose(0, 1)
        wide = torch.randn(tokens, 3 * kv_heads * head_dim, generator=generator).to(dtype) * 100
        values = wide[:, -kv_heads * head_dim :].view(tokens, kv_heads, head_dim)
        if tokens:
            values[0, 0, 0], keys[-1, -1, -1] = torch.nan, torch.inf
        slots = torch.randperm(block_size * num_blocks, generator=generator)[:tokens]
        padding = torch.rand(tokens, generator=generator) < 0.3
        scales = (rng.uniform(0.01, 4), rng.choice([1.0, rng.uniform(0.01, 4)]))
        shape = (2, num_blocks, block_size, kv_heads, head_dim)
        expected = poisoned(shape, FP8 if fp8 else dtype, generator)
        found = expected.clone()
        write_kv(keys[~padding], values[~padding], expected[0], expected[1], slots[~padding], scales)
        triton_write_kv.write_kv(keys, values, found[0], found[1], torch.where(padding, -1, slots), scales)
        assert same_bits(found, expected), (
            f"{tokens} tokens of {kv_heads} × {head_dim} in blocks of {block_size}"
        )


def test_a_model_whose_numbers_lie_apart_is_written_too() -> None:
    keys, values = (
        torch.arange(2 * 2 * 8 * 3.0).view(2, 2, 8, 3).permute(0, 3, 1, 2)
    )  # [3, 2, 8], a stride of 3
    pools = torch.zeros(2, 2, 8, 2, 8)
    triton_write_kv.write_kv(keys, values, pools[0], pools[1], torch.tensor([3, -1, 9]))
    assert torch.equal(pools.flatten(1, 2)[:, [3, 9]], torch.stack([keys[[0, 2]], values[[0, 2]]]))
    assert pools.count_nonzero() == torch.stack([keys[[0, 2]], values[[0, 2]]]).count_nonzero()


@pytest.mark.filterwarnings("ignore:(invalid|overflow|underflow):RuntimeWarning")  # numpy's, of such numbers
@pytest.mark.parametrize("scale", [1.0, 0.02, 3.7])
def test_every_kind_of_number_becomes_the_same_byte(scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    any_bits = (
        torch.randint(-(2**31), 2**31, (60_000,), generator=generator).to(torch.int32).view(torch.float32)
    )
    codes = torch.arange(256, dtype=torch.uint8).view(FP8).float()
    exact = codes[~codes.isnan()].unique()
    ties = (exact[1:] + exact[:-1]) / 2
    near = torch.cat([exact, ties]) * scale
    up, down = near.nextafter(torch.tensor(torch.inf)), near.nextafter(torch.tensor(-torch.inf))
    special = torch.tensor([torch.nan, -torch.nan, torch.inf, -torch.inf, 0.0, -0.0])
    numbers = torch.cat([any_bits, near, up, down, special])
    numbers = numbers[len(numbers) % 2048 :].view(-1, 1, 2048)
    pools = torch.full((2, len(numbers), 1, 1, 2048), 99, dtype=torch.uint8).view(FP8)
    triton_write_kv.write_kv(numbers, numbers, pools[0], pools[1], torch.arange(len(numbers)), (scale, scale))
    assert same_bits(pools[0].view(-1), quantized(numbers, scale).view(-1))


@pytest.mark.parametrize("dtype", [*DTYPES, FP8])
def test_blocks_of_any_size_are_copied_as_the_reference_copies_them(
    dtype: torch.dtype, rng: random.Random, size: str
) -> None:
    widths = set()
    for round_ in range(24 if size == "full" else 8):
        generator = torch.Generator().manual_seed(rng.randrange(1 << 31))
        layers, num_blocks, block_size = rng.randrange(1, 4), rng.randrange(2, 12), 1 << rng.randrange(7)
        kv_heads, head_dim = (1, 1 + round_) if round_ < 4 else (rng.randrange(1, 5), rng.randrange(1, 90))
        if round_ < 4:
            block_size = 1
        copies = rng.randrange(num_blocks // 2 + 1)
        blocks = rng.sample(range(num_blocks), 2 * copies)
        sources = [rng.choice(blocks[:copies]) for _ in range(copies)]  # one may be copied more than once
        targets = blocks[copies:]
        expected = poisoned((2, layers, num_blocks, block_size, kv_heads, head_dim), dtype, generator)
        found = expected.clone()
        copy_blocks(expected, sources, targets)
        copy_blocks(found, sources, targets, "triton")
        assert same_bits(found, expected), f"{copies} of {found.shape}"
        widths.add(triton_copy_blocks.word_bytes(found[0, 0, 0].numel() * found.element_size()))
    assert len(widths) > 1, "blocks of one width alone"


def test_a_block_that_is_copied_to_is_copied_no_further() -> None:
    pool = torch.zeros(2, 1, 4, 1, 1, 8)
    for sources, targets in (([0, 1], [1, 2]), ([0, 1], [3, 3])):
        with pytest.raises(AssertionError, match="copied to twice, or on"):
            copy_blocks(pool, sources, targets)
