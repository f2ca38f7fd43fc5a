"""The real `kvarium` as a process, and the URL that it prints."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KVARIUM = Path(sys.executable).parent / "kvarium"
URL = re.compile(r"http://127\.0\.0\.1:\d+\S*")


class Process:
    """A running `kvarium …`: its output so far, the URL that it printed."""

    def __init__(self, *args: str, **environment: str) -> None:
        self.args = [str(KVARIUM), *args]
        self.lines: list[str] = []
        self.changed = threading.Condition()
        self.popen = subprocess.Popen(
            self.args,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def url(self, timeout: float = 30.0) -> str:
        """The first URL that it prints."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = URL.search(self.output)
            if found:
                return found.group().rstrip("/")
            assert self.popen.poll() is None, f"{self.args} ended with {self.popen.returncode}: {self.output}"
            with self.changed:
                self.changed.wait(0.2)
        raise AssertionError(f"{self.args} printed no URL within {timeout} s: {self.output}")

    def stop(self) -> int:
        """Interrupt it as Ctrl-C does; after 15 s, kill it."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGINT)
            try:
                self.popen.wait(15)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait(5)
        self.reader.join(5)
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        return self.popen.returncode


@contextmanager
def running(*args: str) -> Iterator[Process]:
    """Run `kvarium …` until the block ends."""
    process = Process(*args)
    try:
        yield process
    finally:
        process.stop()


def run(*args: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run `kvarium …` to its end."""
    return subprocess.run(
        [str(KVARIUM), *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
