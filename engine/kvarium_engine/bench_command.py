"""The commands ``kvarium bench …``."""

from collections.abc import Callable

import typer

from kvarium_engine.bench import block_size, cache, sharing, waste

BENCHES: tuple[Callable[[typer.Typer], None], ...] = (sharing.add, waste.add, cache.add, block_size.add)
"""Each adds the command of one bench."""


def register(app: typer.Typer) -> None:
    """Add the commands to a command line."""
    bench = typer.Typer(
        help="Measure what paged memory saves and costs, on this machine.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for add in BENCHES:
        add(bench)
    app.add_typer(bench, name="bench")
