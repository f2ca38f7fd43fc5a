"""Commands that other packages add to the command line.

By the entry point ``kvarium.commands`` they are commands of their own, by ``kvarium.benches`` those of ``kvarium bench``.
"""

from importlib.metadata import EntryPoint, entry_points

import typer

from kvarium.errors import KvariumError


def load(app: typer.Typer, args: list[str]) -> None:
    """Let other packages add their commands, unless one of the app's own is asked for."""
    groups = {info.name: info.typer_instance for info in app.registered_groups}
    own = [info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands]
    if args and args[0] == "bench":
        benches = groups["bench"]
        assert benches is not None
        _join(benches, "kvarium.benches", "kvarium bench")
    elif not args or args[0] not in (*own, *groups, "--version"):
        _join(app, "kvarium.commands", "kvarium")


def _join(app: typer.Typer, group: str, command: str) -> None:
    for entry in sorted(entry_points(group=group), key=lambda found: found.name):
        try:
            entry.load()(app)
        except (ImportError, AttributeError) as error:
            _missing(app, entry, command, error)


def _missing(app: typer.Typer, entry: EntryPoint, command: str, error: Exception) -> None:
    """A command that can't be loaded is listed all the same, and says what to install."""
    install = "pip install 'kvarium[engine]' brings what it needs"

    @app.command(
        entry.name,
        help=f"(not installed: {error}; {install})",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )
    def missing(context: typer.Context) -> None:
        raise KvariumError(f"`{command} {entry.name}` can't be loaded ({error}): {install}")
