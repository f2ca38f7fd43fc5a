"""Many evictions explained in one pass over a recording: the answers are those of :mod:`kvarium.why.eviction`, one for one.

    record by record   fold ─▶ back before each eviction that is asked for ─▶ how things stood
                       lives ─▶ its block's last operation, and the hits on its content
                       watched ─▶ who wanted the content, from there to the end

One by one each would look backwards for the beginning of the block's life, fold a state and read on to the recording's end.
"""

from collections import deque
from collections.abc import Callable, Iterable

import numpy as np

from kvarium.filtering.rows import name_of
from kvarium.sql.walk import Batch
from kvarium.why.eviction import (
    MOST_HITS,
    Eviction,
    Hit,
    Idle,
    Lost,
    SoFar,
    Standing,
    standing,
    told,
)
from kvarium.why.past import Past
from kvarium.why.places import Moment, Who
from kvarium.why.wanted import Wants, Watched
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Gap, Keyframe, Step

Progress = Callable[[int, int], None]


def all_evictions(past: Past) -> list[tuple[int, int, bool]]:
    """Step and operation of every eviction in order, and whether its content was labelled again later."""
    found: list[list[int | bool]] = []
    lost: dict[int, list[int | bool]] = {}
    for each in past.everything(with_text=False):
        if not isinstance(each, Batch):
            continue
        for step in each.steps:
            columns = OperationColumns.decode(step.operations)
            contents = columns.expand("content")
            for at in np.flatnonzero(columns.mask(Operation.evict, Operation.cache)).tolist():
                content = int(contents[at])
                if columns.kind[at] == Operation.evict:
                    lost[content] = [step.step, step.op + at, False]
                    found.append(lost[content])
                elif content in lost:
                    lost.pop(content)[2] = True
    return [(int(step), int(op), bool(again)) for step, op, again in found]


def why_evicted_each(past: Past, ops: Iterable[int], progress: Progress) -> dict[int, Eviction]:
    """The answers to ``Evicted(op=…)``, by the operations; those are left out that are no evictions or not recorded.

    ``progress`` is told how many of how many records are read.
    """
    return _Sweep(past, ops).run(progress)


class _Sweep:
    def __init__(self, past: Past, ops: Iterable[int]) -> None:
        self._past = past
        self._ops = np.array(sorted(ops), dtype=np.int64)
        self._fold: Fold | None = None
        self._lives = _Lives(past)
        self._watched: Watched | None = None
        self._found: dict[int, tuple[Lost, Standing, SoFar, Wants]] = {}

    def run(self, progress: Progress) -> dict[int, Eviction]:
        walk = self._past.everything(with_text=False)
        for each in walk:
            if isinstance(each, Keyframe):
                self._keyframe(each)
            elif isinstance(each, Gap):
                self._lose()
            elif self._watched is not None:
                self._watched.sequences.learn(each)
                for step in each.steps:
                    self._step(step)
            progress(walk.done, walk.total)
        return {op: told(*parts) for op, parts in self._found.items()}

    def _keyframe(self, keyframe: Keyframe) -> None:
        if self._fold is None:
            self._fold = Fold(self._past.num_blocks, self._past.block_size)
            self._fold.load(keyframe)
            self._watched = Watched(self._past, self._fold)
        assert self._watched is not None
        self._watched.sequences.load(keyframe)
        self._lives.load(keyframe)

    def _lose(self) -> None:
        """What was known of blocks is not known any more, until a state is told."""
        if self._watched is not None:
            self._watched.lose()
        self._fold = self._watched = None
        self._lives.forget()

    def _step(self, step: Step) -> None:
        fold, watched = self._fold, self._watched
        if fold is None or watched is None:
            return
        columns = OperationColumns.decode(step.operations)
        begin, end = np.searchsorted(self._ops, (step.op, step.op + len(columns)))
        asked = self._ops[begin:end].tolist()
        # Records between steps tell of no block.
        fold.record = step.record - 1
        fold.apply(step)
        for decision in step.decisions:
            if isinstance(decision, SequenceCreated):
                self._lives.owners[decision.sequence] = (decision.request, decision.index)
        so_far = self._lives.follow(step, columns, set(asked))
        if fold.violation is not None:
            # Such a state is no ground for an answer.
            self._ops = self._ops[:0]
            return
        for op in so_far:
            lost = self._lost(step, columns, op)
            fold.stand(step, op)
            then = standing(self._past, lost, fold, step)
            wants = watched.expect(lost.content, then.value, lost.at)
            self._found[op] = (lost, then, so_far[op], wants)
        if so_far:
            fold.stand(step, step.op + len(columns))
        watched.follow(step)

    def _lost(self, step: Step, columns: OperationColumns, op: int) -> Lost:
        at = op - step.op
        sequence = int(columns.sequence[at])
        return Lost(
            at=Moment(record=step.record, step=step.step, op=op, time=step.sealed),
            block=int(columns.block[at]),
            content=int(columns.expand("content")[at]),
            cause=str(name_of(Cause, int(columns.cause[at]))),
            hits=int(columns.expand("hits")[at]),
            sequence=None if sequence == NONE else sequence,
            asked=self._lives.who(sequence),
        )


class _Lives:
    """Of every block the life that it lives: its last operation, and the hits on what it holds."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self.owners: dict[int, tuple[int, int]] = {}
        """Of a sequence its request, and which of its sequences it is."""
        self._last: list[tuple[int, Step, int] | None] = [None] * past.num_blocks
        """Kind, step and number of a block's last operation."""
        self._hits: dict[int, deque[tuple[int, int, Step, int]]] = {}
        """Kind, sequence, step and number of the hits since it was labelled, or since it is known."""
        self._labelled: set[int] = set()

    def load(self, keyframe: Keyframe) -> None:
        """Whose its sequences are."""
        for row in keyframe.sequences:
            self.owners[row.sequence] = (row.request, row.index)

    def forget(self) -> None:
        """A gap."""
        self._last = [None] * self._past.num_blocks
        self._hits.clear()
        self._labelled.clear()

    def who(self, sequence: int) -> Who | None:
        """Whose a sequence is; None where that is not known."""
        owner = self.owners.get(sequence)
        return None if owner is None else self._past.who(owner[0], sequence, owner[1])

    def follow(self, step: Step, columns: OperationColumns, asked: set[int]) -> dict[int, SoFar]:
        """Follow a step; the lives up to those evictions in it that are asked for, by their operations."""
        found: dict[int, SoFar] = {}
        sources = iter(columns.source.tolist())
        each = zip(
            columns.kind.tolist(),
            columns.block.tolist(),
            columns.cause.tolist(),
            columns.sequence.tolist(),
            strict=True,
        )
        for op, (kind, block, cause, sequence) in enumerate(each, step.op):
            if kind == Operation.evict and op in asked:
                found[op] = self._so_far(step, block)
            elif kind in (Operation.allocate, Operation.copy):
                self._hits.pop(block, None)
                self._labelled.discard(block)
                if kind == Operation.copy:
                    self._last[next(sources)] = (kind, step, op)
            elif kind == Operation.cache:
                self._hits.pop(block, None)
                self._labelled.add(block)
            elif kind in (Operation.reuse, Operation.share) and cause == Cause.prefix_hit:
                hits = self._hits.setdefault(block, deque(maxlen=MOST_HITS))
                hits.append((kind, sequence, step, op))
            self._last[block] = (kind, step, op)
        return found

    def _so_far(self, step: Step, block: int) -> SoFar:
        last = self._last[block]
        idle = None
        if last is not None:
            since = _moment(last[1], last[2])
            idle = Idle(
                operation=Operation(last[0]).name,
                since=since,
                steps=step.step - since.step,
                ns=step.sealed - since.time,
            )
        hits = [
            Hit(who=self.who(sequence), operation=Operation(kind).name, at=_moment(then, op))
            for kind, sequence, then, op in reversed(self._hits.get(block, ()))
        ]
        return SoFar(idle=idle, hit_by=hits, labelled=block in self._labelled)


def _moment(step: Step, op: int) -> Moment:
    return Moment(record=step.record, step=step.step, op=op, time=step.sealed)
