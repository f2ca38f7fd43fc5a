"""How far something is, on standard error: a bar with the time left at a terminal, else a line every few seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float, str], None]
"""Takes how much of the total is done, and what is being done now."""

LINE_EVERY_S = 5.0


@contextmanager
def progress(what: str, total: float) -> Iterator[Report]:
    """Show how a task goes on: ``what`` is what it begins with. Gives the function that reports."""
    if sys.stderr.isatty():
        with _bar(what, total) as report:
            yield report
    else:
        yield _Lines(what, total).report


@contextmanager
def _bar(what: str, total: float) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, now: bar.update(task, completed=done, description=now)


class _Lines:
    """The same for a log: the first line at once, then one every few seconds."""

    def __init__(self, what: str, total: float) -> None:
        self._total = total
        self._began = self._told = time.monotonic()
        print(f"{what} …", file=sys.stderr, flush=True)

    def report(self, done: float, now: str) -> None:
        clock = time.monotonic()
        if clock - self._told < LINE_EVERY_S:
            return
        self._told = clock
        share = min(done / self._total, 1.0)
        left = f", about {(clock - self._began) * (1 - share) / share:.0f} s left" if share > 0 else ""
        print(f"{now} … {share:.0%}{left}", file=sys.stderr, flush=True)
