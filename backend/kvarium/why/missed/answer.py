"""What is told of a miss."""

from typing import Literal

import msgspec

from kvarium.why.missed.lineage import Keys
from kvarium.why.missed.pending import Pending
from kvarium.why.places import Life, Moment, Who


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Another time that the request was admitted; ``resumed``: after a preemption."""

    at: Moment
    tokens: int
    hit: int
    resumed: bool


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """The eviction after which no block held it: of ``life``, which had held it since ``labelled``."""

    at: Moment
    life: Life
    cause: str
    asked: Who | None
    labelled: Moment | None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A content: the block that holds it then (None: none does), who labelled it first, and its loss, if it was lost."""

    content: int
    life: Life | None
    who: Who | None
    labelled: Moment | None
    lost: Moment | None


class OtherKey(msgspec.Struct, frozen=True, kw_only=True):
    """The same tokens under other extra keys: ``keys`` of their first block, and the content."""

    keys: Keys
    held: Held


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """The cached text that begins as the request's for the most tokens, ``agree`` of them: the two differ at that token.

    ``own`` and ``cached`` are the tokens of both from position ``first`` to the end of the block; ``own_text`` and ``cached_text``
    what they read as, where that is known. All but ``held`` is None where text is not recorded.
    """

    agree: int | None
    first: int | None
    own: list[int] | None
    cached: list[int] | None
    own_text: str | None
    cached_text: str | None
    held: Held


Reason = Literal[
    "off", "short", "cap", "evicted", "unlabelled", "other_key", "diverges", "never_seen", "not_recorded"
]


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, of the admission ``at``: ``hit`` of ``tokens`` tokens were found.

    The first block that was not, ``block`` of the prompt, has the tokens from ``first`` to before ``end``, and the hash ``missed``
    (all None: nothing that could have been found was missed). ``capped``: it ends with the request's last token, so that it
    would have been computed all the same. ``behind`` blocks further on were in the cache, where only a hit on this one
    leads. ``keys`` are the extra keys of the request's hashes.
    """

    who: Who
    at: Moment
    resumed: bool
    reason: Reason
    tokens: int
    hit: int
    block_size: int
    block: int | None
    first: int | None
    end: int | None
    missed: str | None
    capped: bool
    keys: Keys
    evicted: Loss | None
    unlabelled: Pending | None
    other_key: OtherKey | None
    nearest: Nearest | None
    behind: int | None
    others: list[Admission]
    not_recorded: list[str]
