"""What a request asks of the sampler, by the names and the meaning that vLLM gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MAX_N = 64
"""Sequences of a request, at most: samples or beams."""
MOST_TOKENS = (1 << 31) - 1
"""Tokens of one sequence, at most: positions are 32-bit numbers wherever they are told."""
MOST_LOGPROBS = 20
MOST_STOPS = 64
"""Stop strings, and stop ids, of a request."""
LONGEST_STOP = 1000
"""Characters of a stop string."""
MOST_BIASES = 1024
MOST_PENALTY = 4
"""The length penalty's bound: a length to this power is an f32."""

EarlyStopping = Literal[False, True, "never"]


def _within(name: str, value: float, low: float, high: float, means: str = "") -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}{f' ({means})' if means else ''}, not {value}")


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a request is sampled, and what ends it.

    ``max_tokens``: None means as many as ``max_model_len`` (or the pool) allows. ``n``: sequences that share the
    prompt. ``temperature`` 0 is greedy. ``seed``: None lets the engine choose. ``ignore_eos``: the model's end token does
    not end it.

    ``stop``: texts, ``stop_token_ids``: tokens that end a sequence. Before ``min_tokens`` nothing but the length does: end
    tokens and stop ids aren't sampled, stop strings aren't looked for.

    ``repetition_penalty`` counts tokens of prompt and output, ``presence_penalty`` and ``frequency_penalty`` those of the
    output; ``logit_bias`` is added to the logits of its tokens; ``min_p`` leaves tokens that are at least so likely,
    relative to the likeliest. ``logprobs``: so many of the likeliest tokens are told with each sampled one (0: only
    itself; None: nothing).

    ``beam_width``: a beam search of so many beams in place of sampling, of whose answers the ``n`` best are given; None: none.
    ``length_penalty`` and ``early_stopping`` are those of transformers: an answer's score is divided by its length to the power
    of the one; the other says when the search is over (:mod:`kvarium_engine.scheduling.beam`). As there, ``min_tokens``,
    ``logit_bias`` and ``repetition_penalty`` change the log probabilities; what only drawing or sampled tokens know is refused.

    Raises :class:`ValueError`, naming the value and the bounds, for one out of range.
    """

    max_tokens: int | None = 16
    n: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    min_tokens: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    logprobs: int | None = None
    beam_width: int | None = None
    length_penalty: float = 1.0
    early_stopping: EarlyStopping = False
    changes_logits: bool = field(init=False, repr=False, compare=False, default=False)
    """Something is done to the logits before the temperature."""

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not 1 <= self.n <= MAX_N:
            raise ValueError(f"n must be from 1 to {MAX_N}, not {self.n}")
        if not self.temperature >= 0:
            raise ValueError(f"temperature must not be negative, it is {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must not be negative (0: off), it is {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        self._check_stops()
        _within("min_p", self.min_p, 0, 1, "0: off")
        _within("repetition_penalty", self.repetition_penalty, 0.001, 1000, "1: off")
        _within("presence_penalty", self.presence_penalty, -2, 2, "0: off")
        _within("frequency_penalty", self.frequency_penalty, -2, 2, "0: off")
        if len(self.logit_bias) > MOST_BIASES:
            raise ValueError(f"logit_bias has {len(self.logit_bias)} tokens: at most {MOST_BIASES} are taken")
        for token, bias in self.logit_bias.items():
            _within(f"logit_bias of token {token}", bias, -100, 100)
        if self.logprobs is not None:
            _within("logprobs", self.logprobs, 0, MOST_LOGPROBS)
        self._check_beams()
        changes = self.min_tokens > 0 or bool(self.logit_bias) or self.penalizes
        object.__setattr__(self, "changes_logits", changes)

    def _check_stops(self) -> None:
        for name, values in (("stop", self.stop), ("stop_token_ids", self.stop_token_ids)):
            if len(values) > MOST_STOPS:
                raise ValueError(f"{name} has {len(values)} entries: at most {MOST_STOPS} are taken")
        for stop in self.stop:
            if not 1 <= len(stop) <= LONGEST_STOP:
                raise ValueError(f"a stop string has from 1 to {LONGEST_STOP} characters, not {len(stop)}")
        for token in self.stop_token_ids:
            _within("a token of stop_token_ids", token, 0, (1 << 32) - 1)
        most = MOST_TOKENS if self.max_tokens is None else self.max_tokens
        if not 0 <= self.min_tokens <= most:
            raise ValueError(
                f"min_tokens must be from 0 to {'max_tokens = ' if self.max_tokens else ''}{most}, not {self.min_tokens}"
            )

    def _check_beams(self) -> None:
        if self.early_stopping not in (False, True, "never"):
            raise ValueError(f'early_stopping must be false, true or "never", not {self.early_stopping!r}')
        _within("length_penalty", self.length_penalty, -MOST_PENALTY, MOST_PENALTY, "0: off")
        width = self.beam_width
        if width is None:
            if self.length_penalty != 1 or self.early_stopping is not False:
                raise ValueError("length_penalty and early_stopping belong to a beam search: give beam_width")
            return
        if not 2 <= width <= MAX_N:
            raise ValueError(
                f"beam_width must be from 2 to {MAX_N}, not {width} (for one beam leave it out, with temperature 0)"
            )
        if self.n > width:
            raise ValueError(f"n = {self.n} answers are more than beam_width = {width} can give")
        # A temperature of 1 leaves the probabilities as they are, and 0 asks for what a beam search does anyway.
        drawing = {
            "temperature": self.temperature not in (0, 1),
            "top_k": self.top_k != 0,
            "top_p": self.top_p != 1,
            "min_p": self.min_p != 0,
            "seed": self.seed is not None,
        }
        refused = {
            "stop": bool(self.stop),
            "presence_penalty": self.presence_penalty != 0,
            "frequency_penalty": self.frequency_penalty != 0,
            "logprobs": self.logprobs is not None,
        }
        name = next((name for name, is_given in drawing.items() if is_given), None)
        if name is not None:
            raise ValueError(f"a beam search draws nothing: leave {name} out (it is {getattr(self, name)})")
        name = next((name for name, is_given in refused.items() if is_given), None)
        if name is not None:
            instead = "; give stop_token_ids" if name == "stop" else ""
            raise ValueError(f"a beam search does not take {name}: leave it out{instead}")

    @property
    def width(self) -> int:
        """How many sequences run at once."""
        return self.beam_width or self.n

    @property
    def penalizes(self) -> bool:
        """A penalty is asked for."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0
