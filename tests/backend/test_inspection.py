"""Files that somebody brought: what is whole is let in; all else is refused with one line, and nothing in it ever runs."""

import random
import sqlite3
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kvarium.errors import DamagedRecordingError, KvariumError
from kvarium.heads import stored_head
from kvarium.recording import chunks, inspection, record_rows, sqlite_file, tables
from kvarium.recording import seek as seek_module
from kvarium.recording.chunks import compress, decompress
from kvarium.recording.database import open_for_reading, open_for_server
from kvarium.recording.export import export_session
from kvarium.recording.inspection import RefusedFileError, inspect
from kvarium.recording.layout import COLUMNS, PLAIN
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import VERSION, Contents, Gap, Keyframe, Operations, Step
from tests.backend.chunk_rows import frames_in, put, values_of
from tests.backend.hand_engine import hello
from tests.backend.running_server import running
from tests.backend.trials import run_trials
from tests.vectors.recording import SESSION, record, stored

WHAT = "holiday.db"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return stored(tables.FORMAT, tmp_path)


def refused(path: Path) -> str:
    with pytest.raises(RefusedFileError) as told:
        inspect(path, WHAT)
    text = str(told.value)
    assert text.startswith(WHAT)
    assert "\n" not in text
    assert str(path) not in text
    return text


def change(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize("format", range(1, tables.FORMAT + 1))
def test_a_recording_of_each_format_is_let_in_and_left_as_it_is(tmp_path: Path, format: int) -> None:
    path = stored(format, tmp_path)
    before = path.read_bytes()
    path.chmod(0o444)
    assert inspect(path, WHAT) == SESSION
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_download_of_a_live_session_with_a_gap_is_let_in(tmp_path: Path, frames: list[bytes]) -> None:
    with running(tmp_path / "own.db") as server:
        engine = server.engine()
        engine.send(frames[:100])
        lost = codec.seal(Gap(record=110, time=7, first=100, last=109, reason="a test"))
        engine.send([lost])
        keyframe = next(i for i, frame in enumerate(frames) if codec.peek(frame)[0] == "keyframe")
        engine.send([codec.seal(msgspec.structs.replace(codec.open_frame(frames[keyframe]), record=111))])
        engine.wait_acked(111)
        path = tmp_path / "live.db"
        path.write_bytes(server.http.get(f"/api/sessions/{engine.hello.session}/download").content)
        assert inspect(path, WHAT) == engine.hello.session


def test_the_recording_of_a_server_that_was_stopped_is_let_in_as_it_lies_there(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    record(path)
    assert path.read_bytes()[18:20] == b"\2\2"
    assert inspect(path, WHAT) == SESSION
    assert list(tmp_path.iterdir()) == [path]
    record(path, "another")
    assert "holds 2 sessions: one file is one session (`kvarium sessions export`" in refused(path)


def test_a_recording_with_states_in_its_middle_is_let_in(mixed_reader: Reader, tmp_path: Path) -> None:
    file = export_session(mixed_reader, 1, tmp_path)
    blocks = [
        keyframe.blocks
        for row in mixed_reader.keyframe_rows(1)
        if isinstance(keyframe := codec.open_frame(mixed_reader.open_keyframe(row).frame), Keyframe)
    ]
    assert any(len(each.filled) == 128 and len(each.ticket) == 4 * 128 for each in blocks)
    assert inspect(file, WHAT) == mixed_reader.session(1)["id"]


def test_columns_of_other_than_the_pools_blocks_are_refused(
    mixed_reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = export_session(mixed_reader, 1, tmp_path)
    opened = inspection.codec.open_frame

    def open_shorter(frame: bytes) -> Any:
        record = opened(frame)
        if isinstance(record, Keyframe) and record.blocks.filled:
            blocks = msgspec.structs.replace(record.blocks, filled=record.blocks.filled[:-1])
            return msgspec.structs.replace(record, blocks=blocks)
        return record

    monkeypatch.setattr(inspection.codec, "open_frame", open_shorter)
    assert "keyframe column 'filled' has 127 bytes, a pool of 128 has 128, 256, 512" in refused(file)


@pytest.mark.parametrize("left", [0, 1, 15, 16, 99, 100, 4096, 8192, 100_000, -1])
def test_what_is_cut_off_is_refused(file: Path, left: int) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:left])
    told = refused(file)
    assert any(part in told for part in ("is cut off", "it is empty", "it is no SQLite file"))


def test_what_has_something_behind_it_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0" * 8192)
    assert "longer than it should be" in refused(file)


def test_a_bit_flipped_in_any_chunk_or_keyframe_is_found(file: Path, rng: random.Random) -> None:
    source = file.read_bytes()
    connection = sqlite3.connect(file)
    blobs = [
        row[0] for table in ("chunk", "keyframe") for row in connection.execute(f"SELECT data FROM {table}")
    ]
    connection.close()
    for blob in blobs:
        # Where its first bytes lie; the rest may be on other pages.
        at = source.index(blob[:40])
        data = bytearray(source)
        data[at + rng.randrange(40)] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        assert "its checksum is" in refused(file)


def test_an_index_that_is_not_its_tables_is_found(file: Path) -> None:
    """A query by it would find other rows, or none; a check of the pages alone does not see it."""
    connection = sqlite3.connect(file, isolation_level=None)
    assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    places = dict(
        connection.execute(
            "SELECT name, rootpage FROM sqlite_master WHERE name IN ('chunk_step', 'chunk_time')"
        )
    )
    connection.execute("PRAGMA writable_schema = 1")
    for name, other in (("chunk_step", "chunk_time"), ("chunk_time", "chunk_step")):
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (places[other], name))
    connection.close()
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    connection.close()
    assert "SQLite finds" in refused(file)


EVIL = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS key, x AS value FROM r"


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (["CREATE TRIGGER t AFTER INSERT ON kvarium BEGIN DELETE FROM session; END"], "the trigger 't'"),
        (["CREATE TRIGGER t AFTER DELETE ON kvarium BEGIN DELETE FROM session; END"], "the trigger 't'"),
        ([f"CREATE VIEW v AS {EVIL}"], "the view 'v'"),
        (["DROP TABLE kvarium", f"CREATE VIEW kvarium AS {EVIL}"], "the view 'kvarium'"),
        (["DROP TABLE chunk", f"CREATE VIEW chunk AS {EVIL}"], "the view 'chunk'"),
        (["CREATE VIRTUAL TABLE v USING fts5(a)"], "the virtual table 'v'"),
        (["CREATE TABLE more (a)"], "the table 'more', which does not belong there"),
        (["CREATE TABLE sqlitestat (a)"], "the table 'sqlitestat', which does not belong there"),
        (["ANALYZE"], "the table 'sqlite_stat1', which does not belong there"),
        (["CREATE INDEX i ON step (abs(step))"], "the index 'i', which does not belong there"),
        (["DROP INDEX chunk_step"], "the index 'chunk_step' is missing"),
        (["DROP TABLE piece"], "the table 'piece' is missing"),
        (["ALTER TABLE session ADD COLUMN a TEXT"], "the table 'session' is declared otherwise"),
        (
            ["ALTER TABLE note ADD COLUMN a AS (abs(step))"],
            "the table 'note' is declared otherwise",
        ),
        (["ALTER TABLE note ADD COLUMN a TEXT CHECK (abs(step) >= 0)"], "'note' is declared otherwise"),
        (
            ["DROP INDEX note_session", "CREATE INDEX note_session ON note (abs(session))"],
            "'note_session' is declared",
        ),
    ],
)
def test_sql_that_does_not_belong_there_is_refused_before_it_runs(
    file: Path, statements: list[str], what: str
) -> None:
    change(file, *statements)
    assert what in refused(file)
    before = file.read_bytes()
    for opening in (open_for_reading, open_for_server):
        with pytest.raises(KvariumError) as told:
            opening(str(file)).close()
        assert what in str(told.value)
        assert str(file) in str(told.value)
    assert file.read_bytes() == before


def test_no_query_reaches_a_view_or_writes_even_if_it_were_asked(file: Path) -> None:
    change(file, "CREATE VIEW v AS SELECT * FROM session")
    connection = sqlite_file.reading_connection(file)
    for statement in (
        "SELECT * FROM v",
        "DELETE FROM session",
        "ATTACH ':memory:' AS a",
        "CREATE TEMP TABLE t (a)",
        "PRAGMA writable_schema = 1; DELETE FROM session",
    ):
        with pytest.raises((sqlite3.DatabaseError, sqlite3.ProgrammingError)):
            connection.execute(statement)
    assert connection.execute("SELECT count(*) FROM session").fetchone() == (1,)
    connection.close()


def bomb(bytes: int) -> bytes:
    """A zstd frame that says that it has so many bytes, and has none."""
    return b"\x28\xb5\x2f\xfd\xe0" + bytes.to_bytes(8, "little") + b"\1\0\0"


@pytest.mark.parametrize("told", [10, 1 << 20, chunks.MAX_BYTES, 1 << 40, (1 << 53) - 1])
def test_what_says_of_itself_that_it_is_large_gets_no_memory(file: Path, told: int) -> None:
    large = bomb(1 << 40)
    head = struct.pack("<4I", 1, len(large), 0, 0)
    for layout, data in ((PLAIN, large), (COLUMNS, head + large), (COLUMNS, head + 2 * large)):
        change(
            file,
            "UPDATE chunk SET data = ?, bytes = ?, checksum = ?, layout = ? WHERE first = 0",
            values=(data, told, zlib.crc32(data), layout),
        )
        reasons = ("its data say 1099511627776", "a part has 1099511627776 bytes", "decompression bomb")
        assert any(reason in refused(file) for reason in reasons)


@pytest.mark.parametrize("table", ["chunk", "keyframe"])
def test_a_decompression_bomb_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    monkeypatch.setattr(inspection, "_FREE_EXPANSION", 1 << 20)
    size = 200 << 20
    data = compress(bytes(size))
    change(
        file, f"UPDATE {table} SET data = ?, bytes = ?, checksum = ?", values=(data, size, zlib.crc32(data))
    )
    began = time.thread_time()
    assert "is a decompression bomb: its frames would have more than" in refused(file)
    assert time.thread_time() - began < 10


def test_a_chunk_with_something_behind_its_frame_is_damaged() -> None:
    data = compress(b"abc") + b"more"
    with pytest.raises(DamagedRecordingError):
        decompress(data, 3, zlib.crc32(data), "a chunk")


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE session SET num_blocks = 'x'", "a value of session.num_blocks"),
        ("UPDATE session SET num_blocks = 1 << 40", "a pool of 1099511627776 blocks"),
        ("UPDATE session SET num_blocks = 25", "its session is not the one of its hello"),
        ("UPDATE session SET id = '..'", "'..' is no session's id"),
        ("UPDATE session SET id = '../../evil'", "is no session's id"),
        ("UPDATE session SET state = 'removing'", "was being removed"),
        ("UPDATE session SET state = 'odd'", "'odd' is no state"),
        ("UPDATE session SET name = CAST(x'ff' AS TEXT)", "Could not decode to UTF-8"),
        ("UPDATE session SET name = x'00'", "a value of session.name"),
        ("UPDATE session SET name = hex(zeroblob(3000000))", "a value of session.name"),
        ("UPDATE session SET records = records + 1", "its session tells of records"),
        ("UPDATE session SET indexed_record = 99999", "its index goes on past its records"),
        ("UPDATE chunk SET session = 2", "a value of chunk.session"),
        ("UPDATE step SET active = x'00'", "a value of step.active"),
        ("UPDATE step SET time = 1 << 60", "a value of step.time"),
        ("UPDATE session SET last_step = NULL", "its session tells of last step None, its chunks of 59"),
        ("UPDATE session SET gaps = 1", "its session tells of gaps 1, its chunks of 0"),
        ("UPDATE session SET bytes = 1", "its session tells of bytes 1, its chunks of "),
        ("UPDATE session SET duration_ns = 1", "its session tells of duration ns 1"),
        ("UPDATE session SET lost = -1", "a value of session.lost"),
        ("UPDATE session SET indexed_record = -2", "a value of session.indexed_record"),
        ("UPDATE step SET freed = -1", "a value of step.freed"),
        ("UPDATE step SET freed = freed + 1 WHERE step = 40", "the index of step 40: freed is "),
        ("UPDATE step SET freed = 0", "freed is 0, its record tells "),
        ("UPDATE step SET active = 0", "blocks are not the pool's 24"),
        ("UPDATE step SET time = time + 1 WHERE step = 7", "the index of step 7: time is "),
        (
            "UPDATE step SET record = 1 << 40 WHERE step = 7",
            "the index of step 7 is there, but record 1099511627776",
        ),
        ("UPDATE step SET hits = NULL WHERE step = 7", "the index of step 7: hits is None"),
        ("UPDATE landmark SET count = -1", "a value of landmark.count"),
        ("UPDATE landmark SET count = (1 << 53) - 1", "it counts 9007199254740991"),
        ("UPDATE landmark SET kind = 'odd' WHERE kind = 'evict'", "a value of landmark.kind"),
        ("UPDATE landmark SET kind = 'violation' WHERE kind = 'evict'", "the session has 0 violations"),
        ("UPDATE landmark SET message = 'more'", "its message is not the record's"),
        ("UPDATE landmark SET record = 1 << 40", "is there, but the record tells of none"),
        ("UPDATE request SET prompt_record = -1", "a value of request.prompt_record"),
        ("UPDATE request SET state = '<script>alert(1)</script>'", "a value of request.state"),
        ("UPDATE request SET state = '1'", "a value of request.state"),
        ("UPDATE request SET reason = 'odd'", "a value of request.reason"),
        ("UPDATE keyframe SET op = op + 1", "its row tells op "),
        ("UPDATE keyframe SET step = step + 1", "its row tells step "),
        ("UPDATE keyframe SET time = time + 1", "its row tells time "),
        ("UPDATE keyframe SET origin = 'odd'", "a value of keyframe.origin"),
        ("UPDATE note SET mark = 'C'", "a value of note.mark"),
        ("UPDATE alembic_version SET version_num = 'zzzz'", "the table alembic_version tells 'zzzz'"),
        ("DELETE FROM alembic_version", "the table alembic_version tells nothing"),
        ("INSERT INTO alembic_version VALUES ('3')", "a recording of format 4 has '4' alone there"),
        (
            "INSERT INTO kvarium VALUES ('odd', '1')",
            "the table kvarium tells 'odd' '1', which does not belong",
        ),
        (
            "UPDATE kvarium SET value = hex(zeroblob(99)) WHERE key = 'writer'",
            "the table kvarium tells 'writer'",
        ),
        ("UPDATE landmark SET session = NULL WHERE 0; DELETE FROM session", "holds no session"),
        ("DELETE FROM chunk WHERE first = 0", "its session tells of first record 0"),
        ("UPDATE chunk SET last_step = last_step + 1", "its row tells last_step"),
        ("UPDATE chunk SET bytes = bytes - 1", "its frames have"),
        ("UPDATE chunk SET layout = 0", "content size"),
        ("UPDATE chunk SET layout = 2", "nobody knows its layout 2"),
        ("UPDATE keyframe SET record = record + 1", "the keyframe at record"),
        ("UPDATE kvarium SET value = '5' WHERE key = 'format'", "has format 5, this kvarium"),
        ("UPDATE kvarium SET value = '1' WHERE key = 'format'", "which does not belong there"),
        ("PRAGMA application_id = 1", "kvarium did not write it"),
    ],
)
def test_values_that_are_not_what_they_must_be_are_refused(file: Path, statement: str, what: str) -> None:
    change(file, *statement.split("; "))
    assert what in refused(file)


def test_an_index_that_ends_before_its_records_is_let_in(file: Path) -> None:
    change(
        file,
        "DELETE FROM step WHERE step > 30",
        "DELETE FROM landmark WHERE step > 30",
        "UPDATE session SET indexed_record = (SELECT max(record) FROM step)",
        "UPDATE step SET queries = NULL, hits = NULL WHERE step < 10",
    )
    assert inspect(file, WHAT) == SESSION


def test_an_index_is_compared_portion_by_portion(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_rows, "_ROWS", 7)
    assert inspect(file, WHAT) == SESSION
    change(file, "UPDATE step SET freed = freed + 1 WHERE step = 59")
    assert "the index of step 59: freed is " in refused(file)


def test_a_recording_of_a_newer_ledger_is_refused_by_name(file: Path) -> None:
    frame = codec.seal(hello(SESSION, version=VERSION + 1))
    change(file, "UPDATE session SET hello = ?", values=(frame,))
    assert f"version {VERSION + 1} of the ledger, this kvarium reads up to {VERSION}" in refused(file)


def replace_step(path: Path, **changes: Any) -> int:
    """Change the last step of the recording, with all checksums right; its record."""
    connection = sqlite3.connect(path)
    (first,) = connection.execute("SELECT max(first) FROM chunk").fetchone()
    frames = frames_in(connection, first)
    at = max(i for i, frame in enumerate(frames) if codec.peek(frame)[0] == "step")
    step = codec.open_frame(frames[at])
    assert isinstance(step, Step)
    frames[at] = codec.seal(msgspec.structs.replace(step, **changes))
    put(connection, first, chunks.ranges([stored_head(frame) for frame in frames]) | values_of(frames))
    connection.execute("DELETE FROM touched WHERE first = ?", (first,))
    more = stored_head(frames[at]).operations - len(step.operations.kind)
    connection.execute("UPDATE session SET operations = operations + ?", (more,))
    connection.commit()
    connection.close()
    return step.record


def test_operations_that_are_none_are_refused_with_every_checksum_right(file: Path) -> None:
    allocate = int(Operation.allocate).to_bytes(1, "little")
    replace_step(file, operations=Operations(kind=b"\xee"))
    assert "operation 238 is not known" in refused(file)
    replace_step(file, operations=Operations(kind=allocate))
    assert "column 'block' has 0 values" in refused(file)
    one = Operations(
        kind=allocate,
        block=(24).to_bytes(4, "little"),
        cause=b"\1",
        sequence=bytes(4),
        position=bytes(4),
        ticket=bytes(8),
        filled_before=bytes(4),
    )
    replace_step(file, operations=one)
    assert "tells of block 24 of 24" in refused(file)
    replace_step(file, operations=msgspec.structs.replace(one, block=(23).to_bytes(4, "little")))
    # It is one now: what is refused is that the session counts others.
    assert "its session tells of " in refused(file)
    ids = (7).to_bytes(4, "little")
    replace_step(file, contents=Contents(content=ids, parent=ids))
    assert "a content's parent is not older than it" in refused(file)
    replace_step(file, contents=Contents(content=b"\xfe\xff\xff\xff", parent=ids))
    assert "tells of 4294967295 contents" in refused(file)


def test_a_seek_past_a_record_that_can_not_be_applied_tells_so(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = replace_step(file, operations=Operations(kind=int(Operation.allocate).to_bytes(1, "little")))
    monkeypatch.setattr(seek_module, "_FAST_FORWARD_BYTES", 0)
    # No trail comes this far.
    monkeypatch.setattr(Seeker, "_state_of_trail", lambda *_: None)
    change(file, "DELETE FROM keyframe WHERE record > 0", f"UPDATE session SET last_record = {record + 1}")
    database = open_for_reading(str(file))
    with pytest.raises(DamagedRecordingError, match="there is one that can't be applied: column 'block'"):
        Seeker(Reader(database)).seek(1, record + 1, record + 1, 0)
    database.close()


@pytest.mark.slow
def test_a_large_recording_is_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    record(path, steps=20_000)
    database = open_for_reading(str(path))
    file = export_session(Reader(database), 1, tmp_path)
    database.close()
    assert inspect(file, WHAT) == SESSION


@pytest.mark.timeout(4000)
@pytest.mark.parametrize(("of", "small", "full"), [("hand", 80, 2400), ("null runner", 20, 600)])
def test_random_mutations_are_let_in_or_refused_with_one_line(
    of: str,
    small: int,
    full: int,
    file: Path,
    mixed_reader: Reader,
    tmp_path_factory: pytest.TempPathFactory,
    size: str,
    seed: int,
) -> None:
    # Only the second has keyframes whose columns are not empty.
    folder = tmp_path_factory.mktemp("exported")
    mutated = file if of == "hand" else export_session(mixed_reader, 1, folder)
    count = small if size == "small" else full
    told = run_trials("tests.backend.mutations", mutated, seed, count, 150 if size == "small" else 1500)
    let_in, refused = (told["done"].get(how, 0) for how in ("let in", "refused"))
    assert let_in + refused == count
    assert min(let_in, refused) > count // 10
    assert told["max_rss"] < 500 << 20
