"""Once, when a model was loaded: is it the same model on the paged cache?

    two short random prompts ─┬─▶ transformers' generate, two tokens       ─▶ tokens, and the logits of each ─┐
                              └─▶ paged: the same tokens, side by side,                                       ├─▶ equal?
                                  in chunks and decodes, in blocks of 4    ─▶ the logits of each ─────────────┘

No list of architectures can be complete, and a model that is run wrong still talks. So each is compared with itself: a state that
is kept from token to token, an attention that is not reached by the interface, a mask or a window that is not told to it,
positions that the model counts by itself, all show in the logits. Windows are set so narrow for the check that the prompts
are well past them. Where the logits differ and there are windows of which the attention is not told, the model's mask may have
them: it is asked once more with those of the config. It has a cache of its own, draws nothing from torch's generators, and leaves the model as it was.
"""

import contextlib
from array import array
from collections.abc import Iterator

import torch
from transformers import GenerationConfig, PreTrainedModel

from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.attention import NAME, WINDOW_OF_CONFIG, UnpagedError
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.forward import forward
from kvarium_engine.model.geometry import Geometry, geometry_of
from kvarium_engine.model.kv_cache import KVCache
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import Prefill, StepPlan

PROMPT = 7
"""Tokens of a prompt."""
MADE = 2
"""Tokens that are made of it; the last of them is not computed any more."""
BLOCK_SIZE = 4
TABLES = ([3, 0], [1, 2])
"""The blocks of either sequence: in no order, and beside one another's."""
WINDOW = 4
"""What windows are narrowed to."""

STEPS = (((0, 4), (0, 7)), ((4, 8), (7, 8)))
"""Which positions of either sequence a step computes: two chunks; then a chunk beside a decode. Each step reads all weights."""

EXACT_BYTES = 4 << 30
"""A model whose weights take no more than this in float32 is compared in float32."""

TOLERANCE = {torch.float32: 1e-3}
ROUNDED = 0.4
"""What rounding explains of :func:`difference`, in float32 and in less.

Seen are 1e-7 … 1e-5, and 0.01 … 0.2 in bfloat16; a window, a cap or a state that is not told makes it 0.4 to 3.
"""


def check_model(model: PreTrainedModel) -> None:
    """Compare the model's logits on a paged cache with its own; its attention may be marked with what it is not told.

    Raises :class:`UsageError`, in one line with the model's type and the reason, when they differ.
    """
    name = model.config.get_text_config().model_type
    try:
        geometry = geometry_of(model.config.get_text_config().to_dict())
        with torch.inference_mode(), in_float32(model), narrow_windows(model):
            dtype = model.dtype
            tokens, expected = generated(model, random_prompts(geometry))
            if expected.isnan().any():
                raise UsageError(
                    f"{name} can't be run: its own logits are NaN, with transformers alone too: look at its weights, and at its "
                    "config for a number that is none"
                )
            off = difference(paged_logits(model, geometry, tokens)[:, PROMPT - 1 :], expected)
            allowed = TOLERANCE.get(dtype, ROUNDED)
            if not off <= allowed and (marked := windows_of_config(model)):  # as NaN is not
                off = difference(paged_logits(model, geometry, tokens)[:, PROMPT - 1 :], expected)
                if not off <= allowed:
                    for module in marked:
                        delattr(module, WINDOW_OF_CONFIG)
    except UnpagedError as error:
        raise UsageError(f"{name} can't be run on a paged cache: {error}") from error
    except UsageError:
        raise
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a model that is made for something else may raise
        lines = str(error).strip().splitlines() or [""]
        raise UsageError(
            f"{name} can't be run on a paged cache: its forward fails there ({type(error).__name__}: {lines[0]})"
        ) from error
    if not off <= allowed:
        percent = f"{100 * off:.0f}" if off >= 0.1 else f"{100 * off:.2g}"
        raise UsageError(
            f"{name} can't be run on a paged cache: its logits there differ from its own by {percent} %, "
            f"rounding in {str(dtype).removeprefix('torch.')} explains {100 * allowed:g} %"
        )


def difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """How far the logits of the worst token are off, as a part of how far they spread (both as root mean squares)."""
    spread = expected.std(dim=-1, correction=0).clamp_min(1e-6)
    return float(((found - expected).square().mean(dim=-1).sqrt() / spread).max())


def windows_of_config(model: PreTrainedModel) -> list[torch.nn.Module]:
    """Let the attention that is told no window take the one of its config, in the layers that slide; which modules those are."""
    marked: list[torch.nn.Module] = []
    for module in model.modules():
        config, layer = getattr(module, "config", None), getattr(module, "layer_idx", None)
        if not isinstance(layer, int) or not is_window(getattr(config, "sliding_window", None)):
            continue
        kinds = getattr(config, "layer_types", None)
        if not kinds or kinds[layer] == "sliding_attention":
            setattr(module, WINDOW_OF_CONFIG, True)
            marked.append(module)
    return marked


def random_prompts(geometry: Geometry) -> list[list[int]]:
    """Two prompts of random tokens, the same each time; none of torch's generators is moved."""
    mixed = [(number * 2654435761 + 40503) % (1 << 32) for number in range(2 * PROMPT)]
    tokens = [(number >> 7) % geometry.vocab_size for number in mixed]
    return [tokens[:PROMPT], tokens[PROMPT:]]


def generated(model: PreTrainedModel, prompts: list[list[int]]) -> tuple[list[list[int]], torch.Tensor]:
    """What transformers makes of the prompts, with its own attention and its own cache.

    The tokens of each, prompt included, that were computed; and the logits ``[prompts, made, vocabulary]`` (f32) of the last.
    """
    ids = torch.tensor(prompts, device=model.device)
    config = GenerationConfig(
        max_new_tokens=MADE,
        do_sample=False,
        num_beams=1,
        pad_token_id=0,
        use_cache=True,
        disable_compile=True,
        output_logits=True,
        return_dict_in_generate=True,
    )
    usual = model.generation_config
    model.generation_config = (
        GenerationConfig()
    )  # else what it leaves open is filled in from there, ends and stop strings too
    model.set_attn_implementation("eager")
    try:
        out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    finally:
        model.set_attn_implementation(NAME)
        model.generation_config = usual
    return out.sequences[:, :-1].tolist(), torch.stack(out.logits, dim=1).float()


def paged_logits(model: PreTrainedModel, geometry: Geometry, tokens: list[list[int]]) -> torch.Tensor:
    """The logits ``[sequences, tokens, vocabulary]`` (f32) of all tokens, as the engine computes them.

    Raises :class:`UnpagedError` where a layer keeps nothing in the cache.
    """
    cache = KVCache(geometry, 4, BLOCK_SIZE, model.dtype, model.device)
    cache.pool.fill_(torch.nan)  # what is read without being written shows
    sequences = [a_sequence(index, its) for index, its in enumerate(tokens)]
    found: list[list[torch.Tensor]] = [[] for _ in tokens]
    for step in STEPS:
        plan = StepPlan(0)
        for sequence, (start, end) in zip(sequences, step, strict=True):
            sequence.computed = end
            sequence.table = list(TABLES[sequence.index][: blocks_for(end, BLOCK_SIZE)])
            if end - start == 1:
                plan.decodes.append(sequence)
            else:
                plan.prefills.append(Prefill(sequence, start, end - start, 1))
        batch = Batch(plan, BLOCK_SIZE, model.device)
        batch.rows = torch.arange(len(batch.input_ids), device=model.device)  # all, not only the chunks' last
        logits = forward(model, batch, cache).float()
        refuse_empty_layers(cache)
        counts = [1] * len(plan.decodes) + [prefill.tokens for prefill in plan.prefills]
        owners = plan.decodes + [prefill.sequence for prefill in plan.prefills]
        for sequence, rows in zip(owners, logits.split(counts), strict=True):
            found[sequence.index].append(rows)
    return torch.stack([torch.cat(rows) for rows in found])


def a_sequence(index: int, tokens: list[int]) -> Sequence:
    """Tokens as the scheduler would hold them."""
    known = array("I", tokens)
    request = Request(index, str(index), known, SamplingParams(temperature=0), 0, BLOCK_SIZE)
    return Sequence(index, request, index, known)


def refuse_empty_layers(cache: KVCache) -> None:
    """Raises :class:`UnpagedError` where the first sequence's first key or value is not in a layer's cache."""
    written = ~torch.isnan(cache.pool[:, :, TABLES[0][0], 0]).flatten(2).all(dim=-1)
    empty = (~written.all(dim=0)).nonzero().flatten().tolist()
    if len(empty) == cache.layers:
        raise UnpagedError("no layer calls the attention interface of transformers")
    if empty:
        few = ", ".join(map(str, empty[:8])) + ", …" * (len(empty) > 8)
        raise UnpagedError(
            f"layer{'s' * (len(empty) > 1)} {few} of {cache.layers} keep{'s' * (len(empty) == 1)} no keys and values"
        )


@contextlib.contextmanager
def in_float32(model: PreTrainedModel) -> Iterator[None]:
    """Within this context, a model of less precision has its weights in float32, unless they are too many.

    Rounding hides little then. The weights that it had are put back, so that they are the same to the bit.
    """
    tensors = [tensor for tensor in (*model.parameters(), *model.buffers()) if tensor.dtype == model.dtype]
    if model.dtype == torch.float32 or 4 * sum(tensor.numel() for tensor in tensors) > EXACT_BYTES:
        yield
        return
    before = [(tensor, tensor.data) for tensor in tensors]
    try:
        for tensor, data in before:
            tensor.data = data.float()
        yield
    finally:
        for tensor, data in before:
            tensor.data = data


@contextlib.contextmanager
def narrow_windows(model: PreTrainedModel) -> Iterator[None]:
    """Within this context, sliding windows are so narrow that a short prompt is past them.

    A window stands in the config, where masks are made, and in the layers, where attention is called; all become narrower
    by as much, so that a difference between them stays.
    """
    holders: dict[int, object] = {}
    for module in model.modules():
        for holder in (module, getattr(module, "config", None)):
            if is_window(getattr(holder, "sliding_window", None)):
                holders[id(holder)] = holder
    before = [(holder, holder.sliding_window) for holder in holders.values()]  # type: ignore[attr-defined]
    less = max(0, min((width for _, width in before), default=0) - WINDOW)
    try:
        for holder, width in before:
            holder.sliding_window = width - less  # type: ignore[attr-defined]
        yield
    finally:
        for holder, width in before:
            holder.sliding_window = width  # type: ignore[attr-defined]


def is_window(value: object) -> bool:
    """Is it a window's width?"""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
