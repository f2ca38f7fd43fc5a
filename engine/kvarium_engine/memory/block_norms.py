"""What a block's keys and values look like, small enough to be told: a norm for each layer and head.

    [head_dim] of one slot ── Euclidean norm ──▶ one number ── mean over the slots ──▶ [layers, kv_heads], keys and values

A head whose keys have large norms in the first block of a prompt is what the literature calls an attention sink
(Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023); zeros where a block was written are a fault.
"""

from typing import NamedTuple


class BlockNorms(NamedTuple):
    """``key`` and ``value``: layers × kv_heads numbers each, a layer after the other."""

    layers: int
    kv_heads: int
    key: list[float]
    value: list[float]
