"""A forward without weights, before they are read or even fetched: attention that is not done here shows at once.

    config ─▶ the model on the device "meta": shapes, no numbers ─▶ one call ─▶ layer 0: attention(q, k, v, sinks=…)  refused

It costs a fraction of a second for a model of any size. What it can't reach, as much of what experts do needs numbers, is left
to the :mod:`~kvarium_engine.model.self_check`, which has the weights.
"""

from typing import Any

import torch
from transformers import AttentionInterface, AutoModelForCausalLM

from kvarium_engine.model.attention import UnpagedError, refuse_other_attention

NAME = "kvarium_dry_run"
_TOKENS = 4


def dry_run(config: Any) -> int:
    """How many numbers the model's weights have; 0 where it can't be made without any.

    ``config`` is one of transformers. Raises :class:`ValueError`, in one line with the model's type, where a layer's attention
    can't be done.
    """
    usual = config._attn_implementation
    numbers = 0
    try:
        with torch.device("meta"), torch.inference_mode():
            model = AutoModelForCausalLM.from_config(config, attn_implementation=NAME).eval()
            numbers = sum(weights.numel() for weights in model.parameters())
            model(
                input_ids=torch.zeros(1, _TOKENS, dtype=torch.int64),
                position_ids=torch.arange(_TOKENS)[None],
                use_cache=False,
            )
    except UnpagedError as error:
        kind = config.get_text_config().model_type
        raise ValueError(f"{kind} can't be run on a paged cache: {error}") from None
    except Exception:  # noqa: S110 (whatever needs numbers, or can't be made; loading it tells)
        pass
    finally:
        config._attn_implementation = usual
    return numbers


def _without_numbers(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """An attention's shapes, by the interface of transformers."""
    refuse_other_attention(key, value, attention_mask, kwargs)
    return query.new_empty(query.shape[0], query.shape[2], query.shape[1], value.shape[3]), None


AttentionInterface.register(NAME, _without_numbers)
