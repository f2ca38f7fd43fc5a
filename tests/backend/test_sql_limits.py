"""A query reaches nothing but the tables, ends at its limits, and says in one line what is wrong; and the command's forms."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from kvarium.cli import app
from kvarium.recording.reader import Reader
from kvarium.sql.errors import QueryError, explained
from kvarium.sql.query import Limits, Query
from kvarium.sql.sandbox import connect
from tests.backend.server_process import KVARIUM, kvarium
from tests.backend.sql_answers import ask

MIB = 1 << 20

REACHING_OUT = [
    ("SELECT * FROM read_text('/etc/passwd')", "Cannot access file"),
    ("SELECT * FROM read_csv('/etc/passwd')", "Cannot access file"),
    ("SELECT * FROM read_parquet('https://example.org/x')", "Cannot access file"),
    ("SELECT * FROM glob('/*')", "Cannot access file"),
    ("SELECT * FROM sniff_csv('/etc/passwd')", "Cannot access file"),
    ("FROM '/etc/passwd'", "does not exist"),
    ("SELECT * FROM hidden", "does not exist"),
    ("SELECT * FROM query('SELECT * FROM read_blob(''/etc/passwd'')')", "Cannot access file"),
    ("SELECT getenv('HOME')", "does not exist"),
    ("ATTACH '/tmp/kvarium-x.db'", "ATTACH is not allowed"),
    ("COPY step TO '/tmp/kvarium-x.csv'", "COPY is not allowed"),
    ("EXPORT DATABASE '/tmp/kvarium-x'", "EXPORT is not allowed"),
    ("INSTALL httpfs", "INSTALL is not allowed"),
    ("/* all\nof */ -- it\n force install httpfs", "INSTALL is not allowed"),
    ("SELECT 1; install httpfs", "INSTALL is not allowed"),
    ("USE main", "USE is not allowed"),
    ("UPDATE EXTENSIONS", "UPDATE is not allowed"),
    ("WITH s AS (FROM step) DELETE FROM step", "DELETE is not allowed"),
    ("LOAD httpfs", "LOAD is not allowed"),
    ("PRAGMA database_list", "PRAGMA is not allowed"),
    ("SET enable_external_access = true", "SET is not allowed"),
    ("RESET memory_limit", "RESET is not allowed"),
    ("CALL pragma_version()", "CALL is not allowed"),
    ("INSERT INTO step (step) VALUES (1)", "INSERT is not allowed"),
    ("CREATE TABLE t AS FROM step", "CREATE is not allowed"),
    ("DROP TABLE step", "DROP is not allowed"),
    ("EXPLAIN ANALYZE DELETE FROM step", "EXPLAIN is not allowed"),
    ("SELECT 1; DROP TABLE step", "DROP is not allowed"),
    ("SELECT 1; SELECT 2", "one statement at a time"),
    ("", "no statement"),
    ("PIVOT step ON free", "PIVOT needs"),
]


@pytest.mark.parametrize(("sql", "why"), REACHING_OUT)
def test_a_query_reaches_nothing_but_the_tables(mixed_reader: Reader, sql: str, why: str) -> None:
    hidden = np.arange(3)
    with pytest.raises(QueryError, match=why):
        ask(mixed_reader, sql)
    assert len(hidden) == 3


def test_the_configuration_is_locked_whatever_gets_through() -> None:
    with connect(64 * MIB, 1) as connection:
        for sql in ("SET enable_external_access = true", "SET memory_limit = '64GB'", "RESET memory_limit"):
            with pytest.raises(duckdb.Error):
                connection.execute(sql)
        with pytest.raises(duckdb.PermissionException):
            connection.execute("COPY (SELECT 1) TO '/tmp/kvarium-x.csv'")
        with pytest.raises(duckdb.PermissionException):
            connection.execute("ATTACH '/tmp/kvarium-x.db'")
    assert not list(Path("/tmp").glob("kvarium-x*"))


def test_no_setting_and_no_refusal_tells_a_place_of_this_machine(mixed_reader: Reader) -> None:
    home = str(Path.home())
    told = ask(
        mixed_reader, "SELECT string_agg(coalesce(value, ''), ' ') AS all_of_them FROM duckdb_settings()"
    )
    assert home not in str(told) and "python/" in str(told)
    for name in ("home", "secret", "extension"):
        assert home not in str(ask(mixed_reader, f"SELECT current_setting('{name}_directory')"))
    for source in ("duckdb_secrets()", "duckdb_extensions()"):
        with pytest.raises(QueryError) as caught:
            ask(mixed_reader, f"SELECT * FROM {source}")
        assert caught.value.fault == "refused" and home not in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "line", "column"),
    [
        ("SELEC 1", 1, 1),
        ("SELECT nothing FROM step", 1, 8),
        ("SELECT step,\n  nothing FROM step", 2, 3),
        ("SELECT 'é' AS x, nothing FROM step", 1, 18),
        ("SELECT * FROM steps", 1, 15),
    ],
)
def test_an_error_says_where_in_the_statement_it_is(
    mixed_reader: Reader, sql: str, line: int, column: int
) -> None:
    with pytest.raises(QueryError) as caught:
        ask(mixed_reader, sql)
    assert (caught.value.fault, caught.value.line, caught.value.column) == ("sql", line, column)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(f"(line {line}, column {column})")


def test_a_query_ends_at_its_time_limit(mixed_reader: Reader) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.3 s") as caught:
        ask(
            mixed_reader,
            "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
            seconds=0.3,
        )
    assert caught.value.fault == "time"
    with pytest.raises(QueryError, match="longer than"):
        ask(mixed_reader, "SELECT * FROM block_event", seconds=0.0)


def test_a_query_that_is_interrupted_before_it_runs_ends_at_its_time_limit(mixed_reader: Reader) -> None:
    # Planning folds constants: it makes the text, and looks up from that only when it is made.
    with pytest.raises(QueryError, match=r"longer than 0\.02 s") as caught:
        ask(mixed_reader, "SELECT repeat('a', 30000000)", seconds=0.02)
    assert caught.value.fault == "time"


def test_a_query_ends_at_its_memory_limit_and_writes_nothing(
    mixed_reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match="step BETWEEN a AND b") as caught:
        ask(
            mixed_reader,
            "SELECT a.range, b.range FROM range(3000) a, range(3000) b ORDER BY hash(a.range, b.range)",
            memory_bytes=40 * MIB,
        )
    assert caught.value.fault == "memory"
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_no_memory_is_left_for_is_told_as_the_memory_limit() -> None:
    # What DuckDB calls it, where memory ends while it copies a plan: it depends on the moment.
    error = duckdb.SerializationException("Serialization Error: Failed to serialize: not enough space")
    assert explained(error, "SELECT 1", "40 MiB").fault == "memory"


def test_what_python_can_not_hold_is_told_as_what_the_database_can_not(mixed_reader: Reader) -> None:
    def fail(done: int, total: int) -> None:
        raise MemoryError

    with Query(mixed_reader, 1, "SELECT block FROM block_event", Limits(), fail) as query:
        with pytest.raises(QueryError, match="needs more than 2048 MiB") as caught:
            query.run()
        assert caught.value.fault == "memory"


# -- the command --------------------------------------------------------------------------------------------------------

EVICTIONS = (
    "SELECT request, count(*) AS evictions FROM block_event WHERE kind = 'evict' GROUP BY ALL ORDER BY ALL"
)


def test_the_command_prints_a_table_json_or_csv(mixed_reader: Reader, mixed: Path) -> None:
    path, session = mixed, mixed_reader.session(1)["id"]
    rows = ask(mixed_reader, EVICTIONS)
    told = json.loads(kvarium("sql", session[:8], EVICTIONS, "--db", str(path), "--json").stdout)
    assert told.pop("elapsed_ms") > 0
    assert told == {
        "columns": ["request", "evictions"],
        "types": ["BIGINT", "BIGINT"],
        "rows": [list(row) for row in rows],
        "truncated": False,
    }
    done = kvarium("sql", str(path), EVICTIONS, "--csv")
    assert done.stderr == ""
    names, *values = csv.reader(io.StringIO(done.stdout))
    assert names == ["request", "evictions"]
    assert values == [["" if value is None else str(value) for value in row] for row in rows]
    unusual = "SELECT 'nan'::DOUBLE AS x, ['-inf'::DOUBLE] AS y, NULL AS z"
    assert kvarium("sql", str(path), unusual, "--csv").stdout == 'x,y,z\nNaN,"[""-Infinity""]",\n'
    done = kvarium("sql", "latest", EVICTIONS, "--db", str(path), "--limit", "2")
    assert len(done.stdout.splitlines()) == 3
    assert "only the first 2 rows" in done.stderr


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["SELEC 1"], 'kvarium: Parser error: syntax error at or near "SELEC" (line 1, column 1)'),
        (["SELECT '\udcff'"], "kvarium: the statement is no text: some of its bytes are not UTF-8"),
        (["SELECT 1", "--json", "--csv"], "kvarium: --json and --csv: choose one"),
        (
            ["SELECT repeat('a', 2000000000) FROM range(10)", "--memory-limit", "0.1"],
            "needs more than 102 MiB",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mixed: Path, args: list[str], why: str) -> None:
    done = kvarium("sql", str(mixed), *args)
    assert done.returncode == 1
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_bytes_that_are_no_text_are_said_to_be_none_on_standard_input_too(mixed: Path) -> None:
    done = subprocess.run(
        [*KVARIUM, "sql", str(mixed), "-"], input=b"SELECT '\xff'", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"kvarium: the statement is no text: some of its bytes are not UTF-8\n"


@pytest.mark.parametrize("limit", ["inf", "nan", "1e300", "0", "-1"])
@pytest.mark.parametrize("option", ["--time-limit", "--memory-limit"])
def test_a_limit_that_nothing_can_keep_is_wrong_usage(option: str, limit: str) -> None:
    done = CliRunner().invoke(app, ["sql", "latest", "SELECT 1", f"{option}={limit}"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Invalid value for '{option}'" in done.stderr


def test_help_is_quick_as_before_because_the_database_is_not_loaded_for_it() -> None:
    program = "import kvarium.cli, sys; sys.exit('duckdb' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
