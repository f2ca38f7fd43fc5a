"""Load a model of transformers for the paged engine, from a folder in its layout.

config.json, model.safetensors, tokenizer.json, generation_config.json, chat_template.jinja
"""

import os
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from kvarium_engine.errors import UsageError
from kvarium_engine.model.attention import NAME
from kvarium_engine.model.geometry import Geometry, read_geometry

PAGED_LAYERS = ("full_attention", "sliding_attention")


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


def load_model(folder: Path, dtype: str = "auto", device: torch.device | None = None) -> PreTrainedModel:
    """The model in ``folder``, ready for a :class:`~kvarium_engine.model.torch_runner.TorchRunner`.

    Raises :class:`UsageError` for one that can't be loaded, or whose attention is not done here.
    """
    device = device or choose_device()
    geometry = read_geometry(folder)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        refuse_unpaged(config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
                folder,
                config=config,
                dtype=choose_dtype(dtype, geometry, device),
                attn_implementation=NAME,
                local_files_only=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise UsageError(f"the model in {folder} can't be loaded: {first_line(error)}") from None
    return model.to(device)


def refuse_unpaged(config: Any) -> None:
    """Raises :class:`ValueError` for a config whose layers keep something else than keys and values of each token."""
    text = config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or ()) - set(PAGED_LAYERS)
    if kinds:
        raise ValueError(f"{config.model_type} has layers of another kind: {', '.join(sorted(kinds))}")
    if getattr(text, "attn_logit_softcapping", None):
        raise ValueError(f"{config.model_type} caps its attention scores (softcap), which is not done here")
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(f"{config.model_type} is no decoder alone")


def first_line(error: BaseException) -> str:
    """An error's first line, or its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
