"""``kvarium bench start``: how long a server takes until its engine can be asked, beside what the imports alone take.

    kvarium serve --model M   ├── server, options ──┬── torch, transformers ──┬── weights, check, tokenizer, pool ──┤ linked
    python -c "import …"      ├── torch, transformers ──┤
                              |<────── import_s ───────>|<──────────────── difference_s ───────────────────────────>|

All is warm (at ``--size full``): each is done once before it is measured, and then in turn, so that other work on this machine meets both alike. Medians.
``model_classes_s``: transformers imports the most of itself when a class of it is asked for, as every model needs one.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from kvarium.bench.options import Note, note_of, size_named
from kvarium.errors import KvariumError
from kvarium.recording_options import AsJson, say


class Size(NamedTuple):
    """How many rounds are made first, for what is cold, and how many are measured."""

    warming: int
    rounds: int


SIZES = {"small": Size(0, 1), "full": Size(1, 7)}

_IMPORTS = "import torch, transformers"
_CLASSES = f"{_IMPORTS}; from transformers import AutoModelForCausalLM"
_MOST_SECONDS = 300.0


class Run(NamedTuple):
    """Seconds of one round."""

    import_s: float
    model_classes_s: float
    listening_s: float
    ready_s: float


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("start", help="Until an engine with a model is ready, beside the imports alone.")(start)


def start(
    size: Annotated[str, typer.Option(help="full: 7 rounds, after one for what is cold; small: 1.")] = "full",
    model: Annotated[
        str, typer.Option(help="The model, as `kvarium serve --model` takes it.")
    ] = "smollm2-135m",
    as_json: AsJson = False,
) -> None:
    """Measure the start-up."""
    found = measure(model, size_named(size, SIZES), note_of("start"))
    say(json.dumps(found) if as_json else table(found))


def measure(model: str, size: Size, note: Note) -> dict[str, Any]:
    """Medians of the rounds, and the rounds. Raises :class:`KvariumError` where the imports fail or no engine gets ready."""
    for _ in range(size.warming):
        _round(model)
    runs = []
    for number in range(size.rounds):
        runs.append(_round(model))
        note(
            f"round {number + 1} of {size.rounds}: ready after {runs[-1].ready_s:.2f} s, imports {runs[-1].import_s:.2f} s"
        )
    medians = Run(*(statistics.median(column) for column in zip(*runs, strict=True)))
    # Of pairs: what one round was slowed by, both of its halves were.
    difference = statistics.median(run.ready_s - run.import_s for run in runs)
    rounded = {name: round(value, 3) for name, value in medians._asdict().items()}
    return {
        "model": model,
        **rounded,
        "difference_s": round(difference, 3),
        "rounds": [run._asdict() for run in runs],
    }


def _round(model: str) -> Run:
    listening, ready = _serve(model)
    return Run(_python(_IMPORTS), _python(_CLASSES), listening, ready)


def _python(code: str) -> float:
    """Seconds that a Python of its own takes to run ``code``, its start included."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise KvariumError(f"`{code}` fails here: {why}")
    return time.monotonic() - began


def _serve(model: str) -> tuple[float, float]:
    """Seconds until a server that is started listens, and until its engine is linked."""
    from kvarium.bench.started import failed, started

    with tempfile.TemporaryDirectory(prefix="kvarium-bench-") as place:
        log, db = Path(place) / "serve.log", Path(place) / "kvarium.db"
        options = ("--model", model, "--db", str(db), "--port", "0", "--exit-with-engine")
        began = time.monotonic()
        with started("kvarium.cli", "serve", *options, log=log, output=subprocess.PIPE) as process:
            assert process.stdout is not None
            listening = None
            for line in process.stdout:
                if listening is None:
                    listening = time.monotonic() - began
                if line.startswith("engine linked"):
                    return listening, time.monotonic() - began
            process.wait()
            raise failed("no engine got ready", process, log)


def table(found: Mapping[str, Any]) -> str:
    """The figures for a person."""
    rows = [
        ("imports", "import_s", "of torch and transformers alone, with Python's start"),
        ("", "model_classes_s", "and of transformers' classes of models"),
        ("server", "listening_s", "until it listens"),
        ("engine", "ready_s", f"until {found['model']} can be asked"),
        ("difference", "difference_s", "from the imports to there"),
    ]
    return "\n".join(f"{title:<11}{found[name]:>6.2f} s  {what}" for title, name, what in rows)
