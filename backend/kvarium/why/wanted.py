"""Was a content wanted again, after a block had lost it? Who asked for it, and what that found.

It is followed from the eviction on, in the order of operations and decisions:

    hit         a request found it in another block that held it (a copy, or one in which it was computed again)
    missed      a request was admitted, and this was the first block that it did not find (its hash is in the decision)
    computed    a request computed it again without having missed it first: it missed one before it in its prompt

A request that missed it and computes it then is told once, with both places.
"""

from typing import Final, Literal

import msgspec
import numpy as np

from kvarium.sql.walk import Batch, Sequences
from kvarium.why.past import Past
from kvarium.why.places import Life, Moment, Who
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Gap, Keyframe, Step

_MOST: Final = 20


class Want(msgspec.Struct, kw_only=True):
    """Somebody wanted it. ``life``: the block in which it was hit or computed; ``resumed``: after a preemption.

    ``computed`` is where who had missed it computed it.
    """

    how: Literal["hit", "missed", "computed"]
    who: Who | None
    at: Moment
    life: Life | None = None
    resumed: bool = False
    computed: Moment | None = None


class Wants(msgspec.Struct, kw_only=True):
    """The first 20 of ``in_all``, looked for up to record ``through``."""

    found: list[Want] = []
    in_all: int = 0
    through: int = -1
    not_recorded: list[str] = []


def wanted_again(past: Past, content: int, value: bytes | None, after: Moment, fold: Fold) -> Wants:
    """Who wanted ``content``, whose hash is ``value``, after the moment of its eviction, before which ``fold`` stands."""
    watched = Watched(past, fold)
    wants = watched.expect(content, value, after)
    for each in past.later(after.step):
        if isinstance(each, Keyframe):
            watched.sequences.load(each)
        elif isinstance(each, Batch):
            watched.sequences.learn(each)
            for step in each.steps:
                if step.record >= after.record:
                    watched.follow(step, after.op)
        elif isinstance(each, Gap) and each.record > after.record:
            watched.lose()
            break
    return wants


class _Watch:
    """One content that was evicted ``after`` a moment, and who wanted it since."""

    def __init__(self, content: int, value: bytes | None, after: Moment) -> None:
        self.content = content
        self.value = value
        self.after = after
        self.missed: dict[int, Want] = {}
        self.wants = Wants(through=after.record)

    def tell(self, want: Want) -> None:
        self.wants.in_all += 1
        if len(self.wants.found) < _MOST:
            self.wants.found.append(want)


class Watched:
    """Contents whose evictions are expected, each of which is watched from there on; ``fold`` stands before the first."""

    def __init__(self, past: Past, fold: Fold) -> None:
        self._past = past
        self._holds: list[int] = fold.state.blocks.np_content.tolist()
        self._generation: list[int] = fold.state.blocks.np_generation.tolist()
        self._expected: dict[int, _Watch] = {}
        self._of_content: dict[int, list[_Watch]] = {}
        self._of_hash: dict[bytes, list[_Watch]] = {}
        self._all: list[_Watch] = []
        self.sequences = Sequences()

    def expect(self, content: int, value: bytes | None, after: Moment) -> Wants:
        """Watch a content from the eviction at ``after`` on, which is still to be followed; what is found so far."""
        watch = _Watch(content, value, after)
        self._expected[after.op] = watch
        return watch.wants

    def lose(self) -> None:
        """A gap follows: nothing more is known of those that are watched."""
        for watch in self._all:
            watch.wants.not_recorded.append(
                f"who wanted it after record {watch.wants.through}: a gap follows"
            )
        self._all, self._of_content, self._of_hash, self._expected = [], {}, {}, {}

    def follow(self, step: Step, begin: int = 0) -> None:
        """Follow a step, from operation ``begin`` on."""
        columns = OperationColumns.decode(step.operations)
        changes = self._changes(columns)
        changes[: max(0, begin - step.op)] = False
        events: list[tuple[int, int, Admitted | int]] = [
            (step.op + at, 1, at) for at in np.flatnonzero(changes).tolist()
        ]
        events += [
            (decision.op, 0, decision)
            for decision in step.decisions
            if isinstance(decision, Admitted) and decision.missed is not None
        ]
        contents = columns.expand("content")
        for op, _, what in sorted(events, key=lambda event: event[:2]):
            at = Moment(record=step.record, step=step.step, op=op, time=step.sealed)
            if isinstance(what, Admitted):
                self._admitted(what, at)
            else:
                self._operation(columns, contents, what, at)
        for watch in self._all:
            watch.wants.through = step.record

    @staticmethod
    def _changes(columns: OperationColumns) -> np.ndarray:
        """The operations that are about contents of blocks, or begin a block's life."""
        hits = columns.mask(Operation.share) & (columns.cause == int(Cause.prefix_hit))
        kinds = (Operation.cache, Operation.evict, Operation.reuse, Operation.allocate, Operation.copy)
        changes: np.ndarray = hits | columns.mask(*kinds)
        return changes

    def _admitted(self, decision: Admitted, at: Moment) -> None:
        assert decision.missed is not None
        for watch in self._of_hash.get(decision.missed, ()):
            if decision.op <= watch.after.op:
                continue
            want = Want(
                how="missed",
                who=self._past.who(decision.request),
                at=at,
                resumed=decision.state_before == "preempted",
            )
            watch.missed[decision.request] = want
            watch.tell(want)

    def _operation(self, columns: OperationColumns, contents: np.ndarray, at: int, moment: Moment) -> None:
        kind, block = Operation(int(columns.kind[at])), int(columns.block[at])
        if kind in (Operation.allocate, Operation.copy):
            self._generation[block] += 1
            return
        if kind == Operation.evict:
            self._holds[block] = NONE
            self._begin(moment.op)
            return
        if kind == Operation.cache:
            self._holds[block] = int(contents[at])
        for watch in self._of_content.get(self._holds[block], ()):
            who = self._who(int(columns.sequence[at]))
            life = Life(block=block, generation=self._generation[block])
            if kind != Operation.cache:
                watch.tell(Want(how="hit", who=who, at=moment, life=life))
                continue
            missed = None if who is None else watch.missed.pop(who.request, None)
            if missed is None:
                watch.tell(Want(how="computed", who=who, at=moment, life=life))
            else:
                missed.computed, missed.life = moment, life

    def _begin(self, op: int) -> None:
        watch = self._expected.pop(op, None)
        if watch is None:
            return
        self._all.append(watch)
        self._of_content.setdefault(watch.content, []).append(watch)
        if watch.value is not None:
            self._of_hash.setdefault(watch.value, []).append(watch)

    def _who(self, sequence: int) -> Who | None:
        request = int(self.sequences.requests(np.array([sequence]))[0])
        return None if request < 0 else self._past.who(request, sequence)
