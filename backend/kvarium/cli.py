"""The command line. What needs the server or the recording is imported by the command that uses it."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvarium import __version__, extensions
from kvarium.errors import DamagedRecordingError, KvariumError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvarium.launch import OptionsCheck
    from kvarium.recording.index_rows import Row
    from kvarium.recording.reader import Reader
    from kvarium.serve import ServeOptions

app = typer.Typer(
    name="kvarium",
    help="Watch the KV blocks of a paged LLM engine, live or recorded.\n\n"
    "kvarium demo shows it at once; kvarium serve records an engine; kvarium view opens a recording.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
sessions_app = typer.Typer(help="What a recording holds.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sessions_app, name="sessions")

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="FILE|URL",
        help="The recording: an SQLite file or a PostgreSQL URL.",
        show_default=False,
    ),
]
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Session = Annotated[
    str, typer.Argument(metavar="SESSION", help="A session's id, the beginning of it, or `latest`.")
]


def default_db() -> str:
    """The recording in the user's data folder, which is made if need be."""
    import platformdirs

    folder = Path(platformdirs.user_data_dir("kvarium"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KvariumError(
            f"can't make the folder {folder}: {error.strerror}; say where with --db FILE"
        ) from None
    return str(folder / "kvarium.db")


def _target(db: str | None) -> str:
    if db is None:
        return default_db()
    if not db.strip():
        raise KvariumError("--db is empty: it names a file, or a PostgreSQL URL")
    return db


def say(line: str) -> None:
    """A line for the user, at once."""
    print(line, flush=True)


def _show_version(asked: bool) -> None:
    if asked:
        say(f"kvarium {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


# -- serving ------------------------------------------------------------------------------------------------------------


def _engine_options(given: list[str], host: str) -> list[str]:
    from kvarium.security import is_loopback

    options = given.copy()
    told = {"--allow-control", "--no-allow-control"} & set(given)
    if not is_loopback(host) and not told:
        # Whoever reaches the page could hold the engine.
        options.append("--no-allow-control")
    return options


def _check_options(command: str, given: list[str]) -> "OptionsCheck":
    """Let the engine check its options, while the server's own code is loaded."""
    from kvarium.launch import EngineMissingError, OptionsCheck, engine_is_installed

    if not engine_is_installed():
        raise EngineMissingError
    return OptionsCheck(command, given)


def _serve(db: str | None, options: "ServeOptions", check: "OptionsCheck | None") -> None:
    from kvarium.recording.database import open_for_server
    from kvarium.serve import serve as run_server

    if check is not None:
        status, text = check.wait()
        if status:
            print(text, file=sys.stderr)
            raise typer.Exit(status)
    database = open_for_server(_target(db))
    if database.upgraded_from is not None:
        print(
            f"kvarium: {database.where} had format {database.upgraded_from} and has format {database.format} now: "
            "a kvarium that is older than this one can't open it any more",
            file=sys.stderr,
        )
    try:
        status = run_server(database, options)
    finally:
        database.close()
    raise typer.Exit(status)


@app.command(context_settings=_PASS_ON)
def serve(
    context: typer.Context,
    db: Db = None,
    host: Host = "127.0.0.1",
    port: Port = 8642,
    allowed_host: AllowedHost = None,
    engine: Annotated[
        bool,
        typer.Option(
            "--engine/--no-engine", help="Start an engine beside the server, or wait for one to link."
        ),
    ] = True,
    runner: Annotated[
        str | None,
        typer.Option(
            metavar="null|torch",
            help="The engine's runner: without tensors, or with a model; default: torch where there is a --model.",
            show_default=False,
        ),
    ] = None,
    browser: Browser = False,
    exit_with_engine: Annotated[
        bool, typer.Option("--exit-with-engine", help="End when the engine ends, with its exit status.")
    ] = False,
) -> None:
    """Record an engine and show it.

    All other options are the engine's and passed on to it: `kvarium engine --help` lists them.
    """
    if not engine and context.args:
        raise KvariumError(f"{' '.join(context.args)}: options of an engine, but --no-engine starts none")
    chosen = [] if runner is None else ["--runner", runner]
    given = _engine_options([*chosen, *context.args], host) if engine else None
    check = None if given is None else _check_options("kvarium serve", given)
    from kvarium.serve import ServeOptions

    options = ServeOptions(
        host=host,
        port=port,
        allowed_hosts=tuple(allowed_host or ()),
        engine_options=given,
        exit_with_engine=exit_with_engine,
        open_browser=browser,
        say=say,
    )
    token = os.environ.get("KVARIUM_ENGINE_TOKEN")
    if token:
        options.engine_token = token
    _serve(db, options, check)


@app.command(context_settings=_PASS_ON)
def demo(
    context: typer.Context,
    db: Db = None,
    port: Port = 8642,
    duration: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="End by itself after this many seconds.")
    ] = None,
    browser: Browser = True,
    runner: Annotated[
        str, typer.Option(metavar="torch|null", help="null: no model, and a seeded mix of requests.")
    ] = "torch",
    model: Annotated[
        str, typer.Option(metavar="NAME|FOLDER", help="The model; one that is not here yet is fetched.")
    ] = "smollm2-135m",
) -> None:
    """Show an engine that talks: a small model on a small pool, where everything happens within a minute.

    All other options are the engine's and passed on to it: `kvarium engine --help` lists them.
    """
    from kvarium import demo as demonstration

    given = context.args if duration is None else [*context.args, "--duration", str(duration)]
    given = demonstration.engine_options(given, runner, model)
    check = _check_options("kvarium demo", given)
    from kvarium.serve import ServeOptions

    if demonstration.fetch_if_missing(given, check):
        check = _check_options("kvarium demo", given)
    _serve(
        db,
        ServeOptions(
            port=port,
            engine_options=given,
            exit_with_engine=duration is not None,
            open_browser=browser,
            say=say,
        ),
        check,
    )


@app.command()
def view(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording, or a session's download.")],
    host: Host = "127.0.0.1",
    port: Port = 8642,
    allowed_host: AllowedHost = None,
    browser: Browser = True,
) -> None:
    """Show a recording. It is only read: nothing is changed in it or written beside it."""
    from kvarium.recording.database import open_for_reading
    from kvarium.recording.reader import Reader
    from kvarium.serve import ServeOptions
    from kvarium.serve import serve as run_server

    database = open_for_reading(file)
    try:
        rows = Reader(database).sessions()
        if not rows:
            raise KvariumError(f"{file} is a recording of kvarium, but it holds no session")
        options = ServeOptions(
            host=host,
            port=port,
            allowed_hosts=tuple(allowed_host or ()),
            open_browser=browser,
            page_query=f"?session={rows[0]['id']}" if len(rows) == 1 else "",
            say=say,
        )
        status = run_server(database, options)
    finally:
        database.close()
    raise typer.Exit(status)


# -- recordings ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _reading(db: str | None) -> "Iterator[Reader]":
    from kvarium.recording.database import open_for_reading
    from kvarium.recording.reader import Reader

    database = open_for_reading(_target(db))
    try:
        yield Reader(database)
    finally:
        database.close()


def _public(row: "Row") -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("hello", "number")}


@sessions_app.command("ls")
def sessions_ls(db: Db = None, as_json: AsJson = False) -> None:
    """List the sessions, the newest first."""
    from kvarium import terminal

    with _reading(db) as reader:
        rows = reader.sessions()
    if as_json:
        say(json.dumps({"sessions": [_public(row) for row in rows]}))
        return
    if not rows:
        say("no sessions")
        return
    header = ("SESSION", "STATE", "STARTED", "DURATION", "RUNNER", "STEPS", "OPERATIONS", "SIZE", "NAME")
    lines = [
        (
            terminal.shown(row["id"]),
            terminal.shown(row["state"]),
            terminal.started(row["started_utc_us"]),
            terminal.duration(row["duration_ns"]),
            terminal.shown(row["runner"]),
            terminal.figure(row["steps"]),
            terminal.figure(row["operations"]),
            terminal.size(row["stored_bytes"]),
            terminal.shown(row["name"]),
        )
        for row in rows
    ]
    say(terminal.table(header, lines))


@sessions_app.command("show")
def sessions_show(session: Session = "latest", db: Db = None, as_json: AsJson = False) -> None:
    """Show one session."""
    import msgspec

    from kvarium import terminal

    with _reading(db) as reader:
        number = reader.find(session)
        row = reader.session(number)
        hello, _ = reader.hello(number)
    if as_json:
        say(json.dumps(_public(row) | {"hello": msgspec.to_builtins(hello)}))
    else:
        say(terminal.session_lines(row))


@app.command()
def verify(session: Session = "latest", db: Db = None, as_json: AsJson = False) -> None:
    """Fold a whole session again and compare every digest; exits with 1 when anything is wrong."""
    from kvarium import terminal
    from kvarium.verify import verify as run

    with _reading(db) as reader, terminal.progress_bar("verifying") as progress:
        number = reader.find(session)
        findings = run(reader, number, progress)
    for message in findings.messages[:20]:
        print(terminal.shown(message, 300), file=sys.stderr)
    if len(findings.messages) > 20:
        print(f"… and {len(findings.messages) - 20} more", file=sys.stderr)
    if findings.live:
        print("so far: still being recorded", file=sys.stderr)
    if as_json:
        say(json.dumps(findings.summary()))
    else:
        figures = ", ".join(
            f"{value:,} {name.replace('_', ' ')}" for name, value in findings.summary().items()
        )
        say(f"{findings.verdict}: {figures}")
    raise typer.Exit(0 if findings.good else 1)


def main() -> None:
    """The entry point `kvarium`: whatever goes wrong, the user gets one line and an exit status."""
    try:
        extensions.load(app, sys.argv[1:])
        app()
    except DamagedRecordingError as error:
        print(f"kvarium: damaged recording: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KvariumError as error:
        print(f"kvarium: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stdout = None
        sys.exit(141)
    except Exception as error:
        if os.environ.get("KVARIUM_DEBUG"):
            raise
        line = " ".join(str(error).split()) or type(error).__name__
        print(
            f"kvarium: a fault of kvarium's own ({type(error).__name__}: {line}); "
            "KVARIUM_DEBUG=1 shows where",
            file=sys.stderr,
        )
        sys.exit(70)


if __name__ == "__main__":
    main()
