"""Copy whole blocks in Triton, keys and values of all layers in one launch; :mod:`kvarium_engine.kernels.copy_blocks` is what it must do.

    pool      [2 × layers, num_blocks, words]      a block of one layer, keys or values, is one run of words
              plane p ─┬─ … [source: w w w w w w w w] … [target: ‥ ‥ ‥ ‥ ‥ ‥ ‥ ‥] …
                       │              └───────┴── BLOCK words, one program ──▲
                       └─ the next copy, the next plane: other programs, side by side

    a word    the most bytes, up to 8, of which a block is a whole number: any block size, any number of heads, any dtype

Bytes moved a block: 2 (read and written) × 2 (K and V) × layers × block_size × kv_heads × head_dim × itemsize, and 16 a program of its
two indices. Programs don't wait for one another, so no block is both a source and a target.
"""

from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from kvarium_engine.kernels.variants import LAUNCH, Variant

WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}
"""What is moved at once, by its bytes."""
BYTES = 8192
"""Bytes a program moves."""
NUM_WARPS = 4


@triton.jit
def copy_blocks_kernel(pool, sources, targets, num_blocks, words, BLOCK: tl.constexpr):
    source = tl.load(sources + tl.program_id(1))
    target = tl.load(targets + tl.program_id(1))
    plane = tl.program_id(2).to(tl.int64) * num_blocks
    word = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = word < words
    moved = tl.load(pool + (plane + source) * words + word, mask=there)
    tl.store(pool + (plane + target) * words + word, moved, mask=there)


KERNELS = {"copy_blocks": copy_blocks_kernel}


def copy_blocks(pool: torch.Tensor, sources: torch.Tensor, targets: torch.Tensor) -> None:
    """Copy the blocks ``sources`` to ``targets`` (``[copies]`` i64, on the pool's device), pairwise, in ``pool``.

    ``pool`` ``[2, layers, num_blocks, block_size, kv_heads, head_dim]``, contiguous, is written in place. No block is a target twice, or
    both a source and a target; what the tensors hold is not checked, as that would wait for the device.
    """
    copies = len(sources)
    assert pool.is_contiguous() and sources.shape == targets.shape == (copies,)
    assert sources.dtype == targets.dtype == torch.int64
    if copies == 0:
        return
    planes, num_blocks = pool.shape[0] * pool.shape[1], pool.shape[2]
    block_bytes = pool[0, 0, 0].numel() * pool.element_size()
    size = word_bytes(block_bytes)
    words = block_bytes // size
    block = BYTES // size
    copy_blocks_kernel[(triton.cdiv(words, block), copies, planes)](
        pool.view(torch.uint8).flatten().view(WORDS[size]),
        sources,
        targets,
        num_blocks,
        words,
        BLOCK=block,
        num_warps=NUM_WARPS,
        **LAUNCH,
    )


def word_bytes(block_bytes: int) -> int:
    """The most bytes of a word that blocks of ``block_bytes`` bytes are made of."""
    return next(size for size in WORDS if block_bytes % size == 0)


def variants() -> Iterator[Variant]:
    """What the kernel can be compiled as: one for each width of a word."""
    for size in WORDS:
        yield Variant(
            "copy_blocks",
            {"word_bytes": size},
            {
                "pool": f"*i{8 * size}",
                "sources": "*i64",
                "targets": "*i64",
                "num_blocks": "i32",
                "words": "i32",
            },
            {"BLOCK": BYTES // size},
            NUM_WARPS,
        )
