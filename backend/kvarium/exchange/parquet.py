"""Parquet: a folder with a file a table, the same tables and columns as ``kvarium sql`` has.

The rows pass through a database on disk beside the folder, so that a recording larger than memory can be exported.
"""

from pathlib import Path
from typing import Final

import duckdb

from kvarium.errors import UnwritableError
from kvarium.recording.reader import Reader
from kvarium.sql.loading import Loading, Progress
from kvarium.sql.plan import Read
from kvarium.sql.sandbox import answering_ctrl_c, make_tables
from kvarium.sql.schema import TABLES

_MEMORY: Final = "1GiB"


def export_parquet(reader: Reader, session: int, folder: Path, progress: Progress) -> None:
    """Write a session's tables into ``folder``, which is made."""
    folder.mkdir()
    rows = folder.with_name("rows.duckdb")
    try:
        with answering_ctrl_c(), duckdb.connect(rows, config={"memory_limit": _MEMORY}) as connection:
            connection.execute("SET python_enable_replacements = false")
            make_tables(connection)
            reads = {name: Read(set(table.names)) for name, table in TABLES.items()}
            Loading(reader, session, connection, reads, progress).load()
            for name in TABLES:
                place = str(folder / f"{name}.parquet").replace("'", "''")
                connection.execute(f"COPY \"{name}\" TO '{place}' (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.Error as error:
        raise UnwritableError("can't write the tables", " ".join(str(error).split())) from None
