"""Trials: something is changed at random, again and again, in a process of its own with a limit of memory and of time.

    a test ── run_trials(module, FILE, seed, count) ──▶ python -m module FILE SEED COUNT ──▶ main(…) ──▶ Trials ── JSON ──▶ the test

What a trial tries either does what it must or is refused with a sentence of one line; anything else is written down as wrong.
Time is that of the processor: on a machine that has others to serve, a clock tells nothing. What waits for ever takes none, and
ends by the clock, at many times as much.
"""

import json
import random
import resource
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.backend.peak import peak_bytes

_WALL: Final = 10
"""So many seconds by the clock for one of the processor's: less than that no machine gives."""


def one_line(text: str) -> None:
    """What is refused is refused in one line."""
    assert text
    assert "\n" not in text
    assert len(text) < 2000


class Trials:
    """``done``: how often what happened; ``wrong``: what must not happen, with the trial's seed and number."""

    def __init__(self, seed: int, memory: int, seconds: int) -> None:
        """``memory``: bytes that the process may have; ``seconds``: of the processor, for one attempt."""
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        signal.signal(signal.SIGPROF, self._late)
        signal.signal(signal.SIGALRM, self._stuck)
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._seed = seed
        self._seconds = seconds
        self._number = 0

    def each(self, count: int) -> Iterator[random.Random]:
        """A generator for each trial, seeded with the run's seed and the trial's number."""
        for self._number in range(count):
            yield random.Random(f"{self._seed} {self._number}")

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Something within a trial that must not raise, and must end in time."""
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        signal.alarm(_WALL * self._seconds)
        try:
            yield
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-3:]
            where = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(last))
            self.fail(f"{what}: {type(error).__name__}: {str(error)[:300]} ({where})")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)

    def fail(self, what: str) -> None:
        """Something went wrong in this trial."""
        self.wrong.append(f"{self._seed} {self._number}: {what}")

    def told(self) -> dict[str, Any]:
        """All of it, and the most memory that the process had."""
        return {"done": self.done, "wrong": self.wrong, "max_rss": peak_bytes()}

    def _late(self, *_: object) -> None:
        raise TimeoutError(f"took more than {self._seconds} s of the processor")

    def _stuck(self, *_: object) -> None:
        raise TimeoutError(f"did not end within {_WALL * self._seconds} s")


def print_told(main: Callable[[str, int, int], dict[str, Any]]) -> None:
    """Run ``main`` with FILE, SEED and COUNT of the command line."""
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))


def run_trials(module: str, file: Path, seed: int, count: int, seconds: int) -> dict[str, Any]:
    """What a module's trials told; a test fails here when anything went wrong in one of them.

    ``seconds``: of the processor, for all of them; the test's own limit of time is by the clock.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", module, file, str(seed), str(count)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
    )
    assert done.returncode != -signal.SIGXCPU, f"{module} took more than {seconds} s of the processor"
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["wrong"] == []
    return told
