"""The scheduler's limits."""

from dataclasses import dataclass

POLICIES = ("fcfs", "priority")

PRIORITY_AGING = 256
"""By priority, steps that make up for one level, unless it is told otherwise: nobody waits for ever by default."""
MOST_AGING = 1_000_000


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """vLLM's limits by their names. Raises :class:`ValueError`, naming the value, for one out of range.

    ``max_num_batched_tokens``: tokens a step; ``max_num_seqs``: sequences that run at once; ``max_model_len``: tokens
    of one sequence, prompt included; ``policy``: ``fcfs`` or ``priority`` (a lower number goes first).
    ``priority_aging``: by priority, the steps that a request has to wait to be as urgent as a new one of the next level;
    0: as in vLLM, where one waits as long as more urgent ones come.
    """

    max_num_batched_tokens: int = 2048
    max_num_seqs: int = 256
    max_model_len: int = 8192
    policy: str = "fcfs"
    priority_aging: int = PRIORITY_AGING

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
        if not 0 <= self.priority_aging <= MOST_AGING:
            raise ValueError(
                f"priority_aging must be from 0 (off) to {MOST_AGING} steps, not {self.priority_aging}"
            )

    def precedence(self, priority: int, step: int) -> int:
        """What a request is ordered by that comes in before ``step``: the smallest goes first, of equals who came first.

        It never changes, so the order of two requests does not either. A request that waits for ``priority_aging`` steps
        goes before all that come then and are one level more urgent; those before it are finitely many, and end.
        """
        if self.policy == "fcfs":
            return 0
        return priority * self.priority_aging + step if self.priority_aging else priority
