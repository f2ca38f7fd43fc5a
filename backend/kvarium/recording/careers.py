"""Careers: when each request came, was admitted and ended, of a part of a session as wide as one likes.

    steps     0                                        100,000
    at                          │ 40,000
    r7          ╶──▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆╴                  there: by arrival
    r9                             ╶─▆▆▆▆▆▆▆╴                     later: by arrival
    r8             ╶─▆▆▆▆▆▆▆╴                                     ended before: the last one first

From the index, so that it takes as long for a million steps as for some: a row a request, as many as are asked for. What lay
between admission and end is told by the number of preemptions. Of a request that came in a gap there is no row.
"""

from typing import Any, Final

import sqlalchemy as sa

from kvarium.recording import tables
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import dicts_of

COLUMNS: Final = (
    "request",
    "name",
    "state",
    "preemptions",
    "submitted_step",
    "admitted_step",
    "ended_step",
)
MAX_ROWS: Final = 500
"""So many rows an answer, at most."""


def read_careers(
    reader: Reader, session: int, first: int, last: int, at: int, offset: int, limit: int, also: int | None
) -> dict[str, Any]:
    """The requests that are in the engine in the steps ``first`` to ``last`` (both included), seen from the step ``at``.

    ``requests``: ``limit`` of them from the one at ``offset`` on, and ``also`` before them, a request that is wanted wherever it
    stands; ``total``: how many there are; ``through``: the last step that is indexed, None while none is.
    """
    of = tables.request.c
    columns = [of[name] for name in COLUMNS]
    meets = sa.and_(
        of.session == session,
        of.submitted_step <= last,
        sa.or_(of.ended_step.is_(None), of.ended_step >= first),
    )
    is_later = of.submitted_step > at
    is_over = sa.and_(of.ended_step.is_not(None), of.ended_step < at)
    group = sa.case((is_later, 1), (is_over, 2), else_=0)
    query = (
        sa.select(*columns)
        .where(meets)
        .order_by(group, sa.case((group == 2, -of.request), else_=of.request))
        .limit(limit)
        .offset(offset)
    )
    with reader.database.engine.connect() as connection:
        found = dicts_of(connection, query)
        if also is not None and all(row["request"] != also for row in found):
            found = dicts_of(connection, sa.select(*columns).where(meets, of.request == also)) + found
        total = connection.scalar(sa.select(sa.func.count()).select_from(tables.request).where(meets))
        through = connection.scalar(
            sa.select(sa.func.max(tables.step.c.step)).where(tables.step.c.session == session)
        )
    return {"requests": found, "total": total, "through": through}
