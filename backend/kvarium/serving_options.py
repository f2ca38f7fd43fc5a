"""What the commands that serve a page share: their options."""

from typing import Annotated, Final

import typer

SERVER_URL: Final = "http://127.0.0.1:8642"
"""Where a server is that was not told where to be."""

Host = Annotated[
    str, typer.Option(help="The address to listen on. Other than this machine's own: others can watch.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any.")]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option("--allowed-host", metavar="NAME", help="Another name that this server answers to."),
]
Browser = Annotated[
    bool,
    typer.Option("--browser/--no-browser", "--open/--no-open", help="Open the page in a browser."),
]


def given(context: typer.Context, *names: str) -> list[str]:
    """Which of these parameters were given, by their options."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    ]
