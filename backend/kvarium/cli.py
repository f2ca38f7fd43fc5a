"""The command line. What needs the server or the recording is imported by the command that uses it."""

import errno
import json
import math
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from kvarium import __version__, control_command, extensions, sessions_command
from kvarium.bench import command as bench_command
from kvarium.errors import DamagedRecordingError, KvariumError, WrongUsageError
from kvarium.exchange import command as export_command
from kvarium.findings import command as findings_command
from kvarium.limits import parse_size
from kvarium.recording_options import AsJson, Db, SessionOrFile, reading_session, say, target
from kvarium.replaying import command as replay_command
from kvarium.serving_options import AllowedHost, Browser, Host, Port
from kvarium.sql import command as sql_command
from kvarium.why import command as why_command

if TYPE_CHECKING:
    from kvarium.launch import EngineStandby
    from kvarium.serve import ServeOptions


class _Commands(typer.core.TyperGroup):
    """The commands. Where a value is none for its option, the message repeats it: Typer's own says only what it should have been."""

    def invoke(self, ctx: Any) -> Any:  # Typer has its own click, whose types are private
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Typer reads values with pydantic, whose error holds what was given.
            errors = getattr(error.__cause__, "errors", None)
            if errors is not None:
                from kvarium import terminal

                given = str(errors()[0]["input"])
                if _is_nan(given):
                    # It is neither less nor more than anything: the limit that it missed first says nothing.
                    error.message = "Input should be a finite number"
                error.message += f", not '{terminal.shown(given, 100)}'"
            raise


def _is_nan(given: str) -> bool:
    try:
        return math.isnan(float(given))
    except ValueError:
        return False


app = typer.Typer(
    name="kvarium",
    cls=_Commands,
    help="Watch the KV blocks of a paged LLM engine, live or recorded.\n\n"
    "kvarium demo shows it at once; kvarium serve records an engine; kvarium view opens a recording.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(sessions_command.app, name="sessions")
app.add_typer(bench_command.app, name="bench")
app.add_typer(why_command.app, name="why")
app.add_typer(control_command.app, name="ctl")

_NOT_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENAMETOOLONG)
"""What the system refuses for reasons that are no fault of kvarium's: a full disk, a name longer than any."""

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


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


def _stand_by(command: str, given: list[str]) -> "EngineStandby":
    """Let the engine check its options and get ready, while the server's own code is loaded."""
    from kvarium.launch import EngineMissingError, EngineStandby, engine_is_installed

    if not engine_is_installed():
        raise EngineMissingError
    return EngineStandby(command, given)


def _serve(db: str | None, options: "ServeOptions") -> None:
    standby = options.standby
    if standby is None:
        raise typer.Exit(_record(db, options))
    status, text = standby.wait()
    if status:
        print(text, file=sys.stderr)
        raise typer.Exit(status)
    try:
        status = _record(db, options)
    finally:
        standby.dismiss()
    raise typer.Exit(status)


def _record(db: str | None, options: "ServeOptions") -> int:
    """Serve, and record what comes; the exit status."""
    from kvarium.recording.database import open_for_server
    from kvarium.serve import serve as run_server

    database = open_for_server(target(db))
    if database.upgraded_from is not None:
        print(
            f"kvarium: {database.where} had format {database.upgraded_from} and has format {database.format} now: "
            "a kvarium that is older than this one can't open it any more",
            file=sys.stderr,
        )
    try:
        return run_server(database, options)
    finally:
        database.close()


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
    keep_sessions: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Keep the newest N sessions that have ended; default: all."),
    ] = None,
    keep_days: Annotated[
        float | None, typer.Option(min=0, metavar="D", help="Keep sessions for D days after their end.")
    ] = None,
    keep_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Remove the oldest sessions when the recording exceeds 500M, 10G …"
        ),
    ] = None,
    allow_changes: Annotated[
        bool | None,
        typer.Option(
            "--allow-changes/--no-allow-changes",
            help="Let the page rename, annotate, remove and import sessions; default: where only this machine can watch.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Record an engine and show it.

    All other options are the engine's and passed on to it: `kvarium engine --help` lists them.
    """
    size = None if keep_bytes is None else parse_size(keep_bytes)
    if not engine:
        own = ["--exit-with-engine"] if exit_with_engine else []
        own += [] if runner is None else ["--runner", runner]
        if own or context.args:
            raise WrongUsageError(
                f"{' '.join([*own, *context.args])}: options of an engine, but --no-engine starts none"
            )
    chosen = [] if runner is None else ["--runner", runner]
    given = _engine_options([*chosen, *context.args], host) if engine else None
    standby = None if given is None else _stand_by("kvarium serve", given)
    from kvarium.recording.retention import Retention
    from kvarium.serve import ServeOptions

    options = ServeOptions(
        host=host,
        port=port,
        allowed_hosts=tuple(allowed_host or ()),
        allow_changes=allow_changes,
        retention=Retention(keep_sessions, keep_days, size),
        engine_options=given,
        standby=standby,
        exit_with_engine=exit_with_engine,
        open_browser=browser,
        say=say,
    )
    token = os.environ.get("KVARIUM_ENGINE_TOKEN")
    if token:
        options.engine_token = token
    _serve(db, options)


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
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="The model; one that is not here yet is fetched. Default: smollm2-135m.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show an engine that talks: a small model on a small pool, where everything happens within a minute.

    All other options are the engine's and passed on to it: `kvarium engine --help` lists them.
    """
    from kvarium import demo as demonstration

    if model is not None and runner != "torch":
        raise WrongUsageError(f"--model {model} belongs to --runner torch, but --runner {runner} is given")
    given = context.args if duration is None else [*context.args, "--duration", str(duration)]
    given = demonstration.engine_options(given, runner, demonstration.MODEL if model is None else model)
    standby = _stand_by("kvarium demo", given)
    from kvarium.serve import ServeOptions

    if demonstration.fetch_if_missing(given, standby):
        standby = _stand_by("kvarium demo", given)
    _serve(
        db,
        ServeOptions(
            port=port,
            engine_options=given,
            standby=standby,
            exit_with_engine=duration is not None,
            open_browser=browser,
            say=say,
        ),
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


@app.command()
def verify(session: SessionOrFile = "latest", db: Db = None, as_json: AsJson = False) -> None:
    """Fold a whole session again and compare every digest; exits with 1 when anything is wrong."""
    from kvarium import terminal
    from kvarium.verify import verify as run

    with (
        reading_session(session, db) as (reader, number),
        terminal.progress_bar("verifying") as progress,
    ):
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


sql_command.add(app)
export_command.add(app)
replay_command.add(app)
findings_command.add(app)


def main() -> None:
    """The entry point `kvarium`: whatever goes wrong, the user gets one line and an exit status."""
    try:
        extensions.load(app, sys.argv[1:])
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
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
        if isinstance(error, OSError) and error.errno in _NOT_OURS:
            from kvarium import terminal

            place = "" if error.filename is None else f": {terminal.shown(str(error.filename), 200)!r}"
            print(f"kvarium: {os.strerror(error.errno)}{place}", file=sys.stderr)
            if error.errno == errno.ENAMETOOLONG:
                sys.exit(1)
            sys.stdout = None  # what is left for it has no place
            sys.exit(os.EX_IOERR)
        line = " ".join(str(error).split()) or type(error).__name__
        print(
            f"kvarium: a fault of kvarium's own ({type(error).__name__}: {line}); "
            "KVARIUM_DEBUG=1 shows where",
            file=sys.stderr,
        )
        sys.exit(70)


if __name__ == "__main__":
    main()
