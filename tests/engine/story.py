"""A run in which everything happens at steps that are known: the same requests at the same steps, each time.

A plain look at what it recorded says where a breakpoint must stop (:func:`rows_of`).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kvarium_engine.control import Control
from kvarium_ledger.decisions import SequenceCreated, Submitted
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Control as ControlRecord
from kvarium_ledger.records import Hit, Note
from kvarium_ledger.slices import Slice
from tests.engine.mirrored import Mirrored, tokens

LAST = 75
"""The story has ended by this step."""


class Story:
    """``control`` may hold its engine. A second passes from one step to the next."""

    def __init__(self, audit_interval: int = 1000) -> None:
        self.mirrored = Mirrored(18, block_size=4, budget=32, seqs=6, audit_interval=audit_interval)
        self.engine = self.mirrored.engine
        self.control = Control(self.engine, allowed=True, tells_text=True)
        self._seconds = 0
        self.engine.ledger._clock = lambda: self.engine.ledger._began + self._seconds * 10**9
        self.usages: list[float] = []
        self.rates: list[float] = []

    def ask(self, command: str, **args: Any) -> Any:
        return self.control.handlers[command](args, "a test")

    def _submit(self, step: int) -> None:
        submit = self.mirrored.submit
        if step == 1:
            submit(tokens(1, 22), 18, name="ada")
        elif step == 3:
            submit(tokens(2, 9), 14, n=2, name="bob")
        elif step == 6:
            submit(tokens(3, 17), 24, name="cyd")
        elif step == 8:
            submit(tokens(1, 22), 12, name="dan")
        elif step == 70:
            submit(tokens(1, 22), 4, name="eve")
            submit(1000, 4, name="fat")

    def step(self) -> None:
        self._seconds += 1
        self._submit(self.engine.steps)
        self.engine.step()
        self.control.stepped()
        self.mirrored.mirror()
        usage = self.mirrored.fold.usage()
        self.usages.append((usage.active + usage.shared) / sum(usage))
        self.rates.append(self.mirrored.roster.hit_statistics.rate)

    def go_on(self) -> Hit | None:
        """Step until a breakpoint stops it, or to the end of the story."""
        while self.control.pace.may_step and self.engine.steps <= LAST:
            self.step()
        return self.control.stop

    @property
    def steps(self) -> list[SealedStep]:
        return [each for each in self.mirrored.sealed if isinstance(each, SealedStep)]

    @property
    def notes(self) -> list[Hit]:
        return [each.hit for each in self.mirrored.records if isinstance(each, Note) and each.hit is not None]

    @property
    def holds(self) -> list[ControlRecord]:
        return [each for each in self.mirrored.records if isinstance(each, ControlRecord)]


@dataclass
class Row:
    """An event as a reader would list it; of a decision ``kind`` is its name, and ``block`` is None."""

    step: int
    index: int
    op: int
    kind: str
    name: str | None
    request: int | None
    sequence: int | None = None
    sample: int | None = None
    block: int | None = None
    life: int | None = None
    source: int | None = None
    cause: str | None = None
    content: int | None = None
    preempted: int | None = None


def _in_order(step: SealedStep) -> Iterator[tuple[Any, Slice | None, int]]:
    """(decision, None, 0) or (operation's number, its slice, which of its blocks) in the order in which they hold."""
    decisions, op = list(step.decisions), step.op
    for part in step.slices:
        for at in range(len(part.blocks)):
            while decisions and decisions[0].op <= op:
                yield decisions.pop(0), None, 0
            yield op, part, at
            op += 1
    for decision in decisions:
        yield decision, None, 0


def rows_of(steps: list[SealedStep]) -> Iterator[Row]:
    """Every event, in order."""
    names: dict[int, str] = {}
    whose: dict[int, tuple[int, int]] = {}
    lives: Counter[int] = Counter()
    preempted: Counter[int] = Counter()
    for step in steps:
        for decision in step.decisions:
            if isinstance(decision, Submitted):
                names[decision.request] = decision.name
            if isinstance(decision, SequenceCreated):
                whose[decision.sequence] = (decision.request, decision.index)
        for index, (what, part, at) in enumerate(_in_order(step)):
            if part is None:
                kind, sequence = str(what.__struct_config__.tag), getattr(what, "sequence", None)
                row = Row(step.step, index, what.op, kind, names[what.request], what.request, sequence)
                row.sample = None if sequence is None else whose[sequence][1]
                if kind == "preempted":
                    preempted[what.request] += 1
                    row.preempted = preempted[what.request]
                yield row
                continue
            kind, block = part.kind.name, part.blocks[at]
            lives[block] += kind in ("allocate", "copy")
            served = part.sequences if isinstance(part.sequences, int) else part.sequences[at]
            request, sample = whose.get(served, (None, None))
            name = None if request is None else names[request]
            row = Row(step.step, index, what, kind, name, request, None if served == NONE else served, sample)
            row.block, row.life, row.cause = block, lives[block], part.cause.name
            if kind == "copy":
                row.source = int(part.extra[3][at])
            if kind in ("evict", "cache"):
                row.content = int(part.extra[0][at])
            yield row


Truth = Callable[[Row], bool]
