"""What a step tells beside operations: the contents that it interned, and how likely its tokens were."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

ExtraKeys = tuple[tuple[str, ...], ...]
"""What stands in a block's hash beside its parent and its tokens."""


class ContentText(NamedTuple):
    """A content that was interned: its id, its parent's (``NONE``: none), its token ids and its extra keys.

    ``hash`` is there where it is to be told, as text is not recorded.
    """

    content: int
    parent: int
    tokens: Sequence[int]
    extra: ExtraKeys | None = None
    hash: bytes | None = None


PlainContents = tuple[int, int, int, bytes, ExtraKeys | None, ExtraKeys | None, Sequence[bytes]]
"""The arguments of :meth:`Ledger.contents`."""


def one_by_one(contents: Iterable[PlainContents]) -> list[ContentText]:
    """Contents by the names of their parts."""
    found: list[ContentText] = []
    for first, parent, count, tokens, extra, rest, hashes in contents:
        ids, size = memoryview(tokens).cast("I").tolist(), len(tokens) // 4 // count
        for at in range(count):
            own = ids[at * size : (at + 1) * size]
            before = first + at - 1 if at else parent
            keys, told = rest if at else extra, hashes[at] if hashes else None
            found.append(ContentText(first + at, before, own, keys, told))
    return found


class TokenLogprobs(NamedTuple):
    """How likely the ``number``-th sampled token of a step was; ``rank``: how many were at least as likely.

    ``top_tokens`` with their ``top_logprobs`` are the likeliest, as many as were asked for.
    """

    number: int
    logprob: float
    rank: int
    top_tokens: Sequence[int] = ()
    top_logprobs: Sequence[float] = ()
