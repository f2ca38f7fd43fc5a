"""How large a model's weights are, without loading them: from the headers of its safetensors files, else from its config.

A safetensors file begins with the length of its header (u64), and the header tells each tensor's dtype, shape and place:

    [ 8 bytes ][ {"model.embed_tokens.weight": {"dtype": "BF16", "shape": [49152, 576], "data_offsets": […]}, …} ][ numbers … ]
"""

import json
import math
from pathlib import Path
from typing import Any

from kvarium_engine.errors import UsageError
from kvarium_engine.model.geometry import DTYPE_BYTES, Geometry

_LONGEST_HEADER = 100_000_000
"""What the format allows."""

_CONVERTED = {"F64", "F32", "F16", "BF16"}
"""Numbers that are loaded in the dtype that is asked for; what is quantized stays as it is stored."""

_UNGATED = {"gpt2", "opt", "gpt_neo", "gptj", "gpt_neox", "bloom", "falcon", "phi", "starcoder2"}
"""Architectures whose MLP has two matrices instead of three."""

_TIED = {"gpt2", "opt", "gpt_neo", "bloom", "gemma", "gemma2", "gemma3_text"}
"""Architectures whose output is their embedding where their config does not say."""


def weight_bytes(config: dict[str, Any], geometry: Geometry, folder: Path, dtype: str) -> tuple[int, str]:
    """(bytes of the weights in ``dtype``, where that is known from). Raises :class:`UsageError` for a file that is broken."""
    files = safetensors_of(folder)
    if files:
        tied = is_tied(config)
        return sum(
            _bytes_of(path, DTYPE_BYTES[dtype], tied) for path in files
        ), "from the safetensors headers"
    source = "estimated from the config" + (", not quantized" if config.get("quantization_config") else "")
    return parameters_of(config, geometry) * DTYPE_BYTES[dtype], source


def safetensors_of(folder: Path) -> list[Path]:
    """The files that transformers would load; empty where there are none."""
    whole = folder / "model.safetensors"
    if whole.is_file():
        return [whole]
    index = folder / "model.safetensors.index.json"
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except OSError:
        return []
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(f"{index} is no index of safetensors: {error}") from None
    files = [folder / str(name) for name in sorted(names)]
    return files if all(path.is_file() for path in files) else []


def _bytes_of(path: Path, itemsize: int, tied: bool) -> int:
    total = 0
    for name, tensor in _header(path).items():
        if name == "__metadata__" or (tied and name == "lm_head.weight"):
            continue
        if tensor["dtype"] in _CONVERTED:
            total += math.prod(tensor["shape"]) * itemsize
        else:
            begin, end = tensor["data_offsets"]
            total += end - begin
    return total


def _header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_LONGEST_HEADER, path.stat().st_size - 8):
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(file.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                _ = tensor["dtype"], math.prod(tensor["shape"]), tensor["data_offsets"][1]
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is no safetensors file: {error}") from None
    return header


def is_tied(config: dict[str, Any]) -> bool:
    """Is the output layer the embedding?"""
    told = config.get("tie_word_embeddings")
    return config.get("model_type") in _TIED if told is None else bool(told)


def parameters_of(config: dict[str, Any], geometry: Geometry) -> int:
    """How many parameters a config makes: exact for Llama and its kin, without the few of biases for others."""

    def size(*names: str) -> int:
        return next((value for value in map(config.get, names) if isinstance(value, int) and value > 0), 0)

    hidden = size("hidden_size", "n_embd")
    if not hidden:
        return 0
    inner = size("intermediate_size", "n_inner", "ffn_dim") or 4 * hidden
    matrices = 2 if config.get("model_type") in _UNGATED else 3
    experts = size("num_local_experts", "num_experts", "n_routed_experts")
    mlp = matrices * hidden * inner
    if experts:
        mlp = experts * (matrices * hidden * (size("moe_intermediate_size") or inner) + hidden)
        mlp += matrices * hidden * size("shared_expert_intermediate_size")
    attention = 2 * hidden * geometry.head_dim * (geometry.heads + geometry.kv_heads)
    embeddings = geometry.vocab_size * hidden * (1 if is_tied(config) else 2)
    if config.get("model_type") in ("gpt2", "opt"):
        embeddings += geometry.max_position_embeddings * hidden
    return embeddings + geometry.layers * (attention + mlp + 2 * hidden) + hidden
