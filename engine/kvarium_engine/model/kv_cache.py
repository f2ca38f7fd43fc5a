"""The memory that the block pool hands out: keys and values of all layers.

[2 (K, V), layers, num_blocks, block_size, kv_heads, head_dim]        one tensor, so that a block is copied in one launch
    └─ layer i's pools are its views [num_blocks, block_size, kv_heads, head_dim]

In FP8 a number takes one byte, and each layer has a scale for its keys and one for its values.
"""

from collections.abc import Sequence

import torch

from kvarium_engine.kernels.backend import Backend
from kvarium_engine.kernels.copy_blocks import copy_blocks
from kvarium_engine.kernels.fp8 import FP8, NO_SCALES, Scales, movable
from kvarium_engine.memory.block_norms import BlockNorms
from kvarium_engine.model.geometry import FP8_NAME, KV_DTYPE_BYTES, Geometry

KV_DTYPES = {name: FP8 if name == FP8_NAME else getattr(torch, name) for name in KV_DTYPE_BYTES}
"""The dtypes of keys and values, by their names."""


class KVCache:
    """Keys and values of ``num_blocks`` blocks on ``device``, as ``dtype``: the model's, or FP8 (e4m3).

    ``scales``: of each layer, what its numbers are divided by in FP8; None: 1 everywhere. ``backend``: the kernels that write and
    read it. Raises what torch raises when the memory is not there.
    """

    def __init__(
        self,
        geometry: Geometry,
        num_blocks: int,
        block_size: int,
        dtype: torch.dtype,
        device: torch.device,
        scales: Sequence[Scales] | None = None,
        backend: Backend = "torch",
    ) -> None:
        self.backend = backend
        self.scales = list(scales) if scales is not None else [NO_SCALES] * geometry.layers
        assert len(self.scales) == geometry.layers, "a pair of scales for each layer"
        self.block_size = block_size
        shape = (
            2,
            geometry.layers,
            num_blocks,
            block_size,
            geometry.kv_heads,
            geometry.head_dim,
        )
        # Zeros, so that all of it is really there before the first request comes.
        self.pool = torch.zeros(shape, dtype=dtype, device=device)
        self._layers = list(zip(self.pool[0].unbind(0), self.pool[1].unbind(0), strict=True))

    @property
    def layers(self) -> int:
        """How many layers keep keys and values here."""
        return len(self._layers)

    @property
    def bytes_per_block(self) -> int:
        """Bytes of keys and values in one block, of all layers."""
        return self.pool[:, :, 0].numel() * self.pool.element_size()

    def layer(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """One layer's key pool and value pool, ``[num_blocks, block_size, kv_heads, head_dim]`` each."""
        return self._layers[index]

    def norms(self, block: int, first: int, last: int) -> BlockNorms:
        """The norms of the keys and values in a block's slots from ``first`` to before ``last``, the mean over them.

        Numbers are as attention reads them: in FP8 times the layer's scale.
        """
        assert 0 <= first < last <= self.block_size, f"slots {first} to {last} of {self.block_size}"
        numbers = movable(self.pool)[:, :, block, first:last].view(self.pool.dtype).float()
        norms = torch.linalg.vector_norm(numbers, dim=-1).mean(dim=2).cpu()
        told = norms * torch.tensor(self.scales).T.unsqueeze(-1)
        layers, heads = told.shape[1:]
        key, value = told.flatten(1).tolist()
        return BlockNorms(layers, heads, key, value)

    def copy(self, copies: Sequence[tuple[int, int]]) -> None:
        """Copy blocks, (source, target) each, in all layers."""
        if copies:
            sources, targets = zip(*copies, strict=True)
            copy_blocks(self.pool, sources, targets, self.backend)
