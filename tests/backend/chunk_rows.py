"""Frames out of a chunk's row and back into it, with every checksum made right again."""

import sqlite3
import zlib
from typing import Any

from kvarium.heads import stored_head
from kvarium.recording.chunks import compress, open_frames
from kvarium.recording.layout import COLUMNS, PLAIN, lay
from kvarium_ledger import codec


def frames_in(connection: sqlite3.Connection, first: int) -> list[bytes]:
    """The frames of the chunk that begins with the record ``first``."""
    names = ("data", "bytes", "checksum", "layout")
    query = f"SELECT {', '.join(names)} FROM chunk WHERE first = ?"
    row = connection.execute(query, (first,)).fetchone()
    return open_frames(dict(zip(names, row, strict=True)), f"the chunk at {first}")


def _type(frame: bytes) -> str:
    try:
        return stored_head(frame).type
    except codec.FrameError:
        return "none"


def values_of(frames: list[bytes], layout: int = COLUMNS) -> dict[str, Any]:
    """What a chunk's row has of ``frames``, but their ranges."""
    packed = codec.pack(frames)
    data = compress(packed) if layout == PLAIN else lay(frames, [_type(frame) for frame in frames]).data
    return {"data": data, "bytes": len(packed), "checksum": zlib.crc32(data), "layout": layout}


def put(connection: sqlite3.Connection, first: int, values: dict[str, Any]) -> None:
    """Change columns of the chunk's row."""
    setting = ", ".join(f"{name} = :{name}" for name in values)
    connection.execute(f"UPDATE chunk SET {setting} WHERE first = :at", values | {"at": first})
