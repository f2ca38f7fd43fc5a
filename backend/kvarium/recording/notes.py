"""Notes and marks: what people write beside a step, kept in the recording and copied with the session.

A mark is a note with a name, A or B, which at most one note of a session bears: setting it again moves it.
"""

import re
import time
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from kvarium.errors import InvalidValueError, OutOfRangeError
from kvarium.recording import tables
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import dicts_of

MARKS: Final = ("A", "B")
MAX_TEXT: Final = 10_000
MAX_NOTES: Final = 10_000
"""So many a session: each is part of every list of landmarks."""

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
COLOURS: Final = (
    *("aqua", "black", "blue", "fuchsia", "gray", "green", "lime", "maroon", "navy"),
    *("olive", "orange", "purple", "red", "silver", "teal", "white", "yellow"),
)
"""The names of CSS 2.1 (section 4.3.6)."""

_RGB = re.compile(r"#[0-9a-f]{6}")


def checked_text(text: str) -> str:
    """The text, without blanks around it. Raises :class:`InvalidValueError` for what no database takes."""
    found = text.strip()
    if len(found) > MAX_TEXT:
        raise InvalidValueError(f"a note has at most {MAX_TEXT:,} characters, this one has {len(found):,}")
    if _NO_TEXT.search(found):
        raise InvalidValueError("a note is text: it has no NUL and no half of a character")
    return found


def checked_mark(mark: str | None) -> str | None:
    """The mark. Raises :class:`InvalidValueError` when it is none."""
    if mark is not None and mark not in MARKS:
        raise InvalidValueError(f"a mark is {' or '.join(MARKS)}, not {mark[:20]!r}")
    return mark


def checked_colour(colour: str | None) -> str | None:
    """The colour. Raises :class:`InvalidValueError` when it is none."""
    if colour is not None and colour not in COLOURS and not _RGB.fullmatch(colour):
        names = ", ".join(COLOURS)
        raise InvalidValueError(
            f"a colour is a name or #rrggbb, in small letters, not {colour[:20]!r}; names: {names}"
        )
    return colour


def read_notes(reader: Reader, session: int) -> list[Row]:
    """The notes and marks of a session, by their places; none where the recording is older than they are."""
    if reader.database.format < tables.NOTES_SINCE:
        return []
    table = tables.note
    query = (
        sa.select(*(column for column in table.c if column.name != "session"))
        .where(table.c.session == session)
        .order_by(table.c.step, table.c.record, table.c.number)
    )
    with reader.database.engine.connect() as connection:
        return dicts_of(connection, query)


def newest_note(reader: Reader, session: int) -> tuple[Row | None, int]:
    """The note that was written last, and how many there are; marks without a text are none."""
    notes = [note for note in read_notes(reader, session) if note["text"]]
    newest = max(notes, key=lambda note: (note["created_utc_us"], note["number"]), default=None)
    return newest, len(notes)


def read_note(reader: Reader, session: int, number: int) -> Row:
    """One note. Raises :class:`OutOfRangeError` when there is no such note."""
    for found in read_notes(reader, session):
        if found["number"] == number:
            return found
    raise OutOfRangeError(f"the session has no note {number}")


def read_landmarks(reader: Reader, session: int, kinds: Sequence[str] | None = None) -> list[Row]:
    """A row a step and kind, and one of the kind ``note`` for each note and mark of a person's. ``kinds`` None: all."""
    found = reader.landmarks(session, kinds)
    for note in read_notes(reader, session) if kinds is None or "note" in kinds else ():
        text = ": ".join(part for part in (note["mark"], note["text"]) if part)
        place = {name: note[name] for name in ("step", "record")}
        found.append(place | {"kind": "note", "count": 1, "message": text})
    return sorted(found, key=lambda row: (row["step"], row["record"]))


def place_of(reader: Reader, session: int, step: int | None, record: int | None) -> tuple[int, int]:
    """Step and record of a note: of a step, of a record, or (neither given) the last step.

    Raises :class:`OutOfRangeError` where the recording does not hold it.
    """
    row = reader.session(session)
    if record is not None:
        first, last = row["first_record"], row["last_record"]
        if last is None or not first <= record <= last:
            held = "holds no records yet" if last is None else f"holds {first} to {last}"
            raise OutOfRangeError(f"record {record} is not in the recording, which {held}")
        return (reader.step_at(session, record) if step is None else step), record
    if step is None:
        step = row["last_step"]
    if step is None:
        raise OutOfRangeError("the recording holds no step yet")
    return step, reader.records_of_step(session, step)[0]


def insert_note(connection: sa.Connection, values: Row) -> int:
    """Add a note; its number. The session's other note with the same mark loses that note's place to it."""
    columns = tables.note.c
    if values["mark"] is not None:
        connection.execute(
            sa.delete(tables.note).where(columns.session == values["session"], columns.mark == values["mark"])
        )
    query = sa.select(sa.func.count()).select_from(tables.note).where(columns.session == values["session"])
    if connection.execute(query).scalar_one() >= MAX_NOTES:
        raise InvalidValueError(f"the session has {MAX_NOTES:,} notes already")
    row = values | {"created_utc_us": time.time_ns() // 1000}
    key = connection.execute(sa.insert(tables.note), row).inserted_primary_key
    assert key is not None
    return int(key[0])


def change_note(connection: sa.Connection, session: int, number: int, changes: dict[str, Any]) -> None:
    """Change a note's text or colour. Raises :class:`OutOfRangeError` when there is no such note."""
    _found(
        connection.execute(
            sa.update(tables.note)
            .where(tables.note.c.session == session, tables.note.c.number == number)
            .values(**changes)
        ),
        number,
    )


def delete_note(connection: sa.Connection, session: int, number: int) -> None:
    """Remove a note. Raises :class:`OutOfRangeError` when there is no such note."""
    if number >= tables.NUMBERS:
        raise OutOfRangeError(f"the session has no note {number}")
    _found(
        connection.execute(
            sa.delete(tables.note).where(tables.note.c.session == session, tables.note.c.number == number)
        ),
        number,
    )


def _found(result: sa.CursorResult[Any], number: int) -> None:
    if result.rowcount == 0:
        raise OutOfRangeError(f"the session has no note {number}")
