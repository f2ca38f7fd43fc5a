"""Which kernels run: Triton's or torch's. It is decided here, once, when a runner is made.

    --attention-backend   auto ──▶ triton on a CUDA device, torch elsewhere and where Triton would be interpreted
                        triton ──▶ on a CUDA device; on a CPU only in Triton's interpreter (TRITON_INTERPRET=1), a check of the kernels
                         torch ──▶ the references, anywhere

Needs neither torch nor Triton. All kernels of a runner are of one kind: a pool is written and read by the same.
"""

import importlib.util
import os
from typing import Literal

from kvarium_engine.errors import UsageError

Backend = Literal["triton", "torch"]

BACKENDS = ("auto", "triton", "torch")
"""What ``--attention-backend`` may be."""

SMALLEST_BLOCK, LARGEST_BLOCK = 8, 256
LARGEST_HEAD = 256
"""Up to what the Triton kernels go; the references take any."""

_TRUE = ("1", "true", "yes", "on", "y")


def interpreted() -> bool:
    """Do Triton's kernels run in its interpreter? It looks when it is imported first, so this is no switch."""
    return os.environ.get("TRITON_INTERPRET", "").lower() in _TRUE


def choose_backend(asked: str, device: str, block_size: int = 16, head_dim: int = 64) -> Backend:
    """The kernels of a runner on ``device``, a type of torch's (cuda, cpu), where ``asked`` is one of :data:`BACKENDS`.

    Raises :class:`UsageError` for another name, and where Triton is asked for and can't run or has no kernels of these sizes. What
    is chosen by itself (auto) is what runs.
    """
    if asked not in BACKENDS:
        raise UsageError(f"--attention-backend is {', '.join(BACKENDS)}, not {asked!r}")
    if asked == "torch" or (asked == "auto" and (device != "cuda" or interpreted())):
        return "torch"
    why_not = _why_not_triton(device, block_size, head_dim)
    if why_not is None:
        return "triton"
    if asked == "auto":
        return "torch"
    raise UsageError(f"--attention-backend triton {why_not}; --attention-backend torch runs here")


def _why_not_triton(device: str, block_size: int, head_dim: int) -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "needs triton, not installed here: pip install 'kvarium[engine]' (Linux on x86-64)"
    if device != "cuda" and not interpreted():
        return (
            f"needs a CUDA device, and this is {device} (with TRITON_INTERPRET=1 in the environment the kernels are "
            "interpreted, some thousand times slower: a check of them)"
        )
    if not SMALLEST_BLOCK <= block_size <= LARGEST_BLOCK:
        return f"takes blocks of {SMALLEST_BLOCK} to {LARGEST_BLOCK} tokens, not --block-size {block_size}"
    if head_dim > LARGEST_HEAD:
        return f"takes heads of at most {LARGEST_HEAD} numbers, and this model's have {head_dim}"
    return None
