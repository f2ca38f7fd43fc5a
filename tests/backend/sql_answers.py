"""What a query of a recording's newest session answers."""

from typing import Any

from kvarium.recording.reader import Reader
from kvarium.sql.query import Limits, Query


def ask(reader: Reader, sql: str, **limits: Any) -> list[tuple[Any, ...]]:
    """The rows."""
    with Query(reader, reader.find("latest"), sql, Limits(**limits), lambda done, total: None) as query:
        return list(query.run().rows())
