"""DuckDB, shut in: in memory, within a limit, without files, network, extensions or the variables of Python.

Why the configuration is locked from the beginning: a statement that only reads can't change it, and nothing else gets
in; but what does not depend on that need not be argued about.
"""

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from kvarium.sql.errors import QueryError, explained
from kvarium.sql.schema import ENUMS, TABLES

_SETTINGS: Final = (
    # Nothing is written to disk: what does not fit is refused. (With external access off this can't be set any more.)
    ("temp_directory", "''"),
    ("max_temp_directory_size", "'0KB'"),
    # They tell where the user of this machine keeps what: in an error, too.
    ("home_directory", "'nowhere'"),
    ("secret_directory", "'nowhere'"),
    ("extension_directory", "'nowhere'"),
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
    ("allow_community_extensions", "false"),
    ("python_enable_replacements", "false"),
    ("errors_as_json", "true"),
    ("enable_external_access", "false"),
    ("lock_configuration", "true"),
)
_UNCOUNTED_BYTES: Final = 1 << 30
"""What the process may take beyond what DuckDB counts: arrays of a batch, texts in the making."""

_THREAD_BYTES: Final = 160 << 20
"""Addresses that a thread reserves, most of which it never touches: its stack, and an arena of the allocator."""

_FIRST_WORD: Final = re.compile(
    r"(?:\s|--[^\n]*+|/\*(?>.*?\*/))*+(?:force\s+)?([a-z]+)", re.IGNORECASE | re.DOTALL
)
"""Past comments, and past FORCE, which only says how."""

_READS: Final = (duckdb.StatementType.SELECT,)


def connect(memory_bytes: int, threads: int, planning: bool = False) -> duckdb.DuckDBPyConnection:
    """An empty database with all the tables. ``planning``: on empty tables the optimizer keeps every scan."""
    connection = duckdb.connect(config={"memory_limit": f"{memory_bytes}B", "threads": threads})
    if planning:
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    for name, value in _SETTINGS:
        connection.execute(f"SET {name} = {value}")
    make_tables(connection)
    return connection


def make_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the types and the tables, empty."""
    for name, values in ENUMS.items():
        quoted = ", ".join(f"'{value}'" for value in values)
        connection.execute(f"CREATE TYPE {name} AS ENUM ({quoted})")
    for table in TABLES.values():
        columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        connection.execute(f'CREATE TABLE "{table.name}" ({columns})')


def check(connection: duckdb.DuckDBPyConnection, sql: str, memory: str) -> None:
    """Raises :class:`QueryError` unless ``sql`` is one statement, and that only reads."""
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise QueryError("sql", "the statement is no text: some of its bytes are not UTF-8") from None
    try:
        statements = connection.extract_statements(sql)
    except duckdb.InterruptException:
        raise  # who interrupted it tells why
    except duckdb.Error as error:
        raise explained(error, sql, memory) from None
    if not statements:
        raise QueryError("sql", "there is no statement")
    for statement in statements:
        kind = _kind(statement)
        if kind == duckdb.StatementType.MULTI:
            # It would look for the values with a statement of its own.
            raise QueryError("sql", "PIVOT needs to be told the values: PIVOT … ON kind IN ('evict', 'copy')")
        if kind not in _READS:
            raise QueryError(
                "refused",
                f"{_word(statement, kind)} is not allowed: a query only reads (SELECT, WITH, FROM, DESCRIBE)",
            )
    if len(statements) > 1:
        raise QueryError("sql", f"one statement at a time, not {len(statements)}")


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """DuckDB's type of a statement; None: one that its Python has no name for (UPDATE EXTENSIONS)."""
    try:
        return statement.type
    except ValueError:
        return None


def _word(statement: duckdb.Statement, kind: duckdb.StatementType | None) -> str:
    """What a statement would do, by its own first word: DuckDB has one type for several (INSTALL is a LOAD to it)."""
    found = _FIRST_WORD.match(statement.query)
    word = "this" if found is None else found[1].upper()
    return kind.name.replace("_", " ") if kind is not None and word in ("this", "WITH") else word


def bound_memory(memory_bytes: int, threads: int) -> None:
    """Bound this process, from now on: what DuckDB allocates beside its limit (long texts) must not take the machine.

    Why apart from ``memory_limit``: ``repeat('a', 2000000000)`` in ten rows is 20 GB that DuckDB does not count.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        # Not Linux: the kernel would not enforce it.
        return
    most = pages * resource.getpagesize() + memory_bytes + _UNCOUNTED_BYTES + threads * _THREAD_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )


@contextmanager
def answering_ctrl_c() -> Iterator[None]:
    """A Ctrl-C within DuckDB is a Ctrl-C (it calls it a RuntimeError)."""
    try:
        yield
    except RuntimeError as error:
        if "Query interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise
