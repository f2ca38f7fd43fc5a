"""A query as a process of its own: one request on standard input, one answer on standard output, and the end.

Why a process: a query takes a processor for as long as it likes and memory up to its limit; the server must stall for
neither, and what has gone wrong beyond repair (a crash in the database) must end here.
"""

import sys
from typing import Any

import msgspec

from kvarium.errors import DamagedRecordingError, KvariumError
from kvarium.launch import stand_aside
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.sql.errors import QueryError
from kvarium.sql.messages import Failure, Outcome, Question, Rows
from kvarium.sql.query import Limits, Query, plain
from kvarium.sql.sandbox import bound_memory

_ANSWER_BYTES = 16 << 20
"""Rows are given until their JSON has so many bytes."""


def answer(question: Question) -> Outcome:
    """Run the query."""
    limits = Limits(question.seconds, question.memory_bytes, question.threads)
    try:
        database = open_for_reading(question.database)
        try:
            with Query(
                Reader(database), question.session, question.sql, limits, lambda done, total: None
            ) as query:
                return _rows(query, question.limit)
        finally:
            database.close()
    except QueryError as error:
        return Failure(message=str(error), fault=error.fault, line=error.line, column=error.column)
    except DamagedRecordingError as error:
        return Failure(message=f"the recording is damaged: {error}")
    except KvariumError as error:
        return Failure(message=str(error))


def _rows(query: Query, limit: int) -> Rows:
    result = query.run()
    rows: list[list[Any]] = []
    truncated, size = False, 0
    for row in result.rows():
        if len(rows) == limit or size > _ANSWER_BYTES:
            truncated = True
            break
        rows.append([plain(value) for value in row])
        size += len(msgspec.json.encode(rows[-1]))
    return Rows(columns=result.columns, types=result.types, rows=rows, truncated=truncated)


def main() -> None:
    """Answer one question."""
    stand_aside()
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Question)
    bound_memory(question.memory_bytes, question.threads)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(question)))


if __name__ == "__main__":
    main()
