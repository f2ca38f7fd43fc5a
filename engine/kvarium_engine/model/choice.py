"""Which model runs, and in which dtype: all that can be said of it before torch is there."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from kvarium_engine.errors import UsageError
from kvarium_engine.model.geometry import DTYPE_BYTES, Geometry, read_geometry
from kvarium_engine.model.store import find

NEEDS = ("torch", "transformers", "safetensors")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model: ``name`` as it is told (a known name, or its folder's), where it lies, its sizes, and its ``dtype``.

    ``kv_cache_dtype``: that of its keys and values, None where it is the model's.
    """

    name: str
    folder: Path
    geometry: Geometry
    dtype: str
    kv_cache_dtype: str | None = None

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values of one token, in all layers."""
        return self.geometry.kv_bytes_per_token(self.kv_cache_dtype or self.dtype)


def choose_model(model: str, dtype: str = "auto") -> ModelChoice:
    """The model that is known as ``model``, or lies in that folder. ``dtype`` auto: that of the stored weights.

    Raises :class:`UsageError` in one line.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"a model needs {' and '.join(missing)}, not installed here: pip install 'kvarium[engine]'; "
            "--runner null works without"
        )
    check_dtype(dtype)
    folder = find(model)
    geometry = read_geometry(folder)
    known = folder.name != Path(model).name
    return ModelChoice(
        name=model if known else folder.resolve().name,
        folder=folder,
        geometry=geometry,
        dtype=geometry.dtype if dtype == "auto" else dtype,
    )


def check_dtype(dtype: str) -> None:
    """Raises :class:`UsageError` for what is no ``--dtype``."""
    if dtype != "auto" and dtype not in DTYPE_BYTES:
        raise UsageError(f"--dtype is auto, {', '.join(DTYPE_BYTES)}, not {dtype!r}")
