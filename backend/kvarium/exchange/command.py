"""``kvarium export``: a session as a file or folder for another program."""

import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvarium.errors import KvariumError
from kvarium.recording_options import Db, SessionOrFile, reading_session, say

if TYPE_CHECKING:
    from kvarium.recording.reader import Reader
    from kvarium.recording.stripping import Strip


Progress = Callable[[int, int], None]


class Format(StrEnum):
    """What to export."""

    kvarium = "kvarium"
    parquet = "parquet"
    jsonl = "jsonl"
    perfetto = "perfetto"
    html = "html"


class StripText(StrEnum):
    """What of text a copy tells still: nothing, or which is the same as which."""

    none = "none"
    hash = "hash"


_SUFFIX = {
    Format.kvarium: ".db",
    Format.parquet: ".parquet",
    Format.jsonl: ".jsonl",
    Format.perfetto: ".trace.json",
    Format.html: ".html",
}


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
    strip_text: Annotated[
        StripText | None,
        typer.Option(
            help="kvarium: leave prompts, tokens and all other text out. hash: it can still be seen which prompts and blocks are "
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
    from kvarium.recording.export import file_name

    if format is not Format.html and (from_step, to_step) != (None, None):
        raise KvariumError(
            f"--from-step and --to-step take a part with --format html; {format} is written whole"
        )
    strip = _strip(format, strip_text, strip_notes)
    with reading_session(session, db) as (reader, number):
        row = reader.session(number)
        place = output or Path(file_name(row["name"], row["id"], strip)).with_suffix(_SUFFIX[format])
        export_to = _page_exporter(from_step, to_step) if format is Format.html else _exporter(format, strip)
        with written(place) as unfinished, terminal.progress_bar("exporting") as progress:
            export_to(reader, number, unfinished, progress)
    say(f"{place}: {terminal.size(_size(place))}")


def _strip(format: Format, text: StripText | None, notes: bool) -> "Strip | None":
    """What is left out. Raises :class:`KvariumError` where that can't be asked for."""
    from kvarium.recording.stripping import Strip

    if text is None:
        if notes:
            raise KvariumError("--strip-notes belongs to --strip-text none or hash")
        return None
    if format is not Format.kvarium:
        raise KvariumError(
            f"--strip-text makes a recording, not {format}: leave --format out, and export what it makes as {format}"
        )
    return Strip(text.value, notes)


def _exporter(format: Format, strip: "Strip | None") -> "Callable[[Reader, int, Path, Progress], None]":
    """What writes a session to a path in a format; it is imported here, before anything is there to be removed."""
    if format is Format.kvarium:
        from kvarium.recording.export import export_session

        def export_file(reader: "Reader", session: int, path: Path, progress: Progress) -> None:
            export_session(reader, session, path.parent, threading.Event(), strip).rename(path)

        return export_file
    if format is Format.parquet:
        from kvarium.exchange.parquet import export_parquet

        return export_parquet
    if format is Format.jsonl:
        from kvarium.exchange.lines import export_lines

        return export_lines
    from kvarium.exchange.trace import export_trace

    return export_trace


def _page_exporter(
    from_step: int | None, to_step: int | None
) -> "Callable[[Reader, int, Path, Progress], None]":
    """What writes a page of some steps."""
    from kvarium import terminal
    from kvarium.exchange.page import export_page
    from kvarium.exchange.page_plan import at_rest, plan_page

    def write(reader: "Reader", session: int, path: Path, progress: Progress) -> None:
        with at_rest(reader, session, path.parent) as (found, number):
            plan = plan_page(found, number, from_step, to_step)
            say(f"the page will take about {terminal.size(plan.about_bytes)}")
            export_page(found, plan, path, progress)

    return write


def _size(place: Path) -> int:
    files = place.iterdir() if place.is_dir() else (place,)
    return sum(file.stat().st_size for file in files)
