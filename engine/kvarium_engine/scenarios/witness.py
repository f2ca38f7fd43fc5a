"""What a scenario knows of its engine: the ledger's records, folded. Nothing is read from the pool itself."""

from collections import defaultdict
from typing import NamedTuple, TypeVar

import numpy as np

from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import AnyDecision, Decision, SequenceDropped
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Sealed
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import AnyRecord, Control, Step, Text

_D = TypeVar("_D", bound=Decision)
_GAINS = (Operation.allocate, Operation.reuse, Operation.share, Operation.copy)
_LOSES = (Operation.release, Operation.free)


class Event(NamedTuple):
    """One operation. ``source`` is a copy's; ``content`` that of ``cache`` and ``evict``; 0 where it carries none."""

    step: int
    op: int
    kind: Operation
    block: int
    cause: Cause
    sequence: int
    source: int
    content: int


class Witness:
    """Follows the records of one session, whatever they are.

    ``fold`` is the mirror, ``events`` all operations and ``decisions`` all decisions so far, in their order, each of these with its
    step. ``steps``: the records of steps.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.fold = Fold(num_blocks, block_size)
        self.events: list[Event] = []
        self.decisions: list[tuple[int, AnyDecision]] = []
        self.steps: list[Step] = []
        self.controls: list[Control] = []
        self._encoder = Encoder(num_blocks)
        self._sampled: dict[int, list[int]] = defaultdict(list)
        self._contents: dict[int, list[int]] = {}

    def see(self, sealed: Sealed) -> None:
        """What the ledger sealed."""
        for record in self._encoder.records(sealed):
            self.fold.apply(record)
            self._take(record)

    def _take(self, record: AnyRecord) -> None:
        if isinstance(record, Step):
            self.steps.append(record)
            self.decisions += [(record.step, each) for each in record.decisions]
            self.events += _events(record)
        elif isinstance(record, Text):
            step = self.steps[-1]
            for sequence, token in zip(u32(step.sampled).tolist(), u32(record.sampled).tolist(), strict=True):
                self._sampled[sequence].append(token)
            contents, size = u32(record.content).tolist(), self.block_size
            tokens = u32(record.tokens).tolist()
            for number, content in enumerate(contents):
                self._contents[content] = tokens[number * size : (number + 1) * size]
        elif isinstance(record, Control):
            self.controls.append(record)

    # -- the state after the last record ---------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """The last step; -1 before the first."""
        return self.fold.step

    def sequences(self, request: int) -> list[int]:
        """The sequences of a request that go on or ended with it, in the order in which they were made."""
        dropped = {each.sequence for _, each in self.decisions if isinstance(each, SequenceDropped)}
        facts = self.fold.state.facts.get(request)
        return [] if facts is None else [each for each in facts.sequences if each not in dropped]

    def table(self, sequence: int) -> list[int]:
        """A sequence's blocks, in the order of their positions."""
        return [block for _, block in sorted(self.fold.state.tables.get((sequence, 0), {}).items())]

    def count(self, block: int) -> int:
        """Its ref count."""
        return self.fold.state.blocks.count[block]

    def filled(self, block: int) -> int:
        """Its slots that are written."""
        return self.fold.state.blocks.filled[block]

    def content(self, block: int) -> list[int] | None:
        """The token ids of its content; None: it has none."""
        return self._contents.get(self.fold.state.blocks.content[block])

    def has_ended(self, request: int) -> bool:
        """Did a request come in and leave again?"""
        state = self.fold.state
        return request in state.facts and request not in state.requests

    def sampled(self, sequence: int) -> list[int]:
        """The tokens that a sequence sampled."""
        return self._sampled[sequence]

    def queue(self) -> list[int]:
        """The free queue from head to tail."""
        blocks = self.fold.state.blocks
        free = np.flatnonzero(blocks.np_count == 0)
        return [int(block) for block in free[np.argsort(blocks.np_ticket[free], kind="stable")]]

    # -- what happened -----------------------------------------------------------------------------------------------

    def happened(self, *kinds: Operation, sequence: int | None = None, since: int = -1) -> list[Event]:
        """The operations of ``kinds`` after step ``since``, of one sequence or of all."""
        return [
            each
            for each in self.events
            if each.kind in kinds and each.step > since and sequence in (None, each.sequence)
        ]

    def decided(self, kind: type[_D], since: int = -1) -> list[tuple[int, _D]]:
        """The decisions of a ``kind`` after step ``since``, each with its step."""
        return [(step, each) for step, each in self.decisions if isinstance(each, kind) and step > since]

    def count_before(self, block: int, op: int) -> int:
        """The ref count of ``block`` before an operation, counted from the session's first one."""
        count = 0
        for each in self.events:
            if each.op >= op:
                break
            if each.block == block:
                count += (each.kind in _GAINS) - (each.kind in _LOSES)
            elif each.kind is Operation.copy and each.source == block:
                count -= 1
        return count


def _events(step: Step) -> list[Event]:
    columns = OperationColumns.decode(step.operations)
    rows = zip(
        *(
            columns.expand(name).tolist()
            for name in ("kind", "block", "cause", "sequence", "source", "content")
        ),
        strict=True,
    )
    return [
        Event(step.step, step.op + number, Operation(kind), block, Cause(cause), sequence, source, content)
        for number, (kind, block, cause, sequence, source, content) in enumerate(rows)
    ]
