"""``python -m tests.backend.mutations FILE SEED COUNT``: what becomes of a recording with something in it changed at random.

Runs in a process of its own, with a limit of memory and a clock for each file. Each mutated file is either refused with
one line, or let in; then everything that a server reads of it gives an answer or is refused with one line, too. Prints
JSON: how many were let in and refused, and what went wrong (nothing).
"""

import random
import shutil
import sqlite3
import struct
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from kvarium.errors import KvariumError
from kvarium.recording import seek as seek_module
from kvarium.recording.chunks import compress
from kvarium.recording.contents import read_contents
from kvarium.recording.database import readable_sqlite
from kvarium.recording.inspection import inspect
from kvarium.recording.layout import COLUMNS, PLAIN
from kvarium.recording.notes import read_landmarks
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.recording.transcript import read_sequence, read_transcript
from tests.backend.chunk_rows import frames_in, put, values_of
from tests.backend.trials import Trials, one_line, print_told

_MEMORY = 2 << 30
_SECONDS = 30
_STRANGE: list[Any] = [
    None,
    -1,
    0,
    1,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    1.5,
    float("inf"),
    "",
    "x",
    b"",
    b"\xff\xfe",
]
_SQL = [
    "CREATE TRIGGER evil AFTER INSERT ON chunk BEGIN DELETE FROM session; END",
    "CREATE VIEW evil AS SELECT * FROM session",
    "CREATE TABLE evil (a)",
    "CREATE INDEX evil ON step (session)",
    "ALTER TABLE session ADD COLUMN evil TEXT",
    "ALTER TABLE step RENAME TO steps",
    "DROP TABLE piece",
    "DELETE FROM session",
    "DELETE FROM alembic_version",
    "INSERT INTO kvarium VALUES ('more', 'than there was')",
    "UPDATE kvarium SET value = value || '0' WHERE key = 'format'",
    "PRAGMA user_version = 7",
    "ANALYZE",
]


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 8, 100))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_header(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(100)] = rng.randrange(256)


def overwrite(data: bytearray, rng: random.Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice((4, 64, 1000))
    data[at : at + size] = rng.choice((rng.randbytes(size), bytes(size), b"\xff" * size))[: len(data) - at]


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def lengthen(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at:at] = rng.randbytes(rng.choice((1, 512, 8192)))


def swap_pages(data: bytearray, rng: random.Random) -> None:
    size = int.from_bytes(data[16:18], "big")
    one, two = (rng.randrange(len(data) // size) * size for _ in range(2))
    data[one : one + size], data[two : two + size] = data[two : two + size], data[one : one + size]


def point_elsewhere(data: bytearray, rng: random.Random) -> None:
    """A number of a page in the head or cells of one, changed to another: loops among pages, lost ones."""
    size = int.from_bytes(data[16:18], "big")
    page = rng.randrange(len(data) // size) * size
    at = page + rng.choice((rng.randrange(12), rng.randrange(size - 4)))
    struct.pack_into(">I", data, at, rng.randrange(len(data) // size + 2))


BYTES = (flip, flip_header, overwrite, truncate, lengthen, swap_pages, point_elsewhere)


def change_value(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Any value of any row to any other."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice(names)
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
    column = rng.choice(columns)
    values = [row[0] for row in connection.execute(f'SELECT "{column}" FROM "{table}" LIMIT 50')]
    value = rng.choice([*_STRANGE, *values])
    if isinstance(value, int) and abs(value) < 1 << 40:
        value += rng.choice((-1, 0, 1, 1000))
    every = rng.random() < 0.3
    where = "" if every or not values else f' WHERE "{column}" IS ?'
    connection.execute(
        f'UPDATE OR IGNORE "{table}" SET "{column}" = ?{where}',
        [value, *([rng.choice(values)] if where else [])],
    )


def change_schema(connection: sqlite3.Connection, rng: random.Random) -> None:
    if rng.random() < 0.5:
        connection.execute(rng.choice(_SQL))
        return
    connection.execute("PRAGMA writable_schema = 1")
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    sql = rng.choice(found.fetchall())
    words = sql[1].split(" ")
    words[rng.randrange(len(words))] = rng.choice(
        ("VIRTUAL", "TEXT", "AS", "CHECK (1)", "(", ")", "hello", "x'00'")
    )
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (" ".join(words), sql[0]))


def change_frame(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Something in a record, with every checksum made right again."""
    (first,) = rng.choice(connection.execute("SELECT first FROM chunk ORDER BY first").fetchall())
    frames = frames_in(connection, first)
    at = rng.randrange(len(frames))
    body = bytearray(frames[at][:-4])
    if rng.random() < 0.5:
        value = msgspec.msgpack.decode(bytes(body))
        change_tree(value, rng)
        body = bytearray(msgspec.msgpack.encode(value))
    else:
        overwrite(body, rng)
    frames[at] = bytes(body) + zlib.crc32(body).to_bytes(4, "little")
    if rng.random() < 0.1:
        rng.shuffle(frames)
    put(connection, first, values_of(frames, rng.choice((PLAIN, COLUMNS))))


def change_layout(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Something in a part of a chunk, which is compressed again, with the checksum of the row made right."""
    first, data = rng.choice(connection.execute("SELECT first, data FROM chunk ORDER BY first").fetchall())
    count, length, *sums = struct.unpack_from("<4I", data)
    parts = [zstandard.decompress(part) for part in (data[16 : 16 + length], data[16 + length :])]
    which = rng.randrange(2)
    changed = bytearray(parts[which])
    if rng.random() < 0.3:
        del changed[rng.randrange(len(changed)) :]
    else:
        # Its numbers stand at its beginning.
        start = changed[: rng.choice((100, 400, len(changed)))]
        overwrite(start, rng)
        changed[: len(start)] = start
    parts[which] = bytes(changed)
    stored = [compress(part) for part in parts]
    if rng.random() < 0.2:
        count = rng.choice((0, count - 1, count + 1, 2**32 - 1))
    made = struct.pack("<4I", count, len(stored[0]), *sums) + b"".join(stored)
    put(connection, first, {"data": made, "checksum": zlib.crc32(made)})


def change_tree(value: Any, rng: random.Random) -> None:
    """One value somewhere in a record."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = rng.choice(keys)
    found = value[key]
    if isinstance(found, dict | list) and found and rng.random() < 0.8:
        change_tree(found, rng)
    elif isinstance(found, bytes) and len(found) >= 4:
        at = rng.randrange(len(found) // 4) * 4
        new = rng.choice((0, 1, 23, 24, 4096, 2**31, 2**32 - 1)).to_bytes(4, "little")
        value[key] = rng.choice((found[:at] + new + found[at + 4 :], found[:-4], found + new, b""))
    else:
        value[key] = rng.choice([2**53 - 1, 2**32, 10**6, -1, 0, 1, 7, None, "x", [], {}, b"abc", 1.5])


SQL = (change_value, change_value, change_schema, change_frame, change_frame, change_layout)


def mutate(source: bytes, path: Path, rng: random.Random) -> str:
    """Write a mutated copy; what was done."""
    if rng.random() < 0.45:
        data = bytearray(source)
        kind = rng.choice(BYTES)
        kind(data, rng)
        path.write_bytes(data)
        return kind.__name__
    path.write_bytes(source)
    change = rng.choice(SQL)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        change(connection, rng)
    except (sqlite3.Error, OverflowError) as error:
        # The database refuses that by itself: a copy without a change must be let in.
        connection.execute("PRAGMA writable_schema = 0")
        connection.close()
        path.write_bytes(source)
        return f"nothing ({type(error).__name__})"
    connection.close()
    return change.__name__


def exercise(path: Path, rng: random.Random) -> None:
    """Read what a server reads; what is not as it must be is a KvariumError."""
    database = readable_sqlite(path)
    try:
        reader = Reader(database)
        row = reader.sessions()[0]
        number = row["number"]
        last = row["last_record"] or 0
        seeker = Seeker(reader, 1 << 20)
        calls: list[Any] = [
            lambda: reader.hello(number),
            lambda: reader.steps(number),
            lambda: reader.requests(number),
            lambda: reader.pieces(number),
            lambda: read_landmarks(reader, number),
            lambda: list(reader.frames(number)),
            lambda: read_contents(reader, number, [0, 1, 50]),
            lambda: read_transcript(reader, number, rng.randrange(40)),
            lambda: read_sequence(reader, number, rng.randrange(40)),
            lambda: reader.records_of_step(number, rng.randrange(60)),
        ]
        calls += [partial(seeker.seek, number, at, at, 0) for at in rng.choices(range(last + 1), k=4)]
        for call in calls:
            try:
                call()
            except KvariumError as error:
                one_line(str(error))
    finally:
        database.close()


def main(file: str, seed: int, count: int) -> dict[str, Any]:
    """Try ``count`` mutations of ``file``."""
    trials = Trials(seed, _MEMORY, _SECONDS)
    # So that a seek in this small file leaps as in a large one.
    seek_module._FAST_FORWARD_BYTES = 0
    source = Path(file).read_bytes()
    folder = Path(tempfile.mkdtemp(prefix="kvarium-mutations-"))
    path = folder / "mutated.db"
    try:
        for rng in trials.each(count):
            what = mutate(source, path, rng)
            with trials.attempt(what):
                try:
                    inspect(path, "the file")
                    trials.done["let in"] += 1
                    exercise(path, rng)
                except KvariumError as error:
                    one_line(str(error))
                    trials.done["refused"] += 1
                    if what.startswith("nothing"):
                        trials.fail(f"refused without a change: {error}")
    finally:
        shutil.rmtree(folder)
    return trials.told()


if __name__ == "__main__":
    print_told(main)
