"""A tile of keys or values, read through a block table, and what both attention kernels do with it.

    block table    41         7          19             block size 4, a tile of 8 positions, 10 tokens
    positions       0 1 2 3   4 5 6 7  │ 8 9 ‥ ‥ ‥ ‥ ‥ ‥
    slots         164 ‥ 167  28 ‥  31  │ 76 77            the table is looked up for each position: a tile may cover
                 └──── first tile ─────┴─ second tile ┘    many small blocks or part of a large one

    keys    [positions, head_dim]  of one KV head: rows of head_dim × itemsize bytes, kv_heads of them apart
    scores  [rows, positions]      rows: the query heads that share the KV head (of one token, or of several)

A position that may not be read isn't: neither its entry of the table nor its slot, which may hold anything. A head of 80 or 96
numbers stands in a tile 128 wide, of which no more is read than there is.

The softmax is taken along the way, in float32 and with powers of 2: what stands so far, ``acc``, is the sum of the values times
2^(score − ``highest``), ``total`` the sum of these powers; a higher score than any before makes both fade. Scores come
times log₂ e, so that 2^score is e^score. A row that sees nothing has ``highest`` −∞, ``total`` 0 and ``acc`` 0.

Powers that meet values of float16 (FP8 becomes that, too) are 2¹⁵ times as large, and ``acc`` and ``total`` with them: the least that
float16 keeps is 2⁻²⁴, and where the highest score's value is about zero, as a first token's often is, the answer is what is below.

    2⁻⁴⁰          2⁻²⁵          2⁻¹⁴                     1             2¹⁵
      ‥ ‥ lost ‥ ‥ ‥│‥ fewer bits ‥│━━━━━━━━━ all bits ━━━━┥ highest              as they are
      │‥ fewer bits ‥│━━━━━━━━━━━━━━━━━━━ all bits ━━━━━━━━━┿━━━━━━━━━━━━━┥       as they are taken
"""

import functools
import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from kvarium_engine.kernels.backend import interpreted
from kvarium_engine.kernels.triton_fp8 import from_e4m3

LOG2_E = math.log2(math.e)
FIRST_WITH_FP8 = 89
"""The compute capability (89 is 8.9) from which a card converts e4m3 by itself."""
ALIKE = ((80,), (90, 100))
"""Of the architectures that are compiled for, those with the same constants."""


NO_WINDOW = 2**31 - 1


class Tiling(NamedTuple):
    """``tile`` positions at once, by ``num_warps`` warps, with ``num_stages`` tiles on their way."""

    tile: int
    num_warps: int
    num_stages: int


def score_factors(scaling: float, key_scale: float, softcap: float | None) -> tuple[float, float]:
    """By what a product of query and key is multiplied, and the cap that goes with it, for :func:`scores_of`."""
    if softcap is None:
        return scaling * key_scale * LOG2_E, 0.0
    return scaling * key_scale / softcap * 2 * LOG2_E, softcap * LOG2_E


def bits_of(block_size: int) -> int:
    """The power of two that ``block_size`` is: no constant of a kernel, so that one binary does for all sizes."""
    assert block_size & (block_size - 1) == 0, f"a block of {block_size} tokens is no power of two"
    return block_size.bit_length() - 1


def padded(numbers: int) -> int:
    """The width of a tile for a head of ``numbers``: a power of two, 16 at least."""
    return max(16, triton.next_power_of_2(numbers))


def stages_of_float32(fp8: bool) -> int:
    """Stages where products are taken in float32: three, of which one is the block table's.

    With FP8 keys on their way through shared memory the compiler wants all registers there are and spills (up to 608 bytes a
    thread); without, it takes 80, so that three programs share a processor, and one computes while another waits.
    """
    return 1 if fp8 else 3


@functools.cache
def arch_of(device: torch.device) -> int:
    """The compute capability of ``device`` (90 is 9.0); 0 where it is no card, in the interpreter."""
    if device.type != "cuda":
        return 0
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def conversion(fp8: bool, arch: int) -> dict[str, bool]:
    """The constants of a kernel that say how keys and values are read."""
    return {"FP8": fp8, "NATIVE_FP8": fp8 and arch >= FIRST_WITH_FP8}


def wide(dtype: torch.dtype) -> bool:
    """Must products of ``dtype`` be taken in float32? So it is with bfloat16 in the interpreter."""
    return dtype == torch.bfloat16 and interpreted()


@triton.jit
def slots_of(table, positions, readable, block_bits):
    """The slots (i64) of ``positions`` (i32), by a sequence's table of blocks of 2 ** ``block_bits`` tokens."""
    blocks = tl.load(table + (positions >> block_bits), mask=readable, other=0)
    return (blocks.to(tl.int64) << block_bits) + (positions & ((1 << block_bits) - 1))


@triton.jit
def read_tile(
    pool,
    slots,
    readable,
    kv_head,
    kv_heads,
    HEAD_DIM: tl.constexpr,
    HEAD_PAD: tl.constexpr,
):
    """``[positions, HEAD_PAD]`` as the pool keeps them; 0 where ``readable`` is false and past the head's end."""
    dims = tl.arange(0, HEAD_PAD)
    rows = (slots * kv_heads + kv_head) * HEAD_DIM
    mask = readable[:, None]
    if HEAD_DIM != HEAD_PAD:
        mask = mask & (dims < HEAD_DIM)[None, :]
    return tl.load(pool + rows[:, None] + dims[None, :], mask=mask, other=0)


@triton.jit
def as_numbers(tile, like, FP8: tl.constexpr, NATIVE_FP8: tl.constexpr):
    """A tile in the dtype of ``like``: bytes of FP8 converted, by the card itself where it can (from sm_89)."""
    if FP8:
        if NATIVE_FP8:
            return tile.to(tl.float8e4nv, bitcast=True).to(like.dtype)
        else:
            return from_e4m3(tile).to(like.dtype)
    else:
        return tile


@triton.jit
def as_float16(query):
    """Rows of bfloat16 as float16, exactly but for what is 2¹⁵ times less than its row's largest, and by what they are to be multiplied.

    FP8 becomes float16 in one instruction, and from there bfloat16 in a slow one for each number: so the few queries are converted
    instead. Each is divided by a power of two first, so that none is too large.
    """
    numbers = query.to(tl.float32)
    power = tl.max(tl.abs(numbers), 1).to(tl.int32, bitcast=True) & 0x7F800000
    inverse = 0x7F000000 - power
    halves = (numbers * inverse.to(tl.float32, bitcast=True)[:, None]).to(tl.float16)
    return halves, power.to(tl.float32, bitcast=True)[:, None]


@triton.jit
def product(left, right, onto, WIDE: tl.constexpr):
    """``left @ right + onto`` in float32. ``WIDE``: by float32 numbers, as Triton's interpreter takes bfloat16 for integers here."""
    if WIDE:
        return tl.dot(left.to(tl.float32), right.to(tl.float32), onto, input_precision="ieee")
    else:
        return tl.dot(left, right, onto, input_precision="ieee")


@triton.jit
def scores_of(query, keys, scale, cap, SOFTCAP: tl.constexpr, WIDE: tl.constexpr):
    """``[rows, positions]``, times log₂ e. ``scale`` and ``cap`` are those of :func:`score_factors`."""
    nothing = tl.zeros([query.shape[0], keys.shape[0]], dtype=tl.float32)
    scores = product(query, tl.trans(keys), nothing, WIDE) * scale
    if SOFTCAP:
        # cap × tanh(x), from 2 |x| log₂ e so that no power is too large; tanh itself is another function on the card than in the interpreter.
        power = tl.exp2(-tl.abs(scores))
        size = cap * (1 - power) / (1 + power)
        scores = tl.where(scores < 0, -size, size)
    return scores


@triton.jit
def fold_tile(acc, total, highest, scores, values, WIDE: tl.constexpr):
    """Take a tile in: ``acc`` ``[rows, head]``, ``total`` and ``highest`` ``[rows]`` with it; masked scores are −∞."""
    higher = tl.maximum(highest, tl.max(scores, 1))
    # −∞ minus −∞ is no number; a row that has seen nothing yet is compared with 0.
    level = tl.where(higher == float("-inf"), 0.0, higher)
    fade = tl.exp2(highest - level)
    if values.dtype == tl.float16:
        level -= 15.0
    powers = tl.exp2(scores - level[:, None])
    total = total * fade + tl.sum(powers, 1)
    acc = product(powers.to(values.dtype), values, acc * fade[:, None], WIDE)
    return acc, total, higher


@triton.jit
def mean_of(acc, total, scale):
    """``acc ÷ total × scale``; zeros for a row that has seen nothing."""
    return acc * (scale / tl.where(total == 0.0, 1.0, total))[:, None]
