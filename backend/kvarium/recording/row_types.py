"""Are a row's numbers numbers? SQLite keeps in any column whatever it was given, and a file may come from anybody."""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError
from kvarium.recording.index_rows import Row


def check_numbers(row: Row, table: sa.Table, what: str) -> None:
    """Raises :class:`DamagedRecordingError` where a column of numbers holds something else; ``what`` names the row."""
    for column in table.c:
        if column.name not in row or not isinstance(column.type, sa.Integer):
            continue
        value = row[column.name]
        if not isinstance(value, int) and not (value is None and column.nullable):
            raise DamagedRecordingError(
                f"{what}: its {column.name} is {value!r:.60}, which is no whole number"
            )


@contextlib.contextmanager
def damage_told(what: str) -> Iterator[None]:
    """A reader that goes through rows and records of anybody's: values that are of no use to it are damage of the recording.

    Raises :class:`DamagedRecordingError`; ``what`` names what was read.
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError, LookupError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise DamagedRecordingError(f"{what} is not as kvarium stores it: {text}") from None
