"""The engine's first words to a backend: who it is, and what a fold needs to know."""

import dataclasses
import os
import uuid

from kvarium_engine.card_memory import MemoryShares
from kvarium_engine.options import Options, Resolved
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_ledger import privacy
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION

SOURCE = "kvarium"


def _told(tokens: frozenset[int]) -> int | str | None:
    """Some tokens as one value of the handshake: a number, several as "1,2"."""
    if len(tokens) < 2:
        return next(iter(tokens), None)
    return ",".join(map(str, sorted(tokens)))


def _memory(resolved: Resolved) -> dict[str, int | None]:
    """What the device's memory is taken by, in bytes."""
    shares = resolved.memory
    return {
        f"memory_{field.name}_bytes": None if shares is None else getattr(shares, field.name)
        for field in dataclasses.fields(MemoryShares)
    }


def hello(options: Options, resolved: Resolved, runner: Runner, ledger: Ledger) -> Hello:
    """The engine's first words."""
    config, scheduler, model = resolved.config, resolved.config.scheduler, resolved.model
    work: str = resolved.workload
    if options.trace is not None:
        work = options.trace.name.encode(errors="replace").decode()
    subject = work if model is None else runner.model + (", demo" if work == "demo" else "")
    greeting = Hello(
        version=VERSION,
        session=str(uuid.uuid4()),
        utc_us=ledger.utc_us,
        num_blocks=config.num_blocks,
        block_size=config.block_size,
        engine=SOURCE,
        model=runner.model,
        runner=runner.name,
        device=runner.device,
        name=options.name or f"{subject}, {config.num_blocks} blocks",
        kv_bytes_per_block=runner.kv_bytes_per_block,
        allow_control=resolved.allow_control,
        pid=os.getpid(),
        config={
            "max_num_batched_tokens": scheduler.max_num_batched_tokens,
            "max_num_seqs": scheduler.max_num_seqs,
            "max_model_len": scheduler.max_model_len,
            "enable_prefix_caching": config.enable_prefix_caching,
            "prefix_caching_hash_algo": "sha256_cbor",
            "prefix_caching_hash_seed": config.hash_seed,
            "scheduling_policy": scheduler.policy,
            "priority_aging": scheduler.priority_aging if scheduler.policy == "priority" else None,
            "free_order": config.free_order,
            "memory_backend": config.memory_backend,
            "reserve": config.reservation,
            "block_size": config.block_size,
            "num_gpu_blocks": config.num_blocks,
            "num_gpu_blocks_override": options.num_blocks,
            "gpu_memory_utilization": resolved.gpu_memory_utilization,
            "kv_cache_bytes_per_token": runner.kv_bytes_per_block // config.block_size,
            "maximum_concurrency": round(resolved.maximum_concurrency, 2),
            "seed": options.seed,
            "workload": work,
            "speed": options.speed if resolved.trace is not None else None,
            "step_ms": resolved.step_ms if model is None else None,
            "dtype": None if model is None else model.dtype,
            "load_format": None if model is None else model.load_format,
            "kv_cache_dtype": None if model is None else model.kv_dtype,
            "attention_backend": resolved.attention_backend,
            "max_cudagraph_capture_size": max(resolved.capture_sizes, default=None),
            "eos_token": _told(runner.eos_tokens),
            "chat_template": runner.vocabulary is not None and runner.vocabulary.has_chat_template,
            **_memory(resolved),
        },
    )
    return privacy.greeting(greeting, resolved.record_text)
