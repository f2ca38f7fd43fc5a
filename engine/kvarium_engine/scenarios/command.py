"""The command ``kvarium scenario``: it joins the server's command line by the entry point ``kvarium.commands``."""

import json
import os
import signal
import sys
from typing import Annotated

import typer

from kvarium_engine.commands import TOKEN_VARIABLE
from kvarium_engine.errors import UsageError
from kvarium_engine.options import Options
from kvarium_engine.process import COMMAND_VARIABLE, guarded
from kvarium_engine.scenarios.captions import LANGUAGES, title, told
from kvarium_engine.scenarios.catalogue import SCENARIOS, scenario_named
from kvarium_engine.scenarios.performance import Outcome, perform
from kvarium_engine.scenarios.scenario import Scenario

WATCHED_STEP_MS = 40.0
WATCHED_PAUSE_S = 2.0
"""How long a step takes, and a caption stands, where somebody may be watching."""


def register(app: typer.Typer) -> None:
    """Add the command to a command line."""
    app.command(
        "scenario", help="Run lessons on a real engine, and say whether their numbers are as stated."
    )(scenario)


def scenario(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which one; --list lists them.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, one after another.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List them, and run none.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="Run it on a model, as `kvarium engine --model` takes it: then keys are read back as well. Default: the null "
            "runner, which needs none."
        ),
    ] = None,
    connect: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=f"Record it at a backend, ws://HOST:PORT/api/engine, whose page shows it; the token is in ${TOKEN_VARIABLE}.",
        ),
    ] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(
            help=f"How long a step of the null runner takes; default: {WATCHED_STEP_MS:.0f} with --connect, else 0."
        ),
    ] = None,
    pause: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"How long it rests behind each caption; default: {WATCHED_PAUSE_S:.0f} with --connect, else 0.",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--lang", help=f"Of --list: {' or '.join(LANGUAGES)}.")
    ] = LANGUAGES[0],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Run one scenario or all. Exit status 1: a number was not as stated."""
    os.environ.setdefault(COMMAND_VARIABLE, "kvarium scenario")
    outcomes: list[Outcome] = []

    def body() -> None:
        asked = _asked(name, every, listed)
        if language not in LANGUAGES:
            raise UsageError(f"--lang is {' or '.join(LANGUAGES)}, not {language!r}")
        if listed:
            _list(asked, language, as_json)
            return
        seen = connect is not None
        rest = _pause(pause, seen)
        options = Options(
            connect=connect,
            token=os.environ.get(TOKEN_VARIABLE, ""),
            model=model,
            step_ms=None
            if model is not None
            else (WATCHED_STEP_MS if seen else 0.0)
            if step_ms is None
            else step_ms,
            lossless=True,
        )
        if model is not None and step_ms is not None:
            raise UsageError("--step-ms is the null runner's: a model takes the time that it takes")
        for each in asked:
            outcomes.append(perform(each, options, rest))
            if not as_json:
                _tell(outcomes[-1])
            if outcomes[-1].stopped:
                break
        if as_json:
            print(json.dumps({"scenarios": [each.facts() for each in outcomes]}), flush=True)

    status = guarded(body)
    if status == 0 and any(each.stopped for each in outcomes):
        status = 128 + signal.SIGINT
    if status == 0 and not all(each.ok for each in outcomes):
        status = 1
    raise typer.Exit(status)


def _asked(name: str | None, every: bool, listed: bool) -> list[Scenario]:
    if name is not None:
        if every:
            raise UsageError(f"--all and {name!r}: give one of them")
        return [scenario_named(name)]
    if not every and not listed:
        raise UsageError(f"which one? {', '.join(SCENARIOS)}; or --all")
    return list(SCENARIOS.values())


def _pause(asked: float | None, seen: bool) -> float:
    if asked is None:
        return WATCHED_PAUSE_S if seen else 0.0
    if not 0 <= asked <= 60:
        raise UsageError(f"--pause must be from 0 to 60 seconds, not {asked}")
    return asked


def _list(asked: list[Scenario], language: str, as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": each.name, "title": title(each.name, language), "told": told(each.name, language)}
            for each in asked
        ]
        print(json.dumps({"scenarios": rows}, ensure_ascii=False), flush=True)
        return
    width = max(len(each.name) for each in asked)
    for each in asked:
        print(f"{each.name:<{width}}  {title(each.name, language)}", flush=True)


def _tell(outcome: Outcome) -> None:
    """What came of a scenario, for a person."""
    right = sum(each.ok for each in outcome.numbers)
    wrong = len(outcome.numbers) - right
    # Who ends it learns nothing of the lesson: what was found by then may be wrong all the same.
    is_cut = outcome.stopped and not outcome.ok and not wrong
    verdict = "INTERRUPTED" if is_cut else "ok" if outcome.ok else "NOT AS STATED"
    print(
        f"{outcome.scenario.name}: {verdict}, {right} of {len(outcome.numbers)} numbers, {outcome.seconds:.1f} s"
    )
    for caption in outcome.captions:
        print(f"  step {caption.step:>4}  {caption.text.partition(': ')[2]}")
    for number in outcome.numbers:
        if not number.ok:
            print(f"  {number.what}: {number.stated!r} is stated, {number.found!r} was found")
    for trouble in outcome.troubles:
        print(f"  {'it did not come to its end' if is_cut else 'it did not go on'}: {trouble}")
    for session in outcome.sessions:
        print(f"  recorded as session {session}")
    sys.stdout.flush()
