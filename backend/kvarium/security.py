"""Who may talk to this server: a check of Host and Origin before anything else, and the headers of every answer.

A page of another site must not reach a server on this machine. The browser lets it try in two ways: by a name that it
points at 127.0.0.1 (DNS rebinding; the ``Host`` header shows that name) and by opening a websocket or posting a form
across sites (the ``Origin`` header shows the other site). Both are refused, on HTTP and on websockets alike.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

SECURITY_HEADERS = {
    # Only this server's own code runs, and it talks to nobody else. The page's loops over many blocks are WebAssembly.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    # The page is crossOriginIsolated, so that page and worker may share memory.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def is_loopback(host: str) -> bool:
    """Does the name or address mean this machine only?"""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_wildcard(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _split_host(value: str) -> str | None:
    """The name or address of a Host header, without its port; None when it is not one."""
    try:
        parts = urlsplit(f"//{value}")
        port_is_number = parts.port is None or 0 <= parts.port <= 65535
    except ValueError:
        return None
    if parts.path or parts.query or parts.username is not None or not port_is_number:
        return None
    return parts.hostname


class Security:
    """An ASGI application around another: refuses foreign hosts and origins, adds the headers.

    Allowed hosts: the loopback names, the host that the server is bound to, and ``allowed_hosts``. A server that is bound
    to every address also answers to any address (not name): a rebound name is never an address.
    """

    def __init__(self, app: ASGIApp, bound_host: str, allowed_hosts: Iterable[str] = ()) -> None:
        self.app = app
        self._allowed = LOOPBACK_NAMES | {host.lower().strip("[]") for host in (bound_host, *allowed_hosts)}
        self._any_address = _is_wildcard(bound_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        reason = self.refusal(Headers(scope=scope))
        if reason is not None:
            await _refuse(reason, scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def refusal(self, headers: Headers) -> str | None:
        """Why a request with these headers is refused; None when it is not."""
        hosts = headers.getlist("host")
        host = _split_host(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return "the request names no host, or more than one"
        if not (host in self._allowed or (self._any_address and _is_address(host))):
            return (
                f"the host {host!r} is not this server's: "
                f"start it with --allowed-host {host} if it is to answer to that name"
            )
        origin = headers.get("origin")
        if origin is None:
            return None
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != hosts[0].lower():
            return f"the origin {origin!r} is not this server's page"
        return None


async def _refuse(reason: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
        return
    response: Response = PlainTextResponse(f"kvarium: {reason}\n", status_code=403, headers=SECURITY_HEADERS)
    if scope["type"] == "http" and scope["path"].startswith("/api"):
        response = JSONResponse({"detail": reason}, status_code=403, headers=SECURITY_HEADERS)
    if scope["type"] == "websocket":
        await receive()
    await response(scope, receive, send)
