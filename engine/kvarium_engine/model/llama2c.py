"""Models of llama2.c: one file of weights, one of tokens.

    weights     7 × i32: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size (negative: a classifier of its own), seq_len
                then f32: embedding, and of all layers each: attention norm, wq, wk, wv, wo, ffn norm, w1, w2, w3;
                final norm, 2 × RoPE tables (not needed), the classifier where it is not the embedding
    tokens      i32 longest, and of each token: f32 score, i32 length, bytes

llama2.c rotates neighbours (2i, 2i + 1) of a head, transformers its halves (i, i + head_dim / 2): the rows of wq and wk are
reordered within each head, and everything else is as it is.

    head of 8:   0 1 2 3 4 5 6 7   ──▶   0 2 4 6 1 3 5 7
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from kvarium_engine.errors import UsageError
from kvarium_engine.model.attention import NAME
from kvarium_engine.vocabulary import Message, byte_piece

BOS, EOS = 1, 2
_HEADER = struct.Struct("<7i")


def load_llama2c(path: Path, attention: str = NAME) -> LlamaForCausalLM:
    """The model in a file of llama2.c (its version 0), in float32 on the CPU.

    Raises :class:`UsageError` for a file that is none, with what does not fit.
    """
    data = path.read_bytes()
    if len(data) < _HEADER.size:
        raise UsageError(f"{path} is no model of llama2.c: it has {len(data)} bytes")
    dim, hidden, layers, heads, kv_heads, signed_vocab, longest = _HEADER.unpack_from(data)
    vocab = abs(signed_vocab)
    if min(dim, hidden, layers, heads, kv_heads, vocab, longest) < 1 or dim % heads or heads % kv_heads:
        raise UsageError(f"{path} is no model of llama2.c: its sizes make no sense")
    head_dim = dim // heads
    kv_dim = kv_heads * head_dim
    weights = np.frombuffer(data, dtype="<f4", offset=_HEADER.size, count=(len(data) - _HEADER.size) // 4)
    at = 0

    def take(*shape: int) -> torch.Tensor:
        nonlocal at
        count = int(np.prod(shape))
        if at + count > len(weights):
            raise UsageError(f"{path} is cut off: {len(weights)} numbers, and more are needed")
        part = weights[at : at + count].reshape(shape)
        at += count
        return torch.from_numpy(part.copy())

    embedding = take(vocab, dim)
    norms, wq, wk = take(layers, dim), take(layers, dim, dim), take(layers, kv_dim, dim)
    wv, wo, ffn_norms = take(layers, kv_dim, dim), take(layers, dim, dim), take(layers, dim)
    w1, w2, w3 = take(layers, hidden, dim), take(layers, dim, hidden), take(layers, hidden, dim)
    final = take(dim)
    take(2, longest, head_dim // 2)
    classifier = embedding if signed_vocab > 0 else take(vocab, dim)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=dim,
        intermediate_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=longest,
        rms_norm_eps=1e-5,
        bos_token_id=BOS,
        eos_token_id=EOS,
        tie_word_embeddings=signed_vocab > 0,
        attn_implementation=attention,
    )
    model = LlamaForCausalLM(config)
    state = {
        "model.embed_tokens.weight": embedding,
        "model.norm.weight": final,
        "lm_head.weight": classifier,
    }
    for i in range(layers):
        state |= {
            f"model.layers.{i}.{name}.weight": tensor
            for name, tensor in {
                "input_layernorm": norms[i],
                "self_attn.q_proj": _halves(wq[i], heads),
                "self_attn.k_proj": _halves(wk[i], kv_heads),
                "self_attn.v_proj": wv[i],
                "self_attn.o_proj": wo[i],
                "post_attention_layernorm": ffn_norms[i],
                "mlp.gate_proj": w1[i],
                "mlp.down_proj": w2[i],
                "mlp.up_proj": w3[i],
            }.items()
        }
    model.load_state_dict(state, strict=True)
    return model.eval()


def _halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Reorder the rows of each head from neighbours to halves: ``[heads × head_dim, dim]``."""
    rows, dim = weight.shape
    return weight.view(heads, rows // heads // 2, 2, dim).transpose(1, 2).reshape(rows, dim)


class Llama2cTokens:
    """The vocabulary of a file of tokens. Raises :class:`UsageError` for a file that is none."""

    has_chat_template = False

    def __init__(self, path: Path, vocab_size: int) -> None:
        data = path.read_bytes()
        self.size = vocab_size
        self.scores: list[float] = []
        self.tokens: list[bytes] = []
        at = 4
        try:
            for _ in range(vocab_size):
                score, length = struct.unpack_from("<fi", data, at)
                at += 8
                if not 0 <= length <= len(data) - at:
                    raise ValueError("a token's length makes no sense")
                self.tokens.append(data[at : at + length])
                self.scores.append(score)
                at += length
        except (struct.error, ValueError) as error:
            raise UsageError(f"{path} is no vocabulary of llama2.c of {vocab_size} tokens: {error}") from None
        self._ids = {token: number for number, token in reversed(list(enumerate(self.tokens)))}

    def encode(self, text: str) -> list[int]:
        """BOS, then the pair with the best score is merged again and again, from single characters up."""
        tokens = [BOS]
        if text:
            tokens += [self._ids[b" "]]
        for char in text:
            data = char.encode()
            found = self._ids.get(data)
            tokens += [found] if found is not None else [byte + 3 for byte in data]
        while True:
            best: tuple[float, int, int] | None = None
            for i in range(1, len(tokens) - 1):
                merged = self._ids.get(self.tokens[tokens[i]] + self.tokens[tokens[i + 1]])
                if merged is not None and (best is None or self.scores[merged] > best[0]):
                    best = self.scores[merged], i, merged
            if best is None:
                return tokens
            tokens[best[1] : best[1] + 2] = [best[2]]

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """There is no chat template: raises :class:`ValueError`."""
        raise ValueError("a model of llama2.c has no chat template")

    def piece(self, token: int) -> str:
        """The text of one token; 3 … 258 are the bytes."""
        if token < 3:
            return ("<unk>", "<s>", "</s>")[token]
        if token < 259:
            return byte_piece(bytes([token - 3]))
        return byte_piece(self.tokens[token])
