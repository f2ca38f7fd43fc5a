"""What a row holds is of its column's type, or whoever reads it says which table, row and value is wrong."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError, OutOfRangeError, UnknownSessionError
from kvarium.recording import tables
from kvarium.recording.block_operations import read_block_operations, touched_rows
from kvarium.recording.contents import read_contents
from kvarium.recording.database import open_for_reading
from kvarium.recording.export import export_session
from kvarium.recording.notes import read_notes
from kvarium.recording.reader import Reader
from kvarium.recording.removal import read_removed
from kvarium.recording.seek import Seeker
from kvarium.recording.targets import step_of_operation
from kvarium.recording.transcript import read_sequence, read_transcript
from kvarium.verify import verify
from tests.backend.hand_engine import hand_frames
from tests.backend.running_server import running
from tests.backend.server_process import kvarium
from tests.backend.test_faults import damage
from tests.vectors.recording import stored

STRANGE: dict[type[Any], list[Any]] = {
    sa.Integer: ["x", b"\x00", float("inf"), 2**53],
    sa.String: [b"\xff\xfe"],
}
READS: dict[str, Callable[[Reader], Any]] = {
    "session": lambda reader: reader.session(1),
    "chunk": lambda reader: list(reader.chunk_rows(1)),
    "touched": lambda reader: touched_rows(reader, 1),
    "keyframe": lambda reader: list(reader.keyframe_rows(1)),
    "step": lambda reader: reader.steps(1),
    "landmark": lambda reader: reader.landmarks(1),
    "request": lambda reader: reader.requests(1),
    "content": lambda reader: read_contents(reader, 1, [0]),
    "piece": lambda reader: reader.pieces(1),
    "note": lambda reader: read_notes(reader, 1),
    "removed": lambda reader: read_removed(reader.database),
}
"""What reads the rows of each table."""

FOUND_BY = {"session", "session.number", "note.number", "removed.number", "content.first", "touched.first"}
"""What rows are found by: a row with another value there is not the one that is looked for."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = stored(tables.FORMAT, tmp_path)
    damage(path, "INSERT OR IGNORE INTO piece VALUES (1, 5, 'word')")
    damage(path, "INSERT INTO removed VALUES (1, 'gone', 1, 2, 3, 4, 5, 'by hand')")
    return path


def raised_by(path: Path, read: Callable[[Reader], Any]) -> str:
    """What a read of a damaged file says."""
    database = open_for_reading(str(path))
    try:
        with pytest.raises(DamagedRecordingError) as raised:
            read(Reader(database))
    finally:
        database.close()
    return str(raised.value)


@pytest.mark.parametrize("name", READS)
def test_a_value_that_its_column_can_not_have_is_told_with_table_row_and_value(path: Path, name: str) -> None:
    table = tables.metadata.tables[name]
    key = [column.name for column in table.primary_key][:2][-1]
    before = path.read_bytes()
    for column in table.c:
        if {column.name, str(column)} & FOUND_BY:
            continue
        for value in next((values for kind, values in STRANGE.items() if isinstance(column.type, kind)), []):
            where = f"WHERE {key} = (SELECT min({key}) FROM {name} WHERE {key} >= 0)"
            damage(path, f'UPDATE OR REPLACE {name} SET "{column.name}" = ? {where}', value)
            said = raised_by(path, READS[name])
            shown = re.escape(repr(value)[:60])
            assert re.match(rf"the table {name}(, row .+)?: its {column.name} is {shown}, which is no ", said)
            path.write_bytes(before)


@pytest.mark.parametrize("value", ["x", -5, 1.5])
@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("session.hello", "the session's hello: it is {}, and no bytes"),
        (
            "chunk.data",
            "the chunk of records 0 to .*: its size, its checksum or its data are of another type",
        ),
        ("touched.blocks", "the blocks of the chunk of records 0 to .*: they are {}, and no bytes"),
        (
            "keyframe.data",
            "the keyframe at record .*: its size, its checksum or its data are of another type",
        ),
    ],
)
def test_what_should_be_bytes_and_is_not_is_found_and_not_copied(
    path: Path, tmp_path: Path, column: str, what: str, value: Any
) -> None:
    table, name = column.split(".")
    damage(path, f"UPDATE {table} SET {name} = ?", value)
    database = open_for_reading(str(path))
    try:
        try:
            said = verify(Reader(database), 1).messages
        except DamagedRecordingError as error:
            said = [str(error)]
        shown = re.escape(repr(value))
        assert any(re.match(what.format(shown), message) for message in said), said
        with pytest.raises(DamagedRecordingError):
            export_session(Reader(database), 1, tmp_path)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ("num_blocks = 0", "its num_blocks is 0, and not 1 to 4194304"),
        ("num_blocks = 1 << 31", "its num_blocks is 2147483648, and not 1 to 4194304"),
        ("block_size = -1", "its block_size is -1, and not 1 to 1048576"),
        ("first_record = NULL", r"its records are None to \d+"),
        ("last_record = -1", "its records are 0 to -1"),
    ],
)
def test_a_session_whose_row_can_not_be_true_is_told(path: Path, changes: str, what: str) -> None:
    damage(path, f"UPDATE session SET {changes}")
    assert re.fullmatch(f"the table session, row number 1: {what}", raised_by(path, READS["session"]))


@pytest.mark.parametrize("number", [2**53, 2**64, -(2**63) - 1])
def test_whoever_asks_for_a_number_beyond_any_is_told_that_there_is_none(path: Path, number: int) -> None:
    database = open_for_reading(str(path))
    reader = Reader(database)
    asked: list[Callable[[], Any]] = [
        lambda: reader.session(number),
        lambda: reader.records_of_step(1, number),
        lambda: step_of_operation(reader, 1, number),
        lambda: Seeker(reader, 1 << 20).seek(1, number, number, 0),
        lambda: read_transcript(reader, 1, number),
        lambda: read_sequence(reader, 1, number),
    ]
    try:
        for ask in asked:
            with pytest.raises((OutOfRangeError, UnknownSessionError)):
                ask()
        assert read_contents(reader, 1, [number]) == []
        assert read_block_operations(reader, 1, 2, None, abs(number), 5) == {"operations": [], "more": False}
    finally:
        database.close()


def test_a_session_with_a_damaged_row_keeps_no_server_from_recording_others(path: Path) -> None:
    damage(path, "UPDATE session SET operations = 'x'")
    said = "the table session, row number 1: its operations is 'x', which is no whole number below 2^53"
    for command in ("verify", "sessions show"):
        done = kvarium(*command.split(), "--db", str(path))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"kvarium: damaged recording: {said}\n"
    with running(path) as server, server.engine() as engine:
        engine.send(hand_frames(20))
        engine.wait_acked(10)
        assert [row["id"] for row in server.get("/sessions")["sessions"]] == [engine.hello.session]
    listed = kvarium("sessions", "ls", "--db", str(path))
    assert listed.returncode == 0
    assert listed.stderr == f"a session is left out: {said}\n"
