"""What the Triton kernels can be compiled as, before they run.

    file              kernels (functions)          settings, each with a few values
    triton_write_kv   write_kv                     head_dim × dtype × kv_dtype
    triton_decode     …                            head_dim × dtype × kv_dtype × window × softcap × block_size
         └─ KERNELS: name → function               └─ variants(): one Variant for each combination

A variant and an architecture give one binary. When the engine runs, Triton compiles what is needed by itself, from the same functions
with the same constants; this list is what is compiled ahead of time, to see that all of it can be (``kvarium kernels compile``).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FILES = ("triton_write_kv", "triton_copy_blocks", "triton_decode", "triton_prefill")
"""The files of this package with kernels; each has ``KERNELS`` (name → function) and ``variants()``."""

HEAD_DIMS = (64, 80, 96, 128, 256)
BLOCK_SIZES = (8, 16, 32, 64, 128, 256)
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
"""Dtypes of a model, and what Triton calls them."""
ITEMSIZES = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of a number of each."""
ARCHS = (80, 90, 100)
"""Compute capabilities that are compiled for: A100, H100, B200."""
KV_DTYPES = ("same", "fp8_e4m3")
LAUNCH: Mapping[str, Any] = {"enable_fp_fusion": True}
"""What each launch and each compilation says beside a variant's own: what is multiplied and added is rounded once. Triton's default changes."""
"""Dtypes of keys and values: the model's, or FP8, which the kernels get as bytes (``u8``)."""


Setting = int | str | bool


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel with one value for each of its ``settings``, and what Triton must be told to compile it.

    ``kernel``: its name in ``KERNELS``. ``signature``: the type of each argument that is no constant, in Triton's words (``*fp32``,
    ``i32``); pointers are to 16 aligned bytes, as torch's are. ``constexprs``: the constants, by their names. ``num_warps``, ``num_stages``:
    as it is launched. ``archs``: those of :data:`ARCHS` on which it is what runs.
    """

    kernel: str
    settings: Mapping[str, Setting]
    signature: Mapping[str, str]
    constexprs: Mapping[str, object]
    num_warps: int = 4
    num_stages: int = 2
    archs: tuple[int, ...] = ARCHS


def pointer(dtype: str, kv_dtype: str = "same") -> str:
    """The type of a pointer to numbers of a model's ``dtype``, or to keys or values that are kept as ``kv_dtype``."""
    return f"*{DTYPES[dtype]}" if kv_dtype == "same" else "*u8"


def kernels() -> dict[str, Any]:
    """The functions of all files, by their names; imports Triton."""
    found: dict[str, Any] = {}
    for file in FILES:
        found |= importlib.import_module(f"kvarium_engine.kernels.{file}").KERNELS
    return found


def all_variants() -> list[Variant]:
    """Every variant of every kernel; imports Triton."""
    return [
        variant
        for file in FILES
        for variant in importlib.import_module(f"kvarium_engine.kernels.{file}").variants()
    ]
