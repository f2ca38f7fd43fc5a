"""The trail of a session: the state behind each of its chunks, kept so that a seek has nothing to walk.

    chunks   ▐ 1 ▐ 2 ▐ 3 ▐ … ▐ 16 ▐ 17 ▐ 18 ▐ …
    stops    ■   ·   ·        ·    ■    ·          ■ whole state, narrow columns        some 14 MB of a million blocks
                                                   · blocks that this chunk changed, and what they became    some 100 kB

    A whole state is left where the changes since the last one come to a part of its size: so it is for few large chunks
    and for many small ones, which is what a slow engine's are, as a chunk is closed by the clock too.

    seek ──▶ the last stop before the target = the whole state before it + the changes since, laid over it one by one

A walk over a chunk of a million blocks' recording takes some 10 ms, and there are hundreds; laying its changes over a state is
a handful of array assignments. A thread lays the trail, from the first far seek on, up to a bound of memory. A seek to where it has not come to waits
for it: what a seek walks alone, the next one walks again. Where it never comes to, seeks walk as they would without.
"""

import logging
import threading
from bisect import bisect_left, bisect_right
from typing import Any, Final, NamedTuple

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.recording.difference import Difference
from kvarium.recording.fast_forward import Beside, FastState
from kvarium.recording.narrow_blocks import Changes, NarrowBlocks
from kvarium.recording.reader import Frame, Reader
from kvarium_ledger import codec
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.records import BlockColumns, Keyframe

log = logging.getLogger(__name__)

_BEHIND: Final = 1 / 4
"""A stop holds the whole state where the changes since the last that does come to this part of its size."""

_LONGEST: Final = 256
"""Or where there are so many: each costs its own time to lay, however small it is."""

_MOST: Final = 0.5
"""Where more than this part of all blocks changed, the whole state is as good."""


class _Stop(NamedTuple):
    """The state at ``record``: of the blocks what changed since the stop before it (None: nobody knows), or the whole, or both."""

    record: int
    changes: Changes | None
    blocks: BlockColumns | None
    beside: Beside

    @property
    def size(self) -> int:
        size = self.beside.size
        if self.changes is not None:
            size += self.changes.size
        if self.blocks is not None:
            size += _size(self.blocks)
        return size


def _size(blocks: BlockColumns) -> int:
    return sum(len(getattr(blocks, name)) for name in BLOCK_COLUMNS)


class Trail:
    """Lays the stops of one session and gives states. ``most_bytes`` bounds what they take."""

    def __init__(self, reader: Reader, session: int, num_blocks: int, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._reader = reader
        self._session = session
        self._num_blocks = num_blocks
        self._records: list[int] = []
        self._stops: list[_Stop] = []
        self._whole_bytes = 0
        self._bytes_behind = 0
        self._stops_behind = 0
        self._walked = -1
        self._state: FastState | None = None
        self._closed = threading.Event()
        self._walks = threading.Condition()
        self._is_laying = False
        self._thread: threading.Thread | None = None

    @property
    def walked(self) -> int:
        """The last record that it has come to (-1: none yet)."""
        return self._walked

    def follow(self) -> None:
        """Go on laying, on a thread, to where the recording ends now."""
        with self._walks:
            if self._is_laying or self.bytes >= self.most_bytes or self._closed.is_set():
                return
            self._is_laying = True
            self._thread = threading.Thread(target=self._lay, name="kvarium-trail", daemon=True)
            self._thread.start()

    def reach(self, record: int) -> None:
        """Wait until it has come to ``record``, or does not come there: its bound, damage, the recording's end."""
        if self._walked >= record:
            return
        self.follow()
        with self._walks:
            self._walks.wait_for(lambda: self._walked >= record or not self._is_laying)

    def wait(self, timeout: float) -> bool:
        """Wait until it is laid as far as it goes; False: it took longer."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self.wait(10.0)

    def before(self, record: int, least: int) -> FastState | None:
        """The state at the last stop between the records ``least`` and ``record``, both excluded."""
        index = bisect_left(self._records, record) - 1
        if index < 0 or self._records[index] <= least:
            return None
        stop = self._stops[index]
        return FastState.of(stop.record, self._blocks_at(index), stop.beside)

    def difference(self, record: int, since: int) -> Difference | None:
        """The state at the last stop before ``record``, as what follows the state at the record ``since``.

        None where that is not known: not behind a stop, later than the state, lost records between; or most blocks changed.
        """
        index = bisect_left(self._records, record) - 1
        # Changes from a stop before ``since`` on are more than it takes, and as right.
        base = bisect_right(self._records, since) - 1
        if not 0 <= base <= index or since > self._records[index]:
            return None
        stop = self._stops[index]
        changes = [each.changes for each in self._stops[base + 1 : index + 1]]
        known = [each for each in changes if each is not None]
        if len(known) < len(changes) or sum(len(each.blocks) for each in known) > self._num_blocks * _MOST:
            return None
        return Difference(stop.record, since, Changes.merged(known, self._num_blocks), stop.beside)

    def _blocks_at(self, index: int, *later: Changes) -> NarrowBlocks:
        """The blocks at a stop, and after some changes more."""
        changes: list[Changes] = []
        while (blocks := (stop := self._stops[index]).blocks) is None:
            assert stop.changes is not None
            changes.append(stop.changes)
            index -= 1
        return NarrowBlocks(blocks, self._num_blocks, [*changes[::-1], *later])

    # -- the thread -------------------------------------------------------------------------------------------------

    def _lay(self) -> None:
        try:
            for row in self._reader.chunk_rows(self._session, self._walked):
                if self._closed.is_set() or self.bytes >= self.most_bytes:
                    return
                self._walk(row)
                with self._walks:
                    self._walked = int(row["last"])
                    self._walks.notify_all()
        except (
            KvariumError,
            codec.FrameError,
            SQLAlchemyError,
            TypeError,
            ValueError,
            IndexError,
            OverflowError,
        ) as error:
            # Whoever seeks there is told; the states before it stay.
            log.info("the trail of session %d ends at record %d: %s", self._session, self._walked, error)
        finally:
            with self._walks:
                self._is_laying = False
                self._walks.notify_all()

    def _walk(self, row: dict[str, Any]) -> None:
        """Go on over a chunk, and leave a stop behind it, and behind the keyframe that the trail begins with."""
        state = self._state if row["first"] == self._walked + 1 else None
        # Until it has come behind the chunk: of what can't be applied it may have taken a half.
        self._state = None
        passed: list[tuple[str, int, bytes]] = []
        for frame in self._reader.open_chunk(row, with_text=False):
            record = frame.head.record
            assert record is not None
            if state is not None and frame.head.type != "gap":
                passed.append((frame.head.type, record, frame.bytes))
                continue
            # Behind lost records only a keyframe knows the state.
            passed = []
            state = self._begin(frame)
            if state is not None:
                self._leave(state, None)
        if state is not None and state.record < row["last"]:
            changed = state.advance(passed)
            state.record = int(row["last"])
            self._leave(state, changed)
        self._state = state

    def _begin(self, frame: Frame) -> FastState | None:
        keyframe = codec.open_frame(frame.bytes) if frame.head.type == "keyframe" else None
        return FastState(keyframe, self._num_blocks) if isinstance(keyframe, Keyframe) else None

    def _leave(self, state: FastState, touched: np.ndarray | None) -> None:
        """Leave a stop. ``touched`` are the blocks that changed since the one before it; None: nobody knows."""
        changes: Changes | None = None
        blocks: BlockColumns | None = None
        if touched is None:
            blocks = state.blocks.columns()
        else:
            changes = Changes.of(state.blocks, touched)
            self._bytes_behind += changes.size
            self._stops_behind += 1
            if self._bytes_behind > self._whole_bytes * _BEHIND or self._stops_behind > _LONGEST:
                blocks = self._blocks_at(len(self._stops) - 1, changes).told()
        if blocks is not None:
            self._whole_bytes = _size(blocks)
            self._bytes_behind = self._stops_behind = 0
        stop = _Stop(state.record, changes, blocks, state.beside())
        self._stops.append(stop)
        self._records.append(state.record)
        self.bytes += stop.size
