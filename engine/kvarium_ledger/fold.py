"""The exact fold: a mirror of the engine's state, record by record, checked at every operation, and undone as exactly.

    engine ──records──▶ Fold.apply ──▶ state, lanes ── equal to the record's digest? ──▶ verified, or a violation
                        Fold.undo  ◀── the same record
                        Fold.stand ◀─▶ behind any operation of the last record: the state that the engine had then

A fold begins with a keyframe. It never raises for what a record says: it reports :class:`Violation`s, keeps the first
of them, and goes on, so that a picture can still be drawn, in red.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sized
from functools import partial
from itertools import islice
from typing import NamedTuple

from kvarium_ledger.block_fold import BlockFold, entry_sums
from kvarium_ledger.codec import FrameError, UnknownOperationError
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.digest import Lanes, differing, row_sums
from kvarium_ledger.invariants import broken_invariants
from kvarium_ledger.records import AnyRecord, Contents, Digest, Gap, Keyframe, Step
from kvarium_ledger.request_fold import RequestFold
from kvarium_ledger.state import BlockState, State, request_sums, table_sums
from kvarium_ledger.violations import Violation, ViolationKind


def _advance(ticks: Iterator[None], count: int | None) -> None:
    """Draw ``count`` items of an iterator (None: all that are left), and throw them away."""
    deque(islice(ticks, None if count is None else max(0, count)), maxlen=0)


def _same_length(what: str, *columns: Sized) -> None:
    """Raises :class:`FrameError` where columns that belong together don't have as many values."""
    if len({len(column) for column in columns}) > 1:
        raise FrameError(f"the columns of a keyframe's {what} differ in length")


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
    the last step or keyframe; ``violation`` is the first fault, which stays. ``rest`` is how many operations of the last
    record are taken back by :meth:`stand`: 0 at its end. A fold that is not ``undoable`` forgets what has
    ended, and can't go backwards.
    """

    def __init__(self, num_blocks: int, block_size: int, undoable: bool = True) -> None:
        self.block_size = block_size
        self.undoable = undoable
        self.state = State(BlockState(num_blocks))
        self.lanes = Lanes()
        self.record = -1
        self.step = -1
        self.op = 0
        self.time = 0
        self.utc_us = 0
        self.rest = 0
        self.loaded = False
        self.verified = False
        self.violation: Violation | None = None
        self._usage = self.state.blocks.usage()
        self._found: list[Violation] = []
        self._blocks = BlockFold(self.state, block_size, self._fail_operation)
        self._requests = RequestFold(self.state, partial(self._fail, "decision"), undoable)

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

    def _compare(self, kind: ViolationKind, told: Digest) -> bool:
        """Do the lanes equal a digest? A difference is reported."""
        lanes = differing(self.lanes.digest(), told)
        if lanes:
            self._fail(kind, f"this mirror differs in {', '.join(lanes)}")
        return not lanes

    # -- forwards ---------------------------------------------------------------------------------------------------

    def apply(self, record: AnyRecord) -> list[Violation]:
        """Follow one record and say what is wrong with it.

        Raises :class:`~kvarium_ledger.codec.UnknownOperationError` for an operation that needs a newer version, and
        :class:`~kvarium_ledger.codec.FrameError` for a keyframe to begin with whose columns don't fit together, and
        :class:`ValueError` where the fold stands within a record.
        """
        if self.rest:
            raise ValueError(
                f"record {self.record} is not folded to its end: {self.rest} operations are left"
            )
        self._found = []
        expected = record.first if isinstance(record, Gap) else record.record
        last, self.record = self.record, record.record
        if last >= 0 and expected != last + 1:
            self._fail("order", f"record {expected} follows record {last}")
        self._requests.forget_ended()
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
        self.verified = self._compare("audit" if keyframe.audited else "digest", keyframe.digest)
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
        self.verified = self._compare("digest", step.digest)
        if step.audit is not None:
            self._compare("audit", step.audit)
            self.check_all()

    def _intern(self, contents: Contents) -> None:
        self.state.contents.intern(u32(contents.content), u32(contents.parent))

    def _touch(self, columns: OperationColumns, forwards: bool, decided: list[AnyDecision]) -> None:
        """Apply or undo operations and decisions in their order; the lanes and the usage follow once, for all."""
        state, touched = self.state.blocks, columns.touched
        first = self.op
        self.lanes.subtract("blocks", state.sums(touched))
        self._usage = self._usage - state.usage(touched)
        ticks = self._blocks.begin(columns, backwards=not forwards)
        done = 0
        for decision in decided if forwards else reversed(decided):
            before = decision.op - first
            upto = min(before if forwards else len(columns) - before, len(columns))
            _advance(ticks, upto - done)
            done = max(done, upto)
            if forwards:
                self._requests.apply(decision)
            else:
                self._requests.undo(decision)
        _advance(ticks, None)
        self.lanes.add("blocks", state.sums(touched))
        self._usage = self._usage + state.usage(touched)
        added, removed = entry_sums(columns)
        if not forwards:
            added, removed = removed, added
        self.lanes.add("tables", row_sums("tables", *added.T))
        self.lanes.subtract("tables", row_sums("tables", *removed.T))
        self._requests.bring_forward(self.lanes)

    # -- backwards --------------------------------------------------------------------------------------------------

    def undo(self, record: AnyRecord, time: int = 0) -> None:
        """Take back the last record, exactly; ``time`` is that of the record before it.

        Raises :class:`ValueError` when it is not the last one, or one that can't be undone (a gap).
        """
        if record.record != self.record:
            raise ValueError(f"record {record.record} is not the last one, which is {self.record}")
        if not self.undoable:
            raise ValueError("this fold was made not to be undone")
        if isinstance(record, Gap):
            raise ValueError("a gap can't be undone: seek to a keyframe before it")
        if isinstance(record, Step):
            # Decisions that hold before its first operation go with the step.
            columns = OperationColumns.decode(record.operations)
            self._take_back(record, columns, record.op, record.op - 1)
            self.rest = 0
            self.step -= 1
            self.time = time
        self.record -= 1

    def _take_back(self, step: Step, columns: OperationColumns, op: int, decided: int) -> None:
        """Undo operations down to ``op``, and the decisions that hold before one after ``decided``."""
        part = columns.part(op - step.op, self.op - step.op)
        decisions = [each for each in step.decisions if decided < each.op <= self.op]
        self.op = op
        self._touch(part, forwards=False, decided=decisions)

    # -- within a record --------------------------------------------------------------------------------------------

    def stand(self, step: Step, op: int) -> None:
        """Stand within the last record, ``step``, where ``op`` is the next operation.

        The operations before it are applied, and the decisions that hold before it. Exact in both directions.
        Raises :class:`ValueError` when ``step`` is not the last record or has no such operation.
        """
        if step.record != self.record:
            raise ValueError(f"record {step.record} is not the last one, which is {self.record}")
        if not self.undoable:
            raise ValueError("this fold was made not to be undone")
        columns = OperationColumns.decode(step.operations)
        end = step.op + len(columns)
        if not step.op <= op <= end:
            raise ValueError(
                f"step {step.step} has the operations {step.op} to {end - 1}: it can't stand before {op}"
            )
        if op < self.op:
            self._take_back(step, columns, op, op)
        elif op > self.op:
            decisions = [each for each in step.decisions if self.op < each.op <= op]
            part = columns.part(self.op - step.op, op - step.op)
            self._touch(part, forwards=True, decided=decisions)
            self.op = op
        self.rest = end - op

    # -- keyframes --------------------------------------------------------------------------------------------------

    def load(self, keyframe: Keyframe) -> None:
        """Take the state of a keyframe in place of all that was known; its digest is checked.

        Raises :class:`~kvarium_ledger.codec.FrameError` where its columns don't fit together, or are not those of all blocks.
        """
        if keyframe.since is not None:
            raise FrameError(
                f"a keyframe that tells only what changed since record {keyframe.since} is no state"
            )
        self.record, self.step, self.op = keyframe.record, keyframe.step, keyframe.op
        self.time, self.utc_us = keyframe.time, keyframe.utc_us
        self.rest = 0
        state = self.state
        state.blocks.load(keyframe.blocks)
        state.tables.clear()
        tables = keyframe.tables
        sequence = u32(tables.sequence).tolist()
        group = list(tables.group) if tables.group else [0] * len(sequence)
        position, block = u32(tables.position).tolist(), u32(tables.block).tolist()
        _same_length("tables", sequence, group, position, block)
        pool = state.blocks.num_blocks
        for key_sequence, key_group, key_position, held in zip(sequence, group, position, block, strict=True):
            if held < pool:
                state.tables.setdefault((key_sequence, key_group), {})[key_position] = held
            else:
                self._fail("operation", f"a table names block {held} at {key_position}, the pool has {pool}")
        state.pins.clear()
        pinned = u32(keyframe.pins.block).tolist()
        _same_length("pins", pinned, keyframe.pins.pin)
        for held, pin in zip(pinned, keyframe.pins.pin, strict=True):
            if held < pool:
                state.pins.setdefault(held, Counter())[pin] += 1
            else:
                self._fail("operation", f"a pin is on block {held}, the pool has {pool}")
        self._requests.load(keyframe)
        self._intern(keyframe.contents)
        state.contents.reserve(keyframe.next_content)
        self._usage = state.blocks.usage()
        for kind in ("blocks", "tables", "requests"):
            self.lanes.clear(kind)
        self.lanes.add("blocks", state.blocks.sums())
        self.lanes.add("tables", table_sums(tables))
        self.lanes.add(
            "requests",
            request_sums([(number, row.state, row.place) for number, row in state.requests.items()]),
        )
        self.loaded = True
        self.verified = self._compare("digest", keyframe.digest)
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
            requests=self._requests.requests(),
            sequences=self._requests.sequences(),
            contents=self._live_contents(),
            next_content=state.contents.next,
        )

    def _live_contents(self) -> Contents:
        """The contents that blocks hold, with their ancestors."""
        live, parents = self.state.contents.with_ancestors(self.state.blocks.np_content)
        return Contents(content=live.tobytes(), parent=parents.tobytes())

    # -- the whole --------------------------------------------------------------------------------------------------

    def check_all(self) -> list[Violation]:
        """Check every invariant over the whole state, as at an audit; what is broken is reported, and returned."""
        before = len(self._found)
        for message in broken_invariants(self.state, self.block_size):
            self._fail("invariant", message)
        return self._found[before:]
