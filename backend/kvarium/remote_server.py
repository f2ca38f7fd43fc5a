"""A server elsewhere, as a command asks it."""

import json
import urllib.error
import urllib.request
from getpass import getuser
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kvarium.errors import KvariumError, WrongUsageError
from kvarium.serving_options import SERVER_URL

_SECONDS: Final = 45.0
"""The server itself waits for an engine's answer (:data:`kvarium.live_session.ANSWER_SECONDS`)."""


class RemoteSession(NamedTuple):
    """A session that a server knows, and whether its engine is linked."""

    id: str
    linked: bool


class RemoteServer:
    """The server at ``url``. Raises :class:`KvariumError` where that is no address."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise WrongUsageError(f"{url[:200]!r} is no server's address: --server {SERVER_URL}")
        self._url = url.rstrip("/")
        # Whatever proxy the environment names: an engine's server is near.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Its answer. Raises :class:`KvariumError` with its reason."""
        headers = {"Content-Type": "application/json", "X-Kvarium-By": f"kvarium ctl ({_user()})"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/{path}", data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise KvariumError(_reason(error)) from None
        except (OSError, ValueError) as error:
            raise KvariumError(
                f"no kvarium server answers at {self._url}: {getattr(error, 'reason', error)}"
            ) from None

    def find(self, name: str) -> RemoteSession:
        """The session that goes by a name; the latest is one with an engine."""
        rows = self.ask("GET", "sessions")["sessions"]
        linked = [row for row in rows if row["state"] == "live" and row.get("linked")]
        if name == "latest":
            if not linked:
                raise KvariumError(f"no engine is connected to {self._url}")
            return RemoteSession(str(linked[0]["id"]), True)
        found = [row for row in rows if row["id"].startswith(name)] if name else []
        if not found:
            raise KvariumError(f"no session {name[:100]!r} at {self._url}")
        if len(found) > 1:
            raise KvariumError(
                f"{len(found)} sessions at {self._url} begin with {name[:100]!r}: give more of its id"
            )
        return RemoteSession(str(found[0]["id"]), found[0] in linked)


def _user() -> str:
    try:
        return getuser()
    except (OSError, KeyError):
        return "somebody"


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the server answers with {error.code}"
