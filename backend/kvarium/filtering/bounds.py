"""Which chunks can't hold what a filter wants: they are passed over, unopened."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError
from kvarium.filtering.matching import Matcher, ends_of
from kvarium.recording import tables, touched
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import rows_of, value_of
from kvarium_ledger.filtering.terms import Name, Numbers, Request, Term

_COUNTED: Final = {
    ("op", kind): kind for kind in ("allocate", "evict", "reuse", "share", "copy", "fill", "cache", "release")
} | {("op", "free"): "freed", ("decision", "preempted"): "preempted"}
"""What the index counts of each step, by field and value."""

_SETS_BYTES: Final = 32 << 20

Interval = tuple[int, int]


def _hull(intervals: Iterable[Interval]) -> Interval:
    """The least interval that holds all of them; none is held by none."""
    found = list(intervals)
    return (min(first for first, _ in found), max(last for _, last in found)) if found else (0, -1)


class BlockSets:
    """The sets of blocks that chunks touch, opened: who steps from one event of a block to the next asks for the same again."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, np.ndarray | None] = OrderedDict()
        self._bytes = 0

    def decoded(self, data: bytes, num_blocks: int) -> np.ndarray | None:
        """``[blocks] u32``, ascending; None: it is damaged, and so any block may be touched."""
        if data in self._known:
            return self._known[data]
        try:
            found = touched.decode(data, num_blocks, "")
        except DamagedRecordingError:
            found = None
        self._known[data] = found
        self._bytes += len(data) + (0 if found is None else found.nbytes)
        while self._bytes > _SETS_BYTES:
            gone, blocks = self._known.popitem(last=False)
            self._bytes -= len(gone) + (0 if blocks is None else blocks.nbytes)
        return found


class Bounds:
    """Where the events that a filter wants may lie in a session (whose row is ``row``), on the way to ``earlier`` ones or later."""

    def __init__(
        self, reader: Reader, session: int, row: Row, matcher: Matcher, earlier: bool, sets: BlockSets
    ) -> None:
        self._earlier = earlier
        self._sets = sets
        self._reader = reader
        self._session = session
        self._indexed = -1 if row["indexed_record"] is None else int(row["indexed_record"])
        self._num_blocks = int(row["num_blocks"])
        wanted = [term for term in matcher.filter if not term.not_]
        self._within: dict[str, Interval] = {}
        for field in ("record", "step", "time"):
            for term in wanted:
                if term.field == field:
                    self._narrow(
                        field, _hull(ends_of(value) for value in term.values if isinstance(value, Numbers))
                    )
        self._blocks = [_spans(term) for term in wanted if term.field == "block"]
        self._counted = [
            [_COUNTED[term.field, str(value)] for value in term.values]
            for term in wanted
            if all((term.field, value) in _COUNTED for value in term.values)
        ]
        self._counted += [["cache", "evict"] for term in wanted if term.field in ("content", "hash")]
        self._nearest: list[int | None] = [None] * len(self._counted)
        self._gaps = self._gap_records()
        for term in wanted:
            if term.field == "owner":
                self._live(term)

    def _narrow(self, field: str, interval: Interval) -> None:
        first, last = self._within.get(field, interval)
        self._within[field] = (max(first, interval[0]), min(last, interval[1]))

    def _live(self, term: Term) -> None:
        """Requests are served between their submission and their end, where the index knows both."""
        columns = tables.request.c
        lives: list[Interval] = []
        for value in term.values:
            if isinstance(value, Request):
                which = columns.request == value.request
            elif isinstance(value, Name):
                which = columns.name == value.name
            else:
                return
            query = sa.select(columns.submitted_step, columns.ended_step).where(
                columns.session == self._session, which
            )
            with self._reader.database.engine.connect() as connection:
                rows = rows_of(connection, query)
            if not rows or any(row[0] is None or row[1] is None for row in rows):
                return
            lives += [(row[0], row[1]) for row in rows]
        self._narrow("step", _hull(lives))

    def _gap_records(self) -> np.ndarray:
        columns = tables.landmark.c
        query = sa.select(columns.record).where(columns.session == self._session, columns.kind == "gap")
        with self._reader.database.engine.connect() as connection:
            records = [row[0] for row in rows_of(connection, query)]
        return np.array(sorted(records), dtype=np.int64)

    # -- chunks -------------------------------------------------------------------------------------------------------

    def is_past(self, chunk: Row) -> bool:
        """Can neither this chunk nor any behind it, in the direction, hold what is wanted?"""
        for field, (first, last) in self._within.items():
            begin, end = _extent(chunk, field)
            if begin is None or end is None:
                continue
            if (end < first) if self._earlier else (begin > last):
                return True
        return False

    def may_hold(self, chunk: Row) -> bool:
        """Could one of its events be wanted? It is False only where none is."""
        has_gap = np.searchsorted(self._gaps, chunk["first"]) < np.searchsorted(
            self._gaps, chunk["last"], side="right"
        )
        if has_gap or chunk["last"] > self._indexed:
            return True
        for field, (first, last) in self._within.items():
            begin, end = _extent(chunk, field)
            if begin is None or end is None or begin > last or end < first:
                return False
        return self._touches(chunk) and self._counts(chunk)

    def _touches(self, chunk: Row) -> bool:
        if not self._blocks or chunk["blocks"] is None:
            return True
        blocks = self._sets.decoded(chunk["blocks"], self._num_blocks)
        return blocks is None or all(
            any(_any_within(blocks, span) for span in spans) for spans in self._blocks
        )

    def _counts(self, chunk: Row) -> bool:
        """Does the index count any of what is wanted in the chunk's steps? It is asked only for the next step that has one."""
        first, last = chunk["first_step"], chunk["last_step"]
        if not self._counted or first is None:
            return not self._counted
        for which, names in enumerate(self._counted):
            nearest = self._nearest[which]
            if nearest is None or (nearest > last if self._earlier else nearest < first):
                nearest = self._nearest[which] = self._next_step(names, last if self._earlier else first)
            if not first <= nearest <= last:
                return False
        return True

    def _next_step(self, names: list[str], step: int) -> int:
        """The nearest step from one on, in the direction, in which any of ``names`` is counted; where there is none, past the end."""
        columns: Any = tables.step.c
        column = columns.step
        query = sa.select(column).where(
            columns.session == self._session,
            column <= step if self._earlier else column >= step,
            sa.or_(*(columns[name] > 0 for name in names)),
        )
        query = query.order_by(column.desc() if self._earlier else column).limit(1)
        with self._reader.database.engine.connect() as connection:
            found = value_of(connection, query)
        return (-1 if self._earlier else tables.NUMBERS) if found is None else int(found)


def _extent(chunk: Row, field: str) -> tuple[int | None, int | None]:
    if field == "record":
        return chunk["first"], chunk["last"]
    return chunk[f"first_{field}"], chunk[f"last_{field}"]


def _spans(term: Term) -> list[Interval]:
    return [ends_of(value) for value in term.values if isinstance(value, Numbers)]


def _any_within(blocks: np.ndarray, span: Interval) -> bool:
    first, last = span
    return bool(np.searchsorted(blocks, max(first, 0)) < np.searchsorted(blocks, last, side="right"))
