"""The head of a frame: where its record stands, read without decoding the rest."""

from typing import Annotated

import msgspec

from kvarium_ledger import codec


class _Kinds(msgspec.Struct, frozen=True):
    kind: bytes = b""


# Below 2^53, as the format says: a page counts in doubles and a database in signed 64 bits.
_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class _Body(msgspec.Struct):
    type: str
    record: _Number | None = None
    step: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 53)] | None = None
    time: _Number | None = None
    sealed: _Number | None = None
    op: _Number | None = None
    first: _Number | None = None
    last: _Number | None = None
    operations: _Kinds = _Kinds()


_decoder = msgspec.msgpack.Decoder(_Body)


class Head(msgspec.Struct, frozen=True):
    """What a recorder must know of a frame: ``type`` and, where there are any, the numbers of its record.

    ``operations`` is how many operations it holds; ``time`` is its last moment (of a step, when it was sealed);
    ``first`` and ``last`` are a gap's.
    """

    type: str
    record: int | None
    step: int | None
    time: int | None
    op: int | None
    operations: int
    first: int | None
    last: int | None


def read_head(frame: bytes) -> Head:
    """Check a frame's checksum and read its head. Raises :class:`kvarium_ledger.codec.FrameError`."""
    codec.peek(frame)
    return _read(frame)


def stored_head(frame: bytes) -> Head:
    """The head of a frame whose bytes were checked as part of a chunk."""
    return _read(frame)


def operation_kinds(frame: bytes) -> bytes:
    """The kind of each operation (u8) that a frame holds, whose bytes were checked."""
    try:
        return _decoder.decode(memoryview(frame)[:-4]).operations.kind
    except msgspec.MsgspecError as error:
        raise codec.FrameError(f"not a record or message of this format: {error}") from None


def _read(frame: bytes) -> Head:
    try:
        body = _decoder.decode(memoryview(frame)[:-4])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise codec.FrameError(f"not a record or message of this format: {error}") from None
    return Head(
        type=body.type,
        record=body.record,
        step=body.step,
        time=body.time if body.sealed is None else body.sealed,
        op=body.op,
        operations=len(body.operations.kind),
        first=body.first,
        last=body.last,
    )
