"""The engine's options, as the command line gives them, and what follows from them."""

import math
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from websockets.exceptions import InvalidURI
from websockets.uri import parse_uri

from kvarium_engine.engine import EngineConfig
from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_pool import FREE_ORDERS
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.sampling_params import MOST_TOKENS
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.workload.mooncake import TraceRequest, read_trace, size_of
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION

MIX_BLOCKS = 512
MIX_STEP_MS = 20.0
SOURCE = "kvarium"
LONGEST_STEP_MS = 4000.0
MOST_BLOCKS = 1 << 22
"""So many that a keyframe of a pool in use, some 40 bytes a block, stays well within a frame's 256 MiB."""
BYTES_PER_BLOCK = 160
"""What a block costs the engine at its peak, with the encoder's copy and a keyframe in the making (measured: 155)."""


class Bound(NamedTuple):
    """An integer option: its field in :class:`Options`, and from where to where it goes."""

    option: str
    field: str
    low: int
    high: int


_WIRE = (1 << 53) - 1
"""The largest integer that every reader of the ledger, a browser too, holds exactly."""

BOUNDS = (
    Bound("--num-gpu-blocks-override", "num_blocks", 1, MOST_BLOCKS),
    Bound("--max-num-batched-tokens", "max_num_batched_tokens", 1, MOST_TOKENS),
    Bound("--max-num-seqs", "max_num_seqs", 1, 1 << 20),
    Bound("--max-model-len", "max_model_len", 1, MOST_TOKENS),
    Bound("--seed", "seed", 0, _WIRE),
    Bound("--steps", "steps", 1, _WIRE),
    Bound("--audit-interval", "audit_interval", 0, MOST_TOKENS),
)


@dataclass(slots=True)
class Options:
    """What a run is asked to be; None where it follows from the rest (see :func:`resolve`)."""

    connect: str | None = None
    token: str = ""
    runner: str = "null"
    trace: Path | None = None
    speed: float = 1.0
    mix: bool = True
    num_blocks: int | None = None
    block_size: int = 16
    max_num_batched_tokens: int | None = None
    max_num_seqs: int = 256
    max_model_len: int | None = None
    enable_prefix_caching: bool = True
    free_order: str = "lru"
    scheduling_policy: str = "fcfs"
    seed: int = 0
    steps: int | None = None
    duration: float | None = None
    lossless: bool | None = None
    allow_control: bool | None = None
    name: str = ""
    audit_interval: int = 0
    step_ms: float | None = None
    record_text: str = "full"
    json: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """What follows from the options: sizes, rules, the trace if there is one, and the pace."""

    config: EngineConfig
    trace: list[TraceRequest] | None
    step_ms: float
    lossless: bool
    allow_control: bool


def resolve(options: Options) -> Resolved:
    """Check the options and fill in what they leave open. Raises :class:`UsageError` in one line."""
    if options.runner != "null":
        raise UsageError(f"--runner is null, not {options.runner!r}: the torch runner is not in this version")
    if options.record_text not in ("none", "full"):
        raise UsageError(f"--record-text is none or full, not {options.record_text!r}")
    if options.free_order not in FREE_ORDERS:
        raise UsageError(f"--free-order is {' or '.join(FREE_ORDERS)}, not {options.free_order!r}")
    if not 1 <= options.block_size <= 256 or options.block_size & (options.block_size - 1):
        raise UsageError(f"--block-size must be a power of two from 1 to 256, not {options.block_size}")
    for bound in BOUNDS:
        _check_bound(bound, getattr(options, bound.field))
    if options.duration is not None and not 0 < options.duration < math.inf:
        raise UsageError(f"--duration must be more than 0 seconds, not {options.duration}")
    if not 0 <= options.speed < math.inf:
        raise UsageError(f"--speed must be a number from 0 on, not {options.speed}")
    if options.step_ms is not None and not 0 <= options.step_ms <= LONGEST_STEP_MS:
        raise UsageError(f"--step-ms must be from 0 to {LONGEST_STEP_MS:.0f}, not {options.step_ms}")
    if len(options.name) > 200 or not options.name.isprintable():
        raise UsageError("--name must be a text of at most 200 printable characters")
    if options.connect is not None:
        check_url(options.connect)
    trace = read_trace(options.trace) if options.trace is not None else None
    num_blocks, max_model_len = _sizes(options, trace)
    _check_memory(num_blocks)
    try:
        scheduler = SchedulerConfig(
            max_num_batched_tokens=max(2048, options.max_num_seqs)
            if options.max_num_batched_tokens is None
            else options.max_num_batched_tokens,
            max_num_seqs=options.max_num_seqs,
            max_model_len=max_model_len,
            policy=options.scheduling_policy,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    config = EngineConfig(
        num_blocks=num_blocks,
        block_size=options.block_size,
        scheduler=scheduler,
        enable_prefix_caching=options.enable_prefix_caching,
        free_order=options.free_order,
        hash_seed=os.environ.get("PYTHONHASHSEED", "0"),
        audit_interval=options.audit_interval,
    )
    fast = trace is not None and options.speed == 0
    step_ms = options.step_ms
    if step_ms is None:
        step_ms = MIX_STEP_MS
        if trace is not None:
            step_ms = 0.0 if fast else min(MIX_STEP_MS / options.speed, LONGEST_STEP_MS)
    return Resolved(
        config=config,
        trace=trace,
        step_ms=step_ms,
        lossless=options.lossless if options.lossless is not None else fast or step_ms == 0,
        allow_control=options.allow_control
        if options.allow_control is not None
        else _is_loopback(options.connect),
    )


def _check_bound(bound: Bound, value: int | None) -> None:
    if value is None or bound.low <= value <= bound.high:
        return
    limit = f"at least {bound.low}" if value < bound.low else f"at most {bound.high}"
    raise UsageError(f"{bound.option} must be {limit}, not {value}")


def check_url(url: str) -> None:
    """Raises :class:`UsageError` for what is no address of a backend."""
    wanted = "it is ws://HOST:PORT/api/engine, or wss://…"
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss"):
            raise UsageError(f"--connect {url!r} does not begin with ws:// or wss://: {wanted}")
        if not parts.hostname:
            raise UsageError(f"--connect {url!r} names no host: {wanted}")
        if url.split() != [url] or not url.isprintable() or parts.port == 0:
            raise UsageError(f"--connect {url!r} is no address: {wanted}")
        parts.hostname.encode("idna")
        parse_uri(url)
    except (InvalidURI, ValueError) as error:
        raise UsageError(f"--connect {url!r} is no address ({error}): {wanted}") from None


def free_memory() -> int | None:
    """Bytes that this process may still take, as far as the system tells."""
    found: list[int] = []
    try:
        with Path("/proc/meminfo").open() as lines:
            found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        most, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        if most != "max":
            found.append(max(0, int(most) - int(used)))
    except (OSError, ValueError):
        pass
    return min(found, default=None)


def _check_memory(num_blocks: int) -> None:
    needed, free = num_blocks * BYTES_PER_BLOCK, free_memory()
    if needed > 1 << 28 and free is not None and needed > free:
        raise UsageError(
            f"the pool of {num_blocks:,} blocks needs about {needed / (1 << 30):.1f} GiB here, "
            f"{free / (1 << 30):.1f} GiB are free: --num-gpu-blocks-override sets how many blocks it has"
        )


def _sizes(options: Options, trace: list[TraceRequest] | None) -> tuple[int, int]:
    """(blocks of the pool, max_model_len)."""
    size = options.block_size
    if trace is None:
        blocks = options.num_blocks or MIX_BLOCKS
        return blocks, options.max_model_len or min(blocks * size, MOST_TOKENS)
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


def _is_loopback(url: str | None) -> bool:
    """Does the backend run on this machine?"""
    host = (url or "").partition("://")[2].partition("/")[0]
    return host.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")


def _told(tokens: frozenset[int]) -> int | str | None:
    """Some tokens as one value of the handshake: a number, several as "1,2"."""
    if len(tokens) < 2:
        return next(iter(tokens), None)
    return ",".join(map(str, sorted(tokens)))


def hello(options: Options, resolved: Resolved, runner: Runner, ledger: Ledger) -> Hello:
    """The engine's first words."""
    config, scheduler = resolved.config, resolved.config.scheduler
    work = options.trace.name.encode(errors="replace").decode() if options.trace is not None else "mix"
    return Hello(
        version=VERSION,
        session=str(uuid.uuid4()),
        utc_us=ledger.utc_us,
        num_blocks=config.num_blocks,
        block_size=config.block_size,
        engine=SOURCE,
        model=runner.model,
        runner=runner.name,
        device=runner.device,
        name=options.name or f"{work}, {config.num_blocks} blocks",
        kv_bytes_per_block=runner.kv_bytes_per_block,
        allow_control=resolved.allow_control,
        record_text=options.record_text,
        pid=os.getpid(),
        config={
            "max_num_batched_tokens": scheduler.max_num_batched_tokens,
            "max_num_seqs": scheduler.max_num_seqs,
            "max_model_len": scheduler.max_model_len,
            "enable_prefix_caching": config.enable_prefix_caching,
            "prefix_caching_hash_algo": "sha256_cbor",
            "prefix_caching_hash_seed": config.hash_seed,
            "scheduling_policy": scheduler.policy,
            "free_order": config.free_order,
            "block_size": config.block_size,
            "num_gpu_blocks_override": config.num_blocks,
            "seed": options.seed,
            "workload": work,
            "speed": options.speed if resolved.trace is not None else None,
            "step_ms": resolved.step_ms,
            "eos_token": _told(runner.eos_tokens),
            "chat_template": runner.vocabulary is not None and runner.vocabulary.has_chat_template,
        },
    )
