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
from kvarium_ledger.operations import Cause, Operation
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
    return _Watch(past, content, value, after, fold).run()


class _Watch:
    def __init__(self, past: Past, content: int, value: bytes | None, after: Moment, fold: Fold) -> None:
        self._past = past
        self._content = content
        self._value = value
        self._after = after
        self._holds = fold.state.blocks.np_content == content
        self._generation = fold.state.blocks.np_generation.copy()
        self._sequences = Sequences()
        self._missed: dict[int, Want] = {}
        self._wants = Wants(through=after.record)

    def run(self) -> Wants:
        wants = self._wants
        for each in self._past.later(self._after.step):
            if isinstance(each, Keyframe):
                self._sequences.load(each)
            elif isinstance(each, Batch):
                self._sequences.learn(each)
                for step in each.steps:
                    if step.record >= self._after.record:
                        self._step(step)
                        wants.through = step.record
            elif isinstance(each, Gap) and each.record > self._after.record:
                wants.not_recorded.append(f"who wanted it after record {wants.through}: a gap follows")
                break
        return wants

    def _step(self, step: Step) -> None:
        columns = OperationColumns.decode(step.operations)
        events: list[tuple[int, int, Admitted | int]] = []
        if self._value is not None:
            events += [
                (decision.op, 0, decision)
                for decision in step.decisions
                if isinstance(decision, Admitted)
                and decision.missed == self._value
                and decision.op > self._after.op
            ]
        events += [(step.op + at, 1, at) for at in self._watched(columns, step.op)]
        for op, _, what in sorted(events, key=lambda event: event[:2]):
            at = Moment(record=step.record, step=step.step, op=op, time=step.sealed)
            if isinstance(what, Admitted):
                want = Want(
                    how="missed",
                    who=self._past.who(what.request),
                    at=at,
                    resumed=what.state_before == "preempted",
                )
                self._missed[what.request] = want
                self._tell(want)
            else:
                self._operation(columns, what, at)

    def _watched(self, columns: OperationColumns, first: int) -> list[int]:
        """The operations of a step that may be about the content, from its eviction on, and those that begin a block's life."""
        labels = columns.mask(Operation.cache, Operation.evict)
        about = np.zeros(len(columns), dtype=bool)
        about[labels] = columns.content == self._content
        hits = columns.mask(Operation.reuse) | (
            columns.mask(Operation.share) & (columns.cause == int(Cause.prefix_hit))
        )
        about |= hits | columns.mask(Operation.allocate, Operation.copy)
        if not len(about):
            return []
        about[: max(0, self._after.op - first)] = False
        return np.flatnonzero(about).tolist()

    def _operation(self, columns: OperationColumns, at: int, moment: Moment) -> None:
        kind, block = Operation(int(columns.kind[at])), int(columns.block[at])
        if kind in (Operation.allocate, Operation.copy):
            self._generation[block] += 1
            return
        if kind == Operation.evict:
            self._holds[block] = False
            return
        who = self._who(int(columns.sequence[at]))
        life = Life(block=block, generation=int(self._generation[block]))
        if kind == Operation.cache:
            self._holds[block] = True
            missed = None if who is None else self._missed.pop(who.request, None)
            if missed is None:
                self._tell(Want(how="computed", who=who, at=moment, life=life))
            else:
                missed.computed, missed.life = moment, life
        elif self._holds[block]:
            self._tell(Want(how="hit", who=who, at=moment, life=life))

    def _who(self, sequence: int) -> Who | None:
        request = int(self._sequences.requests(np.array([sequence]))[0])
        return None if request < 0 else self._past.who(request, sequence)

    def _tell(self, want: Want) -> None:
        self._wants.in_all += 1
        if len(self._wants.found) < _MOST:
            self._wants.found.append(want)
