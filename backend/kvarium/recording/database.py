"""Opening a recording: an SQLite file or a PostgreSQL URL, checked before anything else is done, and locked by a server.

Why ``synchronous=FULL``: the engine forgets what is acknowledged, so an acknowledged record must survive the loss of
power, and in WAL mode SQLite's NORMAL does not promise that. It costs one fsync a commit, and there are a handful of
commits a second.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from kvarium import __version__
from kvarium.errors import KvariumError, NotARecordingError
from kvarium.recording import tables

_SQLITE_HEADER = b"SQLite format 3\x00"
_BUSY_SECONDS = 5.0


def explain(error: BaseException) -> str:
    """The driver's own words, in one line, without SQL."""
    reason = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(str(reason).split()) or type(reason).__name__


class RecordingGoneError(KvariumError):
    """The file of the recording was deleted, moved or replaced."""


class Database:
    """An open recording: ``engine`` reads, ``write_engine`` writes (None: read-only).

    ``where`` is how a person knows it (a path, or a URL without password); ``path`` is the file, if it is one.
    """

    def __init__(
        self, engine: sa.Engine, write_engine: sa.Engine | None, where: str, path: Path | None
    ) -> None:
        self.engine = engine
        self.write_engine = write_engine
        self.where = where
        self.path = path
        self._lock: _ServerLock | None = None
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
        return _path_is_locked(self.path) if self.path is not None else _postgres_is_locked(self.engine)

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

    def take_lock(self) -> None:
        """Become the one server of this recording, or say who is."""
        self._lock = _PathLock(self.path) if self.path is not None else _PostgresLock(self.engine)
        self._lock.take(self.where)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _path_is_locked(path: Path) -> bool:
    try:
        with _lock_path(path).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        # Somebody holds it, or it is not ours to look at: then what the recording says of itself stands.
        return True
    return False


def _postgres_is_locked(engine: sa.Engine) -> bool:
    query = sa.text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = :id "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with engine.connect() as connection:
        return bool(connection.execute(query, {"id": tables.APPLICATION_ID}).scalar())


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _flock(file: IO[str]) -> bool:
    """Take the lock. A reader that looks whether it is taken holds it for a moment, so it is tried more than once."""
    for wait in (0.02, 0.05, 0.1, None):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if wait is not None:
                time.sleep(wait)
        else:
            return True
    return False


class _ServerLock:
    """At most one server writes a recording: a second would take the first one's live sessions for interrupted ones."""

    def take(self, where: str) -> None:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError


class _PathLock(_ServerLock):
    def __init__(self, path: Path) -> None:
        self._path = _lock_path(path)
        self._file: IO[str] | None = None

    def take(self, where: str) -> None:
        try:
            file = self._path.open("a+")
        except OSError as error:
            raise KvariumError(
                f"can't lock the recording {where}: {error.strerror} ({self._path}); "
                "a server must be able to write beside it: choose another place with --db FILE, "
                "or only look at it with `kvarium view`"
            ) from None
        if not _flock(file):
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise KvariumError(
                f"another kvarium server (process {owner}) writes {where}: stop it, or give another --db"
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


class _PostgresLock(_ServerLock):
    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def take(self, where: str) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        taken = connection.execute(sa.select(sa.func.pg_try_advisory_lock(tables.APPLICATION_ID))).scalar()
        if not taken:
            connection.close()
            raise KvariumError(f"another kvarium server writes {where}: stop it, or give another --db")
        self._connection = connection

    def release(self) -> None:
        if self._connection is not None:
            # Not back into the pool, which is closed by now: the lock lasts as long as its connection.
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


# -- SQLite -------------------------------------------------------------------------------------------------------------


def _sqlite_engine(connect: Callable[[], sqlite3.Connection], begin: str) -> sa.Engine:
    # The driver's own transactions begin at the first write only: a read would not be a snapshot.
    engine = sa.create_engine(
        "sqlite+pysqlite://", creator=connect, poolclass=QueuePool, pool_size=8, max_overflow=40
    )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _writable_connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None, cached_statements=64
    )
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA journal_size_limit=67108864")
    return connection


def _query_connection(path: Path) -> sqlite3.Connection:
    connection = _writable_connection(path)
    connection.execute("PRAGMA query_only=1")
    return connection


def writable_sqlite(path: Path) -> Database:
    """Open or create a recording in a file that is not shared with a server (an export, or under the server's lock)."""
    _check_place(path)
    new = not path.exists() or path.stat().st_size == 0
    if not new:
        _check_header(path)
    writing = _sqlite_engine(lambda: _writable_connection(path), "BEGIN IMMEDIATE")
    reading = _sqlite_engine(lambda: _query_connection(path), "BEGIN")
    database = Database(reading, writing, str(path), path)
    try:
        with writing.connect() as connection:
            raw: Any = connection.connection.driver_connection
            if new:
                raw.execute("PRAGMA page_size=8192")
                raw.execute(f"PRAGMA application_id={tables.APPLICATION_ID}")
            else:
                _check_tables(connection, str(path))
                connection.rollback()
            raw.execute("PRAGMA journal_mode=WAL")
        _prepare(database)
    except (SQLAlchemyError, sqlite3.Error) as error:
        database.close()
        raise KvariumError(
            f"can't write the recording {path}: {explain(error)} (choose another place with --db)"
        ) from None
    except BaseException:
        database.close()
        raise
    return database


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise KvariumError(f"{path} is a directory: --db names a file, or a PostgreSQL URL")
    if not path.parent.is_dir():
        raise KvariumError(f"can't write the recording {path}: there is no directory {path.parent}")


def _check_header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise KvariumError(f"can't read {path}: {error.strerror}") from None
    if start != _SQLITE_HEADER:
        found = "it is empty" if not start else "it is no SQLite file"
        raise NotARecordingError(f"{path} is not a recording of kvarium: {found}")


def _check_tables(connection: sa.Connection, where: str) -> None:
    if not sa.inspect(connection).has_table(tables.kvarium.name):
        raise NotARecordingError(f"{where} is not a recording of kvarium: it has no table 'kvarium'")
    query = sa.select(tables.kvarium.c.value).where(tables.kvarium.c.key == "format")
    found = connection.execute(query).scalar()
    if found is None or not found.isdecimal():
        raise NotARecordingError(f"{where} is not a recording of kvarium: its format is {found!r}")
    if int(found) > tables.FORMAT:
        raise NotARecordingError(
            f"{where} has format {found}, this kvarium ({__version__}) reads up to {tables.FORMAT}: use a newer kvarium"
        )


def _prepare(database: Database) -> None:
    """Make the tables, and write one row, so that a database that can't be written says so now."""
    with database.writing().begin() as connection:
        tables.metadata.create_all(connection)
        connection.execute(sa.delete(tables.kvarium).where(tables.kvarium.c.key == "writer"))
        rows = [{"key": "writer", "value": __version__}]
        known = connection.execute(sa.select(tables.kvarium.c.key)).scalars().all()
        if "format" not in known:
            rows.append({"key": "format", "value": str(tables.FORMAT)})
        connection.execute(sa.insert(tables.kvarium), rows)


def readable_sqlite(path: Path) -> Database:
    """Open a recording read-only, whatever else writes it. Without a ``-wal`` beside it nothing is created beside it."""
    if path.is_dir():
        raise NotARecordingError(f"{path} is a directory, not a recording")
    if not path.exists():
        raise KvariumError(f"there is no file {path}")
    _check_header(path)
    wal = path.with_name(path.name + "-wal")
    uri = f"file:{quote(str(path.absolute()))}?mode=ro" + ("" if wal.exists() else "&immutable=1")

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
        )

    database = Database(_sqlite_engine(connect, "BEGIN"), None, str(path), path)
    try:
        with database.engine.connect() as connection:
            _check_tables(connection, str(path))
    except (SQLAlchemyError, sqlite3.Error) as error:
        database.close()
        raise KvariumError(f"can't read the recording {path}: {explain(error)}") from None
    except BaseException:
        database.close()
        raise
    return database


# -- PostgreSQL ---------------------------------------------------------------------------------------------------------


def _postgres(url: str, read_only: bool) -> Database:
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError:
        raise KvariumError(f"--db {url}: not a URL (postgresql://user@host/database) nor a file") from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise KvariumError(
            f"--db {parsed.drivername}://…: kvarium records into SQLite files and PostgreSQL, not into that"
        )
    where = parsed.render_as_string(hide_password=True)
    try:
        engine = sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_size=8, max_overflow=40)
    except ModuleNotFoundError:
        raise KvariumError(f"--db {where} needs psycopg: pip install 'kvarium[postgres]'") from None
    database = Database(engine, None if read_only else engine, where, None)
    try:
        with engine.connect() as connection:
            exists = sa.inspect(connection).has_table(tables.kvarium.name)
            if exists or read_only:
                _check_tables(connection, where)
        if not read_only:
            _prepare(database)
    except SQLAlchemyError as error:
        database.close()
        raise KvariumError(f"can't use the database {where}: {explain(error)}") from None
    except BaseException:
        database.close()
        raise
    return database


def _is_url(target: str) -> bool:
    return "://" in target


def _sqlite_path(target: str) -> Path:
    return Path(target.removeprefix("sqlite:///")).expanduser()


def open_for_server(target: str) -> Database:
    """Open or create the recording ``target`` (a file or a URL) as its one server."""
    if _is_url(target) and not target.startswith("sqlite:///"):
        database = _postgres(target, read_only=False)
        try:
            database.take_lock()
        except BaseException:
            database.close()
            raise
        return database
    path = _sqlite_path(target)
    _check_place(path)
    lock = _PathLock(path)
    lock.take(str(path))
    try:
        database = writable_sqlite(path)
    except BaseException:
        lock.release()
        raise
    database._lock = lock
    return database


def open_for_reading(target: str) -> Database:
    """Open the recording ``target`` (a file or a URL), which must exist, read-only."""
    if _is_url(target) and not target.startswith("sqlite:///"):
        return _postgres(target, read_only=True)
    return readable_sqlite(_sqlite_path(target))
