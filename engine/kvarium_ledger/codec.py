"""Frames: the bytes of one record or message, with a checksum over all of them.

    +---------------------------------+-----------------------------+
    | one msgpack map, named fields   | CRC-32 of it, u32 LE        |
    +---------------------------------+-----------------------------+

Why a checksum, when every step has a digest? A digest covers the state; a byte flipped in a cause, a time or a token
would change no state and yet what the screen says. A stored run of frames puts the length (u32, little-endian) before
each (:func:`pack`, :func:`unpack`); a websocket message is one frame without it.
"""

import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from kvarium_ledger.messages import AnyMessage
from kvarium_ledger.records import AnyRecord

MAX_FRAME_BYTES = 1 << 28
"""A frame is at most 256 MiB: a larger one is a fault, not a record."""
MOST_BLOCKS = 1 << 22
"""Of a pool: so many that a keyframe of one in use, some 40 bytes a block, stays well within a frame's 256 MiB."""


_MARK_BYTES = 16
"""Of random bytes, to be found again."""


class FrameError(ValueError):
    """Bytes that are not a frame, or a frame whose content is not what it says it is."""


class UnknownOperationError(FrameError):
    """An operation that this version does not know: a newer version of the format is needed."""


class _Peek(msgspec.Struct):
    type: str
    record: int | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(AnyRecord | AnyMessage)
_peek = msgspec.msgpack.Decoder(_Peek)


def seal(value: AnyRecord | AnyMessage) -> bytes:
    """Encode a record or message and put its CRC-32 behind it."""
    body = _encoder.encode(value)
    return body + zlib.crc32(body).to_bytes(4, "little")


def seal_in_pieces(
    value: AnyRecord | AnyMessage, columns: Mapping[str, Mapping[str, memoryview]]
) -> list[bytes | memoryview]:
    """What :func:`seal` makes of ``value`` with ``columns`` in it, as pieces that none of the columns was copied to.

    ``columns["blocks"]["ticket"]`` stands for the field ``ticket`` of its field ``blocks``, which the value itself leaves out.
    """
    marks = {
        field: {name: secrets.token_bytes(_MARK_BYTES) for name in told} for field, told in columns.items()
    }
    marked = {field: msgspec.structs.replace(getattr(value, field), **told) for field, told in marks.items()}
    left = _encoder.encode(msgspec.structs.replace(value, **marked))
    pieces: list[bytes | memoryview] = []
    found = [
        (left.index(_bin_head(_MARK_BYTES) + mark), columns[field][name])
        for field, told in marks.items()
        for name, mark in told.items()
    ]
    at = 0
    for place, column in sorted(found, key=lambda each: each[0]):
        flat = column.cast("B")
        pieces += (left[at:place] + _bin_head(len(flat)), flat)
        at = place + len(_bin_head(_MARK_BYTES)) + _MARK_BYTES
    pieces.append(left[at:])
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    pieces.append(checksum.to_bytes(4, "little"))
    return pieces


def _bin_head(length: int) -> bytes:
    """What msgpack puts before so many bytes."""
    for code, width in ((b"\xc4", 1), (b"\xc5", 2)):
        if length < 1 << 8 * width:
            return code + length.to_bytes(width, "big")
    return b"\xc6" + length.to_bytes(4, "big")


def _body(frame: bytes) -> memoryview:
    if len(frame) < 5:
        raise FrameError(f"a frame has at least 5 bytes, this one has {len(frame)}")
    if len(frame) > MAX_FRAME_BYTES:
        raise FrameError(f"a frame has at most {MAX_FRAME_BYTES} bytes, this one has {len(frame)}")
    body = memoryview(frame)[:-4]
    told = int.from_bytes(frame[-4:], "little")
    found = zlib.crc32(body)
    if told != found:
        raise FrameError(f"the checksum of the frame is {told:#010x}, its bytes give {found:#010x}")
    return body


def open_frame(frame: bytes) -> AnyRecord | AnyMessage:
    """Check and decode a frame. Raises :class:`FrameError` on a wrong checksum, an unknown type or a wrong field."""
    try:
        return _decoder.decode(_body(frame))
    except (msgspec.MsgspecError, RecursionError) as error:
        # The latter: fields in fields, thousands deep, though nobody may know their name.
        raise FrameError(f"not a record or message of this format: {error}") from None


def peek(frame: bytes) -> tuple[str, int | None]:
    """Check a frame and read only its ``type`` and ``record`` (None for a message that is not a record)."""
    try:
        head = _peek.decode(_body(frame))
    except (msgspec.MsgspecError, RecursionError) as error:
        # The latter: fields in fields, thousands deep, though nobody may know their name.
        raise FrameError(f"not a record or message of this format: {error}") from None
    return head.type, head.record


def pack(frames: Iterable[bytes]) -> bytes:
    """Put frames one behind the other, each with its length (u32, little-endian) before it."""
    parts: list[bytes] = []
    for frame in frames:
        parts.append(len(frame).to_bytes(4, "little"))
        parts.append(frame)
    return b"".join(parts)


def pack_in_pieces(frame: Iterable[bytes | memoryview]) -> list[bytes | memoryview]:
    """What :func:`pack` makes of one frame in pieces (:func:`seal_in_pieces`), as pieces."""
    pieces = list(frame)
    return [sum(map(len, pieces)).to_bytes(4, "little"), *pieces]


def unpack(data: bytes) -> Iterator[bytes]:
    """The frames of :func:`pack`. Raises :class:`FrameError` when the last one is cut off."""
    offset = 0
    while offset < len(data):
        length = int.from_bytes(data[offset : offset + 4], "little")
        end = offset + 4 + length
        if offset + 4 > len(data) or length > MAX_FRAME_BYTES or end > len(data):
            raise FrameError(
                f"a frame of {length} bytes at offset {offset} does not fit into {len(data)} bytes"
            )
        yield data[offset + 4 : end]
        offset = end
