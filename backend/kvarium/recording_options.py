"""What the commands that read recordings share: their options, and the recording that they name, opened."""

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvarium.errors import KvariumError, UnknownSessionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvarium.recording.reader import Reader

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="FILE|URL",
        help="The recording: an SQLite file or a PostgreSQL URL.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Session = Annotated[
    str, typer.Argument(metavar="SESSION", help="A session's id, the beginning of it, or `latest`.")
]


def _usual_place() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("kvarium")) / "kvarium.db"


def default_db() -> str:
    """The recording in the user's data folder, which is made if need be."""
    place = _usual_place()
    folder = place.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KvariumError(
            f"can't make the folder {folder}: {error.strerror}; say where with --db FILE"
        ) from None
    return str(place)


def target(db: str | None, option: str = "--db") -> str:
    """The recording that ``--db`` (or another ``option``) names, or the one in the user's data folder."""
    if db is None:
        return default_db()
    if not db.strip():
        raise KvariumError(f"{option} is empty: it names a file, or a PostgreSQL URL")
    return db


def file_path(given: str) -> Path:
    """A file's path as it is given to a command. Why not Typer's own: an empty one is the folder here to it."""
    if not given:
        raise KvariumError("the path is empty: give the name of a file")
    return Path(given)


def say(line: str) -> None:
    """A line for the user, at once."""
    print(line, flush=True)


@contextlib.contextmanager
def reading(db: str | None) -> "Iterator[Reader]":
    """A reader of the recording that ``--db`` names. What the database itself can't read is a :class:`KvariumError`."""
    from sqlalchemy.exc import SQLAlchemyError

    from kvarium.recording.database import explain, open_for_reading
    from kvarium.recording.reader import Reader

    database = open_for_reading(target(db))
    try:
        yield Reader(database)
    except SQLAlchemyError as error:
        raise KvariumError(f"{database.where} can't be read: {explain(error)}") from None
    finally:
        database.close()


SessionOrFile = Annotated[
    str,
    typer.Argument(
        metavar="SESSION|FILE",
        help="A session's id, the beginning of it, or `latest`; or a file that holds just one, as a download does.",
    ),
]


@contextlib.contextmanager
def reading_session(name: str, db: str | None) -> "Iterator[tuple[Reader, int]]":
    """A reader and the number of the session ``name``; without ``--db`` it may be a file that holds just one."""
    from kvarium.recording.catalogue import LISTED
    from kvarium.recording.shelf import Shelf

    # A pipe or a device is told what it is; a folder may have the name of a session.
    is_file = db is None and name != "latest" and Path(name).exists() and not Path(name).is_dir()
    if db is None and not is_file:
        _check_default(name)
    with reading(name if is_file else db) as reader:
        if not is_file:
            with contextlib.closing(Shelf(reader.database)) as shelf:
                try:
                    place = shelf.find(name)
                except UnknownSessionError as error:
                    if db is None and looks_like_file(name):
                        raise UnknownSessionError(
                            f"there is no file {shlex.quote(name)}, and {error}"
                        ) from None
                    raise
                yield place.reader, place.number
            return
        rows = reader.sessions()
        if len(rows) != 1:
            raise KvariumError(
                f"{name} holds {len(rows)} sessions: {LISTED.format(shlex.quote(name))}; say which, and --db {name}"
            )
        yield reader, int(rows[0]["number"])


def looks_like_file(name: str) -> bool:
    """Is it rather a file's name than a session's, whose id is of letters and digits?"""
    return "/" in name or "." in name


def _check_default(name: str) -> None:
    """Who gave no ``--db`` is told of what was given. Raises :class:`KvariumError` where there is no recording in the usual place."""
    where = _usual_place()
    if where.exists():
        return
    meant = "no session" if name == "latest" else f"no file {name}, nor a session that is called so"
    raise KvariumError(f"there is {meant}: nothing was recorded at {where} yet; --db names another recording")
