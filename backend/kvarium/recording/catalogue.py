"""The sessions of a recording: which there are, by which names they are found, and what each began with."""

import logging
import shlex
from typing import Any

import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError, UnknownSessionError
from kvarium.recording import tables
from kvarium.recording.database import Database
from kvarium.recording.index_rows import REQUEST_COLUMNS, Row
from kvarium.recording.row_types import check_rows, check_session, dicts_of, value_of
from kvarium_ledger import codec
from kvarium_ledger.codec import MOST_BLOCKS
from kvarium_ledger.messages import Hello

log = logging.getLogger(__name__)

LOST_SERVER = "the server ended while the session was live"
LISTED = "`kvarium sessions ls --db {}` lists them"
"""What to do where none is meant, or several could be."""


def find_row(rows: list[Row], name: str, where: str) -> Row:
    """The row of the session ``name`` among ``rows`` (the newest first), which are those of ``where``.

    Its id, a prefix of it that no other has, or ``latest``. Raises :class:`UnknownSessionError`.
    """
    if not rows:
        raise UnknownSessionError(f"no session {name!r}: {where} holds none")
    if name == "latest":
        return rows[0]
    found = [row for row in rows if row["id"] == name] or [
        row for row in rows if name and row["id"].startswith(name.lower())
    ]
    if not found:
        raise UnknownSessionError(f"no session {name!r} in {where}: {LISTED.format(shlex.quote(where))}")
    if len(found) > 1:
        ids = ", ".join(row["id"] for row in found[:3])
        raise UnknownSessionError(f"session {name!r} is not unique: {ids}{', …' if found[3:] else ''}")
    return found[0]


def requests_of(session: int) -> sa.Select[Any]:
    table = tables.request
    return (
        sa.select(*(table.c[name] for name in REQUEST_COLUMNS))
        .where(table.c.session == session)
        .order_by(table.c.request)
    )


class Catalogue:
    """The sessions of ``database``. A session is known by its number here; :meth:`find` gives it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._left_out: set[str] = set()

    def sessions(self) -> list[Row]:
        """All sessions, the newest first. One whose row is damaged is left out, or told where there is no other.

        Raises :class:`DamagedRecordingError`.
        """
        columns = tables.session.c
        query = (
            sa.select(tables.session)
            .where(columns.state != tables.REMOVING)
            .order_by(columns.started_utc_us.desc(), columns.number.desc())
        )
        with self.database.engine.connect() as connection:
            found = connection.execute(query).all()
        rows: list[Row] = []
        damages: list[DamagedRecordingError] = []
        for row in found:
            try:
                check_rows(query, [row])
            except DamagedRecordingError as error:
                damages.append(error)
            else:
                rows.append(dict(row._mapping))
        if damages and not rows:
            raise damages[0]
        for told in {str(error) for error in damages} - self._left_out:
            self._left_out.add(told)
            log.warning("a session is left out: %s", told)
        return self._labelled(rows)

    def session(self, number: int) -> Row:
        """The row of one session. Raises :class:`UnknownSessionError` when it is gone."""
        with self.database.engine.connect() as connection:
            row = self._row(connection, number)
        return self._labelled([row])[0]

    def _row(self, connection: sa.Connection, number: int) -> Row:
        query = sa.select(tables.session).where(tables.session.c.number == number)
        rows = dicts_of(connection, query)
        if not rows:
            raise UnknownSessionError(f"session {number} is not in {self.database.where} any more")
        check_session(rows[0])
        return rows[0]

    def session_and_requests(self, number: int) -> tuple[Row, list[Row]]:
        """The row of a session and the rows of its requests, of one moment."""
        with self.database.engine.connect() as connection:
            row = self._row(connection, number)
            requests = dicts_of(connection, requests_of(number))
        return self._labelled([row])[0], requests

    def _labelled(self, rows: list[Row]) -> list[Row]:
        """A session that is live in the recording while no server has it lost its server: it is interrupted."""
        if (
            self.database.read_only
            and any(row["state"] == "live" for row in rows)
            and not self.database.served()
        ):
            for row in rows:
                if row["state"] == "live":
                    row |= {"state": "interrupted", "reason": LOST_SERVER}
        return rows

    def find(self, name: str) -> int:
        """The number of the session ``name``: its id, a prefix of it that no other has, or ``latest``."""
        return int(find_row(self.sessions(), name, self.database.where)["number"])

    def number(self, session_id: str) -> int:
        """The number of a session by its full id. Raises :class:`UnknownSessionError`."""
        columns = tables.session.c
        query = sa.select(columns.number).where(columns.id == session_id, columns.state != tables.REMOVING)
        with self.database.engine.connect() as connection:
            found = value_of(connection, query)
        if found is None:
            raise UnknownSessionError(f"no session {session_id!r}")
        return int(found)

    def hello(self, session: int) -> tuple[Hello, bytes]:
        """A session's Hello and its bytes."""
        frame = self.session(session)["hello"]
        if not isinstance(frame, bytes):
            raise DamagedRecordingError(f"the session's hello: it is {frame!r:.60}, and no bytes")
        try:
            hello = codec.open_frame(frame)
        except codec.FrameError as error:
            raise DamagedRecordingError(f"the session's hello: {error}") from None
        if not isinstance(hello, Hello):
            raise DamagedRecordingError("the session's hello is no hello")
        if not (0 < hello.num_blocks <= MOST_BLOCKS and 0 < hello.block_size <= tables.MAX_BLOCK_SIZE):
            raise DamagedRecordingError(
                f"the session's hello: a pool of {hello.num_blocks} blocks of {hello.block_size} slots is none"
            )
        return hello, frame
