"""Tokens a second on the same weights: the engine, transformers' ``generate`` on one padded batch, and its continuous batching.

    requests      prompts of one length, all there at the start, greedy, to a fixed length       the easiest case for a static batch
    tokens/s      tokens made ÷ time from the first step to the last token, prefill included

Each warms up once on the same requests, cut short. Where this version of transformers has no continuous batching, or it does not run
here, its place says why.
"""

import time
from collections.abc import Callable

import torch
from transformers import GenerationConfig, PreTrainedModel

from kvarium_engine.gpu_check.driver import Driver, random_prompts
from kvarium_engine.gpu_check.geometries import timed_model
from kvarium_engine.gpu_check.part import Facts, FailedError, Setting
from kvarium_engine.model.attention import NAME

Made = Callable[[list[list[int]], int], int]
"""Makes so many tokens of each prompt; returns how many were made in all."""


def measure(setting: Setting) -> Facts:
    """Tokens a second, by who makes them; None and the reason where it could not."""
    model = timed_model(setting.device)
    requests, prompt, made = (64, 256, 128) if setting.on_card else (4, 16, 8)
    prompts = random_prompts(requests, prompt, model.config.vocab_size)
    driver = Driver(model, requests, prompt + made + 1, budget=4096)

    def by_engine(asked: list[list[int]], tokens: int) -> int:
        return sum(map(len, driver.greedy(asked, tokens)))

    facts: Facts = {
        "model": "Llama 3.1 8B" if setting.on_card else "Llama 3.1 8B, cut down",
        "layers": model.config.num_hidden_layers,
        "requests": requests,
        "prompt_tokens": prompt,
        "output_tokens": made,
        "kvarium": rate(by_engine, prompts, made, setting),
    }
    setting.say(f"kvarium: {facts['kvarium']:,} tokens/s")
    driver.close()
    ways: tuple[tuple[str, Callable[[PreTrainedModel, list[list[int]], int], int]], ...] = (
        ("generate", by_generate),
        ("continuous_batching", by_continuous_batching),
    )
    for name, way in ways:
        facts[name], facts[f"{name}_why"] = None, None
        try:
            facts[name] = rate(
                lambda asked, tokens, way=way: way(model, asked, tokens), prompts, made, setting
            )  # type: ignore[misc]
            setting.say(f"transformers' {name}: {facts[name]:,} tokens/s")
        except Exception as error:  # another's code, of any version
            lines = str(error).strip().splitlines() or [""]
            facts[f"{name}_why"] = f"{type(error).__name__}: {lines[0]}".rstrip(": ")
            setting.say(f"transformers' {name}: {facts[f'{name}_why']}")
        finally:
            model.set_attn_implementation(NAME)
    if facts["generate"] is None:
        raise FailedError(f"transformers' generate did not run: {facts['generate_why']}", facts)
    return facts


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
    return GenerationConfig(
        max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0, disable_compile=True
    )


def by_generate(model: PreTrainedModel, prompts: list[list[int]], tokens: int) -> int:
    """One batch with torch's own attention."""
    model.set_attn_implementation("sdpa")
    ids = torch.tensor(prompts, device=model.device)
    with torch.inference_mode():
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=greedy_config(tokens)
        )
    return int(out[:, ids.shape[1] :].numel())


def by_continuous_batching(model: PreTrainedModel, prompts: list[list[int]], tokens: int) -> int:
    """Its paged cache and scheduler (transformers from 4.57 on). Raises :class:`RuntimeError` where it has none."""
    generate_batch = getattr(model, "generate_batch", None)
    if generate_batch is None:
        raise RuntimeError("this version of transformers has no continuous batching (generate_batch)")
    model.set_attn_implementation("sdpa")
    config = GenerationConfig(max_new_tokens=tokens, do_sample=False, eos_token_id=-1, pad_token_id=0)
    with torch.inference_mode():
        out = generate_batch(inputs=prompts, generation_config=config)
    return sum(len(each.generated_tokens) for each in out.values())
