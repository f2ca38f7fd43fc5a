"""A ``kvarium view`` of a recording, as a process of its own, for a bench to ask."""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

from kvarium.bench.started import failed, started


@contextlib.contextmanager
def viewed(file: Path, folder: Path) -> Iterator[str]:
    """The address of a server that shows ``file`` while the body runs; its log lies in ``folder``. Raises when it ends early."""
    log = folder / "view.log"
    out = folder / "view.out"
    arguments = ("view", str(file), "--port", "0", "--no-open")
    with (
        out.open("w") as output,
        started("kvarium.cli", *arguments, log=log, output=output) as process,
    ):
        while (found := re.search(r"http://[\d.]+:\d+", out.read_text() + log.read_text())) is None:
            if process.poll() is not None:
                raise failed("there is no server to measure", process, log)
            time.sleep(0.05)
        yield found.group()
