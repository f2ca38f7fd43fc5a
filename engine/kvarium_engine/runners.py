"""Make the runner that the options ask for; torch is imported only for a model."""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from kvarium_engine.capacity import GIB
from kvarium_engine.card_memory import (
    GPU_MEMORY_UTILIZATION,
    CardUse,
    DeviceMemory,
    MemoryShares,
    kv_cache_bytes,
)
from kvarium_engine.errors import UsageError
from kvarium_engine.kernels.backend import choose_backend
from kvarium_engine.model.capture_sizes import CaptureError
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.model.geometry import FP8_NAME
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.profiling import CardRunner, measure
from kvarium_engine.options import NO_CARD, Options, Resolved, resized
from kvarium_engine.pool_size import longest_sequence
from kvarium_engine.scheduling.step_plan import Runner

_EOS_EVERY = 40
"""In the mix, one sampled token in so many ends its sequence."""


def make_runner(options: Options, resolved: Resolved, say: Callable[[str], None]) -> tuple[Runner, Resolved]:
    """The runner, ready to compute, and the sizes as they are once it is there; ``say`` tells a person what takes its time.

    Raises :class:`UsageError` where the model can't be loaded or its cache does not fit.
    """
    if resolved.model is None:
        if resolved.config.reservation is not None:
            for line in resolved.capacity.lines(resolved.config.reservation)[1:]:
                say(line)
        endless = resolved.workload in ("mix", "demo")
        return NullRunner(options.seed, resolved.step_ms, _EOS_EVERY if endless else 0), resolved
    return _torch_runner(options, resolved, resolved.model, say)


def import_models() -> None:
    """Import torch, transformers and all of ours that runs a model: most of the time until an engine is ready."""
    collects = gc.isenabled()
    # What is imported stays: to look for garbage among it, again and again, takes a fifth of the time.
    gc.disable()
    try:
        import kvarium_engine.model.loader
        import kvarium_engine.model.tokenizer
        import kvarium_engine.model.torch_runner  # noqa: F401
    finally:
        if collects:
            gc.enable()


def _torch_runner(
    options: Options, resolved: Resolved, model: ModelChoice, say: Callable[[str], None]
) -> tuple[Runner, Resolved]:
    began = time.monotonic()
    say(f"loading {model.name}")

    import_models()
    from kvarium_engine.model.cuda_memory import memory_of
    from kvarium_engine.model.kv_cache import KV_DTYPES
    from kvarium_engine.model.kv_scales import kv_scales
    from kvarium_engine.model.loader import choose_device, fetch_chosen, load_chosen, use_threads
    from kvarium_engine.model.tokenizer import load_tokenizer
    from kvarium_engine.model.torch_runner import TorchRunner

    threads = use_threads()
    device = choose_device()
    memory = memory_of(device)
    if memory is None and options.gpu_memory_utilization is not None:
        raise UsageError(NO_CARD)
    free = 0 if memory is None else memory.free()
    # A pool that the card sizes takes what the weights leave.
    pool_bytes = resolved.capacity.bytes if memory is None or resolved.sized else 0
    fetch_chosen(model, pool_bytes)
    loading = time.monotonic()
    module = load_chosen(model, device, options.seed, pool_bytes)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in module.parameters())
    where = f"cpu, {threads} thread{'s' * (threads > 1)}" if memory is None else memory.device
    say(
        f"model weights: {weights / GIB:.2f} GiB of {model.dtype} on {where}, "
        f"{'made at random' if model.load_format == 'dummy' else 'loaded'} in {time.monotonic() - loading:.1f} s"
    )
    vocabulary = load_tokenizer(model.folder)
    backend = choose_backend(
        options.attention_backend, device.type, resolved.config.block_size, model.geometry.head_dim
    )
    resolved = replace(resolved, attention_backend=backend)
    scales = None
    if model.kv_dtype == FP8_NAME:
        scales = kv_scales(model.folder, model.geometry.layers)

    def make(num_blocks: int) -> TorchRunner:
        return TorchRunner(
            module,
            vocabulary,
            model.name,
            num_blocks,
            resolved.config.block_size,
            options.seed,
            KV_DTYPES[model.kv_dtype],
            scales,
            backend,
        )

    # The contexts that torch gathers differ in length from step to step: graphs need the Triton kernels.
    if memory is None or backend != "triton":
        resolved = replace(resolved, capture_sizes=())
    use = None
    if memory is not None and not resolved.sized:
        resolved, use = _sized_by_card(options, resolved, memory, free, weights, make, say)
    pool = resolved.capacity
    with _memory_that_may_lack(
        f"{pool.num_blocks:,} blocks of keys and values ({pool.bytes / GIB:.1f} GiB) do not fit on {where}: give fewer "
        "with --num-gpu-blocks-override or --kv-cache-memory-bytes"
    ):
        runner = make(pool.num_blocks)
    graphs = 0
    if memory is not None and resolved.capture_sizes:
        resolved, graphs = _capture(runner, resolved, memory, use, say)
    shares = MemoryShares(weights, pool.bytes)
    if memory is not None:
        step = None if use is None else use.step
        shares = MemoryShares.of_card(memory.total, memory.free(), weights, pool.bytes, graphs, step)
    resolved = replace(resolved, memory=shares)
    for line in pool.lines(resolved.config.reservation):
        say(line)
    if model.kv_dtype == FP8_NAME:
        told = "1, as the checkpoint tells none" if scales is None else "those of the checkpoint"
        say(f"keys and values are kept as {FP8_NAME}; their scales are {told}")
    say(f"attention: the kernels of {backend}")
    say(f"{model.name} is ready after {time.monotonic() - began:.1f} s")
    foreign = sorted(token for token in runner.eos_tokens if not 0 <= token < runner.vocab_size)
    if foreign:
        say(
            f"{model.name} never samples its end token {', '.join(map(str, foreign))}: it has the tokens 0 to "
            f"{runner.vocab_size - 1:,} (eos_token_id in its config)"
        )
    if vocabulary is None:
        say(f"{model.name} has no tokenizer: prompts are given as token ids")
    return runner, resolved


def _sized_by_card(
    options: Options,
    resolved: Resolved,
    memory: DeviceMemory,
    free: int,
    weights: int,
    make: Callable[[int], CardRunner],
    say: Callable[[str], None],
) -> tuple[Resolved, CardUse]:
    """The sizes with the pool that the card has room for, beside the weights, the largest step and CUDA graphs; and what those take."""
    utilization = options.gpu_memory_utilization or GPU_MEMORY_UTILIZATION
    config = resolved.config
    assert resolved.model is not None
    # What the pool will hold is not known yet: no sequence is longer than the model's positions.
    limits = replace(config.scheduler, max_model_len=longest_sequence(options, resolved.model))
    with _memory_that_may_lack(
        f"the largest step ({limits.max_num_batched_tokens:,} tokens, {limits.max_num_seqs:,} sequences) does not fit "
        f"beside {weights / GIB:.2f} GiB of weights on {memory.device}: lower --max-num-batched-tokens and --max-num-seqs"
    ):
        use = measure(make, limits, config.block_size, memory, free, weights, resolved.capture_sizes)
    resolved = resized(options, resolved, kv_cache_bytes(use, utilization), utilization)
    say(f"memory of {memory.device}: {use.told(utilization)} GiB")
    return resolved, use


def _capture(
    runner: CardRunner,
    resolved: Resolved,
    memory: DeviceMemory,
    use: CardUse | None,
    say: Callable[[str], None],
) -> tuple[Resolved, int]:
    """Record decodes as CUDA graphs, and tell what they take beside what was set aside for them in ``use``; and their bytes."""
    sizes = resolved.capture_sizes
    began = time.monotonic()
    before = memory.free()
    with _memory_that_may_lack(
        f"CUDA graphs of decodes up to {sizes[-1]} do not fit on {memory.device} beside the pool: lower "
        "--gpu-memory-utilization, give fewer --cudagraph-capture-sizes, or --enforce-eager"
    ):
        try:
            runner.capture(sizes, resolved.config.scheduler.max_model_len)
        except CaptureError as error:
            say(f"decodes run without CUDA graphs: {error}")
            return replace(resolved, capture_sizes=()), 0
    memory.reset_peak()  # what recording them took is given back
    took = max(0, before - memory.free())
    estimate = "" if use is None else f"; {use.graphs / GIB:.2f} GiB were set aside for them"
    say(
        f"CUDA graphs: decodes of {len(sizes)} size{'s' * (len(sizes) > 1)} up to {sizes[-1]} recorded in "
        f"{time.monotonic() - began:.1f} s, {took / GIB:.2f} GiB{estimate}"
    )
    return resolved, took


@contextlib.contextmanager
def _memory_that_may_lack(message: str) -> Iterator[None]:
    """Raises :class:`UsageError` where torch has not the memory for what is done here."""
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and "alloc" not in str(error):
            raise
        raise UsageError(message) from None
