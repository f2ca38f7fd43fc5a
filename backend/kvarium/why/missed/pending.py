"""Was a content still being computed when it was missed: held by somebody already, in a block that had no label yet?

    r3    [ 7, 12, 40 ]        block 40: 3 of 4 slots filled, no label    ── full ──▶ labelled with the content that r9 missed
    r9    admitted here: it hits 7 and 12, and misses the third

Only a full block is labelled. What a block held that never got the label is not told: it may have gone on otherwise.
"""

import msgspec

from kvarium.why.past import Past
from kvarium.why.places import Life, Moment, Who
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Step


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """``who`` held it in a block of which ``filled`` slots were filled; it was ``labelled`` later only."""

    who: Who | None
    life: Life
    filled: int
    labelled: Moment


class Candidates:
    """The blocks that may come to hold what was missed: unlabelled ones, in a table behind what was hit.

    ``fold`` stands where it was missed, ``depth`` blocks deep, behind the contents ``before`` (empty: at the beginning).
    """

    def __init__(self, fold: Fold, depth: int, before: set[int]) -> None:
        blocks = fold.state.blocks
        self._held: dict[int, tuple[int, Life, int]] = {}
        for (sequence, group), table in fold.state.tables.items():
            block = table.get(depth)
            if group or block is None or blocks.content[block] != NONE or not blocks.filled[block]:
                continue
            if depth and blocks.content[table[depth - 1]] not in before:
                continue
            life = Life(block=block, generation=blocks.generation[block])
            self._held[block] = (sequence, life, blocks.filled[block])

    def __bool__(self) -> bool:
        """May one of them be labelled still?"""
        return bool(self._held)

    def follow(self, past: Past, fold: Fold, step: Step, after: int, same: set[int]) -> Pending | None:
        """The first that a step labels with one of ``same``, by an operation from ``after`` on; others are given up."""
        columns = OperationColumns.decode(step.operations)
        content, source = columns.expand("content"), columns.expand("source")
        for place, block in enumerate(columns.block.tolist()):
            if step.op + place < after:
                continue
            kind = int(columns.kind[place])
            if kind == Operation.copy and int(source[place]) in self._held:
                # Whoever writes first takes a copy along.
                self._held[block] = (int(columns.sequence[place]), *self._held[int(source[place])][1:])
            held = self._held.get(block)
            if held is None:
                continue
            if kind in (Operation.cache, Operation.free):
                del self._held[block]
            if kind == Operation.cache and int(content[place]) in same:
                sequence, life, filled = held
                row = fold.state.sequences.get(sequence)
                moment = Moment(record=step.record, step=step.step, op=step.op + place, time=step.sealed)
                who = None if row is None else past.who(row.request, sequence, row.index)
                return Pending(who=who, life=life, filled=filled, labelled=moment)
        return None
