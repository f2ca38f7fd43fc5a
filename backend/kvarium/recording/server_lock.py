"""At most one server writes a recording: a second would take the first one's live sessions for interrupted ones.

SQLite       a lock on FILE.lock, which tells the server's process and, once it listens, its address
PostgreSQL   an advisory lock, which lasts as long as its connection
"""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from kvarium.errors import KvariumError
from kvarium.recording import tables


def lock_path(path: Path) -> Path:
    """The file that a server of the recording ``path`` holds locked."""
    return path.with_name(path.name + ".lock")


def path_is_locked(path: Path) -> bool:
    """Does a server have the recording ``path``? Nothing is written to find out."""
    try:
        with lock_path(path).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        # Somebody holds it, or it is not ours to look at: then what the recording says of itself stands.
        return True
    return False


def postgres_is_locked(engine: sa.Engine) -> bool:
    """Does a server have this database?"""
    query = sa.text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = :id "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with engine.connect() as connection:
        return bool(connection.execute(query, {"id": tables.APPLICATION_ID}).scalar())


def address_of_server(path: Path) -> str | None:
    """Where the server of the recording ``path`` listens, if it told."""
    try:
        lines = lock_path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return lines[1] if len(lines) > 1 and lines[1].startswith("http://") else None


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


class ServerLock:
    """Held by the one server of a recording."""

    def take(self, where: str, option: str = "--db") -> None:
        """Take it. Raises :class:`KvariumError` when another server has it; ``option`` is what names another recording."""
        raise NotImplementedError

    def announce(self, url: str) -> None:
        """Tell others where this server listens, as far as there is a place for it."""

    def release(self) -> None:
        """Give it up."""
        raise NotImplementedError


class PathLock(ServerLock):
    """The lock of an SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = lock_path(path)
        self._file: IO[str] | None = None

    def take(self, where: str, option: str = "--db") -> None:
        """Take it. Raises :class:`KvariumError` when another server has it, or nothing can be written there."""
        try:
            file = self._path.open("a+")
        except OSError as error:
            raise KvariumError(
                f"can't lock the recording {where}: {error.strerror} ({self._path}); "
                f"who writes it must be able to write beside it: choose another place with {option} FILE, "
                "or only look at it with `kvarium view`"
            ) from None
        if not _flock(file):
            file.seek(0)
            owner = next(iter(file.read().split()), "unknown")
            file.close()
            raise KvariumError(
                f"another kvarium server (process {owner}) writes {where}: stop it, or give another {option}"
            )
        self._file = file
        self._write(str(os.getpid()))

    def announce(self, url: str) -> None:
        """Write the server's address into the file."""
        self._write(f"{os.getpid()}\n{url}")

    def _write(self, text: str) -> None:
        assert self._file is not None
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()

    def release(self) -> None:
        """Give it up; the file goes."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


class PostgresLock(ServerLock):
    """The lock of a PostgreSQL database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def take(self, where: str, option: str = "--db") -> None:
        """Take it. Raises :class:`KvariumError` when another server has it."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        taken = connection.execute(sa.select(sa.func.pg_try_advisory_lock(tables.APPLICATION_ID))).scalar()
        if not taken:
            connection.close()
            raise KvariumError(f"another kvarium server writes {where}: stop it, or give another {option}")
        self._connection = connection

    def release(self) -> None:
        """Give it up."""
        if self._connection is not None:
            # Not back into the pool, which is closed by now: the lock lasts as long as its connection.
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
