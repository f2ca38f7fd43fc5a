"""The exact fold: a mirror of the engine's state, record by record, checked at every operation, and undone as exactly.

    engine ──records──▶ Fold.apply ──▶ state, lanes ── equal to the record's digest? ──▶ verified, or a violation
                        Fold.undo  ◀── the same record

A fold begins with a keyframe. It never raises for what a record says: it reports :class:`Violation`s, keeps the first
of them, and goes on, so that a picture can still be drawn, in red.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from kvarium_ledger import decisions
from kvarium_ledger.block_fold import BlockFold, entry_sums
from kvarium_ledger.codec import FrameError, UnknownOperationError
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import AnyDecision, Change, SequenceCreated, SequenceDropped, Submitted
from kvarium_ledger.digest import Lanes, differing, row_sums
from kvarium_ledger.invariants import broken_invariants
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import (
    AnyRecord,
    Contents,
    Digest,
    Gap,
    Keyframe,
    RequestState,
    SequenceState,
    Step,
)
from kvarium_ledger.state import (
    BlockState,
    RequestFacts,
    RequestRow,
    SequenceRow,
    State,
    request_sums,
    table_sums,
)
from kvarium_ledger.violations import Violation, ViolationKind


class Usage(NamedTuple):
    """Blocks by what they are: ``active`` (count 1), ``shared`` (count > 1), ``cached`` (count 0, with content), ``free``."""

    active: int
    shared: int
    cached: int
    free: int


class Fold:
    """A mirror of one session.

    ``record``, ``step``, ``op`` and ``time`` say where it is: the last record that it holds, the last step, the index
    of the next operation, ns since the session's start. ``verified`` says whether its lanes equalled the digest of
    the last step or keyframe; ``violation`` is the first fault, which stays.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.state = State(BlockState(num_blocks))
        self.lanes = Lanes()
        self.record = -1
        self.step = -1
        self.op = 0
        self.time = 0
        self.utc_us = 0
        self.loaded = False
        self.verified = False
        self.violation: Violation | None = None
        self._usage = self.state.blocks.usage()
        self._found: list[Violation] = []
        self._gone: list[tuple[int, decisions.State, float]] = []
        self._came: list[tuple[int, decisions.State, float]] = []
        self._blocks = BlockFold(self.state, block_size, self._fail_operation)

    # -- where it is ------------------------------------------------------------------------------------------------

    def usage(self) -> Usage:
        """How many blocks are active, shared, cached and free."""
        return Usage(*(int(value) for value in self._usage))

    # -- faults -----------------------------------------------------------------------------------------------------

    def _fail(self, kind: ViolationKind, message: str, op: int | None = None) -> None:
        violation = Violation(kind, self.record, op, message)
        self._found.append(violation)
        if self.violation is None:
            self.violation = violation

    def _fail_operation(self, index: int, message: str) -> None:
        self._fail("operation", message, self.op + index)

    def _compare(self, kind: ViolationKind, told: Digest) -> None:
        lanes = differing(self.lanes.digest(), told)
        if lanes:
            self._fail(kind, f"this mirror differs in {', '.join(lanes)}")

    # -- forwards ---------------------------------------------------------------------------------------------------

    def apply(self, record: AnyRecord) -> list[Violation]:
        """Follow one record and say what is wrong with it.

        Raises :class:`~kvarium_ledger.codec.UnknownOperationError` for an operation that needs a newer version.
        """
        self._found = []
        expected = record.first if isinstance(record, Gap) else record.record
        if self.record >= 0 and expected != self.record + 1:
            self._fail("order", f"record {expected} follows record {self.record}")
        self.record = record.record
        if isinstance(record, Gap):
            self.loaded = False
            self.verified = False
        elif not self.loaded and not isinstance(record, Keyframe):
            self._fail("order", f"a fold begins with a keyframe, not with a {type(record).__name__.lower()}")
            return self._found
        if isinstance(record, Keyframe):
            if self.loaded:
                self._check_keyframe(record)
            else:
                self.load(record)
        elif isinstance(record, Step):
            self._apply_step(record)
        return self._found

    def _check_keyframe(self, keyframe: Keyframe) -> None:
        if (keyframe.step, keyframe.op) != (self.step, self.op):
            self._fail(
                "order",
                f"the keyframe stands after step {keyframe.step}, operation {keyframe.op}; this mirror is at "
                f"step {self.step}, operation {self.op}",
            )
        self.verified = self.lanes.digest() == keyframe.digest
        self._compare("audit" if keyframe.audited else "digest", keyframe.digest)
        self.check_all()

    def _decode(self, step: Step) -> OperationColumns | None:
        try:
            columns = OperationColumns.decode(step.operations)
        except UnknownOperationError:
            raise
        except FrameError as error:
            self._fail("operation", str(error))
            return None
        touched = columns.touched
        if len(touched) and touched[-1] >= self.state.blocks.num_blocks:
            self._fail(
                "operation", f"it names block {touched[-1]}, the pool has {self.state.blocks.num_blocks}"
            )
            return None
        return columns

    def _apply_step(self, step: Step) -> None:
        if step.step != self.step + 1 or step.op != self.op:
            self._fail(
                "order",
                f"step {step.step} at operation {step.op} follows step {self.step}, next operation {self.op}",
            )
        self.step, self.op, self.time = step.step, step.op, step.sealed
        columns = self._decode(step)
        if columns is None:
            self.verified = False
            return
        self._intern(step.contents)
        self._touch(columns, forwards=True, decided=step.decisions)
        self.op = step.op + len(columns)
        self._compare("digest", step.digest)
        self.verified = self.lanes.digest() == step.digest
        if step.audit is not None:
            self._compare("audit", step.audit)
            self.check_all()

    def _intern(self, contents: Contents) -> None:
        ids = u32(contents.content)
        if len(ids):
            self.state.contents.update(zip(ids.tolist(), u32(contents.parent).tolist(), strict=True))
            self.state.next_content = max(self.state.next_content, int(ids.max()) + 1)

    def _touch(self, columns: OperationColumns, forwards: bool, decided: list[AnyDecision]) -> None:
        """Apply or undo operations and decisions in their order; the lanes and the usage follow once, for all."""
        state, touched = self.state.blocks, columns.touched
        first = self.op
        self.lanes.subtract("blocks", state.sums(touched))
        self._usage = self._usage - state.usage(touched)
        ticks = self._blocks.begin(columns, backwards=not forwards)
        if forwards:
            done = 0
            for decision in decided:
                while done < min(decision.op - first, len(columns)):
                    next(ticks)
                    done += 1
                self._decide(decision)
            for _ in ticks:
                pass
        else:
            left = len(columns)
            for decision in reversed(decided):
                while left > decision.op - first and left:
                    next(ticks)
                    left -= 1
                self._undecide(decision)
            for _ in ticks:
                pass
        self.lanes.add("blocks", state.sums(touched))
        self._usage = self._usage + state.usage(touched)
        added, removed = entry_sums(columns)
        if not forwards:
            added, removed = removed, added
        self.lanes.add("tables", row_sums("tables", *added.T))
        self.lanes.subtract("tables", row_sums("tables", *removed.T))
        if self._gone or self._came:
            self.lanes.subtract("requests", request_sums(self._gone))
            self.lanes.add("requests", request_sums(self._came))
            self._gone, self._came = [], []

    # -- decisions --------------------------------------------------------------------------------------------------

    def _move(
        self,
        request: int,
        before: tuple[decisions.State | None, float | None],
        after: tuple[decisions.State | None, float | None],
    ) -> None:
        row = self.state.requests.get(request)
        found = (row.state, row.place) if row else (None, None)
        if found != before:
            self._fail(
                "decision", f"request {request} is {found[0]} at {found[1]}, not {before[0]} at {before[1]}"
            )
        if row is not None:
            self._gone.append((request, row.state, row.place))
            del self.state.requests[request]
        state, place = after
        if state is not None and place is not None:
            self.state.requests[request] = RequestRow(state, place)
            self._came.append((request, state, place))

    def _decide(self, decision: AnyDecision) -> None:
        if isinstance(decision, Submitted):
            self.state.facts[decision.request] = RequestFacts(
                decision.name, decision.prompt_tokens, decision.max_tokens, decision.n, decision.priority
            )
        if isinstance(decision, SequenceCreated):
            if decision.sequence in self.state.sequences:
                self._fail("decision", f"sequence {decision.sequence} is created twice")
            self.state.sequences[decision.sequence] = SequenceRow(
                decision.request, decision.index, decision.parent
            )
        elif isinstance(decision, SequenceDropped):
            row = self.state.sequences.get(decision.sequence)
            if row is None or row.dropped:
                self._fail("decision", f"sequence {decision.sequence} is dropped, but it is not there")
            else:
                row.dropped = True
        elif isinstance(decision, Change):
            self._move(
                decision.request,
                (decision.state_before, decision.place_before),
                (decision.state_after, decision.place_after),
            )

    def _undecide(self, decision: AnyDecision) -> None:
        if isinstance(decision, SequenceCreated):
            self.state.sequences.pop(decision.sequence, None)
        elif isinstance(decision, SequenceDropped):
            self.state.sequences[decision.sequence].dropped = False
        elif isinstance(decision, Change):
            self._move(
                decision.request,
                (decision.state_after, decision.place_after),
                (decision.state_before, decision.place_before),
            )

    # -- backwards --------------------------------------------------------------------------------------------------

    def undo(self, record: AnyRecord, time: int = 0) -> None:
        """Take back the last record, exactly; ``time`` is that of the record before it.

        Raises :class:`ValueError` when it is not the last one, or one that can't be undone (a gap).
        """
        if record.record != self.record:
            raise ValueError(f"record {record.record} is not the last one, which is {self.record}")
        if isinstance(record, Gap):
            raise ValueError("a gap can't be undone: seek to a keyframe before it")
        if isinstance(record, Step):
            columns = OperationColumns.decode(record.operations)
            self.op = record.op
            self._touch(columns, forwards=False, decided=record.decisions)
            self.step -= 1
            self.time = time
        self.record -= 1

    # -- keyframes --------------------------------------------------------------------------------------------------

    def load(self, keyframe: Keyframe) -> None:
        """Take the state of a keyframe in place of all that was known; its digest is checked."""
        self.record, self.step, self.op = keyframe.record, keyframe.step, keyframe.op
        self.time, self.utc_us = keyframe.time, keyframe.utc_us
        state = self.state
        state.blocks.load(keyframe.blocks)
        state.tables.clear()
        tables = keyframe.tables
        sequence = u32(tables.sequence).tolist()
        group = list(tables.group) if tables.group else [0] * len(sequence)
        for key_sequence, key_group, position, block in zip(
            sequence, group, u32(tables.position).tolist(), u32(tables.block).tolist(), strict=True
        ):
            state.tables.setdefault((key_sequence, key_group), {})[position] = block
        state.pins.clear()
        for block, pin in zip(u32(keyframe.pins.block).tolist(), keyframe.pins.pin, strict=True):
            state.pins.setdefault(block, Counter())[pin] += 1
        state.requests.clear()
        state.sequences.clear()
        for row in keyframe.requests:
            state.requests[row.request] = RequestRow(row.state, row.place)
            state.facts[row.request] = RequestFacts(
                row.name, row.prompt_tokens, row.max_tokens, row.n, row.priority
            )
        for sequence_row in keyframe.sequences:
            state.sequences[sequence_row.sequence] = SequenceRow(
                sequence_row.request, sequence_row.index, sequence_row.parent
            )
        self._intern(keyframe.contents)
        state.next_content = max(state.next_content, keyframe.next_content)
        self._usage = state.blocks.usage()
        for kind in ("blocks", "tables", "requests"):
            self.lanes.clear(kind)
        self.lanes.add("blocks", state.blocks.sums())
        self.lanes.add("tables", table_sums(tables))
        self.lanes.add(
            "requests", request_sums([(row.request, row.state, row.place) for row in keyframe.requests])
        )
        self.loaded = True
        self._compare("digest", keyframe.digest)
        self.verified = self.lanes.digest() == keyframe.digest
        self.check_all()

    def keyframe(self, utc_us: int | None = None) -> Keyframe:
        """The whole state as a keyframe that bears the number of the last record."""
        state = self.state
        return Keyframe(
            record=self.record,
            step=self.step,
            time=self.time,
            utc_us=self.utc_us if utc_us is None else utc_us,
            op=self.op,
            digest=self.lanes.digest(),
            blocks=state.blocks.columns(),
            tables=state.table_columns(),
            pins=state.pin_columns(),
            requests=[
                RequestState(
                    request=request,
                    name=facts.name,
                    state=row.state,
                    place=row.place,
                    prompt_tokens=facts.prompt_tokens,
                    max_tokens=facts.max_tokens,
                    n=facts.n,
                    priority=facts.priority,
                )
                for request, row in sorted(state.requests.items())
                for facts in (state.facts[request],)
            ],
            sequences=[
                SequenceState(sequence=sequence, request=row.request, index=row.index, parent=row.parent)
                for sequence, row in sorted(state.sequences.items())
                if not row.dropped and row.request in state.requests
            ],
            contents=self._live_contents(),
            next_content=state.next_content,
        )

    def _live_contents(self) -> Contents:
        """The contents that blocks hold, with their ancestors."""
        parents = self.state.contents
        live: set[int] = set()
        for content in np.unique(self.state.blocks.np_content).tolist():
            while content != NONE and content in parents and content not in live:
                live.add(content)
                content = parents[content]
        ordered = sorted(live)
        return Contents(
            content=np.array(ordered, dtype="<u4").tobytes(),
            parent=np.array([parents[content] for content in ordered], dtype="<u4").tobytes(),
        )

    # -- the whole --------------------------------------------------------------------------------------------------

    def check_all(self) -> list[Violation]:
        """Check every invariant over the whole state, as at an audit; what is broken is reported, and returned."""
        before = len(self._found)
        for message in broken_invariants(self.state, self.block_size):
            self._fail("invariant", message)
        return self._found[before:]
