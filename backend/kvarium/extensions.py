"""Commands that other packages add to the command line, by the entry point ``kvarium.commands``."""

from importlib.metadata import EntryPoint, entry_points

import typer

from kvarium.errors import KvariumError


def load(app: typer.Typer, args: list[str]) -> None:
    """Let other packages add their commands, unless one of the app's own is asked for."""
    own = [info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands]
    if args and args[0] in (*own, "sessions", "--version"):
        return
    for entry in sorted(entry_points(group="kvarium.commands"), key=lambda found: found.name):
        try:
            entry.load()(app)
        except (ImportError, AttributeError) as error:
            _missing(app, entry, error)


def _missing(app: typer.Typer, entry: EntryPoint, error: Exception) -> None:
    """A command that can't be loaded is listed all the same, and says what to install."""

    @app.command(
        entry.name,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )
    def command(context: typer.Context) -> None:
        raise KvariumError(
            f"`kvarium {entry.name}` can't be loaded ({error}): pip install 'kvarium[engine]' brings what it needs"
        )

    command.__doc__ = f"(not installed: {error})"
