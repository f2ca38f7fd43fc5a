"""Files that somebody brought: copies beside the recording, one session each, opened read-only and never merged in.

    runs.db               the recording
    runs.db.imported/     ID.db, inspected before it got its name; ``.arriving-…`` while it is not

A folder, so that a server and commands see the same ones without asking each other.
"""

import contextlib
import logging
import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import ConflictError, KvariumError, UnknownSessionError, UnwritableError
from kvarium.recording import tables
from kvarium.recording.database import Database, explain, readable_sqlite
from kvarium.recording.index_rows import Row
from kvarium.recording.inspection import inspect
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.workplace import Workplace, remove_abandoned

log = logging.getLogger(__name__)

_ARRIVING = ".arriving-"
_SEEK_BYTES = 64 << 20


def imports_folder(database: Database) -> Path:
    """Where the imports of a recording lie: beside its file, or for PostgreSQL in the user's data folder."""
    if database.path is not None:
        return database.path.with_name(database.path.name + ".imported")
    import platformdirs

    name = f"imported-{zlib.crc32(database.where.encode()):08x}"
    return Path(platformdirs.user_data_dir("kvarium")) / name


@dataclass(frozen=True)
class Imported:
    """An imported session: its row (which never changes), and what reads it."""

    path: Path
    identity: tuple[int, int, int]
    reader: Reader
    seeker: Seeker
    row: Row

    def close(self) -> None:
        """Nobody reads it any more."""
        self.seeker.close()
        self.reader.database.close()


class Imports:
    """The imports in a folder, which need not be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Imported] = {}
        self._broken: set[tuple[str, tuple[int, int, int]]] = set()
        self._lock = threading.Lock()

    def all(self) -> list[Imported]:
        """What lies there now."""
        with self._lock:
            found = self._scan()
            for name in [name for name in self._known if name not in found]:
                self._known.pop(name).close()
            for name, identity in found.items():
                known = self._known.get(name)
                if known is not None and known.identity == identity:
                    continue
                if known is not None:
                    self._known.pop(name).close()
                if (name, identity) not in self._broken:
                    self._open(name, identity)
            return list(self._known.values())

    def find(self, session_id: str) -> Imported | None:
        """The import with this session, if there is one."""
        return next((found for found in self.all() if found.row["id"] == session_id), None)

    def close(self) -> None:
        """Close all that is open."""
        with self._lock:
            for found in self._known.values():
                found.close()
            self._known.clear()

    def _scan(self) -> dict[str, tuple[int, int, int]]:
        found = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            for entry in os.scandir(self.folder):
                if entry.name.endswith(".db") and not entry.name.startswith("."):
                    with contextlib.suppress(OSError):
                        stat = entry.stat()
                        found[entry.name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        return found

    def _open(self, name: str, identity: tuple[int, int, int]) -> None:
        path = self.folder / name
        try:
            database = readable_sqlite(path)
        except KvariumError as error:
            self._skip(name, identity, str(error))
            return
        reader = Reader(database)
        try:
            rows = reader.sessions()
        except (SQLAlchemyError, KvariumError) as error:
            database.close()
            self._skip(name, identity, explain(error))
            return
        if len(rows) != 1 or f"{rows[0]['id']}.db" != name:
            database.close()
            self._skip(name, identity, f"{path} does not hold the session that its name tells")
            return
        self._known[name] = Imported(path, identity, reader, Seeker(reader, _SEEK_BYTES), rows[0])

    def _skip(self, name: str, identity: tuple[int, int, int], reason: str) -> None:
        self._broken.add((name, identity))
        log.warning("an import is left out: %s", reason)

    # -- coming and going -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def arriving(self) -> Iterator[Path]:
        """A place for a file that arrives; what is left there at the end goes."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnwritableError(f"can't write into {self.folder}", error.strerror or str(error)) from None
        place = Workplace(self.folder, _ARRIVING)
        try:
            try:
                place.make()
            except OSError as error:
                raise UnwritableError(
                    f"can't write into {self.folder}", error.strerror or str(error)
                ) from None
            yield place.path / "arrived.db"
        finally:
            place.remove()
            self._remove_if_empty()

    def sweep(self) -> None:
        """Remove what processes that were killed had not finished."""
        remove_abandoned(self.folder, _ARRIVING)
        self._remove_if_empty()

    def _remove_if_empty(self) -> None:
        """Nothing was let in, and nothing was there: no folder is left either."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def admit(self, arrived: Path, name: str, own: Reader, cancelled: threading.Event | None = None) -> str:
        """Inspect a file that arrived and let it in; its session's id. ``name`` is how a person knows it.

        Raises :class:`kvarium.recording.inspection.RefusedFileError`, or :class:`ConflictError` when the session is there
        already, in the recording of ``own`` or as an import.
        """
        session_id = inspect(arrived, name, cancelled)
        if self.find(session_id) is not None:
            raise ConflictError(f"session {session_id} was imported before")
        if any(row["id"] == session_id for row in own.sessions()):
            raise ConflictError(f"session {session_id} is in {own.database.where} itself")
        assert tables.SESSION_ID.fullmatch(session_id)
        arrived.chmod(0o444)
        arrived.rename(self.folder / f"{session_id}.db")
        return session_id

    def remove(self, session_id: str) -> int:
        """Remove an import; the bytes that it had."""
        found = self.find(session_id)
        if found is None:
            raise UnknownSessionError(f"no import {session_id!r}")
        try:
            found.path.unlink()
        except OSError as error:
            raise KvariumError(f"can't remove {found.path}: {error.strerror}") from None
        self.all()
        self._remove_if_empty()
        return found.identity[1]
