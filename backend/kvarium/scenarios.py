"""Scenarios that a page asks for: each runs on an engine of its own beside the server, one at a time.

    page ── start ──▶ server ── python -m kvarium_engine.scenarios NAME ──▶ links as any engine does, plays, says goodbye
                        └── which session it became

A scenario is never played in the engine that a page watches: its pool and its rules are part of its numbers, and so is that
nobody else asks for anything.
"""

import asyncio
import difflib
import subprocess
import sys
from typing import NamedTuple

import msgspec

from kvarium.errors import ConflictError, KvariumError, UnknownSessionError
from kvarium.hub import Hub
from kvarium.launch import EngineProcess, Program, engine_is_installed

_MODULE = "kvarium_engine.scenarios"
_LINK_SECONDS = 120.0
_LIST_SECONDS = 120.0


class Running(NamedTuple):
    """The scenario that runs: its name, its process, and the session that it became first, once it is linked."""

    name: str
    process: EngineProcess
    session: str | None


class _Listed(msgspec.Struct):
    name: str


class _List(msgspec.Struct):
    scenarios: list[_Listed]


class Scenarios:
    """Starts scenarios and ends them with the server. ``url`` is where their engines link; None: no engine may."""

    def __init__(self, token: str | None) -> None:
        self.url: str | None = None
        self._token = token
        self._names: list[str] | None = None
        self._running: Running | None = None
        self._following: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @property
    def why_not(self) -> str | None:
        """Why none can be started here; None: they can."""
        if self._token is None or self.url is None:
            return "this server takes no engines"
        if not engine_is_installed():
            return "kvarium_engine is not installed beside this server"
        return None

    @property
    def running(self) -> Running | None:
        """The one that runs."""
        return self._running

    async def names(self) -> list[str]:
        """The scenarios that the engine here has; asked of it once."""
        if self._names is None:
            self._names = await asyncio.to_thread(_ask_names)
        return self._names

    async def start(self, name: str, hub: Hub) -> str:
        """Start one, and wait until its engine is linked; the session that it is.

        Raises :class:`UnknownSessionError` for a name that is none, :class:`ConflictError` while one runs or where none can, and
        :class:`KvariumError` where its engine does not come.
        """
        if self.why_not is not None:
            raise ConflictError(self.why_not)
        async with self._starting:
            names = await self.names()
            if name not in names:
                near = difflib.get_close_matches(name[:80], names, 1)
                raise UnknownSessionError(
                    f"there is no scenario {name[:80]!r}" + (f": did you mean {near[0]}?" if near else "")
                )
            if self._running is not None:
                raise ConflictError(f"the scenario {self._running.name} runs: one at a time")
            assert self.url is not None
            process = EngineProcess(self.url, self._token or "", [name], Program(("-m", _MODULE), "scenario"))
            await process.start()
            self._running = Running(name, process, None)
            self._following = asyncio.create_task(self._follow(process, hub))
            session = await self._linked(process, hub)
            if session is None:
                await process.stop()
                raise KvariumError(
                    f"the engine of the scenario {name} did not come: the server's terminal says why"
                )
            if self._running is not None:
                self._running = self._running._replace(session=session)
            return session

    async def _linked(self, process: EngineProcess, hub: Hub) -> str | None:
        """The session of a process, once there is one; None: it has ended, or time is up."""
        deadline = asyncio.get_running_loop().time() + _LINK_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            found = [each.id for each in hub.live.values() if each.hello.pid == process.pid]
            if found:
                return found[0]
            if self._running is None:
                return None
            await asyncio.sleep(0.05)
        return None

    async def _follow(self, process: EngineProcess, hub: Hub) -> None:
        status = await process.wait()
        hub.engine_ended(process.pid, status)
        self._running = None

    async def stop(self) -> None:
        """End the one that runs."""
        if self._running is not None:
            await self._running.process.stop()
        if self._following is not None:
            await self._following


def _ask_names() -> list[str]:
    """Raises :class:`KvariumError` where the engine does not tell them."""
    try:
        told = subprocess.run(
            [sys.executable, "-P", "-m", _MODULE, "--list", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIST_SECONDS,
            check=True,
        )
        return [each.name for each in msgspec.json.decode(told.stdout, type=_List).scenarios]
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as error:
        raise KvariumError(f"the engine does not list its scenarios ({type(error).__name__})") from None
