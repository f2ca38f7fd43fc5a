"""Contents by their ids: the index says which records tell them, the records hold the tokens."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from kvarium.recording import tables
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import first_of
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Step, Text


def read_contents(reader: Reader, session: int, ids: Iterable[int]) -> list[dict[str, Any]]:
    """``content``, ``parent``, ``tokens``, ``extra_keys`` and ``hash`` of the contents ``ids``.

    A content that is not recorded is left out. ``tokens`` is None, and ``hash`` (in hexadecimal digits) told, where text is
    not recorded; elsewhere the hash follows from the rest. ``extra_keys`` is None where the hash has none.
    """
    wanted = set(ids)
    block_size = int(reader.session(session)["block_size"])
    found: dict[int, dict[str, Any]] = {}
    for content in sorted(wanted):
        if content in found:
            continue
        span = _records_of(reader, session, content)
        if span is None:
            continue
        first, last = span
        # A step's text is the record after it.
        for frame in reader.frames(session, first - 1, last + 1):
            record = codec.open_frame(frame.bytes)
            if isinstance(record, Step):
                parents, size = u32(record.contents.parent).tolist(), record.contents.hash_size
                for place, number in enumerate(u32(record.contents.content).tolist()):
                    if number in wanted:
                        parent = parents[place]
                        told = record.contents.hash[place * size : (place + 1) * size]
                        found[number] = {
                            "content": number,
                            "parent": None if parent == NONE else parent,
                            "tokens": None,
                            "extra_keys": None,
                            "hash": told.hex() or None,
                        }
            elif isinstance(record, Text):
                tokens = u32(record.tokens)
                for place, number in enumerate(u32(record.content).tolist()):
                    if number in found:
                        at = place * block_size
                        found[number]["tokens"] = tokens[at : at + block_size].tolist()
                for keyed in record.extra:
                    for number in u32(keyed.content).tolist():
                        if number in found:
                            found[number]["extra_keys"] = keyed.keys
    return [found[content] for content in sorted(found)]


def _records_of(reader: Reader, session: int, content: int) -> tuple[int, int] | None:
    table = tables.content
    query = (
        sa.select(table.c.last, table.c.first_record, table.c.last_record)
        .where(table.c.session == session, table.c.first <= content)
        .order_by(table.c.first.desc())
        .limit(1)
    )
    with reader.database.engine.connect() as connection:
        row = first_of(connection, query)
    return None if row is None or row[0] < content else (row[1], row[2])
