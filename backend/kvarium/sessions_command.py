"""``kvarium sessions …``: what a recording holds, and what a person does with it."""

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvarium.errors import ConflictError, InvalidValueError, KvariumError, UnwritableError, WrongUsageError
from kvarium.limits import parse_age
from kvarium.recording_options import AsJson, Db, Session, file_path, reading, say, target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvarium.recording.index_rows import Row
    from kvarium.recording.removal import Removal
    from kvarium.recording.shelf import Shelf

app = typer.Typer(
    help="What a recording holds, and what is done with it.", no_args_is_help=True, rich_markup_mode=None
)


def _public(row: "Row") -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("hello", "number")}


@contextlib.contextmanager
def _shelf(db: str | None) -> "Iterator[Shelf]":
    """The recording and its imports, to be read."""
    from kvarium.recording.shelf import Shelf

    with reading(db) as reader, contextlib.closing(Shelf(reader.database)) as shelf:
        yield shelf


def _row(shelf: "Shelf", name: str) -> "Row":
    reader, _, number, imported = shelf.find(name)
    return reader.session(number) | {"imported": imported}


def _own_row(shelf: "Shelf", name: str) -> "Row":
    """A session that can be changed."""
    row = _row(shelf, name)
    if row["imported"]:
        raise ConflictError(f"session {row['id']} is an imported file: it is only read")
    return row


@app.command("ls")
def ls(db: Db = None, as_json: AsJson = False) -> None:
    """List the sessions, the newest first, and tell what was removed."""
    from kvarium import terminal
    from kvarium.recording.removal import read_removed

    with _shelf(db) as shelf:
        rows = shelf.rows()
        removed = read_removed(shelf.database)
    if as_json:
        say(json.dumps({"sessions": [_public(row) for row in rows], "removed": removed}))
        return
    say(_list(rows) if rows else "no sessions")
    if removed:
        last = removed[0]
        when = terminal.started(last["removed_utc_us"])
        say(
            f"removed before: {len(removed)}, the last one {last['id'][:8]} at {when} ({terminal.shown(last['reason'])})"
        )


def _list(rows: "list[Row]") -> str:
    from kvarium import terminal

    header = ("SESSION", "STATE", "STARTED", "DURATION", "RUNNER", "STEPS", "OPERATIONS", "SIZE", "NAME")
    lines = [
        (
            terminal.shown(row["id"]),
            "imported" if row["imported"] else terminal.shown(row["state"]),
            terminal.started(row["started_utc_us"]),
            terminal.duration(row["duration_ns"]),
            terminal.shown(row["runner"]),
            terminal.figure(row["steps"]),
            terminal.figure(row["operations"]),
            terminal.size(row["stored_bytes"]),
            terminal.shown(row["name"]),
        )
        for row in rows
    ]
    return terminal.table(header, lines)


@app.command("show")
def show(session: Session = "latest", db: Db = None, as_json: AsJson = False) -> None:
    """Show one session: all that is known of it, and its notes."""
    import msgspec

    from kvarium import terminal
    from kvarium.recording.notes import read_notes

    with _shelf(db) as shelf:
        reader, _, number, imported = shelf.find(session)
        row = reader.session(number) | {"imported": imported}
        hello, _ = reader.hello(number)
        notes = read_notes(reader, number)
    if as_json:
        say(json.dumps(_public(row) | {"hello": msgspec.to_builtins(hello), "notes": notes}))
        return
    say(terminal.session_lines(row))
    for note in notes:
        say(terminal.note_line(note))


# -- changes ------------------------------------------------------------------------------------------------------------


@app.command("rename")
def rename(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    db: Db = None,
) -> None:
    """Give a session a name."""
    from kvarium import terminal
    from kvarium.changes import changing

    with changing(target(db)) as (shelf, changes):
        row = _own_row(shelf, session)
        kept = changes.rename(row, name)
    say(
        f"session {row['id']} is called {terminal.shown(kept)!r}"
        if kept
        else f"session {row['id']} has no name"
    )


@app.command("note")
def note(
    session: Session,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to write; with --mark it may be left out.")
    ] = "",
    db: Db = None,
    step: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Beside which step; default: the last one.")
    ] = None,
    mark: Annotated[
        str | None,
        typer.Option(metavar="A|B", help="Set the mark A or B there; it is moved if it is set already."),
    ] = None,
    colour: Annotated[
        str | None, typer.Option(metavar="NAME|#rrggbb", help="Its colour on the page.")
    ] = None,
    remove: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Remove this note (`sessions show` tells the numbers)."),
    ] = None,
) -> None:
    """Write a note beside a step of a session, or set a mark; it becomes part of the recording."""
    from kvarium import terminal
    from kvarium.changes import changing

    if remove is not None and (text or mark or colour or step is not None):
        raise WrongUsageError("--remove takes away a note: it goes with no text, step, mark or colour")
    with changing(target(db)) as (shelf, changes):
        row = _own_row(shelf, session)
        if remove is not None:
            changes.remove_note(row, remove)
            say(f"note {remove} is removed")
            return
        told = {"text": text, "step": step, "mark": mark, "colour": colour}
        say(terminal.note_line(changes.add_note(row, told)))


@app.command("rm")
def rm(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION…", help="Ids, or beginnings of them.", show_default=False),
    ] = None,
    db: Db = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="All that ended longer ago than this: 12h, 30d, 2w.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Don't ask. Where there is no terminal nothing is asked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove sessions and give their room back to the disk. One that is being recorded is refused."""
    from kvarium.changes import changing
    from kvarium.recording.removal import Removal

    if bool(sessions) == (older_than is not None):
        raise InvalidValueError("say which sessions to remove: their ids, or --older-than 30d")
    reason = "kvarium sessions rm" + (f" --older-than {older_than}" if older_than is not None else "")
    age = None if older_than is None else parse_age(older_than)
    with changing(target(db)) as (shelf, changes):
        if age is None:
            found = {row["id"]: row for row in (_row(shelf, name) for name in sessions or ())}
            rows = list(found.values())
            for row in rows:
                if row["state"] == "live":
                    raise ConflictError(f"session {row['id']} is being recorded: end its engine first")
        else:
            before = time.time() * 1e6 - age.total_seconds() * 1e6
            rows = [
                row
                for row in shelf.rows()
                if row["state"] != "live" and row["started_utc_us"] + row["duration_ns"] / 1000 < before
            ]
        if rows and not yes and sys.stdin.isatty():
            typer.echo(_list(rows), err=True)
            typer.confirm(f"Remove {_count(len(rows))}?", abort=True, err=True)
        own = [row for row in rows if not row["imported"]]
        done = changes.remove(own, reason) if own else Removal() if rows else None
        for row in rows:
            if row["imported"]:
                assert done is not None
                done.freed += shelf.imports.remove(row["id"])
                done.sessions.append(row["id"])
    _tell_removal(done, as_json)


def _count(sessions: int) -> str:
    return f"{sessions} session{'' if sessions == 1 else 's'}"


def _tell_removal(done: "Removal | None", as_json: bool) -> None:
    from kvarium import terminal

    if as_json:
        freed, reusable = (done.freed, done.reusable) if done else (0, 0)
        removed = done.sessions if done else []
        say(json.dumps({"removed": removed, "freed_bytes": freed, "reusable_bytes": reusable}))
    elif done is None:
        say("no session is so old")
    else:
        more = (
            f"; {terminal.size(done.reusable)} in the file are free for what is recorded next (removing "
            "without a server gives them back)"
            if done.reusable
            else ""
        )
        say(f"removed {_count(len(done.sessions))}, {terminal.size(done.freed)} given back{more}")


# -- files --------------------------------------------------------------------------------------------------------------


@app.command("export")
def export(
    session: Session = "latest",
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Where to; default: a name of its own, here.",
            parser=file_path,
            show_default=False,
        ),
    ] = None,
    db: Db = None,
) -> None:
    """Copy one session into a file of its own, which `kvarium view` opens anywhere."""
    from kvarium import terminal
    from kvarium.exchange.formats import Format, Wanted
    from kvarium.exchange.output import written

    wanted = Wanted(Format.kvarium)
    with _shelf(db) as shelf:
        reader, _, number, _ = shelf.find(session)
        place = Path(wanted.name(reader.session(number))) if file is None else file
        with written(place, "give another FILE") as unfinished:
            wanted.writer()(reader, number, unfinished, lambda done, total: None)
    say(f"{place}: {terminal.size(place.stat().st_size)}")


@app.command("import")
def import_file(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A file with one session, as a download is.", parser=file_path),
    ],
    db: Db = None,
) -> None:
    """Take in a file of somebody else's: it is inspected, copied beside the recording, and only read from then on.

    Where there is no recording yet, an empty one is made.
    """
    import shutil

    from kvarium.recording import sqlite_file

    sqlite_file.check_header(file)
    wal = file.with_name(file.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise ConflictError(
            f"{file} is being written: `kvarium sessions export --db {file}` makes a file to import"
        )
    with _there(target(db)), _shelf(db) as shelf:
        try:
            with shelf.imports.arriving() as place:
                shutil.copyfile(file, place)
                session = shelf.imports.admit(place, str(file), shelf.reader)
        except OSError as error:
            told = UnwritableError(
                f"can't copy {file} to {shelf.imports.folder}", error.strerror or str(error)
            )
            room = ": make room there" if told.full else ""
            raise KvariumError(f"{told}; nothing was imported{room}") from None
    say(f"imported session {session}")


@contextlib.contextmanager
def _there(where: str) -> "Iterator[None]":
    """A recording that is not there yet is made, and goes again where nothing comes to lie beside it."""
    from kvarium.recording.database import is_url, open_for_server, sqlite_path

    path = None if is_url(where) else sqlite_path(where)
    if path is None or path.exists():
        yield
        return
    open_for_server(where).close()
    try:
        yield
    except BaseException:
        # Not while a server that came meanwhile writes it.
        with contextlib.suppress(KvariumError):
            database = open_for_server(where)
            for left in ("", "-wal", "-shm"):
                path.with_name(path.name + left).unlink(missing_ok=True)
            database.close()
        raise
    print(f"kvarium: the recording {path} was not there: it is made", file=sys.stderr)
