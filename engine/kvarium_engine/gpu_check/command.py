"""``kvarium gpu-check``: the check among the commands of ``kvarium``."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to a command line."""
    app.command(
        "gpu-check", help="Is the engine right on this machine's card, and what does it reach there?"
    )(gpu_check)


def gpu_check(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result there too, as a section of a document."),
    ] = None,
    tiny_model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="stories260K.bin of llama2.c; with tok512.bin beside it its text is told too.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS", help="These parts alone, with commas between, as step_time,throughput."
        ),
    ] = None,
) -> None:
    """Check kernels and engine, and measure, within five minutes and without a network. Without a card: what a CPU can."""
    from kvarium_engine.gpu_check.check import check

    raise typer.Exit(check(as_json, markdown, tiny_model, only))
