"""Keys and values of one byte: FP8 in the format e4m3, with a scale.

    sign  exponent  mantissa        448 is the largest number, there is no infinity
     s     e e e e    m m m         steps of 1/8 of a power of two; below 2⁻⁶ steps of 2⁻⁹

    x ──▶ ÷ scale ──▶ held within ± 448 ──▶ rounded to the nearest ──▶ one byte ──▶ × scale ──▶ x, ± 1/16 of it

A number that is not one (NaN) stays so: a forward that fails must show. Bytes are moved as bytes: torch has not all
kinds of indexing for FP8.
"""

import torch

FP8 = torch.float8_e4m3fn
LARGEST = 448.0

Scales = tuple[float, float]
"""The scale of one layer's keys, and that of its values."""

NO_SCALES: Scales = (1.0, 1.0)


def quantized(numbers: torch.Tensor, scale: float) -> torch.Tensor:
    """``numbers ÷ scale`` as FP8, of the same shape; what is too large becomes ± 448."""
    return (numbers.float() / scale).clamp(-LARGEST, LARGEST).to(FP8)


def dequantized(numbers: torch.Tensor, scale: float, dtype: torch.dtype) -> torch.Tensor:
    """FP8 numbers × ``scale`` as ``dtype``; numbers of another kind as they are."""
    if numbers.dtype != FP8:
        return numbers
    wide = numbers.to(dtype)
    return wide if scale == 1 else wide * scale


def movable(pool: torch.Tensor) -> torch.Tensor:
    """The same memory in a dtype that torch copies by index: bytes, where it holds FP8."""
    return pool.view(torch.uint8) if pool.dtype == FP8 else pool
