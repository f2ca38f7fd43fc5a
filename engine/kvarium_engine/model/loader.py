"""Load a model of transformers for the paged engine, from a folder in its layout.

config.json, model.safetensors, tokenizer.json, generation_config.json, chat_template.jinja
"""

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedModel

from kvarium_engine.capacity import GIB
from kvarium_engine.errors import UsageError
from kvarium_engine.model.attention import NAME
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.model.cuda_memory import memory_of
from kvarium_engine.model.dry_run import dry_run
from kvarium_engine.model.geometry import Geometry, read_config, read_geometry
from kvarium_engine.model.hub import fetch_weights
from kvarium_engine.model.kv_scales import is_kv_scale
from kvarium_engine.model.refusal import refuse_unpaged
from kvarium_engine.model.self_check import check_model
from kvarium_engine.model.weights import safetensors_of
from kvarium_engine.pool_size import free_memory


def choose_device() -> torch.device:
    """CUDA if there, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_dtype(wanted: str, geometry: Geometry, device: torch.device) -> torch.dtype:
    """``wanted``, or for ``auto`` the stored dtype, but float32 instead of float16 on a CPU, which is slow at it."""
    name = geometry.dtype if wanted == "auto" else wanted
    if wanted == "auto" and device.type == "cpu" and name == "float16":
        name = "float32"
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def use_threads() -> int:
    """Leave one core to the server and the browser: two busy OpenMP pools slow one another many times over."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) - 1))
    return torch.get_num_threads()


def fetch_chosen(choice: ModelChoice, pool_bytes: int = 0) -> None:
    """Let all that :func:`load_chosen` reads be here: of a model of the hub that may be the config alone.

    Raises :class:`UsageError` where it can't be fetched, or where its config says that it can't be run, or does not
    fit beside ``pool_bytes`` of keys and values.
    """
    if choice.on_hub and choice.load_format != "dummy":
        check_config(choice.config, choice.dtype, pool_bytes)
        fetch_weights(choice.name, choice.folder)


def load_chosen(
    choice: ModelChoice, device: torch.device, seed: int = 0, pool_bytes: int = 0
) -> PreTrainedModel:
    """The model that was chosen, which is here; ``seed`` is that of random weights. Raises :class:`UsageError` as both below."""
    if choice.load_format == "dummy":
        return random_model(choice.config, choice.dtype, device, seed, pool_bytes)
    return load_model(choice.folder, choice.dtype, device, pool_bytes)


def load_model(
    folder: Path, dtype: str = "auto", device: torch.device | None = None, pool_bytes: int = 0
) -> PreTrainedModel:
    """The model in ``folder``, ready for a :class:`~kvarium_engine.model.torch_runner.TorchRunner`.

    ``pool_bytes``: what its keys and values will take beside it. Raises :class:`UsageError` for one that can't be loaded, that
    does not fit, whose weights are not exactly those that its config describes, or that would be run wrong: by its config
    (:mod:`~kvarium_engine.model.refusal`), or by its own logits (:mod:`~kvarium_engine.model.self_check`).
    """
    device = device or choose_device()
    geometry = read_geometry(folder)
    kind = choose_dtype(dtype, geometry, device)
    with told_in_one_line(f"the model in {folder}", device):
        config, numbers = paged_config(folder)
        check_room(
            stored_bytes(folder) if is_quantized(config) else numbers * kind.itemsize, pool_bytes, device
        )
        check_generation_config(folder)
        with by_its_interface(config):
            model, found = AutoModelForCausalLM.from_pretrained(
                folder,
                config=config,
                dtype=kind,
                attn_implementation=NAME,
                local_files_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        check_weights(found)
        model = model.to(device).eval()
        check_model(model)
        return model


def random_model(
    config_file: Path,
    dtype: str = "auto",
    device: torch.device | None = None,
    seed: int = 0,
    pool_bytes: int = 0,
) -> PreTrainedModel:
    """A model from its config alone, with random weights (vLLM's ``--load-format dummy``): real sizes, no sense.

    The weights are those that a training would begin with, so that its logits are numbers; a ``seed`` makes them again, on
    the same kind of device. None of torch's generators is moved. Raises :class:`UsageError` as :func:`load_model` does.
    """
    device = device or choose_device()
    _, geometry = read_config(config_file)
    kind = choose_dtype(dtype, geometry, device)
    with told_in_one_line(f"the model of {config_file}", device):
        config, numbers = paged_config(config_file)
        check_room(numbers * kind.itemsize, pool_bytes, device)
        with by_its_interface(config), torch.random.fork_rng(), torch.device(device):
            torch.manual_seed(seed)
            model = AutoModelForCausalLM.from_config(config, dtype=kind, attn_implementation=NAME)
        model = model.eval()
        check_model(model)
        return model


def paged_config(source: Path) -> tuple[Any, int]:
    """The config of transformers in a folder or a file, and how many numbers the weights have that it makes (0: not told).

    Raises :class:`ValueError` for one whose model would be run wrong.
    """
    config = AutoConfig.from_pretrained(source, local_files_only=True)
    refuse_unpaged(config)
    return config, dry_run(config)


def check_config(config_file: Path, dtype: str = "auto", pool_bytes: int = 0) -> None:
    """Raises :class:`UsageError` for a model that its config alone refuses: before gigabytes of weights are fetched."""
    device = choose_device()
    _, geometry = read_config(config_file)
    with told_in_one_line(f"the model of {config_file}", device):
        config, numbers = paged_config(config_file)
        if not is_quantized(config):  # else how large its weights are is known when they are here
            check_room(numbers * choose_dtype(dtype, geometry, device).itemsize, pool_bytes, device)


def check_room(weights: int, pool_bytes: int, device: torch.device) -> None:
    """Raises :class:`ValueError`, with the numbers, where so many bytes do not fit: a machine that runs out of memory kills
    whom it likes.
    """
    memory = memory_of(device)
    free = free_memory() if memory is None else memory.free()
    if free is not None and weights + pool_bytes > free:
        raise ValueError(
            f"its weights take {weights / GIB:,.2f} GiB, its keys and values {pool_bytes / GIB:,.2f} GiB; "
            f"{free / GIB:,.2f} GiB are free on {device.type}"
        )


def is_quantized(config: Any) -> bool:
    """Are its weights stored as something else than numbers of a dtype?"""
    return bool(getattr(config, "quantization_config", None))


def stored_bytes(folder: Path) -> int:
    """Bytes of the files that hold the weights; 0 where they are no safetensors."""
    return sum(path.stat().st_size for path in safetensors_of(folder))


@contextlib.contextmanager
def by_its_interface(config: Any) -> Iterator[None]:
    """Raises :class:`ValueError` where a model that is made looks for our attention among ways of its own."""
    try:
        yield
    except KeyError as error:
        if NAME not in error.args:
            raise
        raise ValueError(
            f"{config.model_type} can't be run on a paged cache: no layer calls the attention interface of transformers"
        ) from None


@contextlib.contextmanager
def told_in_one_line(what: str, device: torch.device) -> Iterator[None]:
    """Raises :class:`UsageError` for whatever goes wrong: a folder may hold anything, and transformers raises what that leads to."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except UsageError:
        raise
    except torch.OutOfMemoryError:
        raise UsageError(f"{what} does not fit on {device}") from None
    except Exception as error:
        if os.environ.get("KVARIUM_DEBUG"):
            raise
        raise UsageError(f"{what} can't be loaded: {one_line(error)}") from None


def check_generation_config(folder: Path) -> None:
    """Raises :class:`ValueError` for a generation_config.json that can't be read, or whose end tokens are none.

    transformers would pass over it in silence, and the model would not know the tokens that end its answers.
    """
    if not (folder / "generation_config.json").is_file():
        return
    try:
        found = GenerationConfig.from_pretrained(folder, local_files_only=True).eos_token_id
    except Exception as error:
        raise ValueError(f"its generation_config.json can't be read: {one_line(error)}") from None
    for token in found if isinstance(found, list) else [found]:
        if token is not None and not isinstance(token, int):
            raise ValueError(
                f"eos_token_id of its generation_config.json is {found!r}: token ids are numbers"
            )


def check_weights(found: Any) -> None:
    """transformers makes up weights that are missing, and leaves out those that it has no place for: here both are refused.

    Scales of an FP8 cache are no weights (:mod:`~kvarium_engine.model.kv_scales`).

    ``found`` is its ``output_loading_info``. Raises :class:`ValueError` with the first few names.
    """
    told = {
        "has no weights for": sorted(found["missing_keys"]),
        "has weights of another size for": sorted(key for key, *_ in found["mismatched_keys"]),
        "has weights that its config has no place for:": sorted(
            name for name in found["unexpected_keys"] if not is_kv_scale(name)
        ),
        "has weights that can't be read:": sorted(str(line) for line in found.get("error_msgs") or ()),
    }
    for text, names in told.items():
        if names:
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            raise ValueError(f"it {text} {', '.join(names[:2])}{more}")


def one_line(error: BaseException) -> str:
    """An error's kind, where its text alone says nothing, and its first line."""
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, OSError | ValueError | RuntimeError) and len(lines[0].split()) > 2:
        return lines[0]
    return f"{type(error).__name__}: {' '.join(' '.join(lines).split())[:300]}".rstrip(": ")
