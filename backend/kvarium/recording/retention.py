"""How much of the past a server keeps: by number of sessions, by age, by size. What is live counts for none of it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from kvarium.recording import tables
from kvarium.recording.database import Database
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader


@dataclass(frozen=True)
class Retention:
    """Limits: ``sessions`` that have ended, ``days`` since a session ended, ``bytes`` of the whole recording.

    None: no limit. The oldest sessions go first.
    """

    sessions: int | None = None
    days: float | None = None
    bytes: int | None = None

    def due(self, reader: Reader, spared: Iterable[str]) -> tuple[Row, str] | None:
        """The session that is to go next, and which limit says so. ``spared`` are ids that stay for now."""
        if self == KEEP_ALL:
            return None
        kept = set(spared)
        ended = [row for row in reader.sessions() if row["state"] != "live"]
        old = [row for row in reversed(ended) if row["id"] not in kept]
        if not old:
            return None
        oldest = old[0]
        if self.sessions is not None and len(ended) > self.sessions:
            return oldest, f"--keep-sessions {self.sessions}"
        if self.days is not None:
            past = (time.time() - self.days * 86_400) * 1e6
            for row in old:
                if row["started_utc_us"] + row["duration_ns"] / 1000 < past:
                    return row, f"--keep-days {self.days:g}"
        if self.bytes is not None and used_bytes(reader.database) > self.bytes:
            return oldest, f"--keep-bytes {self.bytes}"
        return None


KEEP_ALL: Final = Retention()


def used_bytes(database: Database) -> int:
    """How much a recording holds: of an SQLite file the pages in use, of PostgreSQL the compressed records."""
    with database.engine.connect() as connection:
        if database.path is None:
            query = sa.select(sa.func.coalesce(sa.func.sum(tables.session.c.stored_bytes), 0))
            return int(connection.execute(query).scalar_one())
        pages, free, size = (
            int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size
