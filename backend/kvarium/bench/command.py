"""The commands ``kvarium bench …``: the server's own, and those that join by the entry point ``kvarium.benches``."""

from collections.abc import Callable

import typer

from kvarium.bench import screen, seek, start, stream

BENCHES: tuple[Callable[[typer.Typer], None], ...] = (stream.add, seek.add, screen.add, start.add)
"""Each adds the command of one bench of the server's."""

app = typer.Typer(
    help="Measure what paged memory saves and costs, and the stream and its recordings, on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for add in BENCHES:
    add(app)
