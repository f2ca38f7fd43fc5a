"""What the server's fold makes of a session's records: rows of the index, committed together, up to one record."""

import zlib
from dataclasses import dataclass, field
from typing import Any

from kvarium.recording.chunks import compress

Row = dict[str, Any]


@dataclass
class IndexRows:
    """Rows that bring a session's index from where it was to ``through``."""

    session: int
    through: int
    keyframes: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    landmarks: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    contents: list[Row] = field(default_factory=list)
    pieces: list[Row] = field(default_factory=list)
    violations: int = 0
    violation: str | None = None

    def __len__(self) -> int:
        groups = (self.keyframes, self.steps, self.landmarks, self.requests, self.contents, self.pieces)
        return sum(len(rows) for rows in groups)


def keyframe_row(session: int, record: int, step: int, op: int, time: int, origin: str, frame: bytes) -> Row:
    """A row of the table ``keyframe``."""
    data = compress(frame)
    return {
        "session": session,
        "record": record,
        "step": step,
        "op": op,
        "time": time,
        "origin": origin,
        "bytes": len(frame),
        "checksum": zlib.crc32(data),
        "data": data,
    }
