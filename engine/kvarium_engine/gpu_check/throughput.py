"""Tokens a second on the same weights: the engine, transformers' ``generate`` on one batch, and its continuous batching.

    requests      prompts of one length, all there at the start, greedy, to a fixed length       the easiest case for a static batch
    tokens/s      tokens made ÷ time from the first step to the last token, prefill included

Each warms up once on the same requests, cut short.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import torch
import transformers
from transformers import GenerationConfig, PreTrainedModel

from kvarium_engine.gpu_check.driver import Driver, random_prompts
from kvarium_engine.gpu_check.geometries import timed_model
from kvarium_engine.gpu_check.part import Facts, Setting, SkippedError
from kvarium_engine.model.attention import NAME

Made = Callable[[list[list[int]], int], int]
"""Makes so many tokens of each prompt; returns how many were made in all."""


def asked(setting: Setting, vocabulary: int) -> tuple[list[list[int]], int]:
    """The prompts, and how many tokens are to be made of each."""
    requests, prompt, tokens = (64, 256, 128) if setting.on_card else (4, 16, 8)
    return random_prompts(requests, prompt, vocabulary), tokens


def measure(setting: Setting) -> Facts:
    """Tokens a second of the engine and of transformers' ``generate``."""
    model = timed_model(setting.device)
    prompts, tokens = asked(setting, model.config.vocab_size)
    driver = Driver(model, len(prompts), len(prompts[0]) + tokens + 1, budget=4096)
    facts: Facts = {
        "model": "Llama 3.1 8B" if setting.on_card else "Llama 3.1 8B, cut down",
        "layers": model.config.num_hidden_layers,
        "requests": len(prompts),
        "prompt_tokens": len(prompts[0]),
        "output_tokens": tokens,
        "kvarium": rate(
            lambda some, count: sum(map(len, driver.greedy(some, count))), prompts, tokens, setting
        ),
        "generate": rate(lambda some, count: by_generate(model, some, count), prompts, tokens, setting),
    }
    driver.close()
    setting.say(f"kvarium {facts['kvarium']:,} tokens/s, transformers' generate {facts['generate']:,}")
    return facts


def measure_continuous_batching(setting: Setting) -> Facts:
    """The same of transformers' own paged cache and scheduler. Raises :class:`SkippedError` where it does not run."""
    if not setting.on_card:
        raise SkippedError("there is no card, by whose memory transformers' continuous batching sizes itself")
    model = timed_model(setting.device)
    if not hasattr(model, "generate_batch"):
        raise SkippedError(f"transformers {transformers.__version__} has none (generate_batch)")
    prompts, tokens = asked(setting, model.config.vocab_size)
    try:
        made = rate(lambda some, count: by_continuous_batching(model, some, count), prompts, tokens, setting)
    except Exception as error:  # another's code, of any version
        lines = str(error).strip().splitlines() or [""]
        raise SkippedError(
            f"it does not run here: {type(error).__name__}: {lines[0]}".rstrip(": ")
        ) from error
    setting.say(f"transformers' continuous batching {made:,} tokens/s")
    return {"continuous_batching": made}


def rate(make: Made, prompts: list[list[int]], tokens: int, setting: Setting) -> float:
    """Tokens a second. Raises :class:`RuntimeError` where fewer are made than were asked for."""
    # What a prefix cache would know of the warm-up is not asked again.
    make([prompt[::-1] for prompt in prompts], min(4, tokens))
    if setting.on_card:
        torch.cuda.synchronize()
    began = time.perf_counter()
    made = make(prompts, tokens)
    if setting.on_card:
        torch.cuda.synchronize()
    taken = time.perf_counter() - began
    if made != len(prompts) * tokens:
        raise RuntimeError(f"{made} tokens were made of {len(prompts) * tokens}")
    return round(made / taken, 1)


def greedy_config(tokens: int) -> GenerationConfig:
    """So many greedy tokens, whatever they are."""
    return GenerationConfig(max_new_tokens=tokens, do_sample=False, pad_token_id=0, disable_compile=True)


def by_generate(model: PreTrainedModel, prompts: list[list[int]], tokens: int) -> int:
    """One batch with torch's own attention."""
    ids = torch.tensor(prompts, device=model.device)
    with torch.inference_mode(), attending_as_sdpa(model):
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=greedy_config(tokens)
        )
    return int(out[:, ids.shape[1] :].numel())


def by_continuous_batching(model: PreTrainedModel, prompts: list[list[int]], tokens: int) -> int:
    """All at once; transformers decides how many run."""
    with torch.inference_mode(), attending_as_sdpa(model):
        out = model.generate_batch(inputs=prompts, generation_config=greedy_config(tokens))
    return sum(len(each.generated_tokens) for each in out.values())


@contextlib.contextmanager
def attending_as_sdpa(model: PreTrainedModel) -> Iterator[None]:
    """Within this context, the model attends by torch's own attention, and no token ends its answers."""
    usual = model.generation_config
    model.generation_config = GenerationConfig()
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(NAME)
        model.generation_config = usual
