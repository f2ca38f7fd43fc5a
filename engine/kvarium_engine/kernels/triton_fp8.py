"""FP8 (e4m3) in Triton by arithmetic on its bytes, the same on every card: sm_80 can't convert it.

    byte      s eeee mmm                              e − 7 is the exponent; eeee = 0: mmm × 2⁻⁹
    float16   s 0eeee mmm0000000      × 2⁸            its exponent is 8 higher: the same number
    float32   s (e + 120) mmm rrrr…   rounded at r    what follows the mantissa decides, ties to even

e4m3's only number that is none is s 1111 111; it stays one both ways. The same as :mod:`kvarium_engine.kernels.fp8`, bit by bit.
"""

import triton
import triton.language as tl


@triton.jit
def from_e4m3(codes):
    """Bytes (u8) as the float16 numbers that they mean, exactly."""
    wide = codes.to(tl.uint16)
    bits = ((wide & 0x80) << 8) | ((wide & 0x7F) << 7)
    numbers = bits.to(tl.float16, bitcast=True) * 256.0
    return tl.where((wide & 0x7F) == 0x7F, float("nan"), numbers)


@triton.jit
def to_e4m3(numbers):
    """Numbers (float32) as bytes (u8): rounded to the nearest, ± 448 for what is larger, NaN for what is NaN."""
    bits = numbers.to(tl.uint32, bitcast=True)
    size = tl.minimum(tl.abs(numbers), 448.0)
    plain = size.to(tl.uint32, bitcast=True)
    normal = ((plain + 0x7FFFF + ((plain >> 20) & 1)) >> 20) - (120 << 3)
    # Beside 2¹⁴ the last bit of a float32 is 2⁻⁹, so that the sum is rounded to it.
    small = (size + 16384.0).to(tl.uint32, bitcast=True) & 0xF
    code = tl.where(size < 0.015625, small, normal)
    code = tl.where(numbers != numbers, 0x7F, code)
    return (((bits >> 24) & 0x80) | code).to(tl.uint8)
