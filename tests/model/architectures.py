"""Small random models of many architectures: those that are run, and those that must be refused."""

from collections.abc import Callable
from typing import Any

from transformers import (
    BloomConfig,
    DeepseekV3Config,
    DogeConfig,
    FalconConfig,
    Gemma2Config,
    Gemma3Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTBigCodeConfig,
    GptOssConfig,
    JambaConfig,
    Llama4TextConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MixtralConfig,
    MptConfig,
    OpenAIGPTConfig,
    OPTConfig,
    Phi3Config,
    PhimoeConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
    Qwen3NextConfig,
)

VOCABULARY = 97
POSITIONS = 160
WINDOW = 13
"""Less than a block of 16, more than one of 8, and no multiple of either."""

SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": POSITIONS,
    "initializer_range": 0.5,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}

TWO_KINDS = ["sliding_attention", "full_attention", "sliding_attention"]


def sizes(**more: object) -> dict[str, Any]:
    """The usual sizes, with changes."""
    return {**SIZES, **more}


EXACT: dict[str, Callable[[], PreTrainedConfig]] = {
    "llama": lambda: LlamaConfig(
        **sizes(rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0,
            "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})
    ),
    "qwen2": lambda: Qwen2Config(
        **sizes(use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1)
    ),
    "qwen3": lambda: Qwen3Config(**sizes(head_dim=16)),
    "mistral": lambda: MistralConfig(**sizes(sliding_window=WINDOW, head_dim=8)),
    "gemma2": lambda: Gemma2Config(
        **sizes(num_hidden_layers=3, layer_types=TWO_KINDS, sliding_window=WINDOW, head_dim=16, query_pre_attn_scalar=12,
            attn_logit_softcapping=3.0, final_logit_softcapping=8.0)
    ),
    "gemma3_text": lambda: Gemma3TextConfig(
        **sizes(num_hidden_layers=3, layer_types=TWO_KINDS, sliding_window=WINDOW, head_dim=16, query_pre_attn_scalar=12,
            rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1_000_000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})
    ),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, initializer_range=0.5,
        scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False, bos_token_id=0, eos_token_id=1
    ),
    "opt": lambda: OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=24,
        max_position_embeddings=POSITIONS, init_std=0.5, tie_word_embeddings=False, bos_token_id=0, eos_token_id=1, pad_token_id=2
    ),
    "phi3": lambda: Phi3Config(**sizes(sliding_window=WINDOW)),
    "mixtral": lambda: MixtralConfig(**sizes(num_local_experts=4, num_experts_per_tok=2, sliding_window=WINDOW)),
    "qwen3_moe": lambda: Qwen3MoeConfig(
        **sizes(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=16, norm_topk_prob=True,
            decoder_sparse_step=1, mlp_only_layers=[])
    ),
}  # fmt: skip
"""By model type; each with something that goes wrong easily: a window, a cap, a head_dim of its own, biases."""

WINDOWS = ("qwen2", "mistral", "gemma2", "gemma3_text", "phi3", "mixtral")

VARIANTS: dict[str, Callable[[], PreTrainedConfig]] = {
    "gpt_bigcode, whose heads share one KV head": lambda: GPTBigCodeConfig(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, initializer_range=0.5, multi_query=True,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=1
    ),
    "gpt2, whose own attention reorders": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, initializer_range=0.5,
        reorder_and_upcast_attn=True, tie_word_embeddings=False, bos_token_id=0, eos_token_id=1
    ),
    "opt, normed after its layers": lambda: OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=24,
        max_position_embeddings=POSITIONS, init_std=0.5, tie_word_embeddings=False, do_layer_norm_before=False,
        bos_token_id=0, eos_token_id=1, pad_token_id=2
    ),
    "llama with YaRN": lambda: LlamaConfig(
        **sizes(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
            "original_max_position_embeddings": 40})
    ),
    "phi3 with LongRoPE out of reach": lambda: Phi3Config(
        **sizes(original_max_position_embeddings=POSITIONS,
            rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.5] * 4,
                "long_factor": [4.0] * 4, "original_max_position_embeddings": POSITIONS})
    ),
    "phimoe, whose window only the mask knows": lambda: PhimoeConfig(
        **sizes(sliding_window=WINDOW, num_local_experts=4, num_experts_per_tok=2)
    ),
    "gemma3 that could see": lambda: Gemma3Config(
        text_config=sizes(num_hidden_layers=3, layer_types=TWO_KINDS, sliding_window=WINDOW, head_dim=16),
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": 28, "patch_size": 14},
        boi_token_index=90, eoi_token_index=91, image_token_index=92, mm_tokens_per_image=4, tie_word_embeddings=False
    ),
}  # fmt: skip
"""What some models of a kind have otherwise."""

REFUSED: dict[str, tuple[Callable[[], PreTrainedConfig], str]] = {
    "mamba": (
        lambda: MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4),
        "it has no num_attention_heads (model type mamba)",
    ),
    "jamba": (
        lambda: JambaConfig(**sizes(num_hidden_layers=4, num_experts=2, attn_layer_period=2, attn_layer_offset=1)),
        "jamba can't be run on a paged cache: it has layers of another kind (linear_attention)",
    ),
    "qwen3_next": (
        lambda: Qwen3NextConfig(**sizes(num_experts=4, linear_num_value_heads=2, linear_num_key_heads=2)),
        "qwen3_next can't be run on a paged cache: it has layers of another kind (linear_attention)",
    ),
    "deepseek_v3": (
        lambda: DeepseekV3Config(
            **sizes(num_key_value_heads=4, n_routed_experts=4, n_group=1, topk_group=1, num_experts_per_tok=2,
                kv_lora_rank=8, q_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, moe_intermediate_size=8)
        ),
        "deepseek_v3 can't be run on a paged cache: it keeps compressed keys and values (MLA, kv_lora_rank)",
    ),
    "gpt_oss": (
        lambda: GptOssConfig(
            **sizes(head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=WINDOW, rope_parameters=None)
        ),
        "gpt_oss can't be run on a paged cache: attention sinks (s_aux)",
    ),
    "bloom": (
        lambda: BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4),
        "it has no max_position_embeddings (model type bloom)",  # its scores have a bias by distance instead
    ),
    "mpt": (
        lambda: MptConfig(vocab_size=VOCABULARY, d_model=32, n_heads=4, n_layers=2, max_seq_len=POSITIONS),
        "mpt can't be run on a paged cache: its scores have a bias by distance (ALiBi)",
    ),
    "falcon": (
        lambda: FalconConfig(
            vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=POSITIONS
        ),
        "falcon can't be run on a paged cache: no layer calls the attention interface of transformers",
    ),
    "openai-gpt": (
        lambda: OpenAIGPTConfig(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS),
        "openai-gpt can't be run on a paged cache: no layer calls the attention interface of transformers",
    ),
    "doge": (
        lambda: DogeConfig(**sizes()),
        "doge can't be run on a paged cache: an attention mask that the model makes by itself",
    ),
    "llama4_text": (
        lambda: Llama4TextConfig(
            **sizes(head_dim=8, num_local_experts=2, intermediate_size_mlp=48, attention_chunk_size=16)
        ),
        "llama4_text can't be run on a paged cache: it has layers of another kind (chunked_attention)",
    ),
    "gpt2 with cross attention": (
        lambda: GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, add_cross_attention=True),
        "gpt2 can't be run on a paged cache: it has cross attention",
    ),
    "llama with dynamic RoPE": (
        lambda: LlamaConfig(**sizes(rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0})),
        "llama can't be run on a paged cache: its RoPE changes with the length of a sequence (dynamic)",
    ),
    "phi3 with LongRoPE": (
        lambda: Phi3Config(
            **sizes(original_max_position_embeddings=64, rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0,
                "short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "original_max_position_embeddings": 64})
        ),
        "phi3 can't be run on a paged cache: its RoPE changes with the length of a sequence (longrope)",
    ),
}  # fmt: skip
"""A model by its name, and what its refusal says."""
