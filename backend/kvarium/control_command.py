"""``kvarium ctl SESSION …``: control of an engine that is linked to a server, from the command line."""

import json
import math
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer
import typer.core

from kvarium.errors import WrongUsageError
from kvarium.recording_options import AsJson, say
from kvarium.serving_options import SERVER_URL

MOST_STEPS: Final = 1_000_000
MOST_STEP: Final = 1 << 53
"""What an engine takes (:mod:`kvarium_engine.control`)."""

NOT_RECORDED: Final = "not recorded"
"""Stands for a predicate where text is not: it may quote it."""


class _Commands(typer.core.TyperGroup):
    """The commands. Who leaves out the session is told where it belongs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # Any: Typer has its own click, whose types are private.
        session = ctx.params.get("session")
        if session in self.commands:
            raise WrongUsageError(
                f"{session!r} is a command, and the session comes before it: kvarium ctl latest {session} …"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    help="Control an engine: hold it, step it, slow it, stop it where something happens. docs/control.md tells it all.\n\n"
    "kvarium ctl latest hold                          take no more steps\n\n"
    "kvarium ctl latest step 10                       ten more, and hold\n\n"
    "kvarium ctl latest run-to 500                    up to step 500, and hold\n\n"
    "kvarium ctl latest slow 2                        at most two steps a second; slow off: as many as can be\n\n"
    'kvarium ctl latest break "op:evict owner:r17"    stop before the next step where that is met\n\n'
    'kvarium ctl latest break "usage>90%" --mark      only mark it in the recording\n\n'
    "kvarium ctl latest breaks                        what is set, and how often it was met\n\n"
    "kvarium ctl latest break-again SESSION           set what was set in another session, as its recording has it\n\n"
    "kvarium ctl latest hold --server URL             of another server than the one here; options stand behind the command",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Server = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="The server that the engine is linked to."),
]


@app.callback()
def ctl(
    context: typer.Context,
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION", help="The id of a session with an engine, its beginning, or `latest`."
        ),
    ],
) -> None:
    """Control an engine."""
    context.obj = session


@app.command()
def hold(context: typer.Context, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """Take no more steps, for everybody who watches. A held engine still answers and records."""
    _do(context, server, as_json, "hold", {}, "held after step {step}")


@app.command()
def release(context: typer.Context, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """Go on."""
    _do(context, server, as_json, "release", {}, "goes on after step {step}")


@app.command()
def step(
    context: typer.Context,
    steps: Annotated[int, typer.Argument(metavar="[N]", min=1, max=MOST_STEPS, help="How many.")] = 1,
    server: Server = SERVER_URL,
    as_json: AsJson = False,
) -> None:
    """Take N more steps, and hold."""
    result = _asked(context, server, "step", {"steps": steps})
    last = result["step"] + steps
    way = f"takes step {last}, and is held behind it"
    if steps > 1:
        way = f"takes steps {result['step'] + 1} to {last}, and is held behind them"
    say(json.dumps(result) if as_json else way)


@app.command("run-to")
def run_to(
    context: typer.Context,
    step: Annotated[
        int, typer.Argument(metavar="STEP", min=0, max=MOST_STEP, help="A step that has not been made.")
    ],
    server: Server = SERVER_URL,
    as_json: AsJson = False,
) -> None:
    """Go on up to a step, and hold behind it."""
    _do(context, server, as_json, "run_to", {"step": step}, "runs to step {run_to}, from step {step}")


@app.command()
def slow(
    context: typer.Context,
    rate: Annotated[str, typer.Argument(metavar="RATE|off", help="The most steps a second.")],
    server: Server = SERVER_URL,
    as_json: AsJson = False,
) -> None:
    """Take at most RATE steps a second; off: as many as can be."""
    wanted = None if rate == "off" else _rate(rate)
    told = "at most {rate:g} steps a second" if wanted is not None else "as many steps as can be"
    _do(context, server, as_json, "slow", {"rate": wanted}, told + " after step {step}")


def _rate(said: str) -> float:
    """A number of steps a second. What is too slow for the engine, or too fast, the engine tells."""
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or found <= 0:
        raise WrongUsageError(
            f"{said[:100]!r} is no number of steps a second: 0.5, 2, or off for as many as can be"
        )
    return found


@app.command("break")
def break_(
    context: typer.Context,
    when: Annotated[
        str, typer.Argument(metavar="PREDICATE", help='What to stop at: "op:evict owner:r17", "usage>90%" …')
    ],
    mark: Annotated[bool, typer.Option("--mark", help="Mark it in the recording, and do not stop.")] = False,
    hits: Annotated[
        int, typer.Option("--hits", min=1, max=MOST_STEP, metavar="N", help="Only from the N-th time on.")
    ] = 1,
    server: Server = SERVER_URL,
    as_json: AsJson = False,
) -> None:
    """Stop before the next step where a predicate is met."""
    from kvarium_ledger.filtering.explaining import caret, explain
    from kvarium_ledger.filtering.predicates import CONDITIONS, read_predicate
    from kvarium_ledger.filtering.reading import UnreadableFilterError

    try:
        read_predicate(when)
    except UnreadableFilterError as error:
        raise WrongUsageError(
            f"{explain(error.fault, 'predicate', CONDITIONS)}\n{caret(when, error.fault)}"
        ) from None
    args = {"when": when, "hits": hits, "mark": mark}
    result = _asked(context, server, "break", args)
    how = "was set already, and is looked at" if result.get("already") else "is set"
    told = f"breakpoint {result['breakpoint']} {how} after step {result['step']}"
    say(json.dumps(result) if as_json else told)


Id = Annotated[int, typer.Argument(metavar="ID", min=1, max=MOST_STEP, help="As `breaks` tells it.")]


@app.command()
def unbreak(context: typer.Context, id: Id, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """Remove a breakpoint."""
    _do(context, server, as_json, "unbreak", {"breakpoint": id}, "breakpoint {breakpoint} is removed")


@app.command()
def enable(context: typer.Context, id: Id, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """Look at a breakpoint again."""
    _do(context, server, as_json, "enable", {"breakpoint": id}, "breakpoint {breakpoint} is enabled")


@app.command()
def disable(context: typer.Context, id: Id, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """Keep a breakpoint, and do not look at it."""
    _do(context, server, as_json, "disable", {"breakpoint": id}, "breakpoint {breakpoint} is disabled")


@app.command()
def breaks(context: typer.Context, server: Server = SERVER_URL, as_json: AsJson = False) -> None:
    """How the engine goes, and its breakpoints with how often each was met; without an engine, those that were recorded."""
    from kvarium import terminal
    from kvarium.remote_server import RemoteServer

    asked = RemoteServer(server)
    session = asked.find(context.obj)
    told = asked.ask("GET", f"sessions/{quote(session.id)}/{'control' if session.linked else 'breakpoints'}")
    if as_json:
        say(json.dumps(told))
        return
    say(_how(told) if session.linked else _how_recorded(told))
    if told["breakpoints"]:
        rows = [
            (
                str(each["id"]),
                "mark" if each["mark"] else "stop",
                "on" if each["enabled"] else "off",
                f"{each['count']:,}×" + ("" if each["hits"] == 1 else f", from {each['hits']:,} on"),
                "" if each["last"] is None else f"step {each['last']['step']}",
                terminal.shown(each["when"] or NOT_RECORDED, 200),
            )
            for each in told["breakpoints"]
        ]
        say(terminal.table(("id", "does", "is", "met", "last", "when"), rows))


@app.command("break-again")
def break_again(
    context: typer.Context,
    recorded: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="The session whose recording has them: its id, or its beginning."
        ),
    ],
    server: Server = SERVER_URL,
    as_json: AsJson = False,
) -> None:
    """Set what was set in another session, as its recording has it."""
    from kvarium.remote_server import RemoteServer

    asked = RemoteServer(server)
    session, source = asked.find(context.obj), asked.find(recorded)
    found = asked.ask("GET", f"sessions/{quote(source.id)}/breakpoints")["breakpoints"]
    path = f"sessions/{quote(session.id)}/commands"
    made: list[dict[str, Any]] = []
    lost: list[int] = []
    for each in found:
        if each["when"] is None:
            lost.append(each["id"])
            told = f"breakpoint {each['id']} is not set: its predicate is {NOT_RECORDED}, as text is not"
        else:
            args = {name: each[name] for name in ("when", "hits", "mark")}
            result = asked.ask("POST", path, {"name": "break", "args": args})["result"]
            number, is_old = result["breakpoint"], result.get("already", False)
            if not each["enabled"]:
                asked.ask("POST", path, {"name": "disable", "args": {"breakpoint": number}})
            made.append({"breakpoint": number, "from": each["id"], "when": each["when"]})
            told = f"breakpoint {number} {'was set already' if is_old else 'is set'}, as {each['id']} was: {each['when']}"
        # At once: another one may be refused.
        if not as_json:
            say(told)
    if as_json:
        say(json.dumps({"set": made, "not_recorded": lost}))
    elif not found:
        say(f"session {source.id} has no breakpoint set")


def _how_recorded(told: dict[str, Any]) -> str:
    count = len(told["breakpoints"])
    return "no engine is linked; recorded: " + (
        "no breakpoint was set"
        if count == 0
        else f"{count} breakpoint{'s were' if count > 1 else ' was'} set"
    )


def _how(told: dict[str, Any]) -> str:
    """How an engine goes, in a line."""
    at = "before its first step" if told["step"] is None else f"at step {told['step']}"
    if told["stop"] is not None:
        how = f"stopped by breakpoint {told['stop']['breakpoint']} {at}"
    elif told["run_to"] is not None:
        how = f"runs to step {told['run_to']}, {at}"
    else:
        how = f"held {at}" if told["held"] else f"runs, {at}"
    slow = "" if told["slow"] is None else f", at most {told['slow']:g} steps a second"
    return how + slow + ("" if told["breakpoints"] else "; no breakpoint is set")


def _do(
    context: typer.Context, server: str, as_json: bool, name: str, args: dict[str, Any], told: str
) -> None:
    """Ask something of the engine; ``told`` says what it answered."""
    result = _asked(context, server, name, args)
    say(json.dumps(result) if as_json else told.format(**result))


def _asked(context: typer.Context, server: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
    """What the engine answers."""
    from kvarium.remote_server import RemoteServer

    asked = RemoteServer(server)
    path = f"sessions/{quote(asked.find(context.obj).id)}/commands"
    result: dict[str, Any] = asked.ask("POST", path, {"name": name, "args": args})["result"]
    return result
