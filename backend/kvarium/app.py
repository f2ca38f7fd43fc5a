"""The application: routes over a hub, behind the security check."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from kvarium import __version__
from kvarium.api import (
    blocks,
    commands,
    engine,
    events,
    exporting,
    importing,
    keeping,
    lanes,
    live,
    pages,
    scenarios,
    sessions,
    sql,
    why,
)
from kvarium.api.refusals import known_parameters, tell_in_sentences
from kvarium.hub import Hub
from kvarium.recording.database import Database
from kvarium.recording.retention import KEEP_ALL, Retention
from kvarium.scenarios import Scenarios
from kvarium.security import Security, is_loopback
from kvarium.workplace import remove_abandoned


class Application:
    """An ASGI application over a recording. ``engine_token`` None: no engine may link.

    ``allow_changes``: may the page rename, annotate, remove and import sessions? None: where only this machine can watch.

    ``hub`` exists once the server has started.
    """

    def __init__(
        self,
        database: Database,
        bound_host: str = "127.0.0.1",
        allowed_hosts: tuple[str, ...] = (),
        engine_token: str | None = None,
        grace_seconds: float = 10.0,
        ring_bytes: int = 32 << 20,
        allow_changes: bool | None = None,
        retention: Retention = KEEP_ALL,
    ) -> None:
        self.database = database
        self.hub: Hub | None = None
        self.scenarios = Scenarios(engine_token)

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            await asyncio.to_thread(remove_abandoned, Path(tempfile.gettempdir()), exporting.DOWNLOADS)
            self.hub = app.state.hub = Hub(database, grace_seconds, ring_bytes, retention)
            await self.hub.start()
            try:
                yield
            finally:
                await self.hub.stop()

        app = FastAPI(
            title="kvarium",
            version=__version__,
            lifespan=lifespan,
            docs_url=None,
            redoc_url=None,
            openapi_url="/api/openapi.json",
        )
        app.state.engine_token = engine_token
        app.state.scenarios = self.scenarios
        app.state.sql_running = set[str]()
        app.state.why_running = set[object]()
        # Whoever reaches a server that others can watch could remove its sessions.
        app.state.allow_changes = is_loopback(bound_host) if allow_changes is None else allow_changes
        for routes in (
            sessions,
            exporting,
            blocks,
            events,
            lanes,
            keeping,
            importing,
            commands,
            scenarios,
            sql,
            why,
            engine,
            live,
        ):
            app.include_router(routes.router, dependencies=[Depends(known_parameters)])
        # The page's own address holds what the page keeps there.
        app.include_router(pages.router)
        tell_in_sentences(app)
        self.fastapi = app
        self.asgi: ASGIApp = _quiet_at_the_end(Security(app, bound_host, allowed_hosts))


def _quiet_at_the_end(app: ASGIApp) -> ASGIApp:
    """An answer that is still under way when the server has to end is cut off: that is no fault to print."""

    async def quiet(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise

    return quiet
