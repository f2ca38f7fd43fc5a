"""What a sequence sampled: its tokens, and how likely they were where its request asked for that."""

from bisect import bisect_left

import msgspec
import numpy as np

from kvarium_ledger.columns import u32
from kvarium_ledger.records import Logprobs


class Likely(msgspec.Struct, kw_only=True):
    """How likely a sampled token was, by the model's own logits: ``top`` are the likeliest tokens, each with its own."""

    logprob: float
    rank: int
    top: list[tuple[int, float]]


class SequenceEnding(msgspec.Struct, kw_only=True):
    """How a sequence ended before its request did; no ``reason``: a beam of a search that was left behind."""

    record: int
    reason: str | None = None
    stop_reason: int | str | None = None


class Sampled(msgspec.Struct, kw_only=True):
    """A sequence and what it sampled itself: a token (None: lost) and the record of its step, one for one.

    ``created`` is the record of the step that created it: of its ``parent`` it has what was sampled before. ``logprobs``
    (one for one, too) are there if its request asked for them. ``ending``: None if it ended with its request, or lives.
    """

    sequence: int
    index: int
    parent: int | None
    created: int
    tokens: list[int | None] | None = msgspec.field(default_factory=list)
    records: list[int] = msgspec.field(default_factory=list)
    logprobs: list[Likely | None] | msgspec.UnsetType = msgspec.UNSET
    ending: SequenceEnding | None = None

    def sample(self, record: int) -> None:
        """A token came with the step of ``record``; which one is not known yet."""
        assert self.tokens is not None
        self.records.append(record)
        self.tokens.append(None)
        if self.logprobs is not msgspec.UNSET:
            self.logprobs.append(None)

    def tell(self, place: int, likely: Likely) -> None:
        """How likely the token at ``place`` was."""
        if self.logprobs is msgspec.UNSET:
            self.logprobs = [None] * len(self.records)
        self.logprobs[place] = likely

    def likely(self, place: int) -> Likely | None:
        """How likely the token at ``place`` was; None: nobody asked, or it is lost."""
        return None if self.logprobs is msgspec.UNSET else self.logprobs[place]


def line_of(sequences: list[Sampled], sequence: int, before: int | None = None) -> list[tuple[Sampled, int]]:
    """All that a sequence has said in steps whose records are below ``before``, with what it took over from its parents.

    Each is a sequence and the place among what that one sampled itself.
    """
    by_number = {each.sequence: each for each in sequences}
    line: list[tuple[Sampled, int]] = []
    branch = by_number.get(sequence)
    while branch is not None:
        end = len(branch.records) if before is None else bisect_left(branch.records, before)
        line[:0] = [(branch, i) for i in range(end)]
        before = branch.created if before is None else min(before, branch.created)
        # A parent is older than its child, whatever a damaged recording says: the line comes to an end.
        older = branch.parent is not None and branch.parent < branch.sequence
        branch = by_number.get(branch.parent) if older and branch.parent is not None else None
    return line


def likely(columns: Logprobs) -> dict[int, Likely]:
    """By the places of sampled tokens in their text record, what its columns tell of those that have any."""
    found: dict[int, Likely] = {}
    values, first = _f32(columns.top_logprob), 0
    tokens = u32(columns.top_token).tolist()
    for place, logprob, rank, count in zip(
        u32(columns.sampled).tolist(),
        _f32(columns.logprob),
        u32(columns.rank).tolist(),
        u32(columns.count).tolist(),
        strict=True,
    ):
        top = list(zip(tokens[first : first + count], values[first : first + count], strict=True))
        found[place] = Likely(logprob=logprob, rank=rank, top=top)
        first += count
    return found


def _f32(raw: bytes) -> list[float]:
    return [round(value, 6) for value in np.frombuffer(raw, dtype="<f4").tolist()]
