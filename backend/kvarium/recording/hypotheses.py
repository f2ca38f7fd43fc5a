"""What a beam search has found: its hypotheses, the best first, with their tokens.

hypothesis of r21.4: 3 tokens, then 2        said by r21.4 before that step, of them 2 by its parent
──▶ [ 271  318  9 ] + 2                      271 318 │ 9
"""

import msgspec

from kvarium.recording.sampled import Sampled, line_of
from kvarium_ledger.decisions import Hypothesis
from kvarium_ledger.records import Step


class RankedHypothesis(msgspec.Struct, kw_only=True):
    """A whole answer that was found; of rank 0 is the best. The ``tokens`` (None: lost) end with that by which it ended.

    ``sequence`` had sampled all but the last of them before the step of ``record``.
    """

    rank: int
    sequence: int
    score: float
    reason: str
    record: int
    step: int
    tokens: list[int | None] | None


def ranked(found: list[tuple[Hypothesis, Step]], sequences: list[Sampled]) -> list[RankedHypothesis]:
    """What was ``found``, each in its step, in that order; of equal scores the earlier is the better."""
    return [
        RankedHypothesis(
            rank=rank,
            sequence=each.sequence,
            score=each.score,
            reason=each.reason,
            record=step.record,
            step=step.step,
            tokens=_tokens(each, step, sequences),
        )
        for rank, (each, step) in enumerate(sorted(found, key=lambda pair: -pair[0].score))
    ]


def _tokens(found: Hypothesis, step: Step, sequences: list[Sampled]) -> list[int | None] | None:
    line = line_of(sequences, found.sequence, step.record)
    tokens = [branch.tokens[place] for branch, place in line if branch.tokens]
    if found.token is None or len(tokens) != found.tokens:
        return None
    return [*tokens, found.token]
