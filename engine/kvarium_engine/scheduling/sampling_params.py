"""What a request asks of the sampler, by the names that vLLM uses."""

from dataclasses import dataclass

MAX_N = 64
MOST_TOKENS = (1 << 31) - 1
"""Tokens of one sequence, at most: positions are 32-bit numbers wherever they are told."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a request is sampled.

    ``max_tokens``: None means as many as ``max_model_len`` (or the pool) allows. ``n``: sequences that share the
    prompt. ``temperature`` 0 is greedy. ``seed``: None lets the engine choose. ``ignore_eos``: only the length ends it.
    Raises :class:`ValueError`, naming the value, for one out of range.
    """

    max_tokens: int | None = 16
    n: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not 1 <= self.n <= MAX_N:
            raise ValueError(f"n must be from 1 to {MAX_N}, not {self.n}")
        if self.temperature < 0:
            raise ValueError(f"temperature must not be negative, it is {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must not be negative (0: off), it is {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
