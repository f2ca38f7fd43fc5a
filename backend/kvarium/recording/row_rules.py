"""What a value of a recording's column may be, as SQL that SQLite evaluates over a whole table, and the stamps of a format.

number     0 to 2^53 - 1
-1         where there is no step or record yet: before a session's first step, in an index that holds nothing
negative   a priority; and what is a difference of counts, where an engine's records were not lawful
text       UTF-8 of at most 4 MiB; a state, kind, origin or mark is one of those that there are
"""

import sqlite3
from typing import Final

import sqlalchemy as sa

from kvarium.recording import tables

_MAX_TEXT: Final = 4 << 20
_MAX_VERSION: Final = 100

_FROM_MINUS_ONE: Final = {
    "session.indexed_record",
    "keyframe.step",
    "landmark.step",
    "request.ended_step",
    "note.step",
}
_SIGNED: Final = {
    "request.priority",
    "step.prefill_tokens",
    "step.decode_tokens",
    "step.running",
    "step.waiting",
}
_WORDS: Final = {
    "keyframe.origin": ("engine", "fold"),
    "landmark.kind": ("evict", "copy", "preempted", "refused", "violation", "gap", "note"),
    "request.state": ("waiting", "running", "preempted", "finished", "aborted", "refused", "lost"),
    "request.reason": ("stop", "length", "capacity", "error"),
    "note.mark": ("A", "B"),
}


def condition(table: sa.Table, column: sa.Column[object], quoted: str) -> str:
    """What holds of a value of this column, which the SQL names ``quoted``."""
    name = f"{table.name}.{column.name}"
    if isinstance(column.type, sa.Boolean):
        right = f"typeof({quoted}) = 'integer' AND {quoted} IN (0, 1)"
    elif isinstance(column.type, sa.Integer):
        least = 1 - tables.NUMBERS if name in _SIGNED else -1 if name in _FROM_MINUS_ONE else 0
        right = f"typeof({quoted}) = 'integer' AND {quoted} >= {least} AND {quoted} < {tables.NUMBERS}"
    elif isinstance(column.type, sa.LargeBinary):
        right = f"typeof({quoted}) = 'blob'"
    else:
        right = f"typeof({quoted}) = 'text' AND length(CAST({quoted} AS BLOB)) <= {_MAX_TEXT}"
        if name in _WORDS:
            right += f" AND {quoted} IN ({', '.join(repr(word) for word in _WORDS[name])})"
    return f"({right}) OR {quoted} IS NULL" if column.nullable else right


def stamp_fault(connection: sqlite3.Connection, format: int) -> str | None:
    """What is wrong with how a file of ``format`` tells its format and its writer, if anything is."""
    table = tables.kvarium.name
    for key, value in connection.execute(f'SELECT key, value FROM "{table}" LIMIT 10'):
        if key not in ("format", "writer") or not isinstance(value, str) or len(value) > _MAX_VERSION:
            return (
                f"the table {table} tells {str(key)[:40]!r} {str(value)[:40]!r}, which does not belong there"
            )
    if format == 1:
        # From before there were migrations.
        return None
    table = tables.alembic_version.name
    found = [row[0] for row in connection.execute(f'SELECT version_num FROM "{table}" LIMIT 2')]
    if found != [str(format)]:
        told = ", ".join(repr(value)[:40] for value in found) or "nothing"
        return (
            f"the table {table} tells {told}, a recording of format {format} has {str(format)!r} alone there"
        )
    return None
