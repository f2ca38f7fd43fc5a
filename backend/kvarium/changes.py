"""Changing a recording from the command line: by oneself, or by the server that records into it.

no server      the file is locked as a server would, changed, and let go
SQLite, served the server's address stands in the lock file: it is asked over REST, as its own page would
PostgreSQL, served   refused: the server's address is known to nobody here
"""

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from kvarium.errors import ConflictError, KvariumError, OutOfRangeError
from kvarium.recording.database import (
    Database,
    explain,
    is_url,
    open_for_reading,
    open_for_server,
    server_of,
)
from kvarium.recording.index_rows import Row
from kvarium.recording.keeper import Keeper
from kvarium.recording.removal import Removal, direct
from kvarium.recording.shelf import Shelf
from kvarium.recording.statements import mark_interrupted

_SECONDS = 600.0
"""Removing a large session takes a while."""


class Changes(Protocol):
    """What can be changed. A session is given by its row."""

    def rename(self, session: Row, name: str) -> str:
        """Give it a name; the name as it is kept."""

    def add_note(self, session: Row, note: dict[str, Any]) -> Row:
        """Add a note, given as the arguments of :meth:`Keeper.add_note`; its row."""

    def remove_note(self, session: Row, number: int) -> None:
        """Remove a note."""

    def remove(self, sessions: Sequence[Row], reason: str) -> Removal:
        """Remove sessions; none of them is live."""


class _Own:
    """Where no server records."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def rename(self, session: Row, name: str) -> str:
        return self._keeper.rename(session["number"], name)

    def add_note(self, session: Row, note: dict[str, Any]) -> Row:
        return self._keeper.add_note(session["number"], **note)

    def remove_note(self, session: Row, number: int) -> None:
        self._keeper.remove_note(session["number"], number)

    def remove(self, sessions: Sequence[Row], reason: str) -> Removal:
        return self._keeper.remove([row["number"] for row in sessions], reason)


class _Remote:
    """Where a server records: it is asked."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        # Whatever proxy the environment names: this server is on this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, by: str = "kvarium sessions"
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self._url}/api/sessions/{path}",
            data,
            {"Content-Type": "application/json", "X-Kvarium-By": by},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from None
        except (OSError, ValueError) as error:
            raise KvariumError(
                f"the server that records into it ({self._url}) does not answer: {error}"
            ) from None

    @staticmethod
    def _refused(error: urllib.error.HTTPError) -> KvariumError:
        try:
            reason = str(json.load(error)["detail"])
        except (ValueError, KeyError, TypeError):
            reason = f"the server answers with {error.code}"
        kind = {404: OutOfRangeError, 409: ConflictError}.get(error.code, KvariumError)
        return kind(reason)

    def rename(self, session: Row, name: str) -> str:
        return str(self._ask("PATCH", quote(session["id"]), {"name": name})["name"])

    def add_note(self, session: Row, note: dict[str, Any]) -> Row:
        row: Row = self._ask("POST", f"{quote(session['id'])}/notes", note)
        return row

    def remove_note(self, session: Row, number: int) -> None:
        self._ask("DELETE", f"{quote(session['id'])}/notes/{number}")

    def remove(self, sessions: Sequence[Row], reason: str) -> Removal:
        done = Removal()
        for session in sessions:
            told = self._ask("DELETE", quote(session["id"]), by=reason)
            done.sessions += told["removed"]
            done.freed += told["freed_bytes"]
            done.reusable = told["reusable_bytes"]
        return done


@contextlib.contextmanager
def changing(where: str) -> Iterator[tuple[Shelf, Changes]]:
    """The sessions of the recording ``where`` (a file or a URL), which must exist, and what changes it.

    An import is only read, and removed as a file, whoever records.
    """
    database: Database = open_for_reading(where)
    try:
        url = server_of(where)
        if url is not None:
            if not url:
                told = " (a PostgreSQL server's address is not known here)" if is_url(where) else ""
                raise ConflictError(
                    f"a kvarium server records into {database.where}{told}: do it on its page, or stop it"
                )
            with contextlib.closing(Shelf(database)) as shelf:
                yield shelf, _Remote(url)
            return
    finally:
        database.close()
    database = open_for_server(where)
    try:
        with database.writing().begin() as connection:
            mark_interrupted(connection)
        with contextlib.closing(Shelf(database)) as shelf:
            yield shelf, _Own(Keeper(database, direct(database), alone=True))
    except OSError as error:
        raise KvariumError(f"can't write the recording {database.where}: {explain(error)}") from None
    finally:
        database.close()
