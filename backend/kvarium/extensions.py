"""Commands that other packages add to the command line.

By the entry point ``kvarium.commands`` they are commands of their own, by ``kvarium.benches`` those of ``kvarium bench``.
"""

from importlib.metadata import EntryPoint, entry_points

import typer

from kvarium.errors import KvariumError


def load(app: typer.Typer, args: list[str]) -> None:
    """Let other packages add their commands: the one that is asked for, and all where that is none of theirs or of the app's own."""
    if args[:1] == ["bench"]:
        benches = next(info.typer_instance for info in app.registered_groups if info.name == "bench")
        assert benches is not None
        _join(benches, "kvarium.benches", "kvarium bench", *args[1:2])
    else:
        _join(app, "kvarium.commands", "kvarium", *args[:1])


def _own(app: typer.Typer) -> list[str]:
    commands = [info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands]
    return [*commands, *(str(info.name) for info in app.registered_groups), "--version"]


def _join(app: typer.Typer, group: str, command: str, asked: str = "") -> None:
    if asked in _own(app):
        return
    found = sorted(entry_points(group=group), key=lambda entry: entry.name)
    for entry in [entry for entry in found if entry.name == asked] or found:
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
