"""Which model runs, and in which dtype: all that can be said of it before torch is there."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from kvarium_engine.errors import UsageError
from kvarium_engine.model.geometry import DTYPE_BYTES, FP8_NAME, Geometry, read_config
from kvarium_engine.model.hub import is_on_hub
from kvarium_engine.model.store import find, find_config, name_of

NEEDS = ("torch", "transformers", "safetensors")

KV_CACHE_DTYPES = {"auto": None, "fp8": FP8_NAME, FP8_NAME: FP8_NAME}
"""What ``--kv-cache-dtype`` may be, in vLLM's words, and what keys and values are kept as then; None: as the model's dtype."""


LOAD_FORMATS = ("auto", "dummy")
"""What ``--load-format`` may be, in vLLM's words: the weights that are there, or random ones from the config alone."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model: ``name`` as it is told (a known name, or its folder's), where its ``config`` lies, its sizes, and its ``dtype``.

    ``kv_dtype``: that of its keys and values. ``load_format`` is one of :data:`LOAD_FORMATS`. ``on_hub``: its name is an id
    of the hub, and beside the config its files may not be here yet.
    """

    name: str
    config: Path
    geometry: Geometry
    dtype: str
    kv_dtype: str
    load_format: str = "auto"
    on_hub: bool = False

    @property
    def folder(self) -> Path:
        """Where the model lies."""
        return self.config.parent

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values of one token, in all layers."""
        return self.geometry.kv_bytes_per_token(self.kv_dtype)


def choose_model(
    model: str, dtype: str = "auto", kv_cache_dtype: str = "auto", load_format: str = "auto"
) -> ModelChoice:
    """The model that is known as ``model``, lies in that folder, or is called so on the hub. ``dtype`` auto: that of the stored weights.

    ``kv_cache_dtype`` is one of :data:`KV_CACHE_DTYPES`. For ``load_format`` dummy a config is enough, in its folder or as
    a file. Raises :class:`UsageError` in one line.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"a model needs {' and '.join(missing)}, not installed here: pip install 'kvarium[engine]'; "
            "--runner null works without"
        )
    check_dtypes(dtype, kv_cache_dtype)
    if load_format not in LOAD_FORMATS:
        raise UsageError(f"--load-format is {' or '.join(LOAD_FORMATS)}, not {load_format!r}")
    on_hub = is_on_hub(model)
    config = find_config(model) if load_format == "dummy" or on_hub else find(model) / "config.json"
    _, geometry = read_config(config)
    weights, kept = dtypes(geometry, dtype, kv_cache_dtype)
    return ModelChoice(
        name=name_of(model, config),
        config=config,
        geometry=geometry,
        dtype=weights,
        kv_dtype=kept,
        load_format=load_format,
        on_hub=on_hub,
    )


def dtypes(geometry: Geometry, dtype: str, kv_cache_dtype: str) -> tuple[str, str]:
    """The dtypes of the weights, and of keys and values, where these options are given."""
    weights = geometry.dtype if dtype == "auto" else dtype
    return weights, KV_CACHE_DTYPES[kv_cache_dtype] or weights


def check_dtypes(dtype: str, kv_cache_dtype: str) -> None:
    """Raises :class:`UsageError` for what is no ``--dtype`` or no ``--kv-cache-dtype``."""
    if dtype != "auto" and dtype not in DTYPE_BYTES:
        raise UsageError(f"--dtype is auto, {', '.join(DTYPE_BYTES)}, not {dtype!r}")
    if kv_cache_dtype not in KV_CACHE_DTYPES:
        raise UsageError(f"--kv-cache-dtype is {', '.join(KV_CACHE_DTYPES)}, not {kv_cache_dtype!r}")
