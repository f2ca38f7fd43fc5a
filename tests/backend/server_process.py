"""``kvarium …`` as a process of its own, for what only a process shows: exit codes, signals, a kill."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.backend.hand_engine import HandEngine, hello
from tests.backend.running_server import TOKEN, wait_for

KVARIUM = [sys.executable, "-W", "error", "-m", "kvarium.cli"]


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"KVARIUM_ENGINE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"} | more


def kvarium(*args: str, timeout: float = 300, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*KVARIUM, *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(**more),
        check=False,
    )


class ServerProcess:
    """A server in a process; ``url`` is where it said that it is."""

    def __init__(self, *args: str, command: Sequence[str] = KVARIUM, **more: str) -> None:
        self._process = subprocess.Popen(
            [*command, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**more),
        )
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((self._process.stdout, self.lines), (self._process.stderr, self.errors))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Iterator[str], lines: list[str]) -> None:
        for line in stream:
            lines.append(line.rstrip("\n"))  # noqa: PERF401 (a line is to be seen when it comes)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, *self.errors])

    @property
    def url(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+/", self.text)
        assert found is not None, self.text
        return found.group().rstrip("/")

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> "ServerProcess":
        wait_for(lambda: "http://" in self.text or self._process.poll() is not None, 180)
        assert self._process.poll() is None, self.text
        return self

    def wait_line(self, part: str, timeout: float = 180) -> None:
        wait_for(lambda: part in self.text or self._process.poll() is not None, timeout)
        assert part in self.text, self.text

    def http(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, trust_env=False, verify=False, timeout=60)

    def engine(self, session: str | None = None, **changes: object) -> HandEngine:
        return HandEngine(self.url.replace("http://", "ws://"), TOKEN, hello(session, **changes))

    def kill(self) -> None:
        """As ``kill -9``."""
        self._process.kill()
        self.wait()

    def interrupt(self) -> None:
        """As Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def wait(self, timeout: float = 60) -> int:
        status = self._process.wait(timeout)
        for reader in self._readers:
            reader.join(60)
        return status

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def process(*args: str, **more: str) -> Iterator[ServerProcess]:
    server = ServerProcess(*args, **more)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def serving(db: Path | str, *args: str, **more: str) -> Iterator[ServerProcess]:
    """A server without an engine, ready."""
    with process("serve", "--no-engine", "--port", "0", "--db", str(db), *args, **more) as server:
        yield server.wait_ready()
