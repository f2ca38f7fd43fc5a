"""How much a contiguous cache sets aside for a sequence when it is admitted, as nobody knows how long its answer gets.

    prompt 40, max_tokens 100, max_model_len 2048

    max           [ prompt │ answer │                                            … 2048 ]
    power-of-two  [ prompt │ answer │    ] 40 + 128 = 168
    exact         [ prompt │ answer ]      40 + 100 - 1 = 139: the last token that is sampled needs no slot

They are the baselines of the vLLM paper: Orca (Max), Orca (Pow2) and Orca (Oracle), which knows the answers' lengths. Exact
is that oracle when answers get as long as they may.
"""

from dataclasses import dataclass

RESERVE = ("max", "power-of-two", "exact")


@dataclass(frozen=True, slots=True)
class Reservation:
    """``mode`` is one of :data:`RESERVE`. Raises :class:`ValueError` for another one."""

    mode: str
    max_model_len: int

    def __post_init__(self) -> None:
        if self.mode not in RESERVE:
            raise ValueError(f"a reservation is one of {', '.join(RESERVE)}, not {self.mode!r}")

    def tokens(self, prompt_tokens: int, max_tokens: int) -> int:
        """Slots for a sequence of ``prompt_tokens`` that may sample ``max_tokens`` (at least 1, within ``max_model_len``)."""
        if self.mode == "max":
            return self.max_model_len
        if self.mode == "exact":
            return prompt_tokens + max_tokens - 1
        return min(prompt_tokens + (1 << (max_tokens - 1).bit_length()), self.max_model_len)
