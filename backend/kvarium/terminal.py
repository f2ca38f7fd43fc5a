"""What the command line prints: columns of text, figures for people, a progress bar where somebody watches."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from kvarium.recording.index_rows import Row


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns; figures to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    right = [all(row[column][:1].isdigit() for row in rows) and bool(rows) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if flush else text.ljust(width)
            for text, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def shown(text: str, limit: int = 80) -> str:
    """Text from elsewhere as a terminal may show it: control characters escaped, cut at ``limit`` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in cut
    )


def figure(value: int | None) -> str:
    """An integer with thin groups: 1,234,567."""
    return "-" if value is None else f"{value:,}"


def size(value: int) -> str:
    """Bytes for people."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError


def duration(nanoseconds: int) -> str:
    """A span of time for people."""
    seconds = nanoseconds / 1e9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def started(utc_us: int) -> str:
    """A moment, in local time."""
    try:
        return datetime.fromtimestamp(utc_us / 1e6).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def session_lines(row: Row) -> str:
    """A session in a dozen lines."""
    pairs = [
        ("session", shown(row["id"])),
        ("name", shown(row["name"]) or "-"),
        ("state", shown(row["state"]) + (f" ({shown(row['reason'])})" if row["reason"] else "")),
        ("started", started(row["started_utc_us"])),
        ("duration", duration(row["duration_ns"])),
        (
            "engine",
            ", ".join(
                (
                    shown(row["engine"]),
                    f"{shown(row['runner'])} runner",
                    shown(row["model"]) or "no model",
                    shown(row["device"]),
                )
            ),
        ),
        ("pool", f"{figure(row['num_blocks'])} blocks of {row['block_size']} slots"),
        ("records", f"{figure(row['records'])} (up to {figure(row['last_record'])})"),
        ("steps", f"{figure(row['steps'])} (up to {figure(row['last_step'])})"),
        ("operations", figure(row["operations"])),
        ("size", f"{size(row['stored_bytes'])} stored, {size(row['bytes'])} sent"),
        ("gaps", figure(row["gaps"])),
        (
            "violations",
            figure(row["violations"]) + (f": {shown(row['violation'], 300)}" if row["violation"] else ""),
        ),
    ]
    if row["lost"]:
        pairs.append(("not stored", f"{figure(row['lost'])} records"))
    if row["indexed_record"] != row["last_record"]:
        pairs.append(("index", f"up to record {figure(row['indexed_record'])}"))
    return "\n".join(f"{name:11} {value}" for name, value in pairs)


def note_line(note: Row) -> str:
    """A note in one line."""
    mark = f"mark {note['mark']} " if note["mark"] else ""
    text = f": {shown(note['text'], 300)}" if note["text"] else ""
    return f"note {note['number']:6} {mark}at step {note['step']}{text}"


LINE_SECONDS = 10.0
"""Where a line tells of progress, one comes after so long."""


@contextmanager
def progress_bar(what: str, lines: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error when that is a terminal, else (``lines``) a line now and then; gives a function of (done, total)."""
    if not sys.stderr.isatty():
        yield _lines(what) if lines else lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return progress
