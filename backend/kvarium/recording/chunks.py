"""Chunks: a run of frames as one compressed row, and how it becomes frames again."""

import zlib
from collections.abc import Sequence
from typing import Any, Final

import zstandard

from kvarium.errors import DamagedRecordingError
from kvarium.heads import Head
from kvarium.recording import touched
from kvarium.recording.layout import COLUMNS, PLAIN, BadLayoutError, lay, restore
from kvarium_ledger import codec

_LEVEL = 3
LENGTH_BYTES: Final = 4
"""What stands before each frame of a chunk: its length."""

BATCH_BYTES: Final = 2 << 20
"""A chunk is closed when its frames have so many bytes."""

MAX_BYTES: Final = codec.MAX_FRAME_BYTES + 2 * BATCH_BYTES
"""One frame and a little more than ``BATCH_BYTES`` is the most that a chunk holds, each frame with its length."""


def compress(data: bytes) -> bytes:
    """zstd, level 3: further levels cost more than they save here."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def decompress(data: bytes, size: int, checksum: int, what: str) -> bytes:
    """The bytes that :func:`compress` got; ``what`` names them in an error.

    No more memory is taken than ``size`` says, and never more than one frame may have: what is stored may be hostile.
    """
    _check(data, size, checksum, what)
    try:
        # zstandard takes memory for what the data says of itself, whatever it is told to expect.
        told = zstandard.frame_content_size(data)
        if told != size or size > MAX_BYTES:
            raise DamagedRecordingError(
                f"{what}: it should have {size} bytes (of at most {MAX_BYTES}), its data say {told}"
            )
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedRecordingError(f"{what}: {error}") from None


def _check(data: bytes, size: int, checksum: int, what: str) -> None:
    if not (isinstance(data, bytes) and isinstance(size, int) and isinstance(checksum, int)):
        # SQLite keeps in a column whatever it was given.
        raise DamagedRecordingError(f"{what}: its size, its checksum or its data are of another type")
    found = zlib.crc32(data)
    if found != checksum:
        raise DamagedRecordingError(f"{what}: its checksum is {checksum:#010x}, its bytes give {found:#010x}")


def open_frames(row: dict[str, Any], what: str, with_text: bool = True) -> list[bytes]:
    """The frames of a chunk's row; those of text are left out where they are not asked for and stand apart.

    Raises :class:`DamagedRecordingError` (``what`` names the chunk there) and :class:`kvarium_ledger.codec.FrameError`.
    """
    layout = row.get("layout", PLAIN)
    if layout == PLAIN:
        return list(codec.unpack(decompress(row["data"], row["bytes"], row["checksum"], what)))
    if layout != COLUMNS:
        raise DamagedRecordingError(f"{what}: nobody knows its layout {layout}")
    _check(row["data"], row["bytes"], row["checksum"], what)
    if row["bytes"] > MAX_BYTES:
        raise DamagedRecordingError(f"{what}: it should have {row['bytes']} bytes (of at most {MAX_BYTES})")
    try:
        return restore(row["data"], row["bytes"], with_text)
    except (BadLayoutError, zstandard.ZstdError) as error:
        raise DamagedRecordingError(f"{what}: {error}") from None


def ranges(heads: Sequence[Head]) -> dict[str, Any]:
    """What a chunk's row tells of its records: how many, and from where to where they go."""
    steps = [head for head in heads if head.type == "step"]
    times = [head.time for head in heads if head.time is not None]
    return {
        "first": heads[0].record,
        "last": heads[-1].record,
        "records": len(heads),
        "first_step": steps[0].step if steps else None,
        "last_step": steps[-1].step if steps else None,
        "first_op": steps[0].op if steps else None,
        "last_op": (steps[-1].op or 0) + steps[-1].operations - 1 if steps else None,
        "first_time": times[0] if times else None,
        "last_time": times[-1] if times else None,
    }


class Batch:
    """Frames of one session on their way into a chunk."""

    def __init__(self, session: int, started: float) -> None:
        self.session = session
        self.started = started
        self.frames: list[bytes] = []
        self.heads: list[Head] = []
        self.bytes = 0

    def add(self, frame: bytes, head: Head) -> None:
        """The next record."""
        self.frames.append(frame)
        self.heads.append(head)
        self.bytes += len(frame)


class SealedChunk:
    """A chunk ready to be inserted, and what it adds to its session's counters."""

    def __init__(self, batch: Batch) -> None:
        heads = batch.heads
        steps = [head for head in heads if head.type == "step"]
        laid = lay(batch.frames, [head.type for head in heads])
        found = ranges(heads)
        assert found["first"] is not None and found["last"] is not None
        self.session = batch.session
        self.first: int = found["first"]
        self.last: int = found["last"]
        self.bytes = batch.bytes
        self.records = len(heads)
        self.steps = len(steps)
        self.operations = sum(head.operations for head in steps)
        self.gaps = sum(head.type == "gap" for head in heads)
        self.last_step: int | None = found["last_step"]
        self.last_time: int | None = found["last_time"]
        self.row: dict[str, Any] = {
            "session": batch.session,
            **found,
            "bytes": batch.bytes + LENGTH_BYTES * len(heads),
            "checksum": zlib.crc32(laid.data),
            "data": laid.data,
            "layout": COLUMNS,
        }
        self.touched: dict[str, Any] | None = None
        """The row of the table ``touched``, where it is known which blocks the operations touch."""
        if laid.blocks is not None:
            blocks = touched.encode(laid.blocks)
            self.touched = {"session": batch.session, "first": self.first, "blocks": blocks}

    @property
    def stored_bytes(self) -> int:
        """Bytes of the compressed frames, and of what tells of their blocks."""
        return len(self.row["data"]) + (0 if self.touched is None else len(self.touched["blocks"]))
