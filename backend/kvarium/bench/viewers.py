"""Many viewers of one live engine, one of them stuck: what they cost the engine, and the server's memory.

    null runner, 20,000 operations/s ──▶ kvarium serve ──┬─▶ 199 websockets that read all
      health: ns in the ledger a step        │           └─▶ 1 that reads nothing
                                             └─ resident memory, looked at 4 times a second

*Sending* is the engine's thread in the ledger and in its link (what it appends, seals and puts on the queue), as a share of the
time that passes.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from kvarium.bench.live import live
from kvarium.bench.started import Started, failed, started
from kvarium.errors import KvariumError

_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.25


class Watched(NamedTuple):
    """What came of it: rates are means over the seconds in which all viewers were there; bytes are the server's.

    ``skips`` and ``behind`` (records that the slowest had not got at the end) are of the viewers that read.
    """

    viewers: int
    operations_per_s: float
    send_percent: float
    gaps: int
    skips: int
    behind: int
    memory_before: int
    memory_peak: int


def watch(viewers: int, blocks: int, step_ms: float, seconds: float) -> Watched:
    """Run an engine of ``blocks`` blocks, a step each ``step_ms``, with ``viewers`` of which one is stuck, for ``seconds``.

    Raises :class:`KvariumError` when the engine or a viewer ends before.
    """
    with tempfile.TemporaryDirectory(prefix="kvarium-bench-") as place:
        folder = Path(place)
        with live(blocks, step_ms, folder) as found:
            url = f"ws://{found.address}/api/sessions/{found.session}/live"
            return _watch(found.server, url, viewers, seconds, folder)


def _watch(server: Started, url: str, viewers: int, seconds: float, folder: Path) -> Watched:
    log = folder / "watchers.log"
    with started("kvarium.bench.watchers", url, str(viewers), log=log, output=subprocess.PIPE) as watchers:
        assert watchers.stdout is not None
        if watchers.stdout.readline() != "watching\n":
            watchers.wait()
            raise failed("the viewers did not come", watchers, log)
        before = peak = _resident(server.pid)
        until = time.monotonic() + seconds
        while time.monotonic() < until and server.poll() is None and watchers.poll() is None:
            peak = max(peak, _resident(server.pid))
            time.sleep(_LOOK_SECONDS)
        # The engine says goodbye, to the viewers too.
        server.terminate()
        told, _ = watchers.communicate(timeout=_READY_SECONDS)
        if watchers.returncode:
            raise failed("the viewers ended before the engine", watchers, log)
        status = server.wait(_READY_SECONDS)
    found = json.loads(told)
    if status or found["broken"]:
        raise KvariumError(f"the server ended with status {status}, and sent {found['broken']} viewers away")
    # The first second had begun before all were there.
    health = found["health"][1:]
    if not health:
        raise KvariumError("the engine told too few figures of itself: it ended too soon")
    return Watched(
        viewers=viewers,
        operations_per_s=statistics.fmean(second["operations_per_s"] for second in health),
        send_percent=statistics.fmean(second["ledger_ns"] * second["steps_per_s"] / 1e7 for second in health),
        gaps=health[-1]["gaps"],
        skips=found["skips"],
        behind=found["last_record"] - found["first_last_record"],
        memory_before=before,
        memory_peak=peak,
    )


def _resident(pid: int) -> int:
    """The resident memory of a process, in bytes; 0: it is gone. Where there is no /proc, ``ps`` tells it."""
    status = Path(f"/proc/{pid}/statm")
    try:
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        pass
    except (ProcessLookupError, IndexError):
        return 0
    try:
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise KvariumError("neither /proc nor ps tells how much memory the server takes") from None
    return int(told.stdout.strip() or 0) * 1024
