"""A query from its text to its rows: checked, planned, loaded, run, within a time and a memory limit."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import duckdb

from kvarium.recording.reader import Reader
from kvarium.sql.errors import QueryError, explained, too_large
from kvarium.sql.loading import Loading, Progress
from kvarium.sql.plan import read_by
from kvarium.sql.sandbox import answering_ctrl_c, check, connect

_FETCHED: Final = 1024


@dataclass(frozen=True)
class Limits:
    """How long a query may take, how much memory DuckDB may take for it, and how many threads."""

    seconds: float = 300.0
    memory_bytes: int = 2 << 30
    threads: int = 2

    @property
    def memory(self) -> str:
        """The memory, for people."""
        return f"{self.memory_bytes / (1 << 20):.0f} MiB"


class Result:
    """The rows of a query that runs: ``columns`` and ``types`` are known, :meth:`rows` gives them as they come."""

    def __init__(self, query: "Query") -> None:
        self._query = query
        description = query.connection.description or []
        self.columns = [str(column[0]) for column in description]
        self.types = [str(column[1]) for column in description]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row, as Python's values."""
        while True:
            with self._query.watched():
                found = self._query.connection.fetchmany(_FETCHED)
            if not found:
                return
            yield from found


class Query:
    """One query of a session. A context: the tables are gone with it."""

    def __init__(self, reader: Reader, session: int, sql: str, limits: Limits, progress: Progress) -> None:
        self._reader = reader
        self._session = session
        self._sql = sql
        self._limits = limits
        self._progress = progress
        self._deadline = time.monotonic() + limits.seconds
        self.connection = connect(limits.memory_bytes, limits.threads)

    def __enter__(self) -> "Query":
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def run(self) -> Result:
        """Make what the query reads, and begin it. Raises :class:`QueryError`."""
        planning = connect(self._limits.memory_bytes, 1, planning=True)
        try:
            with self.watched(planning):
                check(planning, self._sql, self._limits.memory)
                reads = read_by(planning, self._sql, self._limits.memory)
        finally:
            planning.close()
        self._check_time()
        with self.watched():
            Loading(self._reader, self._session, self.connection, reads, self._look_at_the_clock).load()
            self.connection.execute(self._sql)
        return Result(self)

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise self._late()

    def _look_at_the_clock(self, done: int, total: int) -> None:
        self._check_time()
        self._progress(done, total)

    def _late(self) -> QueryError:
        return QueryError(
            "time",
            f"the query took longer than {self._limits.seconds:g} s: read fewer steps (WHERE step BETWEEN a AND b)",
        )

    @contextmanager
    def watched(self, connection: duckdb.DuckDBPyConnection | None = None) -> Iterator[None]:
        """Interrupt DuckDB when the time is over, and say its errors in one line."""
        watched = self.connection if connection is None else connection
        timer = threading.Timer(max(0.0, self._deadline - time.monotonic()), watched.interrupt)
        timer.daemon = True
        timer.start()
        try:
            with answering_ctrl_c():
                yield
        except duckdb.InterruptException:
            raise self._late() from None
        except duckdb.Error as error:
            raise explained(error, self._sql, self._limits.memory) from None
        except MemoryError:
            raise too_large(self._limits.memory) from None
        finally:
            timer.cancel()
            timer.join()  # it may be in the midst of an interrupt


def plain(value: Any) -> Any:
    """A value of DuckDB's as JSON has it: what JSON has no word for becomes text. NULL alone is null."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -(1 << 53) <= value <= 1 << 53 else str(value)
    if isinstance(value, float | Decimal):
        number = float(value)
        if math.isnan(number):
            return "NaN"
        return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | time_of_day | timedelta | UUID):
        return str(value)
    return str(value)
