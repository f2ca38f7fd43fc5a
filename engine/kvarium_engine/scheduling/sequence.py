"""A sequence: one line of tokens, with a block table of its own."""

from array import array
from typing import TYPE_CHECKING

from kvarium_ledger.operations import NONE

if TYPE_CHECKING:
    from kvarium_engine.scheduling.request import Request
    from kvarium_engine.scheduling.stopping import Ending, StopStrings


class Sequence:
    """A decode sequence of a request.

    ``tokens``   all token ids that are known (u32): the prompt's, then the sampled ones
    ``length``   how many they are
    ``computed`` of how many the keys and values are computed, or will be by the step that was scheduled last
    ``table``    the physical blocks, of which the last may be partly filled: ``ceil(computed / block_size)``
    ``ahead``    a contiguous cache: the blocks that are reserved for it behind those
    ``labelled`` how many of the table's first blocks are labelled; ``content`` is that of the last of them

    ``limit``    the length at which it ends
    ``watched``  the length from which each new token may end it, and not only an end token; then ``stops`` has its text
    ``ending``   why it has ended
    ``salt``     the null runner's: what its tokens are seeded with (-1: not yet made)

    A decode is the case ``length == computed + 1``: the token that was sampled last is computed, and the next sampled.
    """

    __slots__ = (
        "ahead",
        "computed",
        "content",
        "ending",
        "id",
        "index",
        "labelled",
        "length",
        "limit",
        "parent",
        "request",
        "salt",
        "stops",
        "table",
        "tokens",
        "watched",
    )

    def __init__(
        self, id: int, request: "Request", index: int, tokens: "array[int]", parent: int | None = None
    ) -> None:
        self.id = id
        self.request = request
        self.index = index
        self.parent = parent
        self.tokens = tokens
        self.length = len(tokens)
        self.limit = request.prompt_tokens + request.max_tokens
        self.watched = request.watched
        self.stops: StopStrings | None = None
        self.ending: Ending | None = None
        self.computed = 0
        self.table: list[int] = []
        self.ahead = range(0)
        self.labelled = 0
        self.content = NONE
        self.salt = -1

    @property
    def held(self) -> list[int]:
        """All blocks that it holds a count of, by their positions."""
        return [*self.table, *self.ahead]

    def forget(self) -> None:
        """The blocks are gone: all is to be computed again."""
        self.computed = 0
        self.table = []
        self.labelled = 0
        self.content = NONE

    def __repr__(self) -> str:
        return (
            f"r{self.request.id}.{self.index} ({self.computed} of {self.length} tokens, blocks {self.table})"
        )
