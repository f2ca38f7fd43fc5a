"""Models that are refused by what their config says, before their weights are read.

What no config tells is found by :mod:`kvarium_engine.model.self_check`, with the weights.
"""

from collections.abc import Iterator
from typing import Any

PAGED_LAYERS = ("full_attention", "sliding_attention")

LENGTH_DEPENDENT_ROPE = ("dynamic", "longrope")
"""Kinds of RoPE whose angles change for all tokens when a sequence gets long: keys in the cache would be of either kind."""


def refuse_unpaged(config: Any) -> None:
    """Raises :class:`ValueError`, in one line with the model's type, for a config whose model would be run wrong.

    ``config`` is one of transformers.
    """
    text = config.get_text_config()
    why = next(reasons(config, text), None)
    if why is not None:
        raise ValueError(f"{text.model_type} can't be run on a paged cache: {why}")


def reasons(config: Any, text: Any) -> Iterator[str]:
    """Why a model can't be run right; nothing: its config tells no reason."""
    if getattr(config, "is_encoder_decoder", False):
        yield "it is no decoder alone"
    if getattr(text, "add_cross_attention", False) or getattr(text, "cross_attention_layers", None):
        yield "it has cross attention"
    kinds = sorted(set(getattr(text, "layer_types", None) or ()) - set(PAGED_LAYERS))
    if kinds:
        yield f"it has layers of another kind ({', '.join(kinds)})"
    if getattr(text, "kv_lora_rank", None):
        yield "it keeps compressed keys and values (MLA, kv_lora_rank)"
    if any(getattr(part, "alibi", False) for part in (text, getattr(text, "attn_config", None))):
        yield "its scores have a bias by distance (ALiBi)"
    longest = getattr(text, "max_position_embeddings", None) or 0
    for rope in rope_parameters(text):
        kind = rope.get("rope_type")
        if kind in LENGTH_DEPENDENT_ROPE and longest > original_positions(rope, text, kind):
            yield f"its RoPE changes with the length of a sequence ({kind})"


def rope_parameters(text: Any) -> list[dict[str, Any]]:
    """The RoPE parameters of a config: one set, or one a kind of layer."""
    found = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    inner = [value for value in found.values() if isinstance(value, dict)]
    return inner or [found]


def original_positions(rope: dict[str, Any], text: Any, kind: str) -> int:
    """Up to which length the RoPE stays as it is; 0 where that is not told."""
    told = rope.get("original_max_position_embeddings") or getattr(
        text, "original_max_position_embeddings", None
    )
    return int(told) if told and kind == "longrope" else 0
