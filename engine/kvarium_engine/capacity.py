"""What a pool of keys and values holds: the sum that vLLM's start-up log gives, from sizes alone.

bytes a token  =  2 (K, V) × layers × KV heads × head_dim × bytes a number
     × block_size  =  bytes a block
                          × blocks = the pool;  blocks ÷ blocks of max_model_len tokens = maximum concurrency
"""

from dataclasses import dataclass

from kvarium_engine.memory.block_table import blocks_for

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Capacity:
    """A pool of ``num_blocks`` blocks of ``block_size`` tokens, ``bytes_per_token`` each (0: it has no tensors)."""

    num_blocks: int
    block_size: int
    bytes_per_token: int
    max_model_len: int

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a block, in all layers: what one copy-on-write copies, however long the prompt that is shared."""
        return self.block_size * self.bytes_per_token

    @property
    def bytes(self) -> int:
        """Bytes of the pool."""
        return self.num_blocks * self.bytes_per_block

    @property
    def tokens(self) -> int:
        """Tokens that the pool has slots for."""
        return self.num_blocks * self.block_size

    @property
    def maximum_concurrency(self) -> float:
        """Requests of ``max_model_len`` tokens that fit at once when nothing is shared: whole blocks, as vLLM counts them."""
        return self.num_blocks / blocks_for(self.max_model_len, self.block_size)

    @property
    def contiguous_bytes(self) -> int:
        """Bytes of a request for which ``max_model_len`` tokens are reserved in one piece, used or not."""
        return self.max_model_len * self.bytes_per_token

    @property
    def contiguous_requests(self) -> int:
        """Requests that fit at once when each reserves that."""
        return self.tokens // self.max_model_len

    def lines(self) -> list[str]:
        """Size and concurrency, as vLLM's log tells them at the start of a server."""
        size = (
            f"KV cache: {self.bytes / GIB:.2f} GiB, {self.num_blocks:,} blocks of {self.block_size} = "
            f"{self.tokens:,} tokens ({self.bytes_per_token:,} bytes a token)"
        )
        most = f"{self.max_model_len:,} tokens per request: {self.maximum_concurrency:.2f}x"
        return [size, f"maximum concurrency for {most}"]
