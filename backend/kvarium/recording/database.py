"""Opening a recording: an SQLite file or a PostgreSQL URL, checked before anything else is done, and locked by a server."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kvarium import __version__
from kvarium.errors import KvariumError, UnwritableError
from kvarium.recording import migration, postgresql, schema, sqlite_file, tables
from kvarium.recording.server_lock import (
    PathLock,
    PostgresLock,
    ServerLock,
    address_of_server,
    path_is_locked,
    postgres_is_locked,
)


def explain(error: BaseException) -> str:
    """The driver's own words, in one line, without SQL."""
    reason = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(str(reason).split()) or type(reason).__name__


class RecordingGoneError(KvariumError):
    """The file of the recording was deleted, moved or replaced."""


class Database:
    """An open recording: ``engine`` reads, ``write_engine`` writes (None: read-only).

    ``where`` is how a person knows it (a path, or a URL without password); ``path`` is the file, if it is one. ``format``
    is the version of its tables; ``upgraded_from`` is the one that it had before it was opened, where that was older.
    """

    def __init__(
        self, engine: sa.Engine, write_engine: sa.Engine | None, where: str, path: Path | None
    ) -> None:
        self.engine = engine
        self.write_engine = write_engine
        self.where = where
        self.path = path
        self.format = tables.FORMAT
        self.upgraded_from: int | None = None
        self._lock: ServerLock | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def read_only(self) -> bool:
        """Can nothing be written?"""
        return self.write_engine is None

    def writing(self) -> sa.Engine:
        """The engine that writes. Raises :class:`KvariumError` when the recording was opened read-only."""
        if self.write_engine is None:
            raise KvariumError(f"{self.where} was opened read-only")
        return self.write_engine

    def close(self) -> None:
        """Close all connections and give up the lock."""
        self.engine.dispose()
        if self.write_engine is not None:
            self.write_engine.dispose()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def size(self) -> int:
        """Bytes on disk of an SQLite recording (0 where that can't be told)."""
        if self.path is None:
            return 0
        found = 0
        for name in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                found += name.stat().st_size
            except OSError:
                continue
        return found

    def served(self) -> bool:
        """Does a server record into it right now? Nothing is written to find out."""
        if self._lock is not None:
            return True
        return path_is_locked(self.path) if self.path is not None else postgres_is_locked(self.engine)

    def check_place(self) -> None:
        """Raises :class:`RecordingGoneError` when the file that was opened is not where it was: nobody would find it."""
        if self.path is None:
            return
        try:
            found = _identity(self.path)
        except OSError as error:
            raise RecordingGoneError(f"{self.path} is gone ({error.strerror})") from None
        if self._identity is None:
            self._identity = found
        elif found != self._identity:
            raise RecordingGoneError(f"another file is in the place of {self.path}")

    def hold(self, lock: ServerLock) -> None:
        """Keep the lock until it is closed."""
        assert self._lock is None
        self._lock = lock

    def announce(self, url: str) -> None:
        """Tell commands on this machine where the server of this recording listens."""
        if self._lock is not None:
            self._lock.announce(url)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _guarded(database: Database, failed: str, prepare: Callable[[], None]) -> Database:
    """The database, once ``prepare`` went well; else it is closed, and its own faults are told in one line."""
    try:
        prepare()
    except (SQLAlchemyError, sqlite3.Error) as error:
        database.close()
        told, reason = f"{failed} {database.where}", explain(error)
        raise (
            KvariumError(f"{told}: {reason}") if database.read_only else UnwritableError(told, reason)
        ) from None
    except BaseException:
        database.close()
        raise
    return database


def _raw(connection: sa.Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _checked_format(connection: sa.Connection, where: str) -> int:
    """The format of an SQLite file that declares what a recording declares, and nothing else."""
    schema.check_kinds(_raw(connection), where)
    found = migration.read_format(connection, where)
    schema.check_schema(_raw(connection), found, where)
    return found


def _own(database: Database, found: int | None) -> None:
    """Make the tables, or upgrade them, and write one row, so that a database that can't be written says so now."""
    with database.writing().begin() as connection:
        if found is None:
            migration.create(connection)
        elif found != tables.FORMAT:
            migration.upgrade(connection, found)
            database.upgraded_from = found
        connection.execute(sa.delete(tables.kvarium).where(tables.kvarium.c.key == "writer"))
        connection.execute(sa.insert(tables.kvarium), [{"key": "writer", "value": __version__}])


def writable_sqlite(path: Path) -> Database:
    """Open or create a recording in a file that is not shared with a server (an export, or under the server's lock).

    Raises :class:`UnwritableError` when it can't be written.
    """
    sqlite_file.check_place(path)
    new = sqlite_file.is_new(path)
    if not new:
        sqlite_file.check_header(path)
    reading, writing = sqlite_file.query_engine(path), sqlite_file.writing_engine(path)
    database = Database(reading, writing, str(path), path)

    def prepare() -> None:
        found: int | None = None
        with writing.connect() as connection:
            if new:
                sqlite_file.begin_file(_raw(connection))
            else:
                found = _checked_format(connection, str(path))
                connection.rollback()
            _raw(connection).execute("PRAGMA journal_mode=WAL")
        _own(database, found)

    return _guarded(database, "can't write the recording", prepare)


def readable_sqlite(path: Path, where: str | None = None) -> Database:
    """Open a recording read-only, whatever else writes it; ``where`` is how a person knows it, if not by ``path``.

    Without a ``-wal`` beside it nothing is created beside it.
    """
    sqlite_file.check_header(path, where)
    database = Database(sqlite_file.reading_engine(path), None, where or str(path), path)

    def prepare() -> None:
        with database.engine.connect() as connection:
            database.format = _checked_format(connection, database.where)

    return _guarded(database, "can't read the recording", prepare)


def _postgres(url: str, read_only: bool) -> Database:
    engine, where = postgresql.engine_of(url)
    database = Database(engine, None if read_only else engine, where, None)

    def prepare() -> None:
        if not read_only:
            lock = PostgresLock(engine)
            lock.take(where)
            database.hold(lock)
        found: int | None = None
        with engine.connect() as connection:
            if read_only or sa.inspect(connection).has_table(tables.kvarium.name):
                found = database.format = migration.read_format(connection, where)
        if not read_only:
            _own(database, found)
            database.format = tables.FORMAT

    return _guarded(database, "can't use the database", prepare)


def is_url(target: str) -> bool:
    """Does ``target`` name a database server, not a file?"""
    return "://" in target and not target.startswith("sqlite:///")


def sqlite_path(target: str) -> Path:
    """The file that ``target`` names: not a symbolic link, as what is not in the file yet lies beside its own name."""
    path = Path(target.removeprefix("sqlite:///")).expanduser()
    return path.resolve() if path.is_symlink() else path


def open_for_server(target: str, option: str = "--db") -> Database:
    """Open or create the recording ``target`` (a file or a URL), which ``option`` names, as the one who writes it."""
    if is_url(target):
        return _postgres(target, read_only=False)
    path = sqlite_path(target)
    sqlite_file.check_place(path, option)
    sqlite_file.check_names(path)
    lock = PathLock(path)
    lock.take(str(path), option)
    try:
        database = writable_sqlite(path)
    except UnwritableError as error:
        lock.release()
        room = "make room on its disk, or " if error.full else ""
        raise KvariumError(f"{error}: {room}choose another place with {option}") from None
    except BaseException:
        lock.release()
        raise
    database.hold(lock)
    return database


def open_for_reading(target: str) -> Database:
    """Open the recording ``target`` (a file or a URL), which must exist, read-only."""
    return _postgres(target, read_only=True) if is_url(target) else readable_sqlite(sqlite_path(target))


def server_of(target: str) -> str | None:
    """The address of the server that records into the file ``target``; "" where one does, but does not tell it."""
    if is_url(target):
        database = open_for_reading(target)
        try:
            return "" if database.served() else None
        finally:
            database.close()
    path = sqlite_path(target)
    return (address_of_server(path) or "") if path_is_locked(path) else None
