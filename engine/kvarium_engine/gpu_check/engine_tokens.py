"""The whole engine against transformers: the same random weights in real geometries, greedy tokens side by side.

    prompts of 5 … 300 tokens ─┬─▶ transformers' generate, one by one, its own attention and cache   ─▶ tokens and logits
                               └─▶ the engine, all at once, in chunks, then decodes (CUDA graphs);
                                   then one again as two samples: a prefix hit, a fork, a copy       ─▶ tokens

Two likeliest tokens may be so close that rounding decides. So where a token differs, how far apart the two were for transformers says
whether that is why; behind it the texts differ anyway, and nothing more is compared.
"""

import torch
from transformers import GenerationConfig, PreTrainedModel

from kvarium_engine.gpu_check.driver import Driver, random_prompts
from kvarium_engine.gpu_check.geometries import GEOMETRIES, RealGeometry, random_model
from kvarium_engine.gpu_check.part import Facts, FailedError, Setting
from kvarium_engine.model.attention import NAME

CLOSE = {torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.2}
"""Up to how far apart two logits are the same to a dtype, as a part of how far all of them spread."""


def check_tokens(setting: Setting) -> Facts:
    """Every geometry in float32, and on a card in bfloat16 too. Raises :class:`FailedError` with those that differ."""
    dtypes = (torch.float32, torch.bfloat16) if setting.on_card else (torch.float32,)
    found: list[Facts] = []
    for geometry in GEOMETRIES:
        for dtype in dtypes:
            found.append(compare(geometry, dtype, setting.device))
            told = found[-1]
            setting.say(
                f"{geometry.name}, {told['dtype']}: {told['equal']} of {told['answers']} answers the same"
            )
    facts: Facts = {"models": found}
    wrong = [told for told in found if told["apart"] > told["allowed"]]
    if wrong:
        first = wrong[0]
        raise FailedError(
            f"{first['model']} in {first['dtype']} makes other tokens than with transformers: where they part, the logits are "
            f"{first['apart']:.2g} of their spread apart, rounding explains {first['allowed']:g}",
            facts,
        )
    return facts


def compare(geometry: RealGeometry, dtype: torch.dtype, device: str) -> Facts:
    """``equal``: answers whose tokens are all the same; ``apart``: the widest gap where the others part."""
    lengths, made = ((5, 70, 130, 300), 24) if device == "cuda" else ((3, 20, 40), 8)
    model = random_model(geometry, 4 if device == "cuda" else 2, dtype, device)
    vocabulary = model.config.vocab_size
    prompts = [random_prompts(1, length, vocabulary, seed=length)[0] for length in lengths]
    # A budget that cuts the longest prompts into chunks, beside which others decode.
    driver = Driver(
        model,
        len(prompts),
        max(lengths) + made + 1,
        budget=128 if device == "cuda" else 16,
        capture_sizes=(1, 6),  # so that a batch is padded
    )
    graphs = driver.runner.graphs is not None
    # Then one of them again, twice: its prefix is hit, it forks, and the last block that both share is copied.
    again = prompts[1]
    answers = [*driver.greedy(prompts, made), *driver.greedy([again], made, n=2)]
    driver.close()
    expected = {tuple(prompt): generated(model, prompt, made) for prompt in prompts}
    gaps = [
        gap_where_they_part(answer, *expected[tuple(prompt)])
        for prompt, answer in zip([*prompts, again, again], answers, strict=True)
    ]
    return {
        "model": geometry.name,
        "layers": model.config.num_hidden_layers,
        "dtype": str(dtype).removeprefix("torch."),
        "backend": driver.runner.cache.backend,
        "graphs": graphs,
        "answers": len(answers),
        "tokens": made,
        "equal": sum(gap is None for gap in gaps),
        "apart": round(max((gap for gap in gaps if gap is not None), default=0.0), 5),
        "allowed": CLOSE[dtype],
    }


def gap_where_they_part(answer: list[int], tokens: list[int], logits: torch.Tensor) -> float | None:
    """None: transformers makes the same of it. Else by how much of their spread its logits prefer its own token where they part first."""
    for place, (ours, theirs) in enumerate(zip(answer, tokens, strict=True)):
        if ours != theirs:
            row = logits[place]
            return float((row[theirs] - row[ours]) / row.std())
    return None


def generated(model: PreTrainedModel, prompt: list[int], count: int) -> tuple[list[int], torch.Tensor]:
    """The greedy tokens of transformers' own attention and cache, and the logits ``[count, vocabulary]`` (f32) of each."""
    ids = torch.tensor([prompt], device=model.device)
    config = GenerationConfig(
        max_new_tokens=count,
        do_sample=False,
        pad_token_id=0,
        use_cache=True,
        disable_compile=True,
        output_logits=True,
        return_dict_in_generate=True,
    )
    usual = model.generation_config
    model.generation_config = GenerationConfig()  # what is left open is filled in from there, ends too
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    finally:
        model.set_attn_implementation(NAME)
        model.generation_config = usual
    return out.sequences[0, len(prompt) :].tolist(), torch.cat(out.logits).float()
