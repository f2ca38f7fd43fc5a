"""What a pool of keys and values holds: the sum that vLLM's start-up log gives, from sizes alone.

bytes a token  =  2 (K, V) × layers × KV heads × head_dim × bytes a number
     × block_size  =  bytes a block
                          × blocks = the pool;  blocks ÷ blocks of max_model_len tokens = maximum concurrency
"""

from dataclasses import dataclass

from kvarium_engine.memory.block_table import blocks_for

GIB = 1 << 30

_RESERVED = {
    "max": "{run} for each sequence",
    "power-of-two": "for each sequence its prompt, and max_tokens rounded up to a power of two: at most {run}",
    "exact": "for each sequence its prompt and max_tokens: at most {run}",
}


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
        """Requests that fit at once when each reserves that, in whole blocks."""
        return self.num_blocks // blocks_for(self.max_model_len, self.block_size)

    def lines(self, reservation: str | None = None) -> list[str]:
        """Size and concurrency, as vLLM's log tells them at the start of a server.

        ``reservation``: how contiguous memory is reserved; None: it is paged.
        """
        size = (
            f"KV cache: {self.bytes / GIB:.2f} GiB, {self.num_blocks:,} blocks of {self.block_size} = "
            f"{self.tokens:,} tokens ({self.bytes_per_token:,} bytes a token)"
        )
        most = f"maximum concurrency for {self.max_model_len:,} tokens per request"
        if reservation is None:
            return [size, f"{most}: {self.maximum_concurrency:.2f}x"]
        blocks = blocks_for(self.max_model_len, self.block_size)
        run = f"{blocks:,} blocks"
        if self.bytes_per_token:
            run += f" ({blocks * self.bytes_per_block / GIB:.2f} GiB)"
        reserved = _RESERVED[reservation].format(run=run)
        return [
            size,
            f"contiguous memory, without a prefix cache: it reserves {reserved}",
            f"{most}: {self.contiguous_requests:,}x",
        ]
