"""Models with random weights in the sizes of real ones: what is computed makes no sense, and is as large as it is there.

    Llama 3.1 8B    32 layers, 32 heads on 8, head_dim 128, rotary scaling of its own
    Qwen 2.5 7B     28 heads on 4 (7 to a KV head, no power of two), biases
    Gemma 2 2B      8 heads on 4, head_dim 256, soft caps, a window in every other layer

Without a card their shape is kept, and each size is cut down.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from kvarium_engine.model.attention import NAME


@dataclass(frozen=True, slots=True)
class RealGeometry:
    """``sizes`` are the config's, as published; ``small`` are what they become on a CPU."""

    name: str
    config: type
    layers: int
    sizes: dict[str, Any]
    small: dict[str, Any]


LLAMA = RealGeometry(
    "Llama 3.1 8B",
    LlamaConfig,
    32,
    {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    },
    {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 2},
)
QWEN = RealGeometry(
    "Qwen 2.5 7B",
    Qwen2Config,
    28,
    {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    },
    {"hidden_size": 112, "intermediate_size": 128, "num_attention_heads": 7, "num_key_value_heads": 1},
)
GEMMA = RealGeometry(
    "Gemma 2 2B",
    Gemma2Config,
    26,
    {
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 256000,
        "max_position_embeddings": 8192,
        # 4,096 as published: narrowed, so that prompts are well past it.
        "sliding_window": 64,
        "query_pre_attn_scalar": 256,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    },
    {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "sliding_window": 16,
    },
)
GEOMETRIES = (LLAMA, QWEN, GEMMA)

SMALL_VOCABULARY = 512


def config_of(geometry: RealGeometry, layers: int, device: str) -> PreTrainedConfig:
    """Its config with so many layers; for a CPU with its small sizes."""
    cut = {} if device == "cuda" else geometry.small | {"vocab_size": SMALL_VOCABULARY}
    told = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "tie_word_embeddings": geometry is GEMMA}
    config: PreTrainedConfig = geometry.config(**geometry.sizes | cut | told, num_hidden_layers=layers)
    return config


def random_model(
    geometry: RealGeometry, layers: int, dtype: torch.dtype, device: str, seed: int = 0
) -> PreTrainedModel:
    """The model with so many layers, for paged attention. None of torch's generators is moved."""
    config = config_of(geometry, layers, device)
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=NAME)
    return model.eval().requires_grad_(False)


@cache
def timed_model(device: str) -> PreTrainedModel:
    """The model whose steps are timed, made once for all parts: Llama 3.1 8B in bfloat16, on a smaller card or a CPU with fewer layers."""
    if device == "cpu":
        return random_model(LLAMA, 2, torch.float32, device)
    room = torch.cuda.mem_get_info()[0] / (1 << 30)
    # 0.42 GiB a layer and 2 of embeddings; half of the card is for keys, values and the others that are compared.
    layers = max(2, min(LLAMA.layers, int((room / 2 - 2) / 0.42)))
    return random_model(LLAMA, layers, torch.bfloat16, device)
