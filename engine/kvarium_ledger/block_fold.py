"""The exact fold of block operations: one at a time, each checked against what it finds, forwards and backwards."""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.state import State

_PREFIX_HIT = int(Cause.prefix_hit)
_NAN = float("nan")


class BlockFold:
    """Applies and undoes the operations of a record on a :class:`~kvarium_ledger.state.State`.

    ``fail(op, message)`` is called for an operation that does not find what it must; its effect is taken all the same,
    so that a mirror goes on, and stays red.
    """

    def __init__(self, state: State, block_size: int, fail: Callable[[int, str], None]) -> None:
        self.state = state
        self.block_size = block_size
        self._fail = fail
        self._op = 0
        self._apply: dict[int, Callable[[int, int, int], None]] = {
            Operation.allocate: self._allocate,
            Operation.evict: self._evict,
            Operation.reuse: self._reuse,
            Operation.share: self._share,
            Operation.copy: self._copy,
            Operation.fill: self._fill,
            Operation.cache: self._cache,
            Operation.release: self._release,
            Operation.free: self._free,
        }
        self._undo: dict[int, Callable[[int, int, int], None]] = {
            Operation.allocate: self._undo_allocate,
            Operation.evict: self._undo_evict,
            Operation.reuse: self._undo_reuse,
            Operation.share: self._undo_share,
            Operation.copy: self._undo_copy,
            Operation.fill: self._undo_fill,
            Operation.cache: self._undo_cache,
            Operation.release: self._undo_release,
            Operation.free: self._undo_free,
        }

    def begin(self, columns: OperationColumns, backwards: bool = False) -> Iterator[None]:
        """An iterator that applies (or undoes, from the last) one operation each time it is advanced."""
        order: Callable[[list[int]], Iterator[int]] = reversed if backwards else iter
        for name in (
            "position",
            "group",
            "pin",
            "filled_before",
            "filled_after",
            "source",
            "content",
            "hits",
        ):
            setattr(self, f"_{name}", order(getattr(columns, name).tolist()))
        self._ticket = order(columns.ticket.tolist())
        return self._run(columns, order, self._undo if backwards else self._apply)

    _position: Iterator[int]
    _group: Iterator[int]
    _pin: Iterator[int]
    _ticket: Iterator[float]
    _filled_before: Iterator[int]
    _filled_after: Iterator[int]
    _source: Iterator[int]
    _content: Iterator[int]
    _hits: Iterator[int]

    def _run(
        self,
        columns: OperationColumns,
        order: Callable[[list[int]], Iterator[int]],
        handlers: dict[int, Callable[[int, int, int], None]],
    ) -> Iterator[None]:
        kinds, blocks = columns.kind.tolist(), columns.block.tolist()
        causes, sequences = columns.cause.tolist(), columns.sequence.tolist()
        for i in order(list(range(len(kinds)))):
            self._op = i
            block = blocks[i]
            handlers[kinds[i]](block, causes[i], sequences[i])
            yield

    # -- holders ----------------------------------------------------------------------------------------------------

    def _hold(self, block: int, sequence: int) -> None:
        position, group = next(self._position), next(self._group)
        if position == NONE:
            self.state.pins.setdefault(block, Counter())[next(self._pin)] += 1
            return
        table = self.state.tables.setdefault((sequence, group), {})
        if position in table:
            self._fail(
                self._op, f"entry {position} of sequence {sequence} already holds block {table[position]}"
            )
        table[position] = block

    def _let_go(self, block: int, sequence: int) -> None:
        position, group = next(self._position), next(self._group)
        if position == NONE:
            pin = next(self._pin)
            pins = self.state.pins.get(block)
            if pins is None or not pins[pin]:
                self._fail(self._op, f"block {block} is not held by pin {pin}")
                return
            pins[pin] -= 1
            if not pins[pin]:
                del pins[pin]
            if not pins:
                del self.state.pins[block]
            return
        key = (sequence, group)
        table = self.state.tables.get(key, {})
        found = table.pop(position, None)
        if found != block:
            self._fail(
                self._op, f"entry {position} of sequence {sequence} holds block {found}, not block {block}"
            )
        if not table:
            self.state.tables.pop(key, None)

    # -- forwards ---------------------------------------------------------------------------------------------------

    def _take_from_queue(self, block: int) -> None:
        """What allocate, reuse and the target of a copy find in common: queued at ``ticket``, count 0."""
        blocks = self.state.blocks
        ticket = next(self._ticket)
        if blocks.count[block] != 0:
            self._fail(self._op, f"block {block} has count {blocks.count[block]}, not 0")
        if blocks.ticket[block] != ticket:
            self._fail(self._op, f"block {block} has ticket {blocks.ticket[block]}, not {ticket}")
        blocks.ticket[block] = _NAN

    def _begin_life(self, block: int) -> None:
        blocks = self.state.blocks
        self._take_from_queue(block)
        if blocks.content[block] != NONE:
            self._fail(self._op, f"block {block} still holds content {blocks.content[block]}")
        before = next(self._filled_before)
        if blocks.filled[block] != before:
            self._fail(self._op, f"block {block} was filled to {blocks.filled[block]}, not {before}")
        blocks.count[block] = 1
        blocks.generation[block] += 1

    def _allocate(self, block: int, cause: int, sequence: int) -> None:
        self._begin_life(block)
        self.state.blocks.filled[block] = 0
        self._hold(block, sequence)

    def _evict(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        content, hits = next(self._content), next(self._hits)
        if blocks.content[block] != content or content == NONE:
            self._fail(self._op, f"block {block} holds content {blocks.content[block]}, not {content}")
        if blocks.hits[block] != hits:
            self._fail(self._op, f"block {block} had {blocks.hits[block]} hits, not {hits}")
        blocks.content[block] = NONE
        blocks.hits[block] = 0

    def _reuse(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        self._take_from_queue(block)
        if blocks.content[block] == NONE:
            self._fail(self._op, f"block {block} is hit but holds no content")
        blocks.count[block] = 1
        blocks.hits[block] += 1
        self._hold(block, sequence)

    def _share(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        if blocks.count[block] < 1:
            self._fail(self._op, f"block {block} is shared but nobody holds it")
        blocks.count[block] += 1
        if cause == _PREFIX_HIT:
            blocks.hits[block] += 1
        self._hold(block, sequence)

    def _copy(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        source, position, group = next(self._source), next(self._position), next(self._group)
        after = next(self._filled_after)
        if blocks.count[source] < 2:
            self._fail(self._op, f"the source {source} has count {blocks.count[source]}, not more than 1")
        if blocks.content[source] != NONE or not 0 < blocks.filled[source] < self.block_size:
            self._fail(self._op, f"the source {source} is not partly filled, or holds content")
        if blocks.filled[source] != after:
            self._fail(self._op, f"the source {source} is filled to {blocks.filled[source]}, not {after}")
        self._begin_life(block)
        if blocks.count[source]:
            blocks.count[source] -= 1
        blocks.filled[block] = after
        table = self.state.tables.setdefault((sequence, group), {})
        if table.get(position) != source:
            self._fail(
                self._op,
                f"entry {position} of sequence {sequence} holds block {table.get(position)}, not block {source}",
            )
        table[position] = block

    def _fill(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        before, after = next(self._filled_before), next(self._filled_after)
        if blocks.count[block] != 1:
            self._fail(self._op, f"block {block} is written with count {blocks.count[block]}, not 1")
        if blocks.content[block] != NONE:
            self._fail(self._op, f"block {block} is written but holds content {blocks.content[block]}")
        if blocks.filled[block] != before or not before < after <= self.block_size:
            self._fail(
                self._op,
                f"block {block} is filled to {blocks.filled[block]} of {self.block_size}; the fill goes "
                f"from {before} to {after}",
            )
        blocks.filled[block] = after

    def _cache(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        content = next(self._content)
        if blocks.filled[block] != self.block_size:
            self._fail(self._op, f"block {block} is labelled but filled to {blocks.filled[block]} only")
        if blocks.content[block] != NONE:
            self._fail(self._op, f"block {block} is labelled twice: it holds {blocks.content[block]}")
        if content >= self.state.contents.next:
            self._fail(self._op, f"content {content} was never interned")
        blocks.content[block] = content

    def _release(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        if blocks.count[block] < 2:
            self._fail(
                self._op, f"block {block} is released with count {blocks.count[block]}, not more than 1"
            )
        if blocks.count[block]:
            blocks.count[block] -= 1
        self._let_go(block, sequence)

    def _free(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        if blocks.count[block] != 1:
            self._fail(self._op, f"block {block} is freed with count {blocks.count[block]}, not 1")
        blocks.count[block] = 0
        blocks.ticket[block] = next(self._ticket)
        self._let_go(block, sequence)

    # -- backwards --------------------------------------------------------------------------------------------------

    def _undo_begin_life(self, block: int) -> None:
        blocks = self.state.blocks
        blocks.count[block] = 0
        blocks.generation[block] -= 1
        blocks.ticket[block] = next(self._ticket)
        blocks.filled[block] = next(self._filled_before)

    def _undo_allocate(self, block: int, cause: int, sequence: int) -> None:
        self._let_go(block, sequence)
        self._undo_begin_life(block)

    def _undo_evict(self, block: int, cause: int, sequence: int) -> None:
        self.state.blocks.content[block] = next(self._content)
        self.state.blocks.hits[block] = next(self._hits)

    def _undo_reuse(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        self._let_go(block, sequence)
        blocks.count[block] = 0
        blocks.hits[block] -= 1
        blocks.ticket[block] = next(self._ticket)

    def _undo_share(self, block: int, cause: int, sequence: int) -> None:
        blocks = self.state.blocks
        self._let_go(block, sequence)
        blocks.count[block] -= 1
        if cause == _PREFIX_HIT:
            blocks.hits[block] -= 1

    def _undo_copy(self, block: int, cause: int, sequence: int) -> None:
        source, position, group = next(self._source), next(self._position), next(self._group)
        next(self._filled_after)
        self.state.tables[(sequence, group)][position] = source
        self.state.blocks.count[source] += 1
        self._undo_begin_life(block)

    def _undo_fill(self, block: int, cause: int, sequence: int) -> None:
        next(self._filled_after)
        self.state.blocks.filled[block] = next(self._filled_before)

    def _undo_cache(self, block: int, cause: int, sequence: int) -> None:
        next(self._content)
        self.state.blocks.content[block] = NONE

    def _undo_release(self, block: int, cause: int, sequence: int) -> None:
        self.state.blocks.count[block] += 1
        self._hold(block, sequence)

    def _undo_free(self, block: int, cause: int, sequence: int) -> None:
        next(self._ticket)
        self.state.blocks.count[block] = 1
        self.state.blocks.ticket[block] = _NAN
        self._hold(block, sequence)


def entry_sums(columns: OperationColumns) -> tuple[np.ndarray, np.ndarray]:
    """The table entries that a record's operations add and remove: two ``[rows, 4] u32`` of (sequence, group, position, block)."""
    added: list[np.ndarray] = []
    removed: list[np.ndarray] = []
    position, group = columns.expand("position"), columns.expand("group")
    is_entry = position != NONE

    def rows(mask: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        words = (columns.sequence[mask], group[mask], position[mask], blocks)
        return np.stack([word.astype(np.uint32) for word in words], axis=1)

    gains = columns.mask(Operation.allocate, Operation.reuse, Operation.share, Operation.copy) & is_entry
    losses = columns.mask(Operation.release, Operation.free) & is_entry
    copies = columns.mask(Operation.copy)
    added.append(rows(gains, columns.block[gains]))
    removed.append(rows(losses, columns.block[losses]))
    removed.append(rows(copies, columns.source))
    return np.concatenate(added), np.concatenate(removed)
