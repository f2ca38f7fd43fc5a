"""Ways to keep keys and values, beside one another: for comparisons, an engine only has the paged one.

    append(layer, keys, values)  ─▶  what attention then reads of the layer, and counts: entries written, entries copied

An entry is one token's keys and values of one layer. It counts as copied when it stood in the cache before and is in other
memory afterwards; nobody declares it. On CUDA a step waits until it is done, so that it can be timed.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel

from kvarium_engine.kernels.paged_attention import capped_attention, read
from kvarium_engine.kernels.write_kv import write_kv
from kvarium_engine.memory.block_table import blocks_for, slots
from kvarium_engine.model.attention import layer_of
from kvarium_engine.model.geometry import Geometry
from kvarium_engine.model.kv_cache import KVCache

NAME = "kvarium_kept"

KeysAndValues = tuple[torch.Tensor, torch.Tensor]
"""Each ``[tokens, kv_heads, head_dim]``."""

_current: ContextVar["Kept | None"] = ContextVar("kvarium_kept", default=None)


class Kept:
    """Keys and values of one sequence, of ``layers`` layers; ``length`` tokens at most where room is taken in advance."""

    def __init__(
        self,
        geometry: Geometry,
        layers: int,
        length: int,
        block_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.layers = layers
        self.kv_heads, self.head_dim = geometry.kv_heads, geometry.head_dim
        self.written = 0
        self.copied = 0
        self.lengths = [0] * layers
        self._make(replace(geometry, layers=layers), length, block_size, dtype, device)

    def append(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> KeysAndValues:
        """Keep what is new of a layer; gives all that it has then."""
        before, count = self.lengths[layer], len(keys)
        place = self._place(layer)
        self.lengths[layer] += count
        found = self._append(layer, before, keys, values)
        self.written += count
        self.copied += before if self._place(layer) != place else 0
        return found

    def entries(self, tokens: int, dtype: torch.dtype, device: torch.device) -> KeysAndValues:
        """Keys and values to append, of no sense, but numbers."""
        numbers = torch.linspace(-1, 1, tokens * self.kv_heads * self.head_dim, dtype=dtype, device=device)
        shaped = numbers.view(tokens, self.kv_heads, self.head_dim)
        return shaped, shaped.flip(0)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors in which entries are."""
        raise NotImplementedError

    def _make(
        self, geometry: Geometry, length: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        raise NotImplementedError

    def _place(self, layer: int) -> int:
        raise NotImplementedError

    def _append(self, layer: int, before: int, keys: torch.Tensor, values: torch.Tensor) -> KeysAndValues:
        raise NotImplementedError


class Concatenated(Kept):
    """Each token makes tensors that are one longer, and what there was is copied into them."""

    def _make(
        self, geometry: Geometry, length: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        nothing = torch.empty(0, self.kv_heads, self.head_dim, dtype=dtype, device=device)
        self._parts: list[KeysAndValues] = [(nothing, nothing)] * self.layers

    def _place(self, layer: int) -> int:
        return self._parts[layer][0].data_ptr()

    def _append(self, layer: int, before: int, keys: torch.Tensor, values: torch.Tensor) -> KeysAndValues:
        old_keys, old_values = self._parts[layer]
        self._parts[layer] = torch.cat([old_keys, keys]), torch.cat([old_values, values])
        return self._parts[layer]

    @property
    def nbytes(self) -> int:
        return sum(part.untyped_storage().nbytes() for pair in self._parts for part in pair)


class Preallocated(Kept):
    """Room for the longest sequence from the start; each token is written to its place."""

    def _make(
        self, geometry: Geometry, length: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        shape = (2, self.layers, length, self.kv_heads, self.head_dim)
        self._pool = torch.zeros(shape, dtype=dtype, device=device)

    def _place(self, layer: int) -> int:
        return self._pool.data_ptr()

    def _append(self, layer: int, before: int, keys: torch.Tensor, values: torch.Tensor) -> KeysAndValues:
        own_keys, own_values = self._pool[:, layer]
        end = self.lengths[layer]
        own_keys[before:end], own_values[before:end] = keys, values
        return own_keys[:end], own_values[:end]

    @property
    def nbytes(self) -> int:
        return self._pool.untyped_storage().nbytes()


class Paged(Kept):
    """The engine's own cache and kernels, with a block table whose blocks are in no order."""

    def _make(
        self, geometry: Geometry, length: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        blocks = blocks_for(length, block_size)
        self._cache = KVCache(geometry, blocks, block_size, dtype, device)
        self._table = [*range(1, blocks, 2), *range(0, blocks, 2)]
        self._slots = torch.from_numpy(slots(self._table, 0, length, block_size)).to(device)

    def _place(self, layer: int) -> int:
        return self._cache.pool.data_ptr()

    def _append(self, layer: int, before: int, keys: torch.Tensor, values: torch.Tensor) -> KeysAndValues:
        own_keys, own_values = self._cache.layer(layer)
        end = self.lengths[layer]
        write_kv(keys, values, own_keys, own_values, self._slots[before:end])
        context = self._slots[:end]
        return read(own_keys, context, 1.0, keys.dtype), read(own_values, context, 1.0, keys.dtype)

    @property
    def nbytes(self) -> int:
        return self._cache.pool.untyped_storage().nbytes()


KINDS: dict[str, type[Kept]] = {
    "concatenation": Concatenated,
    "preallocated": Preallocated,
    "paged": Paged,
}


def step_of(model: PreTrainedModel, kept: Kept | None, tokens: Sequence[int]) -> Callable[[], int]:
    """A step that computes the last of ``tokens`` with all before it in ``kept``, or all of them where nothing is kept.

    It returns the likeliest next token. The model attends by what is right for it from now on.
    """
    own = "sdpa" if getattr(model, "_supports_sdpa", False) else "eager"
    model.set_attn_implementation(own if kept is None else NAME)
    first = 0 if kept is None else len(tokens) - 1
    ids = torch.tensor([list(tokens[first:])], device=model.device)
    positions = torch.arange(first, len(tokens), device=model.device)[None]

    def step() -> int:
        token = _current.set(kept)
        try:
            with torch.inference_mode():
                out = model(input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=1)
                return int(out.logits[0, -1].argmax())
        finally:
            _current.reset(token)

    return step


def kept_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """One token's attention to all that is kept, by the interface of transformers; KV heads are broadcast."""
    kept = _current.get()
    assert kept is not None, "the model was called outside of a step"
    keys, values = kept.append(
        layer_of(module, kept.layers), key[0].transpose(0, 1), value[0].transpose(0, 1)
    )
    heads, tokens, head_dim = query.shape[1:]
    assert tokens == 1, "one token a step"
    grouped = query[0].view(1, kept.kv_heads, heads // kept.kv_heads, head_dim)
    seen = slice(-sliding_window, None) if sliding_window else slice(None)
    keys, values = keys[seen].transpose(0, 1)[None], values[seen].transpose(0, 1)[None]
    if softcap is None:
        out = scaled_dot_product_attention(grouped, keys, values, scale=scaling)
    else:
        everything = torch.ones(1, keys.shape[2], dtype=torch.bool, device=keys.device)
        out = capped_attention(grouped, keys, values, everything, scaling or head_dim**-0.5, softcap)
    return out.reshape(1, 1, heads, head_dim), None


AttentionInterface.register(NAME, kept_attention)
