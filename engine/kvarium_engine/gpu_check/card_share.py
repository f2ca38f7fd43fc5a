"""The engine's start on the card, as ``kvarium engine`` does it: does it stay within its share, and are graphs as large as was said?

profile      weights, the largest step, CUDA graphs (estimated), other ─▶ the pool takes what is left of the share
captured     what the graphs really take
then busy    many long prompts at once, decodes ─▶ what is gone from the card, at the most
"""

import tempfile
from array import array
from pathlib import Path

import torch

from kvarium_engine.engine import Engine
from kvarium_engine.gpu_check.driver import random_prompts
from kvarium_engine.gpu_check.geometries import LLAMA, config_of
from kvarium_engine.gpu_check.part import Facts, FailedError, Setting, SkippedError
from kvarium_engine.options import Options, resolve
from kvarium_engine.runners import make_runner
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_ledger.ledger import Ledger

SHARE = 0.5
LAYERS = 8
MARGIN = 0.01
"""Of the card: what the driver may round by."""


def check_share(setting: Setting) -> Facts:
    """Start on half of the card and keep it busy. Raises :class:`FailedError` where more than that is gone, or nothing is recorded."""
    if not setting.on_card:
        raise SkippedError("there is no card whose memory is shared out")
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        setting.say(line)

    with tempfile.TemporaryDirectory() as folder:
        config_of(LLAMA, LAYERS, setting.device).save_pretrained(folder)
        options = Options(
            model=str(Path(folder) / "config.json"),
            dtype="bfloat16",
            load_format="dummy",
            gpu_memory_utilization=SHARE,
            max_num_batched_tokens=4096,
            max_num_seqs=128,
            max_model_len=8192,
        )
        runner, resolved = make_runner(options, resolve(options), say)
    engine = Engine(resolved.config, runner, Ledger(lambda sealed: None))
    params = SamplingParams(max_tokens=16, temperature=1.0, top_p=0.9, ignore_eos=True)
    for prompt in random_prompts(128, 512, LLAMA.sizes["vocab_size"]):
        engine.scheduler.submit(array("I", prompt), params)
    least = free
    while not engine.idle:
        engine.step()
        least = min(least, torch.cuda.mem_get_info()[0])
    engine.close()
    taken = (free - least) / total
    facts: Facts = {
        "share": SHARE,
        "taken": round(taken, 4),
        "memory_gib": round(total / (1 << 30), 2),
        "num_gpu_blocks": resolved.config.num_blocks,
        "said": said,
    }
    if not resolved.capture_sizes:
        raise FailedError("decodes run without CUDA graphs, see what was said", facts)
    if taken > SHARE + MARGIN:
        raise FailedError(f"{taken:.3f} of the card's memory are gone, where {SHARE} were allowed", facts)
    return facts
