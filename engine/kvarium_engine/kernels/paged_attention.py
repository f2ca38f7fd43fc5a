"""Attention of new tokens to all tokens of their sequences, through block tables.

    pool, as slots [num_blocks × block_size, kv_heads, head_dim]

    block table        [ 41,         7,         19 ]        block size 4, 10 tokens
    slots of context     164 … 167   28 … 31    76 77 ‥ ‥    the last two slots are not filled: never read
                          └──────────┴──────────┴── gathered in order of position ──▶ K, V [10, kv_heads, head_dim]

Where a batch is padded to its longest context, a missing position reads the sequence's own first slot and is masked: a
slot that was never filled, or filled by somebody else, is not read at all. KV heads are broadcast to their query heads,
never copied.

A ``softcap`` c bounds the scores before they are masked: c · tanh(score / c). torch's attention can't do that, so the scores
are made by hand then.

A pool of FP8 is read as the dtype of the queries, times the ``scales`` of its keys and its values.

Bytes moved a decoded token: the keys and values of its context once, 2 × context × kv_heads × head_dim × itemsize.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

from kvarium_engine.kernels.fp8 import NO_SCALES, Scales, dequantized, movable


def decode_attention(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    context: torch.Tensor,
    mask: torch.Tensor,
    scaling: float,
    softcap: float | None = None,
    scales: Scales = NO_SCALES,
) -> torch.Tensor:
    """One new token a sequence attends to its context, its own key included.

    ``query`` ``[sequences, heads, head_dim]``; one layer's pools ``[num_blocks, block_size, kv_heads, head_dim]``;
    ``context`` ``[sequences, longest]`` i64, the slot of each position; ``mask`` ``[sequences, longest]`` bool, true where a position is
    attended to. Returns ``[sequences, heads, head_dim]``.
    """
    sequences, heads, head_dim = query.shape
    kv_heads = key_pool.shape[2]
    key = read(key_pool, context, scales[0], query.dtype).transpose(1, 2)
    value = read(value_pool, context, scales[1], query.dtype).transpose(1, 2)
    # The query heads that share a KV head stand in the place of query positions, which broadcasts it without a copy.
    grouped = query.view(sequences, kv_heads, heads // kv_heads, head_dim)
    mask = mask[:, None, None, :]
    if softcap is None:
        out = scaled_dot_product_attention(grouped, key, value, attn_mask=mask, scale=scaling)
    else:
        out = capped_attention(grouped, key, value, mask, scaling, softcap)
    return out.reshape(sequences, heads, head_dim)


def prefill_attention(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    context: torch.Tensor,
    mask: torch.Tensor,
    scaling: float,
    softcap: float | None = None,
    scales: Scales = NO_SCALES,
) -> torch.Tensor:
    """A chunk of one sequence's tokens attends to what stands before each of them, earlier chunks included.

    ``query`` ``[tokens, heads, head_dim]``; ``context`` ``[length]`` i64, the slot of each position up to the chunk's end;
    ``mask`` ``[tokens, length]`` bool. Returns ``[tokens, heads, head_dim]``.
    """
    tokens, heads, head_dim = query.shape
    kv_heads = key_pool.shape[2]
    group = heads // kv_heads
    key = read(key_pool, context, scales[0], query.dtype).transpose(0, 1)
    value = read(value_pool, context, scales[1], query.dtype).transpose(0, 1)
    if softcap is not None:
        # The group stands in the place of query positions, as in a decode; head h is of KV head h // group.
        rows = (
            query.view(tokens, kv_heads, group, head_dim).permute(1, 2, 0, 3).reshape(kv_heads, -1, head_dim)
        )
        out = capped_attention(rows, key, value, mask.repeat(group, 1), scaling, softcap)
        return (
            out.view(kv_heads, group, tokens, head_dim).permute(2, 0, 1, 3).reshape(tokens, heads, head_dim)
        )
    # [kv_heads, group, tokens, head_dim]: a stride of 0 over the group broadcasts each KV head without a copy.
    grouped = query.view(tokens, kv_heads, group, head_dim).permute(1, 2, 0, 3)
    wide = (kv_heads, group, len(context), head_dim)
    out = scaled_dot_product_attention(
        grouped, key[:, None].expand(wide), value[:, None].expand(wide), attn_mask=mask, scale=scaling
    )
    return out.permute(2, 0, 1, 3).reshape(tokens, heads, head_dim)


def read(pool: torch.Tensor, context: torch.Tensor, scale: float, dtype: torch.dtype) -> torch.Tensor:
    """The keys or values of the slots ``context`` (i64), ``[*context, kv_heads, head_dim]``."""
    numbers = movable(pool).flatten(0, 1)[context].view(pool.dtype)
    return dequantized(numbers, scale, dtype)


def capped_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scaling: float,
    softcap: float,
) -> torch.Tensor:
    """Attention with bounded scores: ``query`` ``[…, queries, head_dim]``, ``key`` and ``value`` ``[…, length, head_dim]``."""
    scores = softcap * torch.tanh(query @ key.transpose(-1, -2) * scaling / softcap)
    chances = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1, dtype=torch.float32)
    return chances.to(query.dtype) @ value
