"""How many blocks the pool has, how long a sequence may get, and whether there is room for it."""

import contextlib
import os
from pathlib import Path
from typing import Protocol

from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.scheduling.sampling_params import MOST_TOKENS
from kvarium_engine.workload.mooncake import TraceRequest, size_of
from kvarium_ledger.codec import MOST_BLOCKS

MIX_BLOCKS = 512
KV_CACHE_MEMORY_BYTES = 1 << 30
"""What the keys and values of a model take when nothing is said."""
BYTES_PER_BLOCK = 160
"""What a block costs the engine at its peak, with the encoder's copy and a keyframe in the making (measured: 155)."""


class SizeOptions(Protocol):
    """The options that sizes follow from, see :class:`kvarium_engine.options.Options`."""

    trace: Path | None
    num_blocks: int | None
    kv_cache_memory_bytes: int | None
    gpu_memory_utilization: float | None
    block_size: int
    max_model_len: int | None


def pool_size(
    options: SizeOptions, model: ModelChoice | None, trace: list[TraceRequest] | None
) -> tuple[int, int]:
    """(blocks of the pool, max_model_len). Raises :class:`UsageError` where they do not fit together or into memory."""
    if model is not None:
        blocks, length = size_for_model(options, model)
    elif trace is not None:
        blocks, length = _for_trace(options, trace)
    else:
        blocks = options.num_blocks or MIX_BLOCKS
        length = options.max_model_len or min(blocks * options.block_size, MOST_TOKENS)
    check_memory(blocks, 0 if model is None else options.block_size * model.kv_bytes_per_token)
    return blocks, length


def size_for_model(options: SizeOptions, model: ModelChoice, memory: int | None = None) -> tuple[int, int]:
    """(blocks of the pool, max_model_len) for ``memory`` bytes of keys and values; None: as many as the options say."""
    size = options.block_size
    block_bytes = size * model.kv_bytes_per_token
    given = [
        option
        for option, value in (
            ("--num-gpu-blocks-override", options.num_blocks),
            ("--kv-cache-memory-bytes", options.kv_cache_memory_bytes),
            ("--gpu-memory-utilization", options.gpu_memory_utilization),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} {'both' if len(given) == 2 else 'all'} size the pool: give one"
        )
    if memory is None:
        memory = options.kv_cache_memory_bytes or KV_CACHE_MEMORY_BYTES
    blocks = options.num_blocks or min(memory // block_bytes, MOST_BLOCKS)
    if blocks < 1:
        raise UsageError(
            f"{memory:,} bytes have no room for one block: a block of {size} tokens of {model.name} takes "
            f"{block_bytes:,} (--kv-cache-memory-bytes)"
        )
    longest = longest_sequence(options, model)
    return blocks, longest if options.max_model_len is not None else min(longest, blocks * size)


def longest_sequence(options: SizeOptions, model: ModelChoice) -> int:
    """``max_model_len`` as far as it does not follow from the pool: what is asked for, else the model's positions."""
    longest = model.geometry.max_position_embeddings
    if options.max_model_len is None:
        return longest
    if options.max_model_len > longest:
        raise UsageError(
            f"--max-model-len {options.max_model_len} is more than the {longest} positions of {model.name}"
        )
    return options.max_model_len


def _for_trace(options: SizeOptions, trace: list[TraceRequest]) -> tuple[int, int]:
    size = options.block_size
    longest = size_of(trace, size)
    blocks = options.num_blocks or min(2 * longest.blocks, MOST_BLOCKS)
    if blocks < longest.blocks:
        raise UsageError(
            f"the pool has {blocks} blocks; the longest request of {options.trace} needs {longest.blocks} "
            f"({longest.tokens} tokens in blocks of {size}): --num-gpu-blocks-override {longest.blocks} or more"
        )
    if options.max_model_len is not None and options.max_model_len < longest.tokens:
        raise UsageError(
            f"--max-model-len {options.max_model_len} is less than the longest request of {options.trace}, "
            f"which has {longest.tokens} tokens"
        )
    return blocks, options.max_model_len or max(longest.tokens, blocks_for(longest.tokens, size) * size)


def free_memory() -> int | None:
    """Bytes that this process may still take, as far as the system tells: elsewhere than on Linux, at most all there are."""
    found: list[int] = []
    try:
        with Path("/proc/meminfo").open() as lines:
            found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    if not found:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        group = Path("/sys/fs/cgroup")
        most, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        if most != "max":
            # Files that were read, as weights are, are kept as long as there is room, and count as used.
            counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            files = int(counts["active_file"]) + int(counts["inactive_file"])
            found.append(max(0, int(most) - int(used) + files))
    except (OSError, ValueError, KeyError):
        pass
    return min(found, default=None)


def card_there() -> bool:
    """Is there a card for CUDA, as far as can be said without torch?"""
    return any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


def check_memory(num_blocks: int, kv_bytes_per_block: int = 0) -> None:
    """Is there room for a pool and what follows it? With CUDA, keys and values lie on the card: torch says whether they fit.

    Raises :class:`UsageError` with the numbers.
    """
    needed = num_blocks * (BYTES_PER_BLOCK + (0 if card_there() else kv_bytes_per_block))
    free = free_memory()
    if needed > 1 << 28 and free is not None and needed > free:
        raise UsageError(
            f"the pool of {num_blocks:,} blocks needs about {needed / (1 << 30):.1f} GiB here, "
            f"{free / (1 << 30):.1f} GiB are free: --num-gpu-blocks-override sets how many blocks it has"
        )
