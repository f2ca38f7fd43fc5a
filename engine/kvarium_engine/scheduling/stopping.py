"""What ends a sequence: its length, the model's end token, a stop id, or a stop string in its text.

    token 314   ──▶ end token?  stop id?  ──▶ text " is"  ──▶ a stop string in the last characters?  ──▶ length?

A stop string may begin in one token and end in another, so the tail of the text is kept: as many characters as the longest
stop string needs, and no more. The first ``min_tokens`` tokens end nothing but by the length.

The text is what the vocabulary's pieces make, special tokens by their names (vLLM leaves those out of its text). A stop
string is looked for in what the last token has completed; the first one in the request's order counts, as in vLLM.
"""

from array import array
from typing import Literal, NamedTuple

from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.vocabulary import TextDecoder, Vocabulary


class Ending(NamedTuple):
    """Why a sequence has ended: ``stop_reason`` is the stop id or the stop string; None: it was neither."""

    reason: Literal["stop", "length"]
    stop_reason: int | str | None = None


class StopStrings:
    """Looks for stop strings in one sequence's text, as it grows."""

    __slots__ = ("_decoder", "_keep", "_seen", "_stops", "_tail")

    def __init__(self, stops: tuple[str, ...], vocabulary: Vocabulary, first: int) -> None:
        """``first`` is the position of the first token of the text."""
        self._stops = stops
        self._decoder = TextDecoder(vocabulary)
        self._seen = first
        self._keep = max(map(len, stops)) - 1
        self._tail = ""

    def met(self, tokens: "array[int]") -> str | None:
        """The stop string that the last of ``tokens`` has completed; those before it are only read."""
        new = ""
        for token in tokens[self._seen :]:
            self._tail = self._end_of(self._tail + new)
            new = self._decoder.add(token)
        self._seen = len(tokens)
        text, fresh = self._tail + new, len(new)
        self._tail = self._end_of(text)
        if fresh:
            for stop in self._stops:
                if text.find(stop, max(0, len(text) - fresh - len(stop) + 1)) >= 0:
                    return stop
        return None

    def _end_of(self, text: str) -> str:
        return text[max(0, len(text) - self._keep) :]


def barred_tokens(sequence: Sequence, eos_tokens: frozenset[int]) -> tuple[int, ...]:
    """The tokens that must not be sampled next: all that may end a sequence, up to ``min_tokens`` tokens, as in vLLM."""
    params = sequence.request.params
    if sequence.length - sequence.request.prompt_tokens >= params.min_tokens:
        return ()
    return (*eos_tokens, *params.stop_token_ids)


def check_barred(params: SamplingParams, eos_tokens: frozenset[int], vocab_size: int) -> None:
    """Raises :class:`ValueError` where ``min_tokens`` would leave no token of the vocabulary to sample."""
    barred = {token for token in (*eos_tokens, *params.stop_token_ids) if 0 <= token < vocab_size}
    if params.min_tokens and len(barred) >= vocab_size:
        raise ValueError(
            f"min_tokens = {params.min_tokens} bars the end tokens and stop_token_ids from the first tokens, and they are all "
            f"{vocab_size} that this model has: nothing would be left to sample"
        )


def ending(sequence: Sequence, eos_tokens: frozenset[int], vocabulary: Vocabulary | None) -> Ending | None:
    """Has the last token of ``sequence`` ended it? To be asked of each from :attr:`Sequence.watched` on.

    Raises :class:`ValueError` when there are stop strings and no ``vocabulary``.
    """
    request, token = sequence.request, sequence.tokens[-1]
    params = request.params
    if sequence.length - request.prompt_tokens > params.min_tokens:
        if token in eos_tokens and not params.ignore_eos:
            return Ending("stop")
        if token in params.stop_token_ids:
            return Ending("stop", token)
        if params.stop:
            stops = sequence.stops
            if stops is None:
                if vocabulary is None:
                    raise ValueError("stop strings need a vocabulary")
                stops = sequence.stops = StopStrings(params.stop, vocabulary, request.prompt_tokens)
            stop = stops.met(sequence.tokens)
            if stop is not None:
                return Ending("stop", stop)
    return Ending("length") if sequence.length >= sequence.limit else None
