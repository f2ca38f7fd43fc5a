"""The attention function that a model of transformers calls in each layer, in place of its own.

    model.forward ─▶ layer i: q, k, v ─▶ paged_attention(module, q, k, v, …)
                                          ├─ write k, v to layer i's slots
                                          └─ attend through the block tables: attend_by_slots, or attend_by_tables in Triton

transformers looks the function up by name (``ALL_ATTENTION_FUNCTIONS``, ``attn_implementation=NAME``) and gives it what any
attention gets; which batch is computed, and in which cache, is told by :func:`attending` around the forward.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from transformers import AttentionInterface

from kvarium_engine.kernels.fp8 import Scales
from kvarium_engine.kernels.paged_attention import decode_attention, prefill_attention
from kvarium_engine.kernels.write_kv import write_kv
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.kv_cache import KVCache

NAME = "kvarium_paged"

UNSUPPORTED = {
    "s_aux": "attention sinks",
    "sinks": "attention sinks",
    "position_bias": "a bias on the scores",
    "indices": "sparse attention",
    "block_indices": "sparse attention",
}
"""Arguments by which some architectures change the scores in a way that is not done here, and what that is."""

WINDOW_OF_CONFIG = "kvarium_window_of_config"
"""Set on an attention module that is told no window, though its model's mask has the one of its config."""


class UnpagedError(NotImplementedError):
    """Attention that is not done here; its text says what, without the model's name."""


_current: ContextVar["tuple[Batch, KVCache] | None"] = ContextVar("kvarium_batch", default=None)


@contextlib.contextmanager
def attending(batch: Batch, cache: KVCache) -> Iterator[None]:
    """Within this context, the attention of a model computes ``batch`` in ``cache``."""
    token = _current.set((batch, cache))
    try:
        yield
    finally:
        _current.reset(token)


def paged_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """One layer's attention, by the interface of transformers.

    ``query`` ``[1, heads, tokens, head_dim]``, ``key`` and ``value`` ``[1, kv_heads, tokens, head_dim]``, already rotated.
    Returns ``[1, tokens, heads, head_dim]``. A ``sliding_window`` of w, among ``kwargs``, lets a token see itself and the w - 1
    before it. ``softcap`` c bounds the scores: c · tanh(score / c).
    Raises :class:`UnpagedError` for what would change the scores and is not done here.
    """
    current = _current.get()
    assert current is not None, "the model was called outside of attending()"
    batch, cache = current
    layer = layer_of(module, cache.layers)
    keys, values = cache.layer(layer)
    scales = cache.scales[layer]
    refuse_other_attention(key, value, attention_mask, kwargs)
    refuse_other_sizes(key, keys)
    sliding_window = kwargs["sliding_window"] if "sliding_window" in kwargs else window_of_config(module)
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    new_keys, new_values = key[0].transpose(0, 1), value[0].transpose(0, 1)
    write_kv(new_keys, new_values, keys, values, batch.slots, scales, cache.backend)
    attend = attend_by_tables if cache.backend == "triton" else attend_by_slots
    return attend(query[0].transpose(0, 1), keys, values, batch, scaling, sliding_window, softcap, scales)[
        None
    ], None


def attend_by_slots(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    batch: Batch,
    scaling: float,
    sliding_window: int | None,
    softcap: float | None,
    scales: Scales,
) -> torch.Tensor:
    """The attention of a batch's tokens in torch, ``query`` ``[tokens, heads, head_dim]``: contexts are gathered."""
    parts: list[torch.Tensor] = []
    if batch.decodes:
        mask = batch.mask
        if sliding_window is not None:
            place = torch.arange(mask.shape[1], device=mask.device)
            mask = mask & (place >= batch.lengths[:, None] - sliding_window)
        rows = query[: batch.decodes]
        parts.append(decode_attention(rows, keys, values, batch.context, mask, scaling, softcap, scales))
    for chunk in batch.chunks:
        place = torch.arange(len(chunk.context), device=query.device)
        asked = place[chunk.start :, None]
        mask = place <= asked
        if sliding_window is not None:
            mask = mask & (place > asked - sliding_window)
        rows = query[chunk.first : chunk.last]
        parts.append(prefill_attention(rows, keys, values, chunk.context, mask, scaling, softcap, scales))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def attend_by_tables(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    batch: Batch,
    scaling: float,
    sliding_window: int | None,
    softcap: float | None,
    scales: Scales,
) -> torch.Tensor:
    """The same in Triton: one kernel for all decodes, one for all chunks, which read the pool where it is."""
    from kvarium_engine.kernels import triton_decode, triton_prefill

    out = query.new_empty(query.shape)
    decodes = batch.decodes
    if decodes:
        triton_decode.decode_attention(
            query[:decodes],
            keys,
            values,
            batch.block_tables,
            batch.lengths_i32,
            scaling,
            sliding_window,
            softcap,
            scales,
            out[:decodes],
        )
    if decodes < len(query):
        triton_prefill.prefill_attention(
            query[decodes:],
            keys,
            values,
            batch.chunk_tables,
            batch.starts,
            batch.chunk_lengths,
            batch.longest_chunk,
            scaling,
            sliding_window,
            softcap,
            scales,
            out[decodes:],
        )
    return out


def window_of_config(module: torch.nn.Module) -> int | None:
    """The window of an attention module that is marked with :data:`WINDOW_OF_CONFIG`."""
    if not getattr(module, WINDOW_OF_CONFIG, False):
        return None
    window: int | None = getattr(module.config, "sliding_window", None)
    return window


def layer_of(module: torch.nn.Module, layers: int) -> int:
    """Which of the ``layers`` layers of the cache an attention module is. Raises :class:`UnpagedError` where it is none."""
    layer = getattr(module, "layer_idx", None)
    if not isinstance(layer, int):
        raise UnpagedError(f"{type(module).__name__} does not tell its layer")
    if not 0 <= layer < layers:
        raise UnpagedError(f"there is attention in layer {layer}, the config has {layers} layers")
    return layer


def refuse_other_attention(
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    kwargs: dict[str, Any],
) -> None:
    """Raises :class:`UnpagedError` for what would be computed wrong."""
    for name, what in UNSUPPORTED.items():
        if kwargs.get(name) is not None:
            raise UnpagedError(f"{what} ({name})")
    if kwargs.get("is_causal") is False:
        raise UnpagedError("attention to later tokens (is_causal=False)")
    if attention_mask is not None:
        raise UnpagedError("an attention mask that the model makes by itself")
    if key.shape != value.shape:
        raise UnpagedError(
            f"keys and values of different sizes ({key.shape[1]} × {key.shape[3]} and {value.shape[1]} × {value.shape[3]})"
        )


def refuse_other_sizes(key: torch.Tensor, pool: torch.Tensor) -> None:
    """Raises :class:`UnpagedError` for keys of another size than the cache has room for."""
    if (key.shape[1], key.shape[3]) != pool.shape[2:]:
        raise UnpagedError(
            f"{key.shape[1]} KV heads of {key.shape[3]} numbers, where its config says {pool.shape[2]} of {pool.shape[3]}"
        )


AttentionInterface.register(NAME, paged_attention)
