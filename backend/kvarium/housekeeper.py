"""What a server changes in its recording besides recording: what people ask for, and what its limits say.

a person     name, notes, removal   ──▶ Keeper ──▶ the writer, between the records
the limits   at the start, and when a session ends ──▶ the oldest go, one after another
"""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.recording.database import explain
from kvarium.recording.keeper import Keeper
from kvarium.recording.removal import Removal
from kvarium.recording.retention import KEEP_ALL, Retention
from kvarium.recording.writer import Writer
from kvarium.terminal import size

if TYPE_CHECKING:
    from kvarium.hub import Hub

_WRITER_SECONDS = 120.0


def tell(line: str) -> None:
    """A line for whoever runs the server."""
    print(f"kvarium: {line}", file=sys.stderr, flush=True)


class Housekeeper:
    """Keeps the recording of ``hub``, which ``writer`` writes."""

    def __init__(self, hub: "Hub", writer: Writer, retention: Retention) -> None:
        self.keeper = Keeper(hub.database, _by(writer), alone=False)
        self._hub = hub
        self._retention = retention
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """End removals that did not come to their end, look at the limits, and again at each :meth:`look`."""
        self._look.set()
        self._task = asyncio.create_task(self._run())

    def look(self) -> None:
        """A session has ended."""
        self._look.set()

    async def stop(self) -> None:
        """A removal that is under way is ended by the next server of this recording."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def remove(self, session_id: str, reason: str) -> Removal:
        """Remove a session. Raises :class:`ConflictError` for a live one."""
        async with self._hub.opening:
            number = await self._hub.let_go(session_id)
            await asyncio.to_thread(self.keeper.mark, [number], reason)
        return await asyncio.to_thread(self.keeper.finish_removals)

    async def _run(self) -> None:
        await self._guarded(self._finish)
        while True:
            await self._look.wait()
            self._look.clear()
            if self._retention != KEEP_ALL:
                await self._guarded(self._retain)

    async def _guarded(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except KvariumError as error:
            tell(f"old sessions could not be removed: {error}")
        except SQLAlchemyError as error:
            tell(f"old sessions could not be removed: {explain(error)}")

    async def _finish(self) -> None:
        done = await asyncio.to_thread(self.keeper.finish_removals)
        for session_id in done.sessions:
            tell(f"removed session {session_id}, as was begun before")

    async def _retain(self) -> None:
        while True:
            spared = list(self._hub.live)
            due = await asyncio.to_thread(self._retention.due, self._hub.reader, spared)
            if due is None:
                return
            row, reason = due
            done = await self.remove(row["id"], reason)
            tell(f"removed session {row['id']} ({reason}), {size(done.freed)} given back")


def _by(writer: Writer) -> Callable[[Callable[[sa.Connection], Any]], Any]:
    def transact(change: Callable[[sa.Connection], Any]) -> Any:
        try:
            return writer.change(change).result(_WRITER_SECONDS)
        except TimeoutError:
            raise KvariumError(f"the recording took nothing for {_WRITER_SECONDS:g} s") from None

    return transact
