"""``kvarium replay``: a recording as if its engine ran, at a server of its own or at one that is there."""

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from kvarium.errors import InvalidValueError, KvariumError, WrongUsageError
from kvarium.recording_options import Db, SessionOrFile, reading_session, say, target
from kvarium.serving_options import AllowedHost, Browser, Host, Port, given

if TYPE_CHECKING:
    from kvarium.serve import ServeOptions

_TOKEN_VARIABLE = "KVARIUM_ENGINE_TOKEN"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    context: typer.Context,
    session: SessionOrFile = "latest",
    db: Db = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Start a server that takes it, and show its page.")
    ] = False,
    connect: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send it to a server that runs: ws://HOST:PORT/api/engine."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help=f"That server's token for engines; default: ${_TOKEN_VARIABLE}, which no list of processes shows.",
        ),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(metavar="F", help="1: as it was; 10: ten times as fast; 0: as fast as it is taken."),
    ] = 1.0,
    first: Annotated[
        int | None,
        typer.Option(
            "--from", min=0, metavar="STEP", help="Begin at the last keyframe before this step; default: all."
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option("--to", min=0, metavar="STEP", help="End after this step.")
    ] = None,
    record_to: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL",
            help="With --serve, where it is recorded; default: a file that is removed at the end.",
            show_default=False,
        ),
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit-at-end", help="With --serve, end when all is replayed.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="At the end print one JSON object, and nothing else, on standard output."
        ),
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8642,
    allowed_host: AllowedHost = None,
    browser: Browser = True,
) -> None:
    """Send a recording to a server as if its engine ran, so that any viewer or test can use it.

    To look at a recording, `kvarium view FILE` is enough: the page replays by itself.
    """
    if serve == (connect is not None):
        raise WrongUsageError(
            "one of --serve (at a server of its own) and --connect URL (at one that runs) says where a recording is "
            "replayed as if live; to look at it, `kvarium view FILE` is enough: the page replays by itself"
        )
    if not 0 <= speed < math.inf:
        raise InvalidValueError(f"--speed must be a number from 0 on, not {speed}")
    if first is not None and last is not None and first > last:
        raise InvalidValueError(f"--from {first} is after --to {last}")
    others = ("token",) if serve else ("record_to", "exit_at_end", "host", "port", "allowed_host", "browser")
    for option in given(context, *others):
        raise WrongUsageError(f"{option} is for {'--connect' if serve else '--serve'}: leave it out")
    if connect is not None:
        _send(
            session, db, connect, token or os.environ.get(_TOKEN_VARIABLE, ""), speed, (first, last), as_json
        )
        return
    options = [session, "--speed", repr(speed)]
    for name, value in (("--db", db), ("--from", first), ("--to", last)):
        options += [] if value is None else [name, str(value)]
    _check(session, db, first, last)
    from kvarium.launch import Program
    from kvarium.serve import ServeOptions

    _serve(
        record_to,
        ServeOptions(
            host=host,
            port=port,
            allowed_hosts=tuple(allowed_host or ()),
            engine_options=[*options, "--json"] if as_json else options,
            program=Program(("-m", "kvarium.cli", "replay"), "replay"),
            exit_with_engine=exit_at_end,
            open_browser=browser,
            say=_say_aside if as_json else say,
        ),
    )


def _say_aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _check(session: str, db: str | None, first: int | None, last: int | None) -> None:
    """What can't be replayed is told before a server is started."""
    from kvarium.replaying.frames import span

    with reading_session(session, db) as (reader, number):
        span(reader, number, first, last)
        reader.hello(number)


def _send(
    session: str,
    db: str | None,
    url: str,
    token: str,
    speed: float,
    steps: tuple[int | None, int | None],
    as_json: bool,
) -> None:
    from kvarium.replaying.frames import span
    from kvarium.replaying.process import Replay, ReplayOptions

    _check_url(url)
    if not token:
        raise KvariumError(
            f"{url} takes an engine by its token: give it with --token or ${_TOKEN_VARIABLE}; "
            "`kvarium serve --no-engine` tells its own"
        )
    with reading_session(session, db) as (reader, number):
        wanted = span(reader, number, *steps)
        Replay(reader, number, wanted, ReplayOptions(url, token, speed, as_json)).run()


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or url.split() != [url] or not url.isprintable():
        raise InvalidValueError(
            f"--connect {url!r} is no address: it is ws://HOST:PORT/api/engine, or wss://…"
        )


# -- a server of its own ------------------------------------------------------------------------------------------------


def _serve(record_to: str | None, options: "ServeOptions") -> None:
    from kvarium.recording.database import open_for_server
    from kvarium.serve import serve as run_server

    with _place(record_to, options) as place:
        database = open_for_server(place, "--record-to")
        try:
            status = run_server(database, options)
        finally:
            database.close()
    raise typer.Exit(status)


@contextlib.contextmanager
def _place(record_to: str | None, options: "ServeOptions") -> Iterator[str]:
    """Where the replay is recorded."""
    if record_to is not None:
        yield target(record_to, "--record-to")
        return
    from kvarium.workplace import workplace

    with workplace(Path(tempfile.gettempdir()), "kvarium-replay-") as folder:
        options.say("this is recorded to a file that is removed at the end; --record-to FILE keeps it")
        yield str(folder / "replay.db")
