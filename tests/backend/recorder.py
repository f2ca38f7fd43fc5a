"""What makes a recording's database fail, a lock and a full disk, and a writer that meets them."""

import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kvarium.heads import read_head
from kvarium.recording.database import Database, open_for_server
from kvarium.recording.jobs import RecordingFault
from kvarium.recording.writer import Writer
from kvarium_ledger import codec
from kvarium_ledger.records import Note
from tests.backend.hand_engine import hand_frames, hello
from tests.backend.running_server import wait_for


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the database's write lock."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def notes(first: int, last: int, size: int = 10_000) -> list[bytes]:
    """Records that no compression makes small."""
    rng = random.Random(first)
    return [
        codec.seal(Note(record=record, time=record, text=rng.randbytes(size // 2).hex()))
        for record in range(first, last + 1)
    ]


class Recorder:
    """A writer without a server, and what it tells; its database's disk can be full."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.database: Database = open_for_server(str(path))
        self._limit = 1 << 30
        sa.event.listen(self.database.writing(), "checkout", self._on_checkout)
        self.committed: list[int] = []
        self.faults: list[RecordingFault | None] = []
        self.writer = Writer(
            self.database,
            on_commit=lambda session, record: self.committed.append(record),
            on_fault=lambda session, fault: self.faults.append(fault),
            **{"batch_seconds": 0.01, "retry_seconds": 0.05} | options,
        )
        self.writer.start()
        greeting = hello()
        opened: Future[Any] = self.writer.open_session(greeting, codec.seal(greeting))
        self.session: int = opened.result(60).number

    def append(self, frames: list[bytes]) -> None:
        for frame in frames:
            self.writer.append(self.session, frame, read_head(frame))

    def limit_pages(self, more: int | None) -> None:
        """A full disk: let the database grow by so many pages only (None: without a limit)."""
        with self.database.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
        self._limit = 1 << 30 if more is None else pages + more

    def fill_the_disk(self) -> list[bytes]:
        """60 records, of which 30 are stored: then there is no room."""
        frames = hand_frames(30)[:30] + notes(30, 60)
        self.append(frames[:30])
        wait_for(lambda: 29 in self.committed)
        self.limit_pages(0)
        return frames

    def overfill(self) -> list[bytes]:
        """The same, and 20 more came one by one: more than ``memory_bytes`` may hold."""
        frames = self.fill_the_disk()
        for frame in frames[30:50]:
            self.append([frame])
            self.writer.flush().result(60)
        return frames

    def _on_checkout(self, connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={self._limit}")

    def close(self) -> None:
        assert self.writer.stop()
        self.database.close()
