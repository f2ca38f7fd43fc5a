"""Make the runner that the options ask for; torch is imported only for a model."""

import time
from collections.abc import Callable

from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.options import Options, Resolved
from kvarium_engine.scheduling.step_plan import Runner

_EOS_EVERY = 40
"""In the mix, one sampled token in so many ends its sequence."""


def make_runner(options: Options, resolved: Resolved, say: Callable[[str], None]) -> Runner:
    """The runner, ready to compute; ``say`` tells a person what takes its time.

    Raises :class:`UsageError` where the model can't be loaded or its cache does not fit.
    """
    if resolved.model is None:
        endless = resolved.workload in ("mix", "demo")
        return NullRunner(options.seed, resolved.step_ms, _EOS_EVERY if endless else 0)
    return _torch_runner(options, resolved, resolved.model, say)


def _torch_runner(
    options: Options, resolved: Resolved, model: ModelChoice, say: Callable[[str], None]
) -> Runner:
    began = time.monotonic()
    say(f"loading {model.name}")

    import torch

    from kvarium_engine.model.loader import load_model, use_threads
    from kvarium_engine.model.tokenizer import load_tokenizer
    from kvarium_engine.model.torch_runner import TorchRunner

    threads = use_threads()
    module = load_model(model.folder, model.dtype)
    vocabulary = load_tokenizer(model.folder)
    config = resolved.config
    block_bytes = config.block_size * model.kv_bytes_per_token
    try:
        runner = TorchRunner(
            module, vocabulary, model.name, config.num_blocks, config.block_size, options.seed
        )
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and "alloc" not in str(error):
            raise
        raise UsageError(
            f"{config.num_blocks:,} blocks of keys and values ({config.num_blocks * block_bytes / (1 << 30):.1f} GiB) "
            f"do not fit on {module.device}: give fewer with --num-gpu-blocks-override or --kv-cache-memory-bytes"
        ) from None
    tokens = config.num_blocks * config.block_size
    where = runner.device if module.device.type == "cuda" else f"cpu, {threads} thread{'s' * (threads > 1)}"
    say(
        f"{model.name} is ready after {time.monotonic() - began:.1f} s: {runner.dtype} on {where}; "
        f"{config.num_blocks:,} blocks of {config.block_size} = {tokens:,} tokens, "
        f"{config.num_blocks * block_bytes / (1 << 20):,.1f} MiB of keys and values "
        f"({model.kv_bytes_per_token / 1024:g} KiB a token)"
    )
    if vocabulary is None:
        say(f"{model.name} has no tokenizer: prompts are given as token ids")
    return runner
