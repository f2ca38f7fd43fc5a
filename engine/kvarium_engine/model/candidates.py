"""What beams may go on with: the likeliest tokens of each, with the log probabilities that a beam search sums.

    logits ──▶ log-softmax, f32 ──▶ changed, where the request asks (min_tokens, logit_bias, repetition_penalty) ──▶ the top

That order is transformers': its processors change log probabilities in a beam search, where sampling changes logits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kvarium_engine.model.adjust import Adjustment, adjusted
from kvarium_engine.scheduling.beam import Candidates


class Beam(NamedTuple):
    """A beam whose next token comes of ``row`` of the logits: so many candidates are ``wanted``."""

    row: int
    wanted: int
    adjustment: Adjustment | None


def candidates(logits: torch.Tensor, beams: Sequence[Beam]) -> list[Candidates]:
    """The likeliest tokens of each of ``beams``, of ``logits`` ``[rows, vocabulary]``; fewer where the vocabulary ends."""
    scores = logits[[beam.row for beam in beams]].log_softmax(dim=-1, dtype=torch.float32)
    changed = [place for place, beam in enumerate(beams) if beam.adjustment is not None]
    if changed:
        adjustments = [beam.adjustment for beam in beams if beam.adjustment is not None]
        scores[changed] = adjusted(scores[changed], adjustments)
    top = scores.topk(min(max(beam.wanted for beam in beams), scores.shape[1]), dim=-1)
    return [
        Candidates(tokens[: beam.wanted], values[: beam.wanted])
        for beam, tokens, values in zip(beams, top.indices.tolist(), top.values.tolist(), strict=True)
    ]
