"""The engine as a process of its own: started with a token, stopped so that it can say goodbye."""

import asyncio
import contextlib
import ctypes
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kvarium.errors import KvariumError

TOKEN_VARIABLE = "KVARIUM_ENGINE_TOKEN"
_MODULE = "kvarium_engine.process"
_COMMAND_VARIABLE = "KVARIUM_COMMAND"
_READY = "\0"
_STOP_SECONDS = 120.0
"""A lossless engine has up to 200,000 operations and an outbox of 64 MiB to hand over when it is asked to end. It gives up by
itself when nothing is committed for 5 s, so this only ends one that hangs; :meth:`EngineProcess.hurry` does it at once.
"""


class EngineMissingError(KvariumError):
    """No engine is installed beside this server."""

    def __init__(self) -> None:
        super().__init__(
            "kvarium_engine is not installed here: install it, or serve with --no-engine and link an engine from elsewhere"
        )


def engine_is_installed() -> bool:
    """Could :meth:`EngineProcess.start` find an engine?"""
    try:
        return importlib.util.find_spec(_MODULE) is not None
    except ModuleNotFoundError:
        return False


def option_of(options: Sequence[str], name: str) -> str | None:
    """The value that an option was given last, if it was."""
    found = None
    for position, option in enumerate(options):
        if option == name and position + 1 < len(options):
            found = options[position + 1]
        elif option.startswith(f"{name}="):
            found = option.partition("=")[2]
    return found


def die_with_parent(signal_number: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """On Linux, have the kernel signal a child when this process is killed; elsewhere an engine's broken link is all it sees."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)

    def set_death_signal() -> None:
        libc.prctl(1, signal_number)

    return set_death_signal


def stand_aside() -> None:
    """What a process does first that a server asks one question: the server goes first, and where it is killed this ends, too.

    Ctrl-C is for the server, which ends it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(5)
    end_with_it = die_with_parent(signal.SIGKILL)
    if end_with_it is not None:
        end_with_it()


def _copy_of_standard_error() -> int:
    """A file descriptor of this process's standard error; of nothing where that is closed. None of the first three."""
    try:
        return fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        with Path(os.devnull).open("w") as nothing:
            return fcntl.fcntl(nothing, fcntl.F_DUPFD_CLOEXEC, 3)


class EngineStandby:
    """An engine that is started while the server's own code is loaded, as most of its time goes before it needs a server.

        server   imports ─────── wait ── recording, socket ── send_off ──┐
        engine   options ─ READY or why not ── torch, transformers ──────┴── model, link

    ``command`` is what the user typed: it stands before what the engine says about its options.
    """

    def __init__(self, command: str, options: Sequence[str]) -> None:
        self._command = command
        self._outcome: tuple[int, str] | None = None
        self._sent = False
        # Its standard error is read here until its options are checked. Then it takes the server's own.
        terminal = _copy_of_standard_error()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, "--stand-by", str(terminal), *options],
                env=os.environ | {_COMMAND_VARIABLE: command},
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                pass_fds=(terminal,),
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        finally:
            os.close(terminal)

    def wait(self) -> tuple[int, str]:
        """0 once it stands by; else its exit status, and what it says about the options."""
        if self._outcome is None:
            self._outcome = self._wait()
        return self._outcome

    def _wait(self) -> tuple[int, str]:
        assert self._process.stderr is not None
        try:
            with self._process.stderr as errors:
                said = errors.read()
            if said.endswith(_READY):
                return 0, ""
            status = self._process.wait()
            self.dismiss()
        except BaseException:
            self.dismiss()
            raise
        text = (
            said.strip() or f"{self._command}: the check of the engine's options ended with status {status}"
        )
        # It was to stand by: an end is none, whatever its status.
        return (status or 1, text) if status >= 0 else (128 - status, text)

    def send_off(self, url: str, token: str) -> "subprocess.Popen[str]":
        """Let it connect to ``url``; the process, which is the caller's from now on."""
        assert not self._sent, "an engine is sent off once"
        self._sent = True
        assert self._process.stdin is not None
        # Of one that has ended meanwhile, its exit status tells.
        with contextlib.suppress(BrokenPipeError), self._process.stdin as line:
            line.write(json.dumps([url, token]) + "\n")
        return self._process

    def dismiss(self) -> None:
        """End it, if it was not sent off."""
        if self._sent:
            return
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stderr):
            assert pipe is not None
            pipe.close()


class Program(NamedTuple):
    """What a server starts beside itself: Python's arguments, and what a person is to read of it."""

    arguments: tuple[str, ...]
    name: str


ENGINE = Program(("-m", _MODULE), "engine")


class EngineProcess:
    """An engine, or what is like one, that connects to ``url``; its standard error is the server's own.

    It is the one that stands by (``standby``), or one that is started then.
    """

    def __init__(
        self,
        url: str,
        token: str,
        options: Sequence[str],
        program: Program = ENGINE,
        standby: EngineStandby | None = None,
    ) -> None:
        self._is_engine = program == ENGINE
        self._url, self._token = url, token
        self._standby = standby
        self._command = [sys.executable, "-P", *program.arguments, "--connect", url, *options]
        self._environment = os.environ | {TOKEN_VARIABLE: token}
        self._process: subprocess.Popen[str] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Start it. Raises :class:`EngineMissingError`."""
        if self._standby is not None:
            self._process = self._standby.send_off(self._url, self._token)
            return
        if self._is_engine and not engine_is_installed():
            raise EngineMissingError
        # A session of its own: Ctrl-C reaches the server alone, which stops the engine first. Where the server is killed,
        # the engine is, too: its token was the server's, so there is nobody to whom it could hand over what it holds.
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )

    @property
    def pid(self) -> int | None:
        """Its process id, once started."""
        return None if self._process is None else self._process.pid

    async def wait(self) -> int:
        """Wait for its end; its exit status (negative: the signal that ended it)."""
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait)

    async def stop(self) -> None:
        """Ask it to end, so that it drains and says goodbye; kill it when it does not."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        self._stopping = True
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self.wait()
        except TimeoutError:
            self._process.kill()
            await self.wait()

    def hurry(self) -> None:
        """Ask an engine that is being stopped once more: it ends at once, whatever is not handed over yet."""
        if self._stopping and self._process is not None and self._process.poll() is None:
            self._process.terminate()
