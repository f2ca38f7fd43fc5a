"""The recordings that benches are made on: made once, by a real server with a real engine, and kept in the user's cache.

    options ─┐
    versions ├─▶ key ─▶ <cache>/recordings/<key>.db   is there: as it is
    sources ─┘                 ▲
                               └── making-…/ ◀── kvarium serve --runner null --steps N --exit-with-engine

``<cache>`` is ``$KVARIUM_CACHE``, else the platform's (``~/.cache/kvarium`` on Linux). A recording is what the code that made it
makes: whatever of the ledger, the engine or the recorder is changed, the next one is made anew. The last few are kept.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kvarium import terminal
from kvarium.bench.started import Started, failed, started
from kvarium.errors import KvariumError
from kvarium.launch import EngineMissingError, engine_is_installed
from kvarium.recording import tables
from kvarium.recording.database import open_for_reading, writable_sqlite
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium_ledger.records import VERSION

KEPT = 6
"""How many recordings are kept; of more those go that were not used for longest."""

_SOURCES = ("kvarium_ledger", "kvarium_engine", "kvarium.recording")


def cache_folder() -> Path:
    """The folder of all recordings that benches made. Raises :class:`KvariumError` when it can't be made."""
    told = os.environ.get("KVARIUM_CACHE")
    if told:
        cache = Path(told).expanduser().absolute()
    else:
        import platformdirs

        cache = Path(platformdirs.user_cache_dir("kvarium"))
    folder = cache / "recordings"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KvariumError(
            f"can't make the folder {folder}: {error.strerror}; say where with KVARIUM_CACHE"
        ) from None
    return folder


def recording(steps: int, options: Sequence[str]) -> Path:
    """The recording of a null runner that makes ``steps`` steps with the engine's ``options``: one session, ended, indexed.

    Every record is in it (the engine is lossless). The same arguments give the same operations: the runner is seeded. Raises
    :class:`KvariumError` when it can't be made, :class:`EngineMissingError` where there is no engine.
    """
    if not engine_is_installed():
        raise EngineMissingError
    folder = cache_folder()
    path = folder / f"{_key(steps, options)}.db"
    with _alone(folder):
        if path.exists():
            os.utime(path)
            return path
        for left in folder.glob("making-*"):
            shutil.rmtree(left, ignore_errors=True)
        making = Path(tempfile.mkdtemp(prefix="making-", dir=folder))
        try:
            _make(making / "kvarium.db", steps, options)
            (making / "kvarium.db").replace(path)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        _forget_old(folder)
    return path


def _key(steps: int, options: Sequence[str]) -> str:
    told = json.dumps([steps, *options, VERSION, tables.FORMAT, _sources()])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _sources() -> str:
    """A hash of the code that makes a recording."""
    found = hashlib.sha256()
    for package in _SOURCES:
        spec = importlib.util.find_spec(package)
        assert spec is not None, package
        for place in spec.submodule_search_locations or ():
            for file in sorted(Path(place).rglob("*.py")):
                if "bench" not in file.parts:
                    found.update(file.read_bytes())
    return found.hexdigest()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of several that want a recording one makes it, and the others wait."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another that makes a recording in {folder}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _forget_old(folder: Path) -> None:
    newest = sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in newest[KEPT:]:
        path.unlink()


# -- making one ---------------------------------------------------------------------------------------------------------


def _make(path: Path, steps: int, options: Sequence[str]) -> None:
    serve = ("serve", "--runner", "null", "--steps", str(steps), "--lossless", "--step-ms", "0", *options)
    here = ("--db", str(path), "--port", "0", "--exit-with-engine")
    log = path.with_suffix(".log")
    with started("kvarium.cli", *serve, *here, log=log) as process:
        _follow(process, path, steps)
    if process.returncode:
        raise failed("the recording was not made", process, log)
    _settle(path)
    _check(path)


def _settle(path: Path) -> None:
    """Put the write-ahead log away, if the server could not: while this process looks how far it is, another reads the file."""
    if path.with_name(f"{path.name}-wal").exists():
        writable_sqlite(path).close()


def _follow(process: Started, path: Path, steps: int) -> None:
    """Show how far it is, until the process ends."""
    with terminal.progress_bar("making a recording, once: steps") as progress:
        while True:
            try:
                process.wait(0.5)
                return
            except subprocess.TimeoutExpired:
                with contextlib.suppress(KvariumError, OSError):
                    progress(_session(path)["steps"], steps)


def _session(path: Path) -> Row:
    database = open_for_reading(str(path))
    try:
        rows = Reader(database).sessions()
        if not rows:
            raise KvariumError(f"{path} holds no session yet")
        return rows[0]
    finally:
        database.close()


def _check(path: Path) -> None:
    """Raises :class:`KvariumError` when what was made is not whole."""
    row = _session(path)
    for what, wrong in (
        (f"it is {row['state']}", row["state"] != "ended"),
        (f"{row['gaps']} gaps", row["gaps"]),
        (f"{row['lost']} records were not stored", row["lost"]),
        (f"violations, first: {row['violation']}", row["violations"]),
        (
            f"its index ends at record {row['indexed_record']} of {row['last_record']}",
            row["indexed_record"] != row["last_record"],
        ),
        (f"{path.name}-wal was left", path.with_name(f"{path.name}-wal").exists()),
    ):
        if wrong:
            raise KvariumError(f"the recording that a bench needs was made, but is not whole: {what}")
