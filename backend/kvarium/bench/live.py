"""A live null runner behind a server of its own, for a bench to watch."""

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kvarium.bench.started import Started, failed, started
from kvarium.errors import KvariumError

_READY_SECONDS = 60.0
_PROBED_STEPS = 600


class LiveSession(NamedTuple):
    """``address`` is HOST:PORT, ``session`` the id."""

    server: Started
    address: str
    session: str


@contextlib.contextmanager
def live(blocks: int, step_ms: float, folder: Path) -> Iterator[LiveSession]:
    """A null runner of ``blocks`` blocks that takes a step each ``step_ms``, while the body runs; its files lie in ``folder``.

    Raises :class:`KvariumError` when it does not start.
    """
    engine = ("--runner", "null", "--num-gpu-blocks-override", str(blocks), "--step-ms", str(step_ms))
    log, db = folder / "server.log", ("--db", str(folder / "live.db"), "--port", "0")
    with (
        (folder / "server.out").open("w+") as said,
        started("kvarium.cli", "serve", *engine, *db, log=log, output=said) as server,
    ):
        yield LiveSession(server, *_linked(server, folder / "server.out", log))


def _linked(server: Started, said: Path, log: Path) -> tuple[str, str]:
    """The server's address and the session's id, once its engine is linked."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise failed("the live engine did not run", server, log)
        lines = said.read_text().splitlines()
        linked = [line.split("session ")[1].split(",")[0] for line in lines if "linked after" in line]
        if linked:
            return lines[0].split("http://")[1].strip("/"), linked[0]
        time.sleep(0.05)
    raise KvariumError(f"the live engine was not linked within {_READY_SECONDS:.0f} s")


def step_ms_for(operations_per_s: float, blocks: int) -> float:
    """How long a step of the null runner must pretend to take, so that it makes about so many operations a second.

    How many operations a step has is found by a run of its own, without a backend.
    """
    with tempfile.TemporaryDirectory(prefix="kvarium-bench-") as place:
        log = Path(place) / "engine.log"
        options = ("--runner", "null", "--num-gpu-blocks-override", str(blocks), "--step-ms", "0")
        with started(
            *("kvarium.cli", "engine", *options, "--steps", str(_PROBED_STEPS), "--json"),
            log=log,
            output=subprocess.PIPE,
        ) as engine:
            told, _ = engine.communicate()
        if engine.returncode:
            raise failed("a step of the null runner was not looked at", engine, log)
    found = json.loads(told)
    return round(1000 * found["operations"] / found["steps"] / operations_per_s, 3)
