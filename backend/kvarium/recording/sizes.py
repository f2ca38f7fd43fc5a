"""What a recording takes on the disk, by what it is for: the operations, or the tokens."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from kvarium.errors import KvariumError
from kvarium.recording import tables
from kvarium.recording.layout import COLUMNS, text_bytes
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.records import Text

_U32: Final = 4


@dataclass(frozen=True)
class StoredBytes:
    """Bytes of a file with one session, and what they are divided by.

    ``text`` are the stored bytes of the text parts of its chunks (:mod:`kvarium.recording.layout`): prompts, contents' tokens,
    sampled tokens, pieces. ``rest`` is all else that the file has, but free pages: the other parts of the chunks, what tells of
    their blocks, keyframes, the rows of steps, landmarks, requests, contents and pieces, and SQLite's own pages and indexes.
    Nothing is left out and nothing is counted twice. ``tokens`` counts only those of contents: the tokens of prompts, which are
    mostly told again by their contents, and sampled ones cost bytes of ``text`` and count for nothing.
    """

    rest: int
    text: int
    operations: int
    tokens: int

    @property
    def bytes_per_op(self) -> float:
        """Stored bytes an operation, without contents' tokens and text."""
        return self.rest / max(self.operations, 1)

    @property
    def bytes_per_token(self) -> float:
        """Stored bytes of all text, a token of contents."""
        return self.text / max(self.tokens, 1)


def stored_bytes(reader: Reader) -> StoredBytes:
    """Measure a file (not a database server's) with one session, all of it in chunks that keep text apart.

    Raises :class:`KvariumError` where it is none such.
    """
    where = reader.database.where
    rows = reader.sessions()
    if reader.database.path is None or len(rows) != 1:
        raise KvariumError(f"{where} is not a file with one session: its bytes can't be told apart")
    if reader.database.format < tables.TOUCHED_SINCE:
        raise KvariumError(
            f"{where} has format {reader.database.format}, whose chunks do not keep text apart"
        )
    with reader.database.engine.connect() as connection:
        pages, free, size = (
            int(connection.execute(sa.text(f"PRAGMA {name}")).scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    text = tokens = 0
    for row in reader.chunk_rows(rows[0]["number"]):
        if row["layout"] != COLUMNS:
            raise KvariumError(f"{where}: the chunk at record {row['first']} does not keep text apart")
        text += text_bytes(row["data"])
        for frame in reader.open_chunk(row):
            if frame.head.type == "text":
                record = codec.open_frame(frame.bytes)
                assert isinstance(record, Text)
                tokens += len(record.tokens) // _U32
    return StoredBytes((pages - free) * size - text, text, rows[0]["operations"], tokens)
