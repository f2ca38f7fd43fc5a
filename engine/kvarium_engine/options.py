"""The engine's options, as the command line gives them, and what follows from them."""

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from websockets.exceptions import InvalidURI
from websockets.uri import parse_uri

from kvarium_engine.capacity import Capacity
from kvarium_engine.card_memory import MemoryShares
from kvarium_engine.engine import MEMORY_BACKENDS, EngineConfig
from kvarium_engine.errors import UsageError
from kvarium_engine.kernels.backend import Backend, choose_backend
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.free_blocks import FREE_ORDERS
from kvarium_engine.memory.reservation import RESERVE
from kvarium_engine.model.capture_sizes import chosen_sizes
from kvarium_engine.model.choice import ModelChoice, choose_model
from kvarium_engine.pool_size import card_there, check_memory, pool_size, size_for_model
from kvarium_engine.scheduling.config import MOST_AGING, PRIORITY_AGING, SchedulerConfig
from kvarium_engine.scheduling.sampling_params import MOST_TOKENS
from kvarium_engine.workload.mooncake import TraceRequest, read_trace
from kvarium_ledger.codec import MOST_BLOCKS
from kvarium_ledger.privacy import RECORD_TEXT

WorkloadName = Literal["trace", "mix", "demo", "none"]

MAX_NUM_SEQS = 256
MAX_NUM_BATCHED_TOKENS = 2048
MIX_STEP_MS = 20.0
MODEL_STEP_MS = 5.0
LONGEST_STEP_MS = 4000.0
NO_CARD = (
    "--gpu-memory-utilization is a share of a card's memory, and there is no CUDA device here: "
    "--kv-cache-memory-bytes sizes the pool"
)


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
    Bound("--kv-cache-memory-bytes", "kv_cache_memory_bytes", 1, _WIRE),
    Bound("--max-num-batched-tokens", "max_num_batched_tokens", 1, MOST_TOKENS),
    Bound("--max-num-seqs", "max_num_seqs", 1, 1 << 20),
    Bound("--max-model-len", "max_model_len", 1, MOST_TOKENS),
    Bound("--priority-aging", "priority_aging", 0, MOST_AGING),
    Bound("--seed", "seed", 0, _WIRE),
    Bound("--steps", "steps", 1, _WIRE),
    Bound("--audit-interval", "audit_interval", 0, MOST_TOKENS),
)


@dataclass(slots=True)
class Options:
    """What a run is asked to be; None where it follows from the rest (see :func:`resolve`)."""

    connect: str | None = None
    token: str = ""
    runner: str | None = None
    model: str | None = None
    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    load_format: str = "auto"
    attention_backend: str = "auto"
    trace: Path | None = None
    speed: float = 1.0
    mix: bool | None = None
    demo: bool = False
    num_blocks: int | None = None
    kv_cache_memory_bytes: int | None = None
    gpu_memory_utilization: float | None = None
    enforce_eager: bool = False
    cudagraph_capture_sizes: str | None = None
    block_size: int = 16
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    max_model_len: int | None = None
    enable_prefix_caching: bool | None = None
    free_order: str = "lru"
    memory_backend: str = "paged"
    reserve: str | None = None
    scheduling_policy: str = "fcfs"
    priority_aging: int | None = None
    seed: int = 0
    steps: int | None = None
    duration: float | None = None
    lossless: bool | None = None
    allow_control: bool | None = None
    name: str = ""
    audit_interval: int = 0
    step_ms: float | None = None
    record_text: str | None = None
    json: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """What follows from the options: sizes, rules, what runs and what it is fed with, and the pace.

    ``model`` is None for the null runner. ``step_ms`` is the time that one of its steps pretends to take, and that a step
    without work takes with any. ``sized`` is False where nothing says how large the pool is: on a card what is left of it
    then decides, once the model is loaded (:func:`resized`); else the sizes in ``config`` hold. ``gpu_memory_utilization``
    is the share of a card that did decide. ``attention_backend``: the kernels, known once there is a model on its device;
    ``capture_sizes``: of which decodes CUDA graphs are recorded, where it is a card's.
    ``memory``: what the device's memory is taken by, once a model is on it; None: the null runner has none.
    ``record_text`` is how much of text leaves the engine.
    """

    config: EngineConfig
    model: ModelChoice | None
    workload: WorkloadName
    trace: list[TraceRequest] | None
    step_ms: float
    lossless: bool
    allow_control: bool
    record_text: str
    sized: bool = True
    gpu_memory_utilization: float | None = None
    attention_backend: Backend | None = None
    capture_sizes: tuple[int, ...] = ()
    memory: MemoryShares | None = None

    @property
    def capacity(self) -> Capacity:
        """What the pool holds."""
        config = self.config
        per_token = 0 if self.model is None else self.model.kv_bytes_per_token
        return Capacity(config.num_blocks, config.block_size, per_token, config.scheduler.max_model_len)

    @property
    def maximum_concurrency(self) -> float:
        """Requests of ``max_model_len`` tokens that fit at once; where memory is contiguous, only whole ones."""
        if self.config.reservation is None:
            return self.capacity.maximum_concurrency
        return self.capacity.contiguous_requests


def resolve(options: Options) -> Resolved:
    """Check the options and fill in what they leave open. Raises :class:`UsageError` in one line."""
    if options.record_text is not None and options.record_text not in RECORD_TEXT:
        raise UsageError(f"--record-text is none, hash or full, not {options.record_text!r}")
    if options.free_order not in FREE_ORDERS:
        raise UsageError(f"--free-order is {' or '.join(FREE_ORDERS)}, not {options.free_order!r}")
    _check_memory_backend(options)
    check_sizes(options)
    if options.priority_aging is not None and options.scheduling_policy == "fcfs":
        raise UsageError(
            "--priority-aging belongs to --scheduling-policy priority: first come, first served has no levels"
        )
    model = _model(options)
    if options.duration is not None and not 0 < options.duration < math.inf:
        raise UsageError(f"--duration must be more than 0 seconds, not {options.duration}")
    if not 0 <= options.speed < math.inf:
        raise UsageError(f"--speed must be a number from 0 on, not {options.speed}")
    if options.speed != 1 and options.trace is None:
        raise UsageError(f"--speed {options.speed:g} is of a --trace: give one with it, or leave it out")
    if options.step_ms is not None and model is not None:
        raise UsageError("--step-ms is the null runner's: a model takes the time that it takes")
    if options.step_ms is not None and not 0 <= options.step_ms <= LONGEST_STEP_MS:
        raise UsageError(f"--step-ms must be from 0 to {LONGEST_STEP_MS:.0f}, not {options.step_ms}")
    if len(options.name) > 200 or not options.name.isprintable():
        raise UsageError("--name must be a text of at most 200 printable characters")
    if options.connect is not None:
        check_url(options.connect)
    is_here = options.connect is None or _is_loopback(options.connect)
    record_text = options.record_text or ("full" if is_here else "hash")
    workload = _workload(options, model)
    trace = read_trace(options.trace) if options.trace is not None else None
    num_blocks, max_model_len = pool_size(options, model, trace)
    tokens = options.max_num_batched_tokens
    if tokens is None:
        tokens = max(MAX_NUM_BATCHED_TOKENS, options.max_num_seqs or 0)
    try:
        scheduler = SchedulerConfig(
            max_num_batched_tokens=tokens,
            max_num_seqs=min(MAX_NUM_SEQS, tokens) if options.max_num_seqs is None else options.max_num_seqs,
            max_model_len=max_model_len,
            policy=options.scheduling_policy,
            priority_aging=PRIORITY_AGING if options.priority_aging is None else options.priority_aging,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    capture_sizes: tuple[int, ...] = ()
    if model is not None:
        capture_sizes = chosen_sizes(
            options.cudagraph_capture_sizes, options.enforce_eager, scheduler.max_num_seqs
        )
    config = EngineConfig(
        num_blocks=num_blocks,
        block_size=options.block_size,
        scheduler=scheduler,
        enable_prefix_caching=options.memory_backend == "paged"
        if options.enable_prefix_caching is None
        else options.enable_prefix_caching,
        free_order=options.free_order,
        hash_seed=os.environ.get("PYTHONHASHSEED", "0"),
        tell_hashes=record_text != "full",
        audit_interval=options.audit_interval,
        memory_backend=options.memory_backend,
        reserve=options.reserve or RESERVE[0],
    )
    _check_reservation(config)
    fast = trace is not None and options.speed == 0
    step_ms = options.step_ms
    if model is not None:
        step_ms = MODEL_STEP_MS
    elif step_ms is None:
        step_ms = MIX_STEP_MS
        if trace is not None:
            step_ms = 0.0 if fast else min(MIX_STEP_MS / options.speed, LONGEST_STEP_MS)
    return Resolved(
        config=config,
        model=model,
        workload=workload,
        trace=trace,
        step_ms=step_ms,
        lossless=options.lossless if options.lossless is not None else fast or step_ms == 0,
        allow_control=options.allow_control
        if options.allow_control is not None
        else _is_loopback(options.connect),
        record_text=record_text,
        sized=model is None or (options.num_blocks or options.kv_cache_memory_bytes) is not None,
        capture_sizes=capture_sizes,
    )


def _check_memory_backend(options: Options) -> None:
    """Raises :class:`UsageError` for a kind of memory that is none, and for options that it has no use for."""
    if options.memory_backend not in MEMORY_BACKENDS:
        raise UsageError(
            f"--memory-backend is {' or '.join(MEMORY_BACKENDS)}, not {options.memory_backend!r}"
        )
    if options.reserve is not None and options.reserve not in RESERVE:
        raise UsageError(f"--reserve is {', '.join(RESERVE[:-1])} or {RESERVE[-1]}, not {options.reserve!r}")
    if options.memory_backend == "paged":
        if options.reserve is not None:
            raise UsageError(
                f"--reserve {options.reserve} is of --memory-backend contiguous: paged memory reserves nothing"
            )
    elif options.enable_prefix_caching:
        raise UsageError(
            "--enable-prefix-caching shares blocks between requests, which contiguous memory can't: leave it out, or run "
            "--memory-backend paged"
        )
    elif options.free_order != "lru":
        raise UsageError(
            f"--free-order {options.free_order} is of --memory-backend paged: contiguous memory takes the first run that fits"
        )


def _check_reservation(config: EngineConfig) -> None:
    """Raises :class:`UsageError` where what each sequence reserves is more than the pool, so that none could ever run."""
    if config.reservation != "max":
        return
    needed = blocks_for(config.scheduler.max_model_len, config.block_size)
    if needed > config.num_blocks:
        raise UsageError(
            f"--reserve max sets {needed:,} blocks aside for each sequence (max_model_len {config.scheduler.max_model_len:,}); "
            f"the pool has {config.num_blocks:,}: lower --max-model-len, or give more blocks"
        )


def check_block_size(block_size: int) -> None:
    """Raises :class:`UsageError` for one that no pool can have."""
    if not 1 <= block_size <= 256 or block_size & (block_size - 1):
        raise UsageError(f"--block-size must be a power of two from 1 to 256, not {block_size}")


def check_sizes(options: Options) -> None:
    """Raises :class:`UsageError` for a size that can't be, whatever the others are."""
    check_block_size(options.block_size)
    for bound in BOUNDS:
        _check_bound(bound, getattr(options, bound.field))
    utilization = options.gpu_memory_utilization
    if utilization is not None and not 0 < utilization <= 1:
        raise UsageError(f"--gpu-memory-utilization must be above 0 and at most 1, not {utilization}")


def resized(options: Options, resolved: Resolved, memory: int, utilization: float) -> Resolved:
    """``resolved`` with a pool of ``memory`` bytes of keys and values, the share ``utilization`` of a card having left so many.

    Raises :class:`UsageError` where that is no block, or where the engine has no room for so many.
    """
    assert resolved.model is not None, "the null runner has no keys and values"
    blocks, max_model_len = size_for_model(options, resolved.model, memory)
    check_memory(blocks)
    scheduler = replace(resolved.config.scheduler, max_model_len=max_model_len)
    config = replace(resolved.config, num_blocks=blocks, scheduler=scheduler)
    _check_reservation(config)
    return replace(resolved, config=config, gpu_memory_utilization=utilization)


def _model(options: Options) -> ModelChoice | None:
    """What runs: the model that is asked for, or None for the null runner."""
    if options.runner not in (None, "null", "torch"):
        raise UsageError(f"--runner is null or torch, not {options.runner!r}")
    if options.model is None:
        if options.runner == "torch":
            raise UsageError(
                "--runner torch runs a --model: a name that `kvarium models ls` lists, a folder, or an id of the hub"
            )
        for option, given in (
            ("--dtype", options.dtype != "auto"),
            ("--kv-cache-dtype", options.kv_cache_dtype != "auto"),
            ("--load-format", options.load_format != "auto"),
            ("--attention-backend", options.attention_backend != "auto"),
            ("--kv-cache-memory-bytes", options.kv_cache_memory_bytes is not None),
            ("--gpu-memory-utilization", options.gpu_memory_utilization is not None),
            ("--enforce-eager", options.enforce_eager),
            ("--cudagraph-capture-sizes", options.cudagraph_capture_sizes is not None),
        ):
            if given:
                raise UsageError(f"{option} is a model's: give one with --model")
        return None
    if options.runner == "null":
        raise UsageError(f"--runner null runs no model, but --model {options.model} is given")
    if options.gpu_memory_utilization is not None and not card_there():
        raise UsageError(NO_CARD)
    if options.cudagraph_capture_sizes is not None and not card_there():
        raise UsageError(
            f"--cudagraph-capture-sizes {options.cudagraph_capture_sizes} is of CUDA graphs, and there is no CUDA device here"
        )
    model = choose_model(options.model, options.dtype, options.kv_cache_dtype, options.load_format)
    device = "cuda" if card_there() else "cpu"
    choose_backend(options.attention_backend, device, options.block_size, model.geometry.head_dim)
    return model


def _workload(options: Options, model: ModelChoice | None) -> WorkloadName:
    """What feeds the engine: at most one of the three, and for the null runner the mix unless it is told otherwise."""
    asked = [
        option
        for option, given in (
            ("--trace", options.trace is not None),
            ("--mix", options.mix),
            ("--demo", options.demo),
        )
        if given
    ]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} can't both feed the engine: leave one of them out")
    if model is not None and (options.trace is not None or options.mix):
        raise UsageError(f"{asked[0]} has no text, only numbers: it is for --runner null")
    if options.trace is not None:
        return "trace"
    if options.demo:
        return "demo"
    return "mix" if model is None and options.mix is not False else "none"


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


def _is_loopback(url: str | None) -> bool:
    """Does the backend run on this machine?"""
    return urlsplit(url or "").hostname in ("127.0.0.1", "localhost", "::1")
