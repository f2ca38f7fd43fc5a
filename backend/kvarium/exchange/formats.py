"""The formats of an export, and who writes each: for the command line and for a server's process alike.

session ──(without its text, if that is asked for: a copy beside the place)──▶ writer of the format ──▶ file or folder
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvarium.recording.index_rows import Row
    from kvarium.recording.reader import Reader
    from kvarium.recording.stripping import Strip

Progress = Callable[[int, int], None]
"""Called with how much of how much is done."""

Writer = Callable[["Reader", int, Path, Progress], None]
"""Writes a session to a path where nothing is yet."""


class Format(StrEnum):
    """What to export."""

    kvarium = "kvarium"
    parquet = "parquet"
    jsonl = "jsonl"
    perfetto = "perfetto"
    html = "html"


_SUFFIX: Final = {
    Format.kvarium: ".db",
    Format.parquet: ".parquet",
    Format.jsonl: ".jsonl",
    Format.perfetto: ".trace.json",
    Format.html: ".html",
}


@dataclass(frozen=True)
class Wanted:
    """What is to be exported: the format, what is left out, and, of a page, which steps (None: from the first, to the last) and
    how many answers (None: as many as is usual)."""

    format: Format
    strip: "Strip | None" = None
    from_step: int | None = None
    to_step: int | None = None
    answers: int | None = None

    def name(self, row: "Row") -> str:
        """What to call it, of the session with this row."""
        from kvarium.recording.export import file_name

        return file_name(row["name"], row["id"], self.strip).removesuffix(".db") + _SUFFIX[self.format]

    def writer(self, tell: Callable[[str], None] = lambda line: None) -> Writer:
        """What writes it; all it needs is imported before it returns. ``tell`` gets what is known before it is written."""
        write = _writer(self, tell)
        strip = self.strip
        if strip is None or self.format is Format.kvarium:
            return write
        from kvarium.recording.export import copied

        def write_stripped(reader: "Reader", session: int, path: Path, progress: Progress) -> None:
            with copied(reader, session, path.parent, strip) as (copy, number):
                write(copy, number, path, progress)

        return write_stripped


def _writer(wanted: Wanted, tell: Callable[[str], None]) -> Writer:
    if wanted.format is Format.kvarium:
        return _file_writer(wanted.strip)
    if wanted.format is Format.parquet:
        from kvarium.exchange.parquet import export_parquet

        return export_parquet
    if wanted.format is Format.jsonl:
        from kvarium.exchange.lines import export_lines

        return export_lines
    if wanted.format is Format.perfetto:
        from kvarium.exchange.trace import export_trace

        return export_trace
    return _page_writer(wanted, tell)


def _file_writer(strip: "Strip | None") -> Writer:
    from kvarium.recording.export import export_session

    def write(reader: "Reader", session: int, path: Path, progress: Progress) -> None:
        export_session(reader, session, path.parent, strip=strip).rename(path)

    return write


def _page_writer(wanted: Wanted, tell: Callable[[str], None]) -> Writer:
    from kvarium import terminal
    from kvarium.exchange import page_answers
    from kvarium.exchange.page import export_page, template
    from kvarium.exchange.page_plan import at_rest, plan_page

    def write(reader: "Reader", session: int, path: Path, progress: Progress) -> None:
        with at_rest(reader, session, path.parent) as (found, number):
            plan = plan_page(found, number, wanted.from_step, wanted.to_step)
            about = terminal.size(len(template()) + plan.about_bytes)
            most = page_answers.DEFAULT if wanted.answers is None else wanted.answers
            tell(f"the page will take about {about}" + (", and its answers to why" if most else ""))
            answers = page_answers.derive_answers(found, plan, most, progress)
            tell(answers.told())
            export_page(found, plan, path, progress, answers)

    return write
