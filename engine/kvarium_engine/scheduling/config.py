"""The scheduler's limits."""

from dataclasses import dataclass

from kvarium_engine.scheduling.waiting_queue import POLICIES


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """vLLM's limits by their names. Raises :class:`ValueError`, naming the value, for one out of range.

    ``max_num_batched_tokens``: tokens a step; ``max_num_seqs``: sequences that run at once; ``max_model_len``: tokens
    of one sequence, prompt included; ``policy``: ``fcfs`` or ``priority`` (a lower number goes first).
    """

    max_num_batched_tokens: int = 2048
    max_num_seqs: int = 256
    max_model_len: int = 8192
    policy: str = "fcfs"

    def __post_init__(self) -> None:
        for name in ("max_num_batched_tokens", "max_num_seqs", "max_model_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                f"max_num_batched_tokens ({self.max_num_batched_tokens}) must not be below max_num_seqs "
                f"({self.max_num_seqs}): each running sequence decodes one token a step"
            )
        if self.policy not in POLICIES:
            raise ValueError(f"the scheduling policy is one of {', '.join(POLICIES)}, not {self.policy!r}")
