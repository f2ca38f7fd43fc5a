"""``kvarium export``: a session as a file or folder for another program."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvarium.errors import WrongUsageError
from kvarium.exchange.formats import Format, Wanted
from kvarium.recording_options import Db, SessionOrFile, file_path, reading_session, say

if TYPE_CHECKING:
    from kvarium.recording.stripping import Strip


class StripText(StrEnum):
    """What of text a copy tells still: nothing, or which is the same as which."""

    none = "none"
    hash = "hash"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    session: SessionOrFile = "latest",
    db: Db = None,
    format: Annotated[
        Format,
        typer.Option(
            help="kvarium: one file that `kvarium view` opens. parquet: a folder with a file a table, those of `kvarium sql`. "
            "jsonl: a line a decision and operation. perfetto: a trace that ui.perfetto.dev opens. "
            "html: one page that opens from disk and replays without a server."
        ),
    ] = Format.kvarium,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            parser=file_path,
            help="Where to write it. Default: here, named after the session.",
            show_default=False,
        ),
    ] = None,
    from_step: Annotated[
        int | None,
        typer.Option(min=0, metavar="STEP", help="html: the first step of the page.", show_default=False),
    ] = None,
    to_step: Annotated[
        int | None,
        typer.Option(min=0, metavar="STEP", help="html: the last step of the page.", show_default=False),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=100_000,
            metavar="N",
            help="html: how many answers to why go into the page, beside the findings and what they name; 0: none at all. "
            "Default: 200.",
            show_default=False,
        ),
    ] = None,
    strip_text: Annotated[
        StripText | None,
        typer.Option(
            help="Leave prompts, tokens and all other text out. hash: it can still be seen which prompts and blocks are "
            "the same. Names of requests stay, and notes.",
            show_default=False,
        ),
    ] = None,
    strip_notes: Annotated[
        bool, typer.Option("--strip-notes", help="With --strip-text: leave the notes out too.")
    ] = False,
) -> None:
    """Write a session as one file, as tables, lines or a trace for other programs, or as a page. There is never half a file."""
    from kvarium import terminal
    from kvarium.exchange.output import written

    if format is not Format.html and (from_step, to_step) != (None, None):
        raise WrongUsageError(
            f"--from-step and --to-step take a part with --format html; {format} is written whole"
        )
    if format is not Format.html and answers is not None:
        raise WrongUsageError(f"--answers belongs to --format html; {format} has none")
    if from_step is not None and to_step is not None and from_step > to_step:
        raise WrongUsageError(f"--from-step {from_step} is after --to-step {to_step}")
    wanted = Wanted(format, _strip(strip_text, strip_notes), from_step, to_step, answers)
    with reading_session(session, db) as (reader, number):
        place = output or Path(wanted.name(reader.session(number)))
        write = wanted.writer(say)
        with (
            written(place) as unfinished,
            terminal.progress_bar("exporting", lines=format is Format.html) as progress,
        ):
            write(reader, number, unfinished, progress)
    say(f"{place}: {terminal.size(_size(place))}")


def _strip(text: StripText | None, notes: bool) -> "Strip | None":
    """What is left out. Raises :class:`WrongUsageError` where that can't be asked for."""
    from kvarium.recording.stripping import Strip

    if text is not None:
        return Strip(text.value, notes)
    if notes:
        raise WrongUsageError("--strip-notes belongs to --strip-text none or hash")
    return None


def _size(place: Path) -> int:
    files = place.iterdir() if place.is_dir() else (place,)
    return sum(file.stat().st_size for file in files)
