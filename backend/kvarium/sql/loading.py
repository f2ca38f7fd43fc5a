"""Filling the tables that a query reads: one walk over the chunks for all of them, batch by batch into DuckDB."""

from collections.abc import Callable

import duckdb
import numpy as np

from kvarium.recording.reader import Reader
from kvarium.recording.row_types import damage_told
from kvarium.sql.block_events import BlockEvents
from kvarium.sql.builder import Builder, Columns, Session, numbers, objects
from kvarium.sql.decisions import Decisions, SequenceLives
from kvarium.sql.plan import Read
from kvarium.sql.requests import Requests
from kvarium.sql.schema import ENUMS, FIRST_CODE, TABLES
from kvarium.sql.steps import USAGE, StepRows
from kvarium.sql.texts import Contents, Tokens
from kvarium.sql.walk import Batch, Steps, Walk
from kvarium_ledger.records import Gap

Progress = Callable[[int, int], None]
"""Called with how many of how many records were read; it may raise to end the loading."""

_BUILDERS: dict[str, type[Builder]] = {
    "block_event": BlockEvents,
    "decision": Decisions,
    "sequence": SequenceLives,
    "content": Contents,
    "token": Tokens,
}


class Loading:
    """Fills tables of ``connection`` (:func:`kvarium.sql.sandbox.connect`) with what ``reads`` names of a session."""

    def __init__(
        self,
        reader: Reader,
        session: int,
        connection: duckdb.DuckDBPyConnection,
        reads: dict[str, Read],
        progress: Progress,
    ) -> None:
        self._reader = reader
        self._number = session
        self._connection = connection
        self._reads = reads
        self._progress = progress
        row = reader.session(session)
        self.session = Session(int(row["num_blocks"]), int(row["block_size"]))

    def load(self) -> None:
        """Fill them all. Raises :class:`kvarium.errors.DamagedRecordingError` for values that are of no use."""
        with damage_told("what is stored of the session"):
            self._load()

    def _load(self) -> None:
        builders: dict[str, Builder] = {}
        for name in self._reads:
            if name == "landmark":
                self._insert_rows(name, self._reader.landmarks(self._number))
            else:
                builders[name] = self._builder(name)
        requests = builders.get("request")
        if isinstance(requests, Requests) and not requests.needs_walk:
            self._insert("request", builders.pop("request").finish())
        if builders:
            self._walk(builders)

    def _columns(self, name: str) -> list[str]:
        """The columns to make, in order; a table whose rows are only counted has one all the same."""
        wanted = self._reads[name].columns
        return [column for column in TABLES[name].names if column in wanted] or [TABLES[name].names[0]]

    def _builder(self, name: str) -> Builder:
        columns = self._columns(name)
        if name == "request":
            return Requests(self.session, columns, self._reader.requests(self._number))
        if name == "step":
            needs_index = not set(USAGE).isdisjoint(columns)
            return StepRows(self.session, columns, self._reader.steps(self._number) if needs_index else {})
        if name == "token" and "piece" in columns:
            self.session.pieces = self._reader.pieces(self._number)
        return _BUILDERS[name](self.session, columns)

    def _walk(self, builders: dict[str, Builder]) -> None:
        ranges = {name: self._reads[name].steps for name in builders}
        whole = None
        for name, builder in builders.items():
            steps = Steps() if builder.needs_all else ranges[name]
            whole = steps if whole is None else whole.joined(steps)
        walk = Walk(
            self._reader,
            self._number,
            whole or Steps(),
            any(builder.needs_text for builder in builders.values()),
            self._block(builders),
        )
        for item in walk:
            self._progress(walk.done, walk.total)
            if isinstance(item, Batch):
                if item.steps:
                    self.session.sequences.learn(item)
                    for name, builder in builders.items():
                        self._insert(name, _within(builder, item, ranges[name]))
            elif isinstance(item, Gap):
                for builder in builders.values():
                    builder.gap(item)
            else:
                self.session.sequences.load(item)
                for builder in builders.values():
                    builder.keyframe(item)
        self._progress(walk.total, walk.total)
        for name, builder in builders.items():
            self._insert(name, builder.finish())

    def _block(self, builders: dict[str, Builder]) -> int | None:
        """The block that alone is read; a request is known only to who reads all."""
        read = self._reads.get("block_event")
        alone = read is not None and set(builders) == {"block_event"} and "request" not in read.columns
        return read.block if read is not None and alone else None

    # -- into DuckDB ------------------------------------------------------------------------------------------------

    def _insert_rows(self, name: str, rows: list[dict[str, object]]) -> None:
        columns: Columns = {}
        for column in self._columns(name):
            values = [row[column] for row in rows]
            text = TABLES[name].column(column).type == "VARCHAR"
            columns[column] = objects(values) if text else numbers(values)  # type: ignore[arg-type]
        self._insert(name, columns)

    def _insert(self, name: str, columns: Columns) -> None:
        """Append rows; codes of the ledger become their names, and slots a list."""
        if not columns or not len(next(iter(columns.values()))):
            return
        names, values = [], []
        for column in self._columns(name):
            kind = TABLES[name].column(column).type
            quoted = f'"{column}"'
            names.append(quoted)
            if kind in ENUMS:
                values.append(
                    f"(enum_range(NULL::{kind}))[CAST({quoted} AS INTEGER) + {1 - FIRST_CODE[kind]}]"
                )
            elif kind.endswith("[]"):
                slots = ", ".join(f"slot{slot}" for slot in range(self.session.block_size))
                values.append(f"CASE WHEN slot0 IS NOT NULL THEN [{slots}] END")
            else:
                values.append(quoted)
        self._connection.register("batch", columns)
        try:
            self._connection.execute(
                f'INSERT INTO "{name}" ({", ".join(names)}) SELECT {", ".join(values)} FROM batch'
            )
        finally:
            self._connection.unregister("batch")


def _within(builder: Builder, batch: Batch, steps: Steps) -> Columns:
    """The rows of a batch whose steps lie in a range. All are made: what comes later builds on what came before."""
    inside = steps.holds(np.array([step.step for step in batch.steps]))
    columns = builder.build(batch)
    if inside.all() or not columns:
        return columns
    if not inside.any():
        return {}
    if "step" not in columns:
        # The range comes from the query's own words, which DuckDB applies again to whatever is there.
        return columns
    kept = steps.holds(columns["step"])
    return {name: values[kept] for name, values in columns.items()}
