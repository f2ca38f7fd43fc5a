"""Small decoders with random weights: each with something that goes wrong easily."""

from copy import deepcopy

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedConfig, PreTrainedModel

from kvarium_engine.model.attention import NAME


def small_llama(**changes: object) -> LlamaConfig:
    """Two layers, four heads that share two KV heads; float32."""
    sizes = {
        "vocab_size": 97,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.6,
        "eos_token_id": 1,
        "bos_token_id": 0,
    }
    return LlamaConfig(**{**sizes, **changes})


def made(config: PreTrainedConfig, seed: int = 0, attention: str = NAME) -> PreTrainedModel:
    """A model with random weights, always the same for a seed, whatever it attends by."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(
        deepcopy(config), attn_implementation=attention, dtype=torch.float32
    )
    return model.eval()
