"""A model's geometry, read from its ``config.json`` without torch: what a block of it costs, and how long it can get."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvarium_engine.errors import UsageError

DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
FP8_NAME = "fp8_e4m3"
KV_DTYPE_BYTES = {**DTYPE_BYTES, FP8_NAME: 1}
"""Bytes of a number in the cache of keys and values."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of a decoder. ``max_position_embeddings`` is in tokens; ``dtype`` is that of the stored weights."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    dtype: str

    def kv_bytes_per_token(self, dtype: str) -> int:
        """Bytes of keys and values of one token in all layers: 2 × layers × KV heads × head_dim × bytes a number."""
        return 2 * self.layers * self.kv_heads * self.head_dim * KV_DTYPE_BYTES[dtype]


def read_geometry(folder: Path) -> Geometry:
    """The geometry of the model in ``folder``. Raises :class:`UsageError` where its config can't be understood."""
    return read_config(folder / "config.json")[1]


def read_config(path: Path) -> tuple[dict[str, Any], Geometry]:
    """A ``config.json``, and the geometry that it tells. Raises :class:`UsageError` where it can't be understood.

    Of a model that takes more than text, it is the config of its text model.
    """
    kind = ""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it is no JSON object")
        kind = f" (model type {config['model_type']})" if config.get("model_type") else ""
        inner = config.get("text_config")
        if isinstance(inner, dict):
            config = {**config, **inner}
        return config, geometry_of(config)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not the config of a decoder: {error}{kind}") from None


HEADS = ("num_attention_heads", "n_head", "n_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")
"""What architectures call the same thing; the first is the usual name."""


def geometry_of(config: dict[str, Any]) -> Geometry:
    """The geometry that a config tells, by the names that architectures use. Raises :class:`ValueError`.

    Of a model that takes more than text, it is that of its text model.
    """
    inner = config.get("text_config")
    if isinstance(inner, dict):
        config = {**config, **inner}

    def size(*names: str) -> int:
        for name in names:
            value = config.get(name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise ValueError(f"{name} is {value!r}")
                return value
        raise ValueError(f"it has no {names[0]}")

    heads = size(*HEADS)
    if config.get("num_key_value_heads"):
        kv_heads = size("num_key_value_heads")
    else:
        kv_heads = 1 if config.get("multi_query") else heads
    head_dim = size("head_dim") if config.get("head_dim") else size(*HIDDEN) // heads
    if heads % kv_heads:
        raise ValueError(f"{heads} heads can't share {kv_heads} KV heads")
    dtype = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return Geometry(
        layers=size(*LAYERS),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=size("vocab_size"),
        max_position_embeddings=size(*POSITIONS),
        dtype=dtype if dtype in DTYPE_BYTES else "float32",
    )
