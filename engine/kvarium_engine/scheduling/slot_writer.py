"""Slots are assigned here: blocks are allocated, shared ones copied, fills and labels made.

Two samples of one prompt share its last, partly filled block. The first to write copies it; the last one left writes
in place, once the copies that read the block have been launched::

    before             r5.0 [ 2, 4 ]  r5.1 [ 2, 4 ]       block 4: count 2, 6 of 16 filled
    r5.0 writes        pin 4, copy 4 → 15                 r5.0 [ 2, 15 ], block 4: count 1 and a pin
    r5.1 writes        in place, but block 4 is pinned:   its fill is put off
    the step begins    copies are launched, pin ends      block 4: count 1
    put-off fills      fill 4                             r5.1 [ 2, 4 ]

The decodes of a step are gathered, and told to the ledger as one slice a kind: hundreds of blocks in a handful of calls.
What is gathered touches blocks of running sequences only, so it may be told later than what comes between, but before
anything is freed or hit (:meth:`SlotWriter.flush`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE, Cause


class _Copy(NamedTuple):
    source: int
    target: int
    sequence: Sequence


class _PutOff(NamedTuple):
    sequence: Sequence
    start: int
    tokens: int
    cause: Cause


class _Promise(NamedTuple):
    """Labels given in this step: ``blocks`` blocks of a table from ``position`` on."""

    sequence: Sequence
    position: int
    blocks: int


class SlotWriter:
    """Assigns the slots of one step after the other on a pool. Who calls has seen that the blocks suffice."""

    def __init__(self, pool: BlockPool, ledger: Ledger) -> None:
        self.pool = pool
        self.ledger = ledger
        self._copies: list[_Copy] = []
        self._put_off: list[_PutOff] = []
        self._promises: list[_Promise] = []
        self._clear()

    def _clear(self) -> None:
        self._evicted: list[int] = []
        self._evicted_for: list[int] = []
        self._evicted_contents: list[int] = []
        self._evicted_hits: list[int] = []
        self._allocated: list[int] = []
        self._allocated_for: list[int] = []
        self._allocated_at: list[int] = []
        self._allocated_tickets: list[float] = []
        self._allocated_filled: list[int] = []
        self.filled: list[int] = []
        self.filled_for: list[int] = []
        self.filled_before: list[int] = []
        self._cached: list[int] = []
        self._cached_for: list[int] = []
        self._cached_contents: list[int] = []

    # -- how much is needed -------------------------------------------------------------------------------------

    def blocks_needed(self, wants: Iterable[tuple[Sequence, int]]) -> int:
        """Blocks that have to be taken for ``(sequence, tokens)`` to be written: new ones and copies."""
        size, count, pins = self.pool.block_size, self.pool.state.count, self.pool.pins
        holders: dict[int, int] = {}
        needed = 0
        for sequence, tokens in wants:
            start = sequence.computed
            needed += blocks_for(start + tokens, size) - len(sequence.table)
            if tokens and start % size:
                block = sequence.table[-1]
                left = holders.get(block) or count[block] - pins[block]
                if left > 1:
                    needed += 1
                    left -= 1
                holders[block] = left
        return needed

    # -- writing ------------------------------------------------------------------------------------------------

    def decode(self, sequence: Sequence) -> None:
        """Assign the slot of the one token that is not computed yet."""
        size = self.pool.block_size
        position = sequence.computed
        offset = position % size
        if offset:
            block = sequence.table[-1]
            if self.pool.state.count[block] != 1 and self._unshare(sequence, position, 1, Cause.decode):
                return
            block = sequence.table[-1]
        else:
            block = self._grow(sequence)
        filled = self.pool.state.filled
        assert filled[block] == offset, f"block {block} has {filled[block]} slots filled, not {offset}"
        filled[block] = offset + 1
        self.filled.append(block)
        self.filled_for.append(sequence.id)
        self.filled_before.append(offset)
        sequence.computed = position + 1
        if offset + 1 == size:
            self.label_last(sequence, block)

    def _grow(self, sequence: Sequence) -> int:
        """One more block for the next decoded token."""
        block, ticket, filled, label, hits = self.pool.take_one()
        if label != NONE:
            self._evicted.append(block)
            self._evicted_for.append(sequence.id)
            self._evicted_contents.append(label)
            self._evicted_hits.append(hits)
        self._allocated.append(block)
        self._allocated_for.append(sequence.id)
        self._allocated_at.append(len(sequence.table))
        self._allocated_tickets.append(ticket)
        self._allocated_filled.append(filled)
        sequence.table.append(block)
        return block

    def label_last(self, sequence: Sequence, block: int) -> None:
        """The block that a decode just filled to the end is labelled."""
        pool = self.pool
        if pool.cache is None:
            return
        end = sequence.computed
        tokens = sequence.tokens[end - pool.block_size : end].tobytes()
        (content,) = pool.label((block,), sequence.content, tokens, sequence.request.keys)
        self._cached.append(block)
        self._cached_for.append(sequence.id)
        self._cached_contents.append(content)
        self._promises.append(_Promise(sequence, sequence.labelled, 1))
        sequence.content = content
        sequence.labelled += 1

    def prefill(self, sequence: Sequence, count: int) -> None:
        """Assign the slots of the next ``count`` tokens."""
        start, size = sequence.computed, self.pool.block_size
        unlabelled = self.pool.cache is not None and sequence.labelled * size != start
        if len(sequence.table) * size == start and not unlabelled and not sequence.ahead:
            self._begin(sequence, start, count)
            return
        if start % size:
            block = sequence.table[-1]
            if self.pool.state.count[block] != 1 and self._unshare(sequence, start, count, Cause.prefill):
                return
        self._allocate(sequence, start + count, Cause.prefill)
        self._fill(sequence, start, count, Cause.prefill)
        sequence.computed = start + count

    def _begin(self, sequence: Sequence, start: int, count: int) -> None:
        """The same from the end of a table whose blocks are full: new blocks alone are filled."""
        pool, size, end = self.pool, self.pool.block_size, start + count
        entries = start // size
        n = blocks_for(count, size)
        tokens = sequence.tokens[start : end // size * size].tobytes() if pool.cache is not None else b""
        blocks, contents = pool.prefill(
            n,
            sequence.id,
            entries,
            end - (entries + n - 1) * size,
            sequence.content,
            tokens,
            sequence.request.keys,
        )
        sequence.table += blocks
        sequence.computed = end
        if contents:
            self._promises.append(_Promise(sequence, entries, len(contents)))
            sequence.content = contents[-1]
            sequence.labelled += len(contents)

    def _allocate(self, sequence: Sequence, tokens: int, cause: Cause) -> None:
        missing = blocks_for(tokens, self.pool.block_size) - len(sequence.table)
        if missing > 0:
            sequence.table += self.pool.allocate(missing, cause, sequence.id, len(sequence.table))

    def _unshare(self, sequence: Sequence, start: int, count: int, cause: Cause) -> bool:
        """Make the last block writable. True: the write is put off until the copies of this block are launched."""
        pool = self.pool
        block = sequence.table[-1]
        if pool.state.count[block] - pool.pins[block] > 1:
            target = pool.copy(block, sequence.id, len(sequence.table) - 1)
            sequence.table[-1] = target
            self._copies.append(_Copy(block, target, sequence))
            return False
        self._allocate(sequence, start + count, cause)
        self._put_off.append(_PutOff(sequence, start, count, cause))
        sequence.computed = start + count
        return True

    def _fill(self, sequence: Sequence, start: int, count: int, cause: Cause) -> None:
        """Fill the slots ``start`` … ``start + count - 1`` of a table, and label the blocks that are full then."""
        size = self.pool.block_size
        end = start + count
        first, last = start // size, blocks_for(end, size)
        blocks = sequence.table[first:last]
        before = [0] * len(blocks)
        before[0] = start - first * size
        after = [size] * len(blocks)
        after[-1] = end - (last - 1) * size
        self.pool.fill(blocks, cause, sequence.id, before, after)
        full = end // size
        if self.pool.cache is not None and full > sequence.labelled:
            self._label(sequence, full)

    def _label(self, sequence: Sequence, full: int) -> None:
        """Label the blocks of a table up to the ``full``-th."""
        size, first = self.pool.block_size, sequence.labelled
        blocks = sequence.table[first:full]
        tokens = sequence.tokens[first * size : full * size].tobytes()
        contents = self.pool.label(blocks, sequence.content, tokens, sequence.request.keys)
        self.ledger.cache(blocks, sequence.id, contents)
        self._promises.append(_Promise(sequence, first, full - first))
        sequence.content = contents[-1]
        sequence.labelled = full

    # -- the ends of a step ---------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Tell the ledger what is gathered."""
        ledger = self.ledger
        if not self.filled:
            return
        if self._evicted:
            ledger.evict(
                self._evicted, Cause.allocate, self._evicted_for, self._evicted_contents, self._evicted_hits
            )
        if self._allocated:
            ledger.allocate(
                self._allocated,
                Cause.decode,
                self._allocated_for,
                self._allocated_at,
                self._allocated_tickets,
                self._allocated_filled,
            )
        before = self.filled_before
        ledger.fill(self.filled, Cause.decode, self.filled_for, before, [value + 1 for value in before])
        if self._cached:
            ledger.cache(self._cached, self._cached_for, self._cached_contents)
        self._clear()

    def launch(self) -> list[tuple[int, int]]:
        """Scheduling ends: tell what is gathered, launch the copies, make the fills that waited for them.

        Returns the copies as (source, target) blocks.
        """
        self.flush()
        copies = [(copy.source, copy.target) for copy in self._copies]
        self.pool.launch_copies()
        for sequence, start, count, cause in self._put_off:
            self._fill(sequence, start, count, cause)
        self._copies.clear()
        self._put_off.clear()
        return copies

    def settle(self) -> None:
        """The step was computed: its labels hold."""
        self._promises.clear()

    def unschedule(self, request: Request) -> None:
        """A request is preempted in the step that scheduled it: its labels of this step are taken back first.

        Its copies leave the launch and its put-off fills are not made. Nobody else has shared those labels: hits are
        given after the last preemption of a step.
        """
        self.flush()
        self._copies = [copy for copy in self._copies if copy.sequence.request is not request]
        self._put_off = [write for write in self._put_off if write.sequence.request is not request]
        self._take_back([p for p in self._promises if p.sequence.request is request], Cause.unscheduled)
        self._promises = [p for p in self._promises if p.sequence.request is not request]

    def fail(self) -> None:
        """The forward failed: the labels that it should have earned are taken back."""
        self._take_back(self._promises, Cause.failed_step)
        self._promises.clear()

    def _take_back(self, promises: list[_Promise], cause: Cause) -> None:
        for sequence, position, count in promises:
            self.pool.evict(sequence.table[position : position + count], cause, sequence.id)
