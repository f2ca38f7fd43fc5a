"""How full the pool was over a session, as a curve for a list: a few numbers, made of few rows, however long the session is.

    steps   ··|····|····|····|····|····|··      some hundred of them, evenly spread, looked up one by one
    points  └────▲────┘└────▲────┘└────▲─       the fullest of each few

A peak between two of the steps that are looked up does not show: the timeline is there for that.
"""

import threading
from collections import OrderedDict
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from kvarium.recording import tables
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import rows_of, value_of

POINTS: Final = 96
_STEPS_A_POINT: Final = 6
_KEPT: Final = 4096


class Curve(NamedTuple):
    """Shares of the pool in thousandths, a value a point: blocks in use, and beside them those that are free and hold content.

    None where the recording has no step: in a gap.
    """

    used: list[int | None]
    cached: list[int | None]


class Curves:
    """The curves of sessions, kept as long as nothing is added to them. Any thread may ask."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], Curve] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, reader: Reader, row: Row) -> Curve:
        """The curve of the session with this row, which ``reader`` reads; without points where no step is indexed."""
        key = (row["id"], row["number"], row["started_utc_us"], row["indexed_record"])
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
        made = read_curve(reader, int(row["number"]))
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made


def read_curve(reader: Reader, session: int) -> Curve:
    """Read the curve of a session."""
    columns = tables.step.c
    with reader.database.engine.connect() as connection:
        # Two queries: the first and the last of an ordered table are found at once, both together only by going through it.
        first, last = (
            value_of(connection, sa.select(end(columns.step)).where(columns.session == session))
            for end in (sa.func.min, sa.func.max)
        )
        if first is None:
            return Curve([], [])
        steps = last - first + 1
        apart = max(1, -(-steps // (POINTS * _STEPS_A_POINT)))
        wanted = sorted({*range(first, last + 1, apart), last})
        query = sa.select(columns.step, columns.active, columns.shared, columns.cached, columns.free).where(
            columns.session == session, columns.step.in_(wanted)
        )
        rows = rows_of(connection, query)
    points = min(POINTS, steps)
    used: list[int | None] = [None] * points
    cached: list[int | None] = [None] * points
    for step, active, shared, held, free in rows:
        pool = active + shared + held + free
        point = (step - first) * points // steps
        share = (active + shared) * 1000 // pool if pool > 0 else 0
        before = used[point]
        if before is None or share > before:
            used[point], cached[point] = share, held * 1000 // pool if pool > 0 else 0
    return Curve(used, cached)
