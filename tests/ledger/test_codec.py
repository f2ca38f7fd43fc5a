"""Frames: any flipped byte is found, lengths are checked, unknown fields are ignored."""

import msgspec
import pytest

from kvarium_ledger import codec
from kvarium_ledger.codec import FrameError
from kvarium_ledger.messages import Ack
from kvarium_ledger.records import BlockColumns, Contents, Digest, Keyframe, Note, Step
from tests.ledger.greeting import greeting

STEP = Step(
    record=3,
    step=2,
    time=5,
    sealed=9,
    op=0,
    digest=Digest(blocks=b"12345678", tables=b"12345678", requests=b"12345678"),
)


def test_a_record_comes_back_as_it_went_in() -> None:
    assert codec.open_frame(codec.seal(STEP)) == STEP
    assert codec.peek(codec.seal(STEP)) == ("step", 3)
    assert codec.peek(codec.seal(Ack(record=7))) == ("ack", 7)


@pytest.mark.parametrize("size", [1, 255, 256, 65535, 65536])
def test_a_frame_in_pieces_is_the_frame_with_its_columns_in_it(size: int) -> None:
    digest = STEP.digest
    bare = Keyframe(record=4, step=2, time=9, utc_us=1, op=0, digest=digest, next_content=5)
    columns = {"count": bytes(size), "hits": b"\7" * (2 * size)}
    told = msgspec.structs.replace(
        bare, blocks=BlockColumns(**columns), contents=Contents(content=b"\1" * size)
    )
    pieces = codec.seal_in_pieces(
        bare,
        {
            "contents": {"content": memoryview(told.contents.content)},
            "blocks": {name: memoryview(column) for name, column in columns.items()},
        },
    )
    assert b"".join(pieces) == codec.seal(told)
    assert b"".join(codec.seal_in_pieces(bare, {})) == codec.seal(bare)
    assert list(codec.unpack(b"".join(codec.pack_in_pieces(pieces)))) == [codec.seal(told)]


def test_any_flipped_bit_of_a_frame_is_found() -> None:
    frame = codec.seal(STEP)
    for i in range(8 * len(frame)):
        flipped = bytearray(frame)
        flipped[i // 8] ^= 1 << (i % 8)
        with pytest.raises(FrameError, match="checksum"):
            codec.open_frame(bytes(flipped))


def test_unknown_fields_are_ignored_and_missing_ones_have_their_defaults() -> None:
    body = msgspec.msgpack.encode({"type": "note", "record": 1, "time": 2, "text": "x", "colour": "red"})
    frame = body + codec.zlib.crc32(body).to_bytes(4, "little")
    assert codec.open_frame(frame) == Note(record=1, time=2, text="x", by="")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "nonsense", "record": 1}, "nonsense"),
        ({"record": 1}, "type"),
        ({"type": "note", "record": "one", "time": 1, "text": ""}, "Expected `int`"),
        ([1, 2], "array"),
    ],
)
def test_what_is_no_record_is_refused_with_the_reason(body: object, message: str) -> None:
    raw = msgspec.msgpack.encode(body)
    with pytest.raises(FrameError, match=message):
        codec.open_frame(raw + codec.zlib.crc32(raw).to_bytes(4, "little"))


def test_a_short_frame_is_refused() -> None:
    with pytest.raises(FrameError, match="at least 5 bytes"):
        codec.open_frame(b"abc")


def test_packed_frames_come_back_and_a_cut_is_found() -> None:
    frames = [codec.seal(STEP), codec.seal(Ack(record=1)), codec.seal(STEP)]
    data = codec.pack(frames)
    assert list(codec.unpack(data)) == frames
    for cut in (1, 3, 10):
        with pytest.raises(FrameError, match="does not fit"):
            list(codec.unpack(data[:-cut]))


def test_a_hello_keeps_vllms_names_in_its_config() -> None:
    hello = greeting(1, 16, config={"max_num_batched_tokens": 512})
    assert codec.open_frame(codec.seal(hello)) == hello
