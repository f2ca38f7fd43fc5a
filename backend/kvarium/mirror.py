"""The server's own mirror of one session: it verifies every record, decides on keyframes and makes the index.

It knows nothing of threads, processes or databases: frames in, rows out. A keyframe is stored each max(64 KiB, 8 × its
size) of frames, so that keyframes add at most about an eighth to a recording. Its size is taken as stored (one of a
million fresh blocks compresses to almost nothing) and a frame's as a quarter of its bytes, or both as sent, whichever
comes first.
"""

import msgspec

from kvarium.indexer import Indexer
from kvarium.recording.index_rows import IndexRows, Row, keyframe_row
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Keyframe, Record
from kvarium_ledger.violations import Violation

KEYFRAME_BYTES = 64 << 10
KEYFRAME_FACTOR = 8
_FRAMES_RATIO = 4


class MirrorSetup(msgspec.Struct, frozen=True):
    """With what a mirror begins: the pool, and for a session whose index has begun where that ends.

    ``keyframe`` is the last stored one (``keyframe_stored``: its bytes in the database), and ``requests`` are the rows of requests that had not ended. What is fed after
    that, up to ``indexed``, is folded and gives no rows.
    """

    session: int
    num_blocks: int
    block_size: int
    indexed: int = -1
    keyframe: bytes | None = None
    keyframe_stored: int = 0
    requests: list[Row] = []


class Mirror:
    """Folds a session. ``record`` is how far it came, ``fault`` the first thing that it found wrong."""

    def __init__(self, setup: MirrorSetup) -> None:
        self.session = setup.session
        self.record = -1
        self.fault: str | None = None
        self.violations = 0
        self.store_keyframe = False
        self._fold = Fold(setup.num_blocks, setup.block_size, undoable=False)
        self._indexer = Indexer(setup.session, setup.requests)
        self._silent_through = setup.indexed
        self._taken = setup.indexed
        self._bytes_since_keyframe = 0
        self._keyframe_each = 0
        self._waits_for_keyframe = False
        if setup.keyframe is not None:
            keyframe = codec.open_frame(setup.keyframe)
            assert isinstance(keyframe, Keyframe)
            self._fold.load(keyframe)
            self.record = keyframe.record
            self._space_keyframes(len(setup.keyframe), setup.keyframe_stored)

    @property
    def loaded(self) -> bool:
        """Has it a state, of which a keyframe could be made?"""
        return self._fold.loaded

    def __len__(self) -> int:
        """How many rows wait to be taken."""
        return len(self._indexer)

    def take(self, frame: bytes) -> None:
        """Fold the next frame. Raises :class:`~kvarium_ledger.codec.FrameError` when it can't be understood."""
        record = codec.open_frame(frame)
        if not isinstance(record, Record):
            raise codec.FrameError("a message where a record was expected")
        if record.record <= self._silent_through:
            self._fold.apply(record)
            self.record = record.record
            self._bytes_since_keyframe += len(frame)
            return
        if self._waits_for_keyframe and not isinstance(record, Keyframe):
            self.record = self._fold.record = record.record
            return
        self._waits_for_keyframe = False
        self._follow(record, frame)

    def _follow(self, record: AnyRecord, frame: bytes) -> None:
        fold = self._fold
        fresh = not fold.loaded
        found = fold.apply(record)
        if isinstance(record, Keyframe) and fold.violation is not None and not fresh:
            # It was wrong before: the engine's own state puts it right, so that what follows is shown as it is.
            fold.load(record)
        self.record = record.record
        self._indexer.add(record, fold)
        if found:
            self._note(found)
        self._bytes_since_keyframe += len(frame)
        self._maybe_store_keyframe(record, frame, fresh)

    def miss(self, through: int) -> None:
        """The records up to ``through`` are to be had nowhere: only a keyframe of the engine's helps."""
        self._fold.loaded = False
        self._waits_for_keyframe = True
        self.record = self._fold.record = through

    def keyframe(self) -> bytes:
        """A keyframe of the state after the last record."""
        return codec.seal(self._fold.keyframe())

    def rows(self) -> IndexRows | None:
        """The rows since the last call; None when no record was folded since."""
        if self.record <= self._taken:
            return None
        self._taken = self.record
        return self._indexer.take(self.record)

    def _note(self, found: list[Violation]) -> None:
        self.violations += len(found)
        self._indexer.violations(self._fold, self.record, found)
        if self.fault is None:
            self.fault = str(found[0])

    def _maybe_store_keyframe(self, record: AnyRecord, frame: bytes, fresh: bool) -> None:
        fold = self._fold
        due = self._bytes_since_keyframe >= max(KEYFRAME_BYTES, self._keyframe_each)
        if not fold.loaded or not (due or fresh or self.store_keyframe):
            return
        if isinstance(record, Keyframe):
            origin, data = "engine", frame
        else:
            origin, data = "fold", self.keyframe()
        row = keyframe_row(self.session, self.record, fold.step, fold.op, fold.time, origin, data)
        self._indexer.keyframe(row)
        self._space_keyframes(len(data), len(row["data"]))
        self._bytes_since_keyframe = 0
        self.store_keyframe = False

    def _space_keyframes(self, size: int, stored: int) -> None:
        self._keyframe_each = KEYFRAME_FACTOR * min(size, _FRAMES_RATIO * stored)
