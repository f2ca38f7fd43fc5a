"""Commands of kvarium that a bench starts as processes of their own, and ends whatever happens."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kvarium import terminal
from kvarium.errors import KvariumError
from kvarium.launch import die_with_parent

_STOP_SECONDS = 60.0

Started = subprocess.Popen[str]


@contextlib.contextmanager
def started(
    module: str, *arguments: str, log: Path, output: int | IO[str] = subprocess.DEVNULL
) -> Iterator[Started]:
    """``python -m module`` while the body runs, its standard error in ``log``; what is left of it then is ended."""
    with log.open("w") as errors:
        # A session of its own: Ctrl-C reaches this process alone, which ends the other once.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        try:
            yield process
        finally:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()


def _end(process: Started) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def failed(what: str, process: Started, log: Path) -> KvariumError:
    """The error that says what was not made, by which command, and the last thing that it said."""
    lines = log.read_text(errors="replace").splitlines()
    why = next((terminal.shown(line, 300) for line in reversed(lines) if line.strip()), "it said nothing")
    assert isinstance(process.args, list)
    command = " ".join(["kvarium", *(str(part) for part in process.args[4:])])
    return KvariumError(f"{what}: `{command}` ended with status {process.returncode}: {why}")
