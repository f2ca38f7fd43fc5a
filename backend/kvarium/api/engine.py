"""The websocket of engines: hello and records in, acknowledgements and commands out."""

import asyncio
import contextlib
import secrets
from collections import deque

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from fastapi.responses import PlainTextResponse

from kvarium.api.context import hub_of
from kvarium.engine_link import LinkFaultError
from kvarium.errors import KvariumError
from kvarium.live_session import LiveSession
from kvarium.recording.writer import Writer
from kvarium_ledger import codec
from kvarium_ledger.messages import Ack, Rejected, Welcome
from kvarium_ledger.records import VERSION

router = APIRouter(prefix="/api")

_HELLO_SECONDS = 10.0
_MAX_PENDING_BYTES = 96 << 20


class WebsocketLink:
    """The way back to an engine: the newest acknowledgement and commands, sent by a task of its own."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._frames: deque[bytes] = deque()
        self._ack: int | None = None
        self._close: tuple[int, str] | None = None
        self._news = asyncio.Event()

    @property
    def closes(self) -> bool:
        """Was it told to end the connection?"""
        return self._close is not None

    def acknowledge(self, record: int) -> None:
        """Everything up to ``record`` is committed; of several only the newest is told."""
        self._ack = record
        self._news.set()

    def send(self, frame: bytes) -> None:
        """Send a command."""
        self._frames.append(frame)
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        """End the connection."""
        self._close = (code, reason)
        self._news.set()

    async def run(self) -> None:
        """Send until told to close."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._ack is not None:
                ack, self._ack = self._ack, None
                await self._websocket.send_bytes(codec.seal(Ack(record=ack)))
            while self._frames:
                await self._websocket.send_bytes(self._frames.popleft())
            if self._close is not None:
                await self._websocket.close(*self._close)
                return


async def _refuse(websocket: WebSocket, status: int, reason: str) -> None:
    await websocket.send_denial_response(PlainTextResponse(f"kvarium: {reason}\n", status_code=status))


@router.websocket("/engine")
async def engine(websocket: WebSocket) -> None:
    """An engine's connection, from hello to goodbye."""
    hub = hub_of(websocket)
    token: str | None = websocket.app.state.engine_token
    given = websocket.headers.get("authorization", "").removeprefix("Bearer ")
    if token is None or hub.writer is None:
        await _refuse(websocket, 403, "this server takes no engines: it shows recordings only")
        return
    if not secrets.compare_digest(given.encode(), token.encode()):
        await _refuse(websocket, 401, "the token is not this server's (KVARIUM_ENGINE_TOKEN)")
        return
    await websocket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        try:
            async with asyncio.timeout(_HELLO_SECONDS):
                frame = await websocket.receive_bytes()
        except KeyError:
            await _reject(
                websocket, "a text message where a frame was expected: an engine begins with a hello"
            )
            return
        except TimeoutError:
            await _reject(websocket, f"no hello within {_HELLO_SECONDS:g} s")
            return
        try:
            session = await hub.open_session(frame)
        except KvariumError as error:
            await _reject(websocket, str(error))
            return
        ack = session.committed if session.committed >= 0 else None
        await websocket.send_bytes(codec.seal(Welcome(version=VERSION, ack=ack)))
        await serve_engine(websocket, session, hub.writer, hub.linked)


async def serve_engine(
    websocket: WebSocket, session: LiveSession, writer: Writer, linked: asyncio.Event
) -> None:
    """Take what the engine of a session sends, until its connection ends."""
    link = WebsocketLink(websocket)
    session.attach(link)
    linked.set()
    sender = asyncio.create_task(link.run())
    try:
        # To the end of what came, though nothing may reach the engine any more: it sent that before it died.
        while not link.closes:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            session.receive(message["bytes"])
            while writer.pending_bytes > _MAX_PENDING_BYTES:
                await asyncio.sleep(0.01)
    except LinkFaultError as error:
        await _reject(websocket, str(error))
    except KeyError:
        await _reject(websocket, "a text message where a frame was expected")
    finally:
        session.detach(link)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await sender


async def _reject(websocket: WebSocket, reason: str) -> None:
    """Say why, in a frame (a close reason holds 123 bytes only), and close."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await websocket.send_bytes(codec.seal(Rejected(reason=reason)))
        await websocket.close(4400, reason.encode()[:120].decode(errors="ignore"))
