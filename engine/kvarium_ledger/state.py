"""What a follower knows of a pool, its tables and its requests: plain columns and maps, and nothing derived.

The columns are ``array.array``s, read and written singly by the exact fold, and at the same time numpy views of the
same memory, read and written in bulk by the batch fold and by the digests.
"""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kvarium_ledger import block_columns, decisions
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import u32
from kvarium_ledger.digest import float_words, row_sums
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import BlockColumns, PinColumns, TableColumns


@dataclass
class RequestRow:
    """A request in the engine: what changes (``state``, ``place``). What it is stands in :class:`RequestFacts`."""

    state: decisions.State
    place: float


@dataclass(frozen=True)
class RequestFacts:
    """What never changes of a request: kept after its end, as undoing may bring it back. ``sequences`` are all it had."""

    name: str
    prompt_tokens: int
    max_tokens: int
    n: int
    priority: int
    precedence: int
    beam_width: int | None
    lora_name: str | None
    sequences: list[int] = field(default_factory=list)


@dataclass
class SequenceRow:
    """A decode sequence: the ``index``-th of ``request``, forked from ``parent``; it may be dropped before its end."""

    request: int
    index: int
    parent: int | None
    dropped: bool = False


class BlockState:
    """The columns of all blocks: u32 ``generation``, ``count``, ``content``, ``filled``, ``hits`` and f64 ``ticket``.

    Each is there twice over the same memory: ``count`` (an ``array.array``) and ``np_count`` (numpy).
    """

    __slots__ = (
        "content",
        "count",
        "filled",
        "generation",
        "hits",
        "np_content",
        "np_count",
        "np_filled",
        "np_generation",
        "np_hits",
        "np_ticket",
        "num_blocks",
        "ticket",
    )

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise ValueError(f"a pool has at least one block, not {num_blocks}")
        self.num_blocks = num_blocks
        self.generation = array("I", bytes(4 * num_blocks))
        self.count = array("I", bytes(4 * num_blocks))
        self.content = array("I", b"\xff" * (4 * num_blocks))
        self.filled = array("I", bytes(4 * num_blocks))
        self.hits = array("I", bytes(4 * num_blocks))
        self.ticket = array("d", np.arange(num_blocks, dtype="<f8").tobytes())
        self.np_generation = np.frombuffer(self.generation, dtype="<u4")
        self.np_count = np.frombuffer(self.count, dtype="<u4")
        self.np_content = np.frombuffer(self.content, dtype="<u4")
        self.np_filled = np.frombuffer(self.filled, dtype="<u4")
        self.np_hits = np.frombuffer(self.hits, dtype="<u4")
        self.np_ticket = np.frombuffer(self.ticket, dtype="<f8")

    @classmethod
    def bulk(cls, num_blocks: int) -> "BlockState":
        """A state for work in bulk alone, to be loaded: it has the numpy views, of values that mean nothing yet."""
        state = cls.__new__(cls)
        state.num_blocks = num_blocks
        for name in BLOCK_COLUMNS:
            column = np.empty(num_blocks, dtype="<f8" if name == "ticket" else "<u4")
            setattr(state, f"np_{name}", column)
        return state

    def sums(self, blocks: np.ndarray | None = None) -> tuple[int, int]:
        """The lane ``blocks`` over some rows (``[rows]`` u32 numbers), or over all."""
        if blocks is None:
            blocks = np.arange(self.num_blocks, dtype=np.uint32)
            rows: slice | np.ndarray = slice(None)
        else:
            rows = blocks
        low, high = float_words(self.np_ticket[rows])
        return row_sums(
            "blocks",
            blocks.astype(np.uint32, copy=False),
            self.np_generation[rows],
            self.np_count[rows],
            low,
            high,
            self.np_content[rows],
            self.np_filled[rows],
        )

    def usage(self, blocks: np.ndarray | None = None) -> np.ndarray:
        """``[4] int``: how many of the blocks (or of all) are active, shared, cached and free."""
        rows: slice | np.ndarray = slice(None) if blocks is None else blocks
        count = self.np_count[rows]
        idle = count == 0
        shared = int((count > 1).sum())
        cached = int((idle & (self.np_content[rows] != NONE)).sum())
        queued = int(idle.sum())
        return np.array([len(count) - queued - shared, shared, cached, queued - cached], dtype=np.int64)

    def load(self, columns: BlockColumns) -> None:
        """Take the columns of a keyframe. Raises :class:`FrameError` when one has not a value for each block."""
        self.fill(
            {
                name: block_columns.decode(name, getattr(columns, name), self.num_blocks)
                for name in BLOCK_COLUMNS
            }
        )

    def fill(self, columns: Mapping[str, np.ndarray | None]) -> None:
        """Take whole columns, unsigned or f64; None: all have the default."""
        for name, values in columns.items():
            if values is None:
                values = block_columns.default(name, self.num_blocks)
            getattr(self, f"np_{name}")[:] = values

    def columns(self) -> BlockColumns:
        """The columns as a keyframe carries them: one that is its default for every block is left out."""
        return BlockColumns(
            **{name: block_columns.encode(name, getattr(self, f"np_{name}")) for name in BLOCK_COLUMNS}
        )


class ContentParents:
    """The parent of each interned content: 4 bytes each, as a long session interns millions.

    Every content below ``next`` was interned; the parent of one that no block held at the keyframe with which a fold began
    is not known. A parent is kept as what it differs by from 0xFFFFFFFE, so that 0 is "not known": memory that was never
    written takes no room, however far a record claims that the contents go.
    """

    _CODE = np.uint32(0xFFFFFFFE)

    def __init__(self) -> None:
        self.next = 0
        self._parents = np.zeros(1024, dtype=np.uint32)

    def until(self, bound: int) -> "ContentParents":
        """Those below ``bound``, of the same memory: as nothing that was interned changes, both may go on."""
        twin = ContentParents.__new__(ContentParents)
        twin.next, twin._parents = bound, self._parents
        return twin

    def reserve(self, bound: int) -> None:
        """Contents below ``bound`` were interned.

        Raises :class:`FrameError` past 2^30, which no session reaches, and where there is no memory for so many.
        """
        if bound > 1 << 30:
            raise FrameError(f"content {bound - 1} is out of any order")
        if bound > len(self._parents):
            try:
                grown = np.zeros(max(bound, 2 * len(self._parents)), dtype=np.uint32)
            except MemoryError:
                raise FrameError(f"content {bound - 1}: there is no memory for so many") from None
            grown[: self.next] = self._parents[: self.next]
            self._parents = grown
        self.next = max(self.next, bound)

    def intern(self, contents: np.ndarray, parents: np.ndarray) -> None:
        """``contents`` (u32) have ``parents`` (u32, ``NONE``: the first block of a prompt)."""
        if len(contents) != len(parents):
            raise FrameError(f"{len(contents)} contents have {len(parents)} parents")
        if len(contents):
            self.reserve(int(contents.max()) + 1)
            self._parents[contents] = parents ^ self._CODE

    def parent(self, content: int) -> int | None:
        """The parent of a content (``NONE``: it has none); None where it is not known."""
        if content >= self.next or not self._parents[content]:
            return None
        return int(self._parents[content] ^ self._CODE)

    def with_ancestors(self, contents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The known ones of ``contents`` (u32) with all their known ancestors, ascending, and the parents of each."""
        live = np.zeros(self.next, dtype=bool)
        fresh = contents[contents < self.next]
        while len(fresh):
            codes = self._parents[fresh]
            known = codes != 0
            if not known.all():
                fresh, codes = fresh[known], codes[known]
            live[fresh] = True
            # Nearly every parent is held itself: few are left after the first look, and one step up a chain each time.
            parents = codes ^ self._CODE
            parents = parents[parents < self.next]
            parents = parents[~live[parents]]
            fresh = np.unique(parents[self._parents[parents] != 0])
        found = np.flatnonzero(live).astype("<u4")
        return found, (self._parents[found] ^ self._CODE).astype("<u4")


@dataclass
class State:
    """All that a follower knows. ``tables`` maps (sequence, group) to {position: block}; a table without entries is absent.

    ``facts`` and ``contents`` are never undone.
    """

    blocks: BlockState
    tables: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    pins: dict[int, Counter[int]] = field(default_factory=dict)
    requests: dict[int, RequestRow] = field(default_factory=dict)
    sequences: dict[int, SequenceRow] = field(default_factory=dict)
    facts: dict[int, RequestFacts] = field(default_factory=dict)
    contents: ContentParents = field(default_factory=ContentParents)

    def table_columns(self) -> TableColumns:
        """All entries as a keyframe carries them, ordered by sequence, group and position."""
        rows = [
            (sequence, group, position, block)
            for (sequence, group), table in sorted(self.tables.items())
            for position, block in sorted(table.items())
        ]
        words = np.array(rows, dtype="<u4").reshape(len(rows), 4)
        return TableColumns(
            sequence=words[:, 0].tobytes(),
            group=words[:, 1].astype("u1").tobytes() if words[:, 1].any() else b"",
            position=words[:, 2].tobytes(),
            block=words[:, 3].tobytes(),
        )

    def pin_columns(self) -> PinColumns:
        """All pins as a keyframe carries them, ordered by block and pin."""
        rows = [(block, pin) for block, pins in sorted(self.pins.items()) for pin in sorted(pins.elements())]
        return PinColumns(
            block=np.array([row[0] for row in rows], dtype="<u4").tobytes(),
            pin=np.array([row[1] for row in rows], dtype="u1").tobytes(),
        )


def table_sums(columns: TableColumns) -> tuple[int, int]:
    """The lane ``tables`` over the entries of a keyframe."""
    sequence = u32(columns.sequence)
    group = np.frombuffer(columns.group, dtype="u1") if columns.group else np.zeros(len(sequence), dtype="u1")
    return row_sums("tables", sequence, group.astype(np.uint32), u32(columns.position), u32(columns.block))


def request_sums(rows: list[tuple[int, decisions.State, float]]) -> tuple[int, int]:
    """The lane ``requests`` over rows of (request, state, place)."""
    places = np.array([row[2] for row in rows], dtype="<f8")
    low, high = float_words(places)
    return row_sums(
        "requests",
        np.array([row[0] for row in rows], dtype=np.uint32),
        np.array([decisions.STATE_CODES[row[1]] for row in rows], dtype=np.uint32),
        low,
        high,
    )
