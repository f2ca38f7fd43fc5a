"""Folders for what is being made: each goes at the end, and where its process was killed, as soon as the next one is made.

    .kvarium-9f1c3d2a/     beside the place of an export, and locked by the process that writes into it

The system gives up a lock with its process, however that ends: a folder of this kind that can be locked is nobody's.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path


class Workplace:
    """A folder in ``parent`` whose name begins with ``prefix``, from :meth:`make` to :meth:`remove`."""

    def __init__(self, parent: Path, prefix: str) -> None:
        self._parent, self._prefix = parent, prefix
        self.path = self._another()
        self._lock: int | None = None

    def _another(self) -> Path:
        return self._parent / f"{self._prefix}{secrets.token_hex(4)}"

    def make(self) -> None:
        """Make it, after those that nobody has any more are gone. Raises :class:`OSError`."""
        assert self._lock is None, "a workplace is made once"
        remove_abandoned(self._parent, self._prefix)
        while True:
            self.path.mkdir(mode=0o700)
            try:
                self._lock = _locked(self.path)
            except FileNotFoundError:
                pass
            except OSError:
                return  # nothing is locked in this file system: nobody takes it for an abandoned one either
            if self._lock is not None and self.path.is_dir():
                return
            # Another process found it before it was locked, and took it for an abandoned one.
            self._unlock()
            self.path = self._another()

    def remove(self) -> None:
        """It goes, with all that is in it; if it was made."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextlib.contextmanager
def workplace(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder to make something in. Raises :class:`OSError` where there can be none."""
    place = Workplace(parent, prefix)
    # A Ctrl-C or SIGTERM at any moment from here on removes it: so it is made within.
    with _ended_by_sigterm():
        try:
            place.make()
            yield place.path
        finally:
            place.remove()


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the program as Ctrl-C does, by an exception, unless it says itself what it does at one."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, frame: object) -> None:
    # Another one must not break off what this one cleans up.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove what processes that were killed have left in ``parent``."""
    own = re.compile(re.escape(prefix) + r"[0-9a-f]{8}")
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if own.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(place: Path) -> None:
    if place.lstat().st_uid != os.getuid():
        return
    lock = _locked(place)
    if lock is not None:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def _locked(place: Path) -> int | None:
    """The folder, locked: a file descriptor. None: another process has it. Raises :class:`OSError` where nothing is locked."""
    found = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(found)
        return None
    except BaseException:
        os.close(found)
        raise
    return found
