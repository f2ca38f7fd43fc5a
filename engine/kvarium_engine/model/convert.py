"""A model from a GGUF file into a folder in transformers' layout, once, so that it loads in a second ever after.

    GGUF   config ───────────────→ config.json, generation_config.json
           tokenizer ────────────→ tokenizer.json, chat_template.jinja
           4-bit tensors ─ × ────→ model.safetensors (float32)

transformers reads the configuration and the tokenizer. The tensors are read here: its own reader of GGUF wants accelerate
for it and then refuses to save what it has read. (The two give the same weights, bit by bit.)
"""

import warnings
from pathlib import Path
from typing import Any

import gguf
import torch
import transformers
from tokenizers import pre_tokenizers

from kvarium_engine.progress import Report

TOTAL = 15.0
"""Of the work that is reported, about the seconds that it takes on a small machine."""


def convert(source: Path, folder: Path, report: Report) -> None:
    """Write the model of a GGUF file (Llama's architecture) into ``folder``. Raises ValueError when it is another's."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    place = {
        "pretrained_model_name_or_path": source.parent,
        "gguf_file": source.name,
        "local_files_only": True,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report(0.0, "converting: configuration")
        config = transformers.AutoConfig.from_pretrained(**place)
        if config.model_type != "llama":
            raise ValueError(
                f"{source.name} is a model of type {config.model_type!r}, and only 'llama' is converted"
            )
        report(4.5, "converting: tokenizer")
        tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
        report(8.0, "converting: index of the tensors")
        reader = gguf.GGUFReader(source)
        _mend(tokenizer, config, reader)
        model = _model(config, reader, report)
        report(12.8, "converting: writing")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    # safetensors makes its file for its owner alone; a cache may be shared.
    mode = (folder / "config.json").stat().st_mode
    for path in folder.iterdir():
        path.chmod(mode)
    report(TOTAL, "converted")


def _mend(tokenizer: Any, config: Any, reader: Any) -> None:
    """What transformers leaves out of a GGUF's tokenizer."""
    tokenizer.model_max_length = config.max_position_embeddings
    field = reader.get_field("tokenizer.ggml.pre")
    if field is not None and field.contents() == "smollm":
        # Digits stand alone, also from the space before them: "a  5" is a, space-space, 5.
        backend = tokenizer.backend_tokenizer
        digits = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])


def _model(config: Any, reader: Any, report: Report) -> Any:
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    weights: dict[str, torch.Tensor] = {}
    wanted = model.state_dict()
    for number, (name, empty) in enumerate(wanted.items()):
        report(10.5 + 2.3 * number / len(wanted), "converting: tensors")
        source = tensors.get(names.get_name(name, try_suffixes=(".weight", ".bias")) or "")
        if source is not None:
            flat = torch.from_numpy(gguf.dequantize(source.data, source.tensor_type).copy())
            weights[name] = _halves(name, flat.reshape(empty.shape), config)
    # Tied weights, such as SmolLM2's output, have no tensor of their own.
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    missing = [name for name, weight in model.named_parameters() if weight.is_meta]
    if missing:
        raise ValueError(f"the file has no tensor for {', '.join(missing[:3])}")
    return model


def _halves(name: str, weight: torch.Tensor, config: Any) -> torch.Tensor:
    """Of a query's or a key's projection: GGUF's rotary position embedding turns neighbours, transformers' halves."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(
        name.split(".")[-2], 0
    )
    if not heads:
        return weight
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape).contiguous()
