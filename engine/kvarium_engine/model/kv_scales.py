"""The scales of an FP8 cache, where a checkpoint tells them.

    model.layers.7.self_attn.k_scale        f32, one number     what layer 7's keys are divided by
    model.layers.7.self_attn.attn.v_scale                       and its values

They come from a calibration beside the weights (vLLM's names). A checkpoint without them has 1 everywhere, as in vLLM.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open

from kvarium_engine.errors import UsageError
from kvarium_engine.kernels.fp8 import Scales
from kvarium_engine.model.weights import safetensors_of

_NAME = re.compile(r"\blayers\.(\d+)\.(?:.+\.)?([kv])_scale$")


def is_kv_scale(name: str) -> bool:
    """Is a tensor of a checkpoint one of these scales, and so no weight?"""
    return _NAME.search(name) is not None


def kv_scales(folder: Path, layers: int) -> Sequence[Scales] | None:
    """A pair for each layer, of keys and of values; None where the checkpoint has none.

    Raises :class:`UsageError` where some are missing or are no scales.
    """
    found: dict[tuple[str, int], float] = {}
    try:
        for path in safetensors_of(folder):
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (it is no dict)
                    match = _NAME.search(name)
                    if match is not None:
                        found[match[2], int(match[1])] = float(file.get_tensor(name))
    except (SafetensorError, OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"the scales of keys and values in {folder} can't be read: {error}") from None
    if not found:
        return None
    for (kind, layer), scale in found.items():
        if not 0 < scale < float("inf"):
            raise UsageError(
                f"the {kind}_scale of layer {layer} in {folder} is {scale}: it is a number above 0"
            )
    wanted = {(kind, layer) for kind in "kv" for layer in range(layers)}
    if missing := sorted(wanted - set(found)):
        kind, layer = missing[0]
        raise UsageError(
            f"the checkpoint in {folder} has scales for an FP8 cache, but no {kind}_scale of layer {layer}"
        )
    return [(found["k", layer], found["v", layer]) for layer in range(layers)]
