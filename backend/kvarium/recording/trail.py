"""The trail of a session: the state behind each of its chunks, kept so that a seek has nothing to walk.

    chunks   ▐ 1 ▐ 2 ▐ 3 ▐ … ▐ 16 ▐ 17 ▐ 18 ▐ …
    stops    ■   ·   ·        ·    ■    ·          ■ whole state, narrow columns        some 14 MB of a million blocks
                                                   · blocks that this chunk changed, and what they became    some 100 kB

    seek ──▶ the last stop before the target = the whole state before it + the changes since, laid over it one by one

A walk over a chunk of a million blocks' recording takes some 10 ms, and there are hundreds; laying its changes over a state is
a handful of array assignments. A thread lays the trail, from the first far seek on, up to a bound of memory; where it has not come to, seeks
walk as they would without.
"""

import logging
import threading
from bisect import bisect_left
from typing import Any, Final, NamedTuple

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError
from kvarium.recording.fast_forward import Beside, FastState
from kvarium.recording.narrow_blocks import Changes, NarrowBlocks
from kvarium.recording.reader import Frame, Reader
from kvarium_ledger import codec
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.records import BlockColumns, Keyframe

log = logging.getLogger(__name__)

_WHOLE_EACH: Final = 16
"""Every so many stops one holds the whole state."""


class _Stop(NamedTuple):
    """The state at ``record``: of the blocks the whole, or what changed since the stop before it; all else whole."""

    record: int
    blocks: BlockColumns | Changes
    beside: Beside

    @property
    def size(self) -> int:
        blocks = self.blocks
        of_blocks = (
            blocks.size
            if isinstance(blocks, Changes)
            else sum(len(getattr(blocks, name)) for name in BLOCK_COLUMNS)
        )
        return of_blocks + self.beside.size


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
        self._walked = -1
        self._state: FastState | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self) -> None:
        """Go on laying, on a thread, to where the recording ends now."""
        if self.bytes < self.most_bytes and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._lay, name="kvarium-trail", daemon=True)
            self._thread.start()

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
        first = index
        changes: list[Changes] = []
        while isinstance(blocks := self._stops[first].blocks, Changes):
            changes.append(blocks)
            first -= 1
        stop = self._stops[index]
        narrow = NarrowBlocks(blocks, self._num_blocks, changes[::-1])
        return FastState.of(stop.record, narrow, stop.beside)

    # -- the thread -------------------------------------------------------------------------------------------------

    def _lay(self) -> None:
        try:
            for row in self._reader.chunk_rows(self._session, self._walked):
                if self._closed.is_set() or self.bytes >= self.most_bytes:
                    return
                self._walk(row)
                self._walked = int(row["last"])
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

    def _walk(self, row: dict[str, Any]) -> None:
        """Go on over a chunk, and leave a stop behind it."""
        state = self._state if row["first"] == self._walked + 1 else None
        whole = state is None or len(self._stops) % _WHOLE_EACH == 0
        touched = np.empty(0, dtype=np.uint32)
        passed: list[tuple[str, int, bytes]] = []
        for frame in self._reader.open_chunk(row, with_text=False):
            record = frame.head.record
            assert record is not None
            if state is not None and frame.head.type != "gap":
                passed.append((frame.head.type, record, frame.bytes))
                continue
            # Behind lost records only a keyframe knows the state.
            passed, whole = [], True
            state = self._begin(frame)
        if state is not None:
            if passed:
                touched = state.advance(passed)
            state.record = int(row["last"])
            self._leave(state, None if whole else touched)
        self._state = state

    def _begin(self, frame: Frame) -> FastState | None:
        keyframe = codec.open_frame(frame.bytes) if frame.head.type == "keyframe" else None
        return FastState(keyframe, self._num_blocks) if isinstance(keyframe, Keyframe) else None

    def _leave(self, state: FastState, touched: np.ndarray | None) -> None:
        blocks = state.blocks.columns() if touched is None else Changes.of(state.blocks, touched)
        stop = _Stop(state.record, blocks, state.beside())
        self._stops.append(stop)
        self._records.append(state.record)
        self.bytes += stop.size
