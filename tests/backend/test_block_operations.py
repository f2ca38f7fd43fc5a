"""What happened to a block: found in the few chunks that touch it, the same as who reads everything finds."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvarium.heads import read_head
from kvarium.recording import tables, touched
from kvarium.recording.block_operations import places, read_block_operations
from kvarium.recording.database import open_for_reading, writable_sqlite
from kvarium.recording.inspection import RefusedFileError, inspect
from kvarium.recording.reader import Reader
from kvarium.recording.writer import Writer
from kvarium.sql.plan import read_by
from kvarium.sql.query import Limits, Query
from kvarium.sql.sandbox import connect
from kvarium.verify import verify
from kvarium_ledger import codec
from kvarium_ledger.operations import CARRIED_BY, Operation
from kvarium_ledger.records import Gap
from tests.backend.hand_engine import hello, record_of
from tests.backend.running_server import running
from tests.backend.sql_answers import ask
from tests.backend.test_sql import block_events
from tests.vectors.recording import SESSION, stored

BLOCKS = 128
CARRIED = ("ticket", "filled_before", "filled_after", "source", "content", "hits")


def write(path: Path, frames: list[bytes], every: int = 3) -> Path:
    """Record frames of the mix, a chunk for each few of them."""
    greeting = hello(SESSION, num_blocks=BLOCKS, block_size=16)
    database = writable_sqlite(path)
    writer = Writer(database)
    writer.start()
    number = writer.open_session(greeting, codec.seal(greeting)).result(60).number
    for i in range(0, len(frames), every):
        for frame in frames[i : i + every]:
            writer.append(number, frame, read_head(frame))
        writer.flush().result(60)
    assert writer.stop()
    database.close()
    return path


@pytest.fixture(scope="module")
def records(mixed_reader: Reader) -> list[bytes]:
    return [frame.bytes for frame in mixed_reader.frames(1)]


@pytest.fixture(scope="module")
def events(records: list[bytes]) -> list[tuple[Any, ...]]:
    """The rows of ``block_event``, by a reading of every operation."""
    return block_events(records)


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> Path:
    return write(tmp_path_factory.mktemp("fine") / "fine.db", records)


@pytest.fixture
def reader(fine: Path) -> Iterator[Reader]:
    database = open_for_reading(str(fine))
    yield Reader(database)
    database.close()


def expected(events: list[tuple[Any, ...]], block: int) -> list[dict[str, Any]]:
    """The rows of a block."""
    found = []
    for row in events:
        op, step, record, time, kind, target, _, cause, sequence, _, group, position, pin = row[:13]
        sparse = dict(zip(CARRIED, row[13:], strict=True))
        if block not in (target, sparse["source"] if kind == "copy" else None):
            continue
        code = Operation[kind]
        told: dict[str, Any] = {"record": record, "step": step, "op": op, "time": time, "kind": kind}
        told |= {"block": target, "cause": cause, "sequence": sequence}
        if pin is not None:
            told["pin"] = pin
        elif code in CARRIED_BY["position"]:
            told |= {"position": position, "group": group}
        found.append(told | {name: sparse[name] for name in CARRIED if code in CARRIED_BY[name]})
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first records of the chunks that are opened."""
    found: list[int] = []
    open_chunk = Reader.open_chunk

    def opening(reader: Reader, row: Any, with_text: bool = True) -> Any:
        found.append(row["first"])
        return open_chunk(reader, row, with_text)

    monkeypatch.setattr(Reader, "open_chunk", opening)
    return found


def test_the_biography_of_a_block_is_what_every_operation_tells(
    reader: Reader, events: list[tuple[Any, ...]], opened: list[int]
) -> None:
    fewest = len(list(places(reader, 1)))
    for block in range(0, BLOCKS, 25):
        right = expected(events, block)
        opened.clear()
        found = read_block_operations(reader, 1, block, None, -1, 10_000)
        assert found == {"operations": right, "more": False}
        fewest = min(fewest, len(opened))
        assert opened == [place.first for place in places(reader, 1) if touches(place, right)]
    assert fewest < len(list(places(reader, 1))) / 2


def touches(place: Any, rows: list[dict[str, Any]]) -> bool:
    return any(place.first <= row["record"] <= place.last for row in rows)


def test_before_and_after_an_operation_and_no_more_than_is_asked_for(
    reader: Reader, events: list[tuple[Any, ...]], rng: random.Random
) -> None:
    for _ in range(12):
        right = expected(events, block := rng.randrange(BLOCKS))
        op = rng.choice(right)["op"] + rng.choice((-1, 0, 1))
        limit = rng.choice((1, 2, 7, 1000))
        later = [row for row in right if row["op"] > op]
        found = read_block_operations(reader, 1, block, None, op, limit)
        assert found == {"operations": later[:limit], "more": len(later) > limit}
        earlier = [row for row in reversed(right) if row["op"] < op] if op >= 0 else []
        found = read_block_operations(reader, 1, block, max(op, 0), None, limit)
        assert found == {"operations": earlier[:limit], "more": len(earlier) > limit}


def test_without_the_sets_or_with_damaged_ones_every_chunk_is_opened_and_the_answer_is_the_same(
    tmp_path: Path, fine: Path, events: list[tuple[Any, ...]], opened: list[int]
) -> None:
    for statement in ("DELETE FROM touched", "UPDATE touched SET blocks = x'28b5'"):
        path = tmp_path / "copy.db"
        shutil.copy(fine, path)
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        database = open_for_reading(str(path))
        opened.clear()
        found = read_block_operations(Reader(database), 1, 77, None, -1, 10_000)
        assert found["operations"] == expected(events, 77)
        assert len(opened) == len(
            [place for place in places(Reader(database), 1) if place.first_op is not None]
        )
        database.close()


@pytest.mark.parametrize("format", range(1, tables.FORMAT + 1))
def test_a_recording_of_each_format_tells_what_happened_to_a_block(tmp_path: Path, format: int) -> None:
    database = open_for_reading(str(stored(format, tmp_path)))
    reader = Reader(database)
    right = ask(reader, "SELECT op FROM block_event WHERE block = 5 OR source = 5 ORDER BY op")
    found = read_block_operations(reader, 1, 5, None, -1, 10_000)["operations"]
    assert [row["op"] for row in found] == [op for (op,) in right] != []
    database.close()


def test_it_is_asked_for_over_http(fine: Path, events: list[tuple[Any, ...]]) -> None:
    with running(fine, read_only=True) as server:

        def get(block: object, session: str = SESSION, **query: object) -> tuple[int, Any]:
            response = server.http.get(f"/api/sessions/{session}/blocks/{block}/operations", params=query)
            return response.status_code, response.json()

        right = expected(events, 9)
        assert get(9, after=-1, limit=10_000) == (200, {"operations": right, "more": False})
        before = right[10]["op"]
        assert get(9, before=before, limit=2) == (200, {"operations": right[9:7:-1], "more": True})
        assert get(9, before=0) == (200, {"operations": [], "more": False})
        status, told = get(128, after=0)
        assert (status, told["detail"]) == (404, "block 128 is not in the pool, which has 128: 0 to 127")
        assert get(9, session="nobody", after=0)[0] == 404
        for query in ({}, {"before": 1, "after": 1}):
            status, told = get(9, **query)
            assert status == 422
            assert told["detail"].startswith("give either before or after: the number of an operation")
        for query in (
            {"before": -1},
            {"after": -2},
            {"after": 1 << 53},
            {"after": 0, "limit": 0},
            {"after": "x"},
        ):
            assert get(9, **query)[0] == 422
        for block in (-1, 1 << 32, "x", "1.5"):
            assert get(block, after=0)[0] == 422


def test_what_a_live_session_has_not_committed_yet_is_told_too(
    tmp_path: Path, records: list[bytes], events: list[tuple[Any, ...]]
) -> None:
    greeting = hello(num_blocks=BLOCKS, block_size=16)
    with running(tmp_path / "live.db") as server, server.engine(greeting) as engine:
        engine.send(records)
        engine.wait_acked(record_of(records[-1]) - 3)
        path = f"/sessions/{greeting.session}/blocks/3/operations"
        assert server.get(path, after=-1, limit=10_000)["operations"] == expected(events, 3)


@pytest.mark.parametrize("lost", [None, (200, 260)])
def test_a_query_of_one_block_opens_only_what_touches_it(
    tmp_path: Path, records: list[bytes], opened: list[int], lost: tuple[int, int] | None
) -> None:
    told = records
    if lost is not None:
        gap = codec.seal(Gap(record=lost[1], time=7, first=lost[0], last=lost[1] - 1, reason="a test"))
        records = [*records[: lost[0]], *records[lost[1] + 1 :]]
        told = [*records[: lost[0]], gap, *records[lost[0] :]]
    database = open_for_reading(str(write(tmp_path / "query.db", records)))
    reader = Reader(database)
    chunks = len(list(places(reader, 1)))
    every = {block: [row for row in block_events(told) if row[5] == block] for block in (9, 77)}
    for block, right in every.items():
        opened.clear()
        columns = "* EXCLUDE (request)"
        rows = ask(reader, f"SELECT {columns} FROM block_event WHERE block = {block} ORDER BY op")
        assert rows == [row[:9] + row[10:] for row in right]
        assert len(opened) < chunks
        opened.clear()
        assert ask(reader, f"SELECT * FROM block_event WHERE block = {block} ORDER BY op") == right
        assert len(opened) == chunks
        within = f"SELECT op, generation FROM block_event WHERE {block} = block AND step BETWEEN 30 AND 200"
        rows = ask(reader, f"{within} ORDER BY op")
        assert rows == [(row[0], row[6]) for row in right if 30 <= row[1] <= 200]
    database.close()


@pytest.mark.parametrize(
    ("where", "block"),
    [
        ("block = 7", 7),
        ("7 = block AND kind = 'evict' AND step > 3", 7),
        ("block = 7 OR block = 8", None),
        ("block IN (7, 8)", None),
        ("block = 7 OR kind = 'evict'", None),
        ("source = 7", None),
        ("NOT block = 7", None),
        ("(block = 7) = false", None),
        ("block > 7", None),
    ],
)
def test_a_plain_condition_on_the_block_is_seen_in_the_plan(where: str, block: int | None) -> None:
    with connect(64 << 20, 1, planning=True) as planning:
        read = read_by(planning, f"SELECT * FROM block_event WHERE {where}", "64 MiB")["block_event"]
        assert read.block == block
        both = f"SELECT 1 FROM block_event a, block_event b WHERE a.{where} AND b.block = 9"
        if where == "block = 7":
            assert read_by(planning, both, "64 MiB")["block_event"].block is None


def test_a_query_of_one_block_joined_with_steps_reads_all_steps(
    reader: Reader, events: list[tuple[Any, ...]]
) -> None:
    sql = "SELECT (SELECT count(*) FROM block_event WHERE block = 9), (SELECT count(*) FROM step)"
    with Query(reader, 1, sql, Limits(), lambda done, total: None) as query:
        (row,) = query.run().rows()
    steps = {event[1] for event in events}
    assert row[0] == sum(event[5] == 9 for event in events)
    assert row[1] >= len(steps)


def test_a_set_that_misses_a_block_is_found(tmp_path: Path, fine: Path, rng: random.Random) -> None:
    path = tmp_path / "lie.db"
    shutil.copy(fine, path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    rows = connection.execute("SELECT first, blocks FROM touched").fetchall()
    first, blocks = rng.choice([row for row in rows if len(touched.decode(row[1], BLOCKS, "")) > 1])
    numbers = touched.decode(blocks, BLOCKS, "").tolist()
    missing = rng.choice(numbers)

    def put(data: bytes) -> list[str]:
        with connection:
            connection.execute("UPDATE touched SET blocks = ? WHERE first = ?", (data, first))
        database = open_for_reading(str(path))
        messages = verify(Reader(database), 1).messages
        database.close()
        return messages

    def encoded(found: list[int]) -> bytes:
        return touched.encode([b"".join(number.to_bytes(4, "little") for number in found)])

    lie = encoded([number for number in numbers if number != missing])
    (message,) = put(lie)
    assert message.startswith(f"the blocks of the chunk of records {first} to ")
    assert message.endswith(f"block {missing} is touched there, and missing")
    with pytest.raises(RefusedFileError, match=f"block {missing} is touched there, and missing"):
        inspect(path, "lie.db")
    # More than there is only costs time.
    assert put(encoded(list(range(BLOCKS)))) == []
    assert inspect(path, "lie.db") == SESSION
    (message,) = put(blocks[:-1])
    assert message.startswith(f"the blocks of the chunk of records {first} to ")
    (message,) = put(encoded([BLOCKS]))
    assert "no set" in message
    connection.close()
