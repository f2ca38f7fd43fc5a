"""What a person changes in a recording: names, notes, and which sessions it keeps.

The same for a server (whose writer makes the changes between the records) and for a command where none runs.
"""

import re
import threading
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from kvarium.errors import InvalidValueError
from kvarium.recording import notes, removal, tables
from kvarium.recording.database import Database
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.removal import Removal, Transact

MAX_NAME = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Keeper:
    """Changes the recording ``database`` by ``transact``; ``alone``: no server records into it."""

    def __init__(self, database: Database, transact: Transact, alone: bool) -> None:
        self._database = database
        self._reader = Reader(database)
        self._transact = transact
        self._alone = alone
        self._removing = threading.Lock()

    def rename(self, session: int, name: str) -> str:
        """Give a session a name; the name as it is kept."""
        kept = name.strip()
        if len(kept) > MAX_NAME:
            raise InvalidValueError(f"a name has at most {MAX_NAME} characters, this one has {len(kept)}")
        if _CONTROL.search(kept):
            raise InvalidValueError("a name is one line of text, without control characters")

        def change(connection: sa.Connection) -> None:
            columns = tables.session.c
            connection.execute(sa.update(tables.session).where(columns.number == session).values(name=kept))

        self._transact(change)
        return kept

    def add_note(
        self,
        session: int,
        text: str,
        step: int | None = None,
        record: int | None = None,
        op: int | None = None,
        mark: str | None = None,
        colour: str | None = None,
    ) -> Row:
        """Write a note beside a step (the last one, if none is given), or set a mark there; its row."""
        kept = notes.checked_text(text)
        if not kept and mark is None:
            raise InvalidValueError("a note without text is none")
        at, found = notes.place_of(self._reader, session, step, record)
        values = {
            "session": session,
            "step": at,
            "record": found,
            "op": op,
            "text": kept,
            "mark": notes.checked_mark(mark),
            "colour": notes.checked_colour(colour),
        }
        number = self._transact(lambda connection: notes.insert_note(connection, values))
        return notes.read_note(self._reader, session, number)

    def change_note(self, session: int, number: int, changes: dict[str, Any]) -> Row:
        """Change a note's ``text`` or ``colour``; its row."""
        checked = dict(changes)
        if "text" in checked:
            checked["text"] = notes.checked_text(checked["text"])
        if "colour" in checked:
            checked["colour"] = notes.checked_colour(checked["colour"])
        if not checked:
            raise InvalidValueError("nothing is to be changed: give text or colour")
        self._transact(lambda connection: notes.change_note(connection, session, number, checked))
        return notes.read_note(self._reader, session, number)

    def remove_note(self, session: int, number: int) -> None:
        """Remove a note."""
        self._transact(lambda connection: notes.delete_note(connection, session, number))

    def remove(self, sessions: Sequence[int], reason: str) -> Removal:
        """Remove sessions with all that belongs to them, and give their room back. None of them may be live."""
        self.mark(sessions, reason)
        return self.finish_removals()

    def mark(self, sessions: Sequence[int], reason: str) -> None:
        """From now on these sessions are not to be seen: all of them, or (when one is live) none."""

        def mark(connection: sa.Connection) -> None:
            for number in sessions:
                removal.mark(connection, number, reason)

        self._transact(mark)

    def finish_removals(self) -> Removal:
        """Remove what is marked: just now, or by a removal that did not come to its end."""
        done = Removal()
        with self._removing:
            for number in self._transact(removal.unfinished):
                done.sessions.append(removal.remove_marked(self._transact, number))
            if done.sessions:
                done.freed, done.reusable = removal.give_back(self._database, self._transact, self._alone)
        return done
