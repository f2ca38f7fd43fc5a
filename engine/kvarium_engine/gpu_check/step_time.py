"""How long a step of decodes takes, with CUDA graphs and without, and what bounds it.

    steps      graphs  eager  graphs  eager …        of the same engine, in turn, so that both meet the same contexts
    bound      bytes of the weights, and of keys and values of the contexts ÷ the bandwidth of a copy

A step is the engine's whole: scheduling, forward, sampling, ledger.
"""

import statistics
import time

import torch

from kvarium_engine.gpu_check.bandwidth import COPIED, seconds
from kvarium_engine.gpu_check.driver import Driver, random_prompts
from kvarium_engine.gpu_check.geometries import timed_model
from kvarium_engine.gpu_check.part import Facts, Setting

BATCHES, SMALL_BATCHES = (1, 8, 32, 128), (1, 4)


def measure(setting: Setting) -> Facts:
    """Milliseconds a step, medians, by batch size."""
    model = timed_model(setting.device)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    bandwidth = copy_bandwidth(setting.device)
    prompt, rounds = (256, 20) if setting.on_card else (16, 3)
    found = []
    for batch in BATCHES if setting.on_card else SMALL_BATCHES:
        steps = 2 * (rounds + 2)
        longest = prompt + steps + 8
        driver = Driver(model, batch, longest, budget=4096, capture_sizes=(batch,))
        for tokens in random_prompts(batch, prompt, model.config.vocab_size):
            driver.ask(tokens, steps + 4)
        driver.decode_until_steady()
        graphs = driver.runner.graphs
        times: dict[str, list[float]] = {"graphs": [], "eager": []}
        for number in range(steps):
            kind = ("graphs", "eager")[number % 2]
            driver.runner.graphs = graphs if kind == "graphs" else None
            began = time.perf_counter()
            plan = driver.engine.step()
            taken = 1000 * (time.perf_counter() - began)
            assert len(plan.decodes) == batch and not plan.prefills, "not all of them decode"
            if number >= 4:
                times[kind].append(taken)
        context = (
            batch * (prompt + steps // 2) * driver.runner.kv_bytes_per_block // driver.runner.cache.block_size
        )
        driver.close()
        eager = statistics.median(times["eager"])
        told = {
            "batch": batch,
            "eager_ms": round(eager, 3),
            "graphs_ms": round(statistics.median(times["graphs"]), 3) if graphs is not None else None,
            "bound_ms": None if bandwidth is None else round(1000 * (weights + context) / bandwidth, 3),
        }
        found.append(told)
        setting.say(
            f"batch {batch}: {told['eager_ms']} ms, with graphs {told['graphs_ms']}, bound {told['bound_ms']}"
        )
    return {
        "model": "Llama 3.1 8B" if setting.on_card else "Llama 3.1 8B, cut down",
        "layers": model.config.num_hidden_layers,
        "dtype": str(model.dtype).removeprefix("torch."),
        "weights_gib": round(weights / (1 << 30), 3),
        "prompt": prompt,
        "rounds": rounds,
        "batches": found,
    }


def copy_bandwidth(device: str) -> float | None:
    """Bytes a second that a copy reads and writes; None on a CPU, where no bound is told."""
    if device != "cuda":
        return None
    source = torch.empty(COPIED, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * COPIED / statistics.median(seconds(lambda: target.copy_(source)) for _ in range(8))
