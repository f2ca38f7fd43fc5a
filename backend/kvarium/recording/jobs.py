"""What the writer is asked to do, one job after another, and what it remembers of each session."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from kvarium.heads import Head
from kvarium.recording.index_rows import IndexRows
from kvarium.recording.statements import Opened
from kvarium_ledger.messages import Hello


@dataclass(frozen=True)
class RecordingFault:
    """The recording can't be written: from which record on nothing is stored, how many records are given up, and why."""

    since: int
    lost: int
    reason: str

    def __str__(self) -> str:
        given_up = f", {self.lost} records are lost to it" if self.lost else ", kept in memory meanwhile"
        return f"not recorded from record {self.since} on{given_up}: {self.reason}"


class Append(msgspec.Struct, frozen=True, gc=False):
    """The next record of a session, and when it came (monotonic s)."""

    session: int
    frame: bytes
    head: Head
    came: float


@dataclass(frozen=True)
class Open:
    """A session begins, or goes on."""

    hello: Hello
    frame: bytes
    future: "Future[Opened]"


@dataclass(frozen=True)
class SetState:
    """A session's state changes, after all that was appended before."""

    session: int
    state: str
    reason: str


@dataclass(frozen=True)
class Change:
    """A change that a person or a limit asks for, in a transaction of its own."""

    change: Callable[[sa.Connection], Any]
    future: "Future[Any]"


@dataclass(frozen=True)
class Flush:
    """Commit what was appended before."""

    future: "Future[None]"


@dataclass(frozen=True)
class Stop:
    """Write all, and end."""


Job = Append | IndexRows | Open | SetState | Change | Flush | Stop


@dataclass
class Lost:
    """What was received of a session and is not stored, since the writer began."""

    session: str
    first: int
    records: int = 0

    def __str__(self) -> str:
        return f"{self.records} records of session {self.session[:8]} from record {self.first} on"


@dataclass
class Tally:
    """Per session: how far it is committed, and how many records were given up since ``lost_since``."""

    committed: int = -1
    lost: int = 0
    lost_since: int | None = None
