"""All sessions that one recording offers: those in it, and those of the files that were imported beside it."""

from typing import NamedTuple

from kvarium.errors import UnknownSessionError
from kvarium.recording.catalogue import find_row
from kvarium.recording.curves import Curves
from kvarium.recording.database import Database
from kvarium.recording.imports import Imported, Imports, imports_folder
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker


class Place(NamedTuple):
    """Who reads a session, and its number there."""

    reader: Reader
    seeker: Seeker
    number: int
    imported: bool


def _imported(found: Imported) -> Place:
    return Place(found.reader, found.seeker, int(found.row["number"]), imported=True)


class Shelf:
    """The recording ``database`` and its imports. ``reader`` and ``seeker`` are those of the recording itself."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reader = Reader(database)
        self.seeker = Seeker(self.reader)
        self.imports = Imports(imports_folder(database))
        self.curves = Curves()

    def rows(self) -> list[Row]:
        """The rows of all sessions, the newest first, with ``imported``. What is in the recording itself comes first."""
        own = [row | {"imported": False} for row in self.reader.sessions()]
        known = {row["id"] for row in own}
        imported = [found.row for found in self.imports.all() if found.row["id"] not in known]
        rows = own + [row | {"imported": True} for row in imported]
        return sorted(rows, key=lambda row: -int(row["started_utc_us"]))

    def find(self, name: str) -> Place:
        """A session by its id, a prefix of it that no other has, or ``latest``.

        Raises :class:`UnknownSessionError`.
        """
        return self.place(find_row(self.rows(), name, self.database.where)["id"])

    def place(self, session_id: str) -> Place:
        """A session by its full id. Raises :class:`UnknownSessionError`."""
        try:
            return Place(self.reader, self.seeker, self.reader.number(session_id), imported=False)
        except UnknownSessionError:
            found = self.imports.find(session_id)
            if found is None:
                raise
            return _imported(found)

    def close(self) -> None:
        """Close the imports; the recording is its opener's."""
        self.seeker.close()
        self.imports.close()
