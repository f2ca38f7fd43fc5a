"""Running the server: the socket, uvicorn, the engine beside it, and an orderly end of all three."""

import asyncio
import contextlib
import errno
import secrets
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from kvarium.app import Application
from kvarium.errors import KvariumError
from kvarium.hub import EngineState
from kvarium.launch import ENGINE, EngineProcess, EngineStandby, Program
from kvarium.recording.database import Database
from kvarium.recording.retention import KEEP_ALL, Retention
from kvarium.security import is_loopback
from kvarium.terminal import shown
from kvarium_ledger.codec import MAX_FRAME_BYTES

_DRAIN_SECONDS = 60.0
"""How long a server whose engine has ended waits for the index to be finished; Ctrl-C ends the wait."""


_VIEWER_BYTES = 64 << 10
"""What a viewer may send at once. It is not heard; what is longer is not even held, and ends the connection."""


@dataclass
class ServeOptions:
    """How to serve. ``engine_options`` None: no engine is started. ``say`` prints a line for the user.

    ``program`` is what is started with them, an engine or what is like one; ``standby`` is one that was started with them.
    ``allow_changes`` (may the page rename, annotate, remove and import sessions?) None: where only this machine can watch.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    allowed_hosts: tuple[str, ...] = ()
    engine_options: list[str] | None = None
    program: Program = ENGINE
    standby: EngineStandby | None = None
    engine_token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    exit_with_engine: bool = False
    open_browser: bool = False
    page_query: str = ""
    allow_changes: bool | None = None
    retention: Retention = KEEP_ALL
    say: Callable[[str], None] = print


class _Server(uvicorn.Server):
    """uvicorn without handlers of signals: the engine is to end before the server does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Websockets(WebSocketsSansIOProtocol):
    """uvicorn's websockets, of which only an engine's take much: a viewer has nothing to say."""

    def handle_connect(self, event: Request) -> None:
        """A handshake has come."""
        if event.path.partition("?")[0] != "/api/engine":
            self.conn.max_message_size = _VIEWER_BYTES
        super().handle_connect(event)

    async def send(self, message: ASGISendEvent) -> None:
        """A handshake that is refused with an answer is complete too: uvicorn would log it as the application's fault."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = True


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises :class:`KvariumError` when the port is taken or the host is none of this machine."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, OverflowError) as error:
        raise KvariumError(f"--host {host}: {error}") from None
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(512)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise KvariumError(
                f"port {port} on {host} is taken: choose another with --port, or --port 0 for any"
            ) from None
        raise KvariumError(f"can't listen on {host}:{port}: {error.strerror}") from None
    listening.setblocking(False)
    return listening


def _url_host(host: str) -> str:
    if host in ("", "0.0.0.0", "::"):
        return "127.0.0.1" if host != "::" else "[::1]"
    return f"[{host}]" if ":" in host else host


def server_config(application: Application) -> uvicorn.Config:
    """How uvicorn runs the application."""
    return uvicorn.Config(
        application.asgi,
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws=_Websockets,
        ws_max_size=MAX_FRAME_BYTES + 16,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=60.0,
        timeout_graceful_shutdown=3,
        server_header=False,
    )


def serve(database: Database, options: ServeOptions) -> int:
    """Serve until Ctrl-C (or the engine's end); the exit status."""
    listening = bind(options.host, options.port)
    try:
        # A mirror that folds in Python must not keep the event loop waiting for 5 ms each time.
        sys.setswitchinterval(0.001)
        run = _Run(database, options, listening)
        status = asyncio.run(run.run())
        return status or (1 if run.lost_records else 0)
    finally:
        listening.close()


class _Run:
    def __init__(self, database: Database, options: ServeOptions, listening: socket.socket) -> None:
        self.options = options
        self._listening = listening
        host = _url_host(options.host)
        self._address = f"{host}:{listening.getsockname()[1]}"
        self._application = Application(
            database,
            options.host,
            options.allowed_hosts,
            None if database.read_only else options.engine_token,
            allow_changes=options.allow_changes,
            retention=options.retention,
        )
        self._application.scenarios.url = f"ws://{self._address}/api/engine"
        self._server = _Server(server_config(self._application))
        self._engine: EngineProcess | None = None
        self._status = 0
        self._stop = asyncio.Event()
        self._interrupts = 0

    @property
    def lost_records(self) -> int:
        """How many records were received and could not be stored."""
        hub = self._application.hub
        return 0 if hub is None else hub.lost_records

    async def run(self) -> int:
        self._catch_signals()
        serving = asyncio.create_task(self._server.serve([self._listening]))
        try:
            while not self._server.started:
                if serving.done():
                    await serving
                    raise KvariumError("the server could not start")
                await asyncio.sleep(0.01)
            return await self._serve(serving)
        finally:
            await asyncio.gather(self._stop_engine(), self._application.scenarios.stop())
            if self._application.hub is not None:
                self._application.hub.cancel_exports()
            self._server.should_exit = True
            await serving

    async def _serve(self, serving: "asyncio.Task[None]") -> int:
        self._greet()
        tasks: list[asyncio.Task[Any]] = [serving, asyncio.create_task(self._stop.wait())]
        if self.options.engine_options is not None:
            self._engine = EngineProcess(
                f"ws://{self._address}/api/engine",
                self.options.engine_token or "",
                self.options.engine_options,
                self.options.program,
                self.options.standby,
            )
            self._set_engine_state("starting")
            await self._engine.start()
            following = asyncio.create_task(self._follow_engine(self._engine))
            following.add_done_callback(lambda _: self._stop.set())
            tasks.append(following)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks[1:]:
            task.cancel()
        for outcome in await asyncio.gather(*tasks[1:], return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        return self._status

    async def _follow_engine(self, engine: EngineProcess) -> None:
        """Tell what becomes of the engine; returns when the server is to end because of it."""
        say = self._say
        hub = self._application.hub
        assert hub is not None
        name = self.options.program.name
        began = time.monotonic()
        linking = asyncio.create_task(hub.linked.wait())
        ending = asyncio.create_task(engine.wait())
        await asyncio.wait({linking, ending}, return_when=asyncio.FIRST_COMPLETED)
        linked = linking.done()
        linking.cancel()
        for session in hub.live.values() if linked else ():
            hello = session.hello
            what = f"{shown(hello.model)} on {shown(hello.device)}, " if hello.runner != "null" else ""
            say(
                f"{name} linked after {time.monotonic() - began:.1f} s: session {session.id}, {what}"
                f"{shown(hello.runner)} runner, {hello.num_blocks} blocks of {hello.block_size}"
            )
        if linked:
            self._set_engine_state("linked")
        status = await ending
        self._set_engine_state("ended")
        hub.engine_ended(engine.pid, status)
        hub.drain_seconds = _DRAIN_SECONDS
        how = "ended" if status == 0 else f"ended with status {status}"
        say(f"the {name} {how}" + ("" if linked else " before it was linked"))
        if linked and not self.options.exit_with_engine:
            say("the server stays: Ctrl-C ends it")
            await asyncio.Event().wait()
        self._status = (status or 1) if not linked else status
        if self._status < 0:
            self._status = 128 - self._status

    def _say(self, line: str) -> None:
        """A line for the user. That nobody reads it any more (a closed pipe, a full disk) does not concern the server."""
        with contextlib.suppress(OSError):
            self.options.say(line)

    def _set_engine_state(self, state: EngineState) -> None:
        assert self._application.hub is not None
        self._application.hub.started_engine = state

    def _greet(self) -> None:
        options = self.options
        url = f"http://{self._address}/{options.page_query}"
        self._say(f"kvarium: {url}")
        self._application.database.announce(f"http://{self._address}")
        database = self._application.database
        self._say(f"{'showing' if database.read_only else 'recording to'} {database.where}")
        if not is_loopback(options.host):
            self._say("this server is not bound to this machine alone: whoever reaches it can watch")
        if options.engine_options is None and not database.read_only:
            self._say(
                f"no engine is started; link one with: KVARIUM_ENGINE_TOKEN={options.engine_token} "
                f"kvarium engine --connect ws://{self._address}/api/engine"
            )
        if options.open_browser:
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, url)

    async def _stop_engine(self) -> None:
        if self._engine is not None:
            await self._engine.stop()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        self._interrupts += 1
        if self._application.hub is not None:
            self._application.hub.hurry()
        if self._interrupts == 1:
            read_only = self._application.database.read_only
            self._say(
                "stopping"
                if read_only
                else f"stopping: the {self.options.program.name} says goodbye, what is waiting is written"
            )
            self._stop.set()
        elif self._interrupts == 2 and self._engine is not None:
            self._engine.hurry()
        elif self._interrupts == 3:
            self._server.force_exit = True
