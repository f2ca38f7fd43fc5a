"""Chunks: a run of frames as one compressed row, and how it becomes frames again."""

import zlib
from collections.abc import Sequence
from typing import Any, Final

import zstandard

from kvarium.errors import DamagedRecordingError
from kvarium.heads import Head
from kvarium_ledger import codec

_LEVEL = 3

MAX_BYTES: Final = codec.MAX_FRAME_BYTES + (2 << 20)
"""A chunk is closed past 1 MiB, so one frame and a little is the most that it holds."""


def compress(data: bytes) -> bytes:
    """zstd, level 3: further levels cost more than they save here."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def decompress(data: bytes, size: int, checksum: int, what: str) -> bytes:
    """The bytes that :func:`compress` got; ``what`` names them in an error.

    No more memory is taken than ``size`` says, and never more than one frame may have: what is stored may be hostile.
    """
    if not (isinstance(data, bytes) and isinstance(size, int) and isinstance(checksum, int)):
        # SQLite keeps in a column whatever it was given.
        raise DamagedRecordingError(f"{what}: its size, its checksum or its data are of another type")
    found = zlib.crc32(data)
    if found != checksum:
        raise DamagedRecordingError(f"{what}: its checksum is {checksum:#010x}, its bytes give {found:#010x}")
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
        packed = codec.pack(batch.frames)
        data = compress(packed)
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
            "bytes": len(packed),
            "checksum": zlib.crc32(data),
            "data": data,
        }

    @property
    def stored_bytes(self) -> int:
        """Bytes of the compressed frames."""
        return len(self.row["data"])
