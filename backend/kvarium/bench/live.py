"""A live null runner behind a server of its own, for a bench to watch."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kvarium.bench.started import Started, failed, started
from kvarium.errors import KvariumError

_READY_SECONDS = 60.0
_ANSWER_SECONDS = 10.0
_FIRST_STEPS_PER_S = 60.0
_MOST_STEPS_PER_S = 1000.0
_LOOK_SECONDS = 0.5


class LiveSession(NamedTuple):
    """``address`` is HOST:PORT, ``session`` the id."""

    server: Started
    address: str
    session: str


@contextlib.contextmanager
def live(blocks: int, operations_per_s: float, folder: Path) -> Iterator[LiveSession]:
    """A null runner of ``blocks`` blocks that makes so many operations a second, as far as the machine can, while the body runs.

    Its files lie in ``folder``. Raises :class:`KvariumError` when it does not start, or does not take the pace that it is asked for.
    """
    # A step pretends to take no time, and the engine is slowed instead: so what it does itself is within the pace.
    engine = ("--runner", "null", "--num-gpu-blocks-override", str(blocks), "--step-ms", "0", "--no-lossless")
    log, db = folder / "server.log", ("--db", str(folder / "live.db"), "--port", "0")
    with (
        (folder / "server.out").open("w+") as said,
        started("kvarium.cli", "serve", *engine, *db, log=log, output=said) as server,
    ):
        address, session = _linked(server, folder / "server.out", log)
        pace = _Pace(address, session, operations_per_s)
        pace.slow(_FIRST_STEPS_PER_S)
        thread = threading.Thread(target=pace.keep, name="pace", daemon=True)
        thread.start()
        try:
            yield LiveSession(server, address, session)
        finally:
            pace.ended.set()
            thread.join()


class _Pace:
    """Keeps a session at so many operations a second: the load of the runner's mix comes in waves, so its steps differ in theirs."""

    def __init__(self, address: str, session: str, operations_per_s: float) -> None:
        self._address = address
        self._path = f"/api/sessions/{session}"
        self._wanted = operations_per_s
        self.ended = threading.Event()

    def keep(self) -> None:
        """Look at it again and again, until :attr:`ended`; a server that does not answer is asked again."""
        before = None
        while not self.ended.wait(_LOOK_SECONDS):
            with contextlib.suppress(KvariumError):
                row = self._ask("GET", self._path)
                now = (row["operations"], row["steps"])
                if before is not None and now[0] > before[0] and now[1] > before[1]:
                    self.slow(self._wanted * (now[1] - before[1]) / (now[0] - before[0]))
                before = now

    def slow(self, steps_per_s: float) -> None:
        """Have the engine take at most so many steps a second. Raises :class:`KvariumError`."""
        body = {"name": "slow", "args": {"rate": round(min(steps_per_s, _MOST_STEPS_PER_S), 3)}}
        self._ask("POST", f"{self._path}/commands", body)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        there = http.client.HTTPConnection(self._address, timeout=_ANSWER_SECONDS)
        try:
            there.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = there.getresponse()
            told = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise KvariumError(f"the live engine's pace was not set: {error}") from None
        finally:
            there.close()
        if answer.status != 200:
            raise KvariumError(f"the live engine's pace was not set: {answer.status}: {told[:300]}")
        return json.loads(told)


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
