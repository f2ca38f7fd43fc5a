"""What the server's fold makes of a session's records: rows of the index, committed together, up to one record."""

import zlib
from typing import Any, Final

import msgspec

from kvarium.recording.chunks import compress

Row = dict[str, Any]
STEP_COLUMNS: Final = (
    "step",
    "record",
    "op",
    "time",
    "active",
    "shared",
    "cached",
    "free",
    "prefill_tokens",
    "decode_tokens",
    "budget",
    "allocate",
    "evict",
    "reuse",
    "share",
    "copy",
    "fill",
    "cache",
    "release",
    "freed",
    "preempted",
    "running",
    "waiting",
    "queries",
    "hits",
)
"""The columns of a step. ``free`` is free blocks after it and ``freed`` the ``free`` operations in it.

``queries`` and ``hits`` are tokens, as :class:`kvarium_ledger.hit_statistics.HitStatistics` counts them: of requests that
were admitted in the step, those that came back after a preemption left out. None: indexed before a recording had them.
"""

REQUEST_COLUMNS: Final = (
    "request",
    "name",
    "state",
    "reason",
    "message",
    "prompt_tokens",
    "max_tokens",
    "n",
    "priority",
    "hit_tokens",
    "output_tokens",
    "preemptions",
    "submitted_record",
    "submitted_step",
    "submitted_time",
    "admitted_step",
    "admitted_time",
    "first_token_time",
    "ended_step",
    "ended_time",
    "prompt_record",
)
"""The columns of a request."""


class IndexRows(msgspec.Struct, kw_only=True):
    """Rows that bring a session's index from where it was to ``through``."""

    session: int
    through: int
    keyframes: list[Row] = []
    steps: list[Row] = []
    landmarks: list[Row] = []
    requests: list[Row] = []
    contents: list[Row] = []
    pieces: list[Row] = []
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
