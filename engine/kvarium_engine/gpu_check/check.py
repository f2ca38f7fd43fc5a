"""The command, however it was called: its arguments are looked at, the parts run, the result is printed."""

import json
import sys
import time
from pathlib import Path

from kvarium_engine.errors import UsageError
from kvarium_engine.gpu_check.part import PARTS, Part
from kvarium_engine.gpu_check.report import markdown, report, table
from kvarium_engine.gpu_check.supervisor import run_parts


def check(as_json: bool, to: Path | None, tiny_model: Path | None, only: str | None) -> int:
    """Run it; the exit status is 0 where nothing is wrong, 1 where something is, 2 for arguments that can't be."""
    began = time.monotonic()
    try:
        parts = chosen_parts(only)
        if tiny_model is not None and not tiny_model.is_file():
            raise UsageError(f"--tiny-model {tiny_model}: there is no such file")
        if to is not None and not to.absolute().parent.is_dir():
            raise UsageError(f"--markdown {to}: there is no folder {to.parent}")
    except UsageError as error:
        print(f"kvarium gpu-check: {error}", file=sys.stderr, flush=True)
        return 2
    try:
        ended = run_parts(parts, tiny_model)
    except KeyboardInterrupt:
        print("kvarium gpu-check: stopped", file=sys.stderr, flush=True)
        return 130
    found = report(ended, time.monotonic() - began)
    print(json.dumps(found, ensure_ascii=False) if as_json else table(found), flush=True)
    if to is not None:
        try:
            to.write_text(markdown(found), encoding="utf-8")
        except OSError as error:
            print(f"kvarium gpu-check: --markdown {to}: {error.strerror}", file=sys.stderr, flush=True)
            return 1
    return 0 if found["ok"] else 1


def chosen_parts(only: str | None) -> list[Part]:
    """The parts that are asked for; None: all. Raises :class:`UsageError` for a name of none."""
    if only is None:
        return list(PARTS)
    names = [name.strip() for name in only.split(",")]
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise UsageError(f"--only {name}: the parts are {', '.join(known)}")
    # What it ran on is told whatever else is asked for.
    return [part for part in PARTS if part.name in ("environment", *names)]
