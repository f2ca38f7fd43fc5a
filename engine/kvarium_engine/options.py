"""The engine's options, as the command line gives them, and what follows from them."""

import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from kvarium_engine.engine import EngineConfig
from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_pool import FREE_ORDERS
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.workload.mooncake import TraceRequest, read_trace, size_of
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION

MIX_BLOCKS = 512
MIX_STEP_MS = 20.0
SOURCE = "kvarium"


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
    for name, value in (("--steps", options.steps), ("--num-gpu-blocks-override", options.num_blocks)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}")
    if options.duration is not None and not options.duration > 0:
        raise UsageError(f"--duration must be more than 0 seconds, not {options.duration}")
    if options.speed < 0:
        raise UsageError(f"--speed must not be negative, it is {options.speed}")
    if options.step_ms is not None and not 0 <= options.step_ms <= 4000:
        raise UsageError(f"--step-ms must be from 0 to 4000, not {options.step_ms}")
    trace = read_trace(options.trace) if options.trace is not None else None
    num_blocks, max_model_len = _sizes(options, trace)
    try:
        scheduler = SchedulerConfig(
            max_num_batched_tokens=options.max_num_batched_tokens or max(2048, options.max_num_seqs),
            max_num_seqs=options.max_num_seqs,
            max_model_len=max_model_len,
            policy=options.scheduling_policy,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.audit_interval < 0:
        raise UsageError(f"--audit-interval must not be negative, it is {options.audit_interval}")
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
        step_ms = 0.0 if fast else MIX_STEP_MS / (options.speed if trace is not None else 1.0)
    return Resolved(
        config=config,
        trace=trace,
        step_ms=step_ms,
        lossless=options.lossless if options.lossless is not None else fast or step_ms == 0,
        allow_control=options.allow_control
        if options.allow_control is not None
        else _is_loopback(options.connect),
    )


def _sizes(options: Options, trace: list[TraceRequest] | None) -> tuple[int, int]:
    """(blocks of the pool, max_model_len)."""
    size = options.block_size
    if trace is None:
        blocks = options.num_blocks or MIX_BLOCKS
        return blocks, options.max_model_len or blocks * size
    longest = size_of(trace, size)
    blocks = options.num_blocks or 2 * longest.blocks
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


def hello(options: Options, resolved: Resolved, runner: Runner, ledger: Ledger) -> Hello:
    """The engine's first words."""
    config, scheduler = resolved.config, resolved.config.scheduler
    work = options.trace.name if options.trace is not None else "mix"
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
            "eos_token": runner.eos_token,
        },
    )
