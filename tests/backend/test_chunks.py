"""Chunks: whatever frames come in come out byte for byte, and what touches a block is found."""

import random
import struct
from pathlib import Path

import msgspec
import numpy as np
import pytest

from kvarium.errors import DamagedRecordingError, KvariumError
from kvarium.heads import stored_head
from kvarium.recording import touched
from kvarium.recording.database import open_for_reading
from kvarium.recording.layout import _STEP as STEP_COLUMNS
from kvarium.recording.layout import _TEXT as TEXT_COLUMNS
from kvarium.recording.layout import (
    PLANES_U32,
    BadLayoutError,
    Laid,
    backward,
    forward,
    lay,
    restore,
    text_bytes,
)
from kvarium.recording.reader import Reader
from kvarium.recording.sizes import stored_bytes
from kvarium_ledger import codec
from kvarium_ledger.operations import COLUMNS
from kvarium_ledger.records import Contents, Digest, Logprobs, Operations, Prompt, Step, Text
from tests.vectors.recording import record, stored


def laid(frames: list[bytes]) -> tuple[Laid, int]:
    return lay(frames, [stored_head(frame).type for frame in frames]), len(codec.pack(frames))


@pytest.mark.parametrize("size", [0, 1, 3, 4, 63, 64, 1000, 4001])
def test_every_column_comes_back_from_its_transform(rng: random.Random, size: int) -> None:
    for transform in {*STEP_COLUMNS.values(), *TEXT_COLUMNS.values()}:
        for raw in (rng.randbytes(size), bytes(size), b"\xff" * size):
            changed = forward(raw, transform)
            assert len(changed) == size
            assert backward(changed, transform) == raw


def test_a_session_comes_back_byte_for_byte_with_and_without_text(frames: list[bytes]) -> None:
    made, size = laid(frames)
    assert restore(made.data, size) == frames
    no_text = [frame for frame in frames if stored_head(frame).type != "text"]
    assert restore(made.data, size, with_text=False) == no_text
    assert 0 < text_bytes(made.data) < len(made.data)


def random_step(rng: random.Random) -> Step:
    lengths = (0, 1, 15, 16, 17, 64, 300)

    def column(width: int) -> bytes:
        # Not always whole values, as another engine may be wrong.
        return rng.randbytes(rng.choice(lengths) * width + (rng.random() < 0.1))

    sums = Digest(blocks=bytes(8), tables=bytes(8), requests=bytes(8))
    return Step(
        record=rng.randrange(1 << 53),
        step=rng.randrange(1 << 53),
        time=0,
        sealed=0,
        op=0,
        digest=sums,
        operations=Operations(**{name: column(dtype.itemsize) for name, dtype in COLUMNS.items()}),
        sampled=column(4),
        contents=Contents(content=column(4), parent=column(4), hash=column(32)),
    )


def random_text(rng: random.Random) -> Text:
    def column() -> bytes:
        return rng.randbytes(rng.choice((0, 4, 63, 64, 4000)))

    return Text(
        record=rng.randrange(1 << 53),
        step=0,
        content=column(),
        tokens=column(),
        sampled=column(),
        prompts=[Prompt(request=i, tokens=column(), text="x" * i) for i in range(rng.randrange(4))],
        logprobs=Logprobs(
            **{name: column() for name in ("sampled", "logprob", "rank", "count", "top_token", "top_logprob")}
        ),
    )


def strange(rng: random.Random) -> bytes:
    """Something that a foreign engine may send: a field twice, fields in another order, of other types, unknown ones."""
    pack = msgspec.msgpack.encode
    block, other = rng.randbytes(400), rng.randbytes(300)
    bodies = [
        {"sampled": block, "record": 1, "type": "step", "later": other, "operations": {"kind": block}},
        {"type": "step", "operations": {"block": "no column", "kind": block}, "sampled": other},
        {"type": "text", "tokens": [1, 2, 3], "record": 1},
        {"type": "text", "prompts": [{"tokens": block}, {"later": other}], "logprobs": {"rank": block}},
    ]
    if rng.random() < 0.2:
        twice = b"\x84" + pack("type") + pack("step") + (pack("sampled") + pack(block)) * 2
        body = twice + pack("record") + pack(7)
    else:
        body = pack(rng.choice(bodies))
    return body + rng.randbytes(4)


def test_whatever_an_engine_sends_comes_back_byte_for_byte(rng: random.Random) -> None:
    for _ in range(60):
        found: list[tuple[bytes, str]] = []
        for _ in range(rng.randrange(1, 8)):
            kind = rng.random()
            if kind < 0.4:
                found.append((codec.seal(random_step(rng)), "step"))
            elif kind < 0.8:
                found.append((codec.seal(random_text(rng)), "text"))
            else:
                found.append((strange(rng), rng.choice(("step", "text", "note"))))
        frames = [frame for frame, _ in found]
        made = lay(frames, [kind for _, kind in found])
        assert restore(made.data, len(codec.pack(frames))) == frames


def test_what_is_not_what_was_written_is_refused(frames: list[bytes], rng: random.Random) -> None:
    made, size = laid(frames[:80])
    for told in (0, size - 1, size + 1):
        with pytest.raises(BadLayoutError):
            restore(made.data, told)
    for at in range(16):
        changed = bytearray(made.data)
        changed[at] ^= 1 << rng.randrange(8)
        with pytest.raises(Exception, match=r".") as refused:
            restore(bytes(changed), size)
        assert type(refused.value).__name__ in ("BadLayoutError", "ZstdError")
    for left in (0, 15, 16, 100, len(made.data) - 1):
        with pytest.raises(Exception, match=r".") as refused:
            restore(made.data[:left], size)
        assert type(refused.value).__name__ in ("BadLayoutError", "ZstdError")


def test_the_set_of_blocks_is_what_the_operations_touch(frames: list[bytes]) -> None:
    made, _ = laid(frames)
    assert made.blocks is not None
    steps = [step for step in map(codec.open_frame, frames) if isinstance(step, Step)]
    columns = [column for step in steps for column in (step.operations.block, step.operations.source)]
    right = np.unique(np.frombuffer(b"".join(columns), dtype="<u4"))
    assert touched.decode(touched.encode(made.blocks), 24, "it").tolist() == right.tolist()
    assert touched.decode(touched.encode([]), 24, "it").tolist() == []
    wrong = codec.seal(msgspec.structs.replace(steps[1], operations=Operations(kind=b"\1", block=b"abc")))
    assert lay([wrong], ["step"]).blocks is None


def test_a_set_of_blocks_that_is_none_is_refused(rng: random.Random) -> None:
    blocks = np.array(sorted(rng.sample(range(1000), 300)), dtype="<u4")
    data = touched.encode([blocks.tobytes()])
    with pytest.raises(DamagedRecordingError, match="no set of blocks below"):
        touched.decode(data, int(blocks[-1]), "it")
    with pytest.raises(DamagedRecordingError, match="1200 bytes are no set of at most 299 blocks"):
        touched.decode(data, 299, "it")
    for changed in (data[:-1], data + b"x", b"", data[:8] + bytes([data[8] ^ 1]) + data[9:]):
        with pytest.raises(DamagedRecordingError):
            touched.decode(changed, 1000, "it")
    raw = forward(struct.pack("<3I", 1, 2, 0), PLANES_U32)
    twice = touched.zstandard.ZstdCompressor(write_checksum=True).compress(raw)
    with pytest.raises(DamagedRecordingError, match="no set of blocks below"):
        touched.decode(twice, 1000, "it")


def test_stored_bytes_are_all_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "whole.db"
    record(path)
    database = open_for_reading(str(path))
    found = stored_bytes(Reader(database))
    database.close()
    assert found.rest + found.text == path.stat().st_size
    assert found.operations > 0
    assert found.tokens > 0
    assert found.bytes_per_op == found.rest / found.operations
    assert found.bytes_per_token == found.text / found.tokens
    for older in (1, 2):
        database = open_for_reading(str(stored(older, tmp_path)))
        with pytest.raises(KvariumError, match=f"has format {older}, whose chunks"):
            stored_bytes(Reader(database))
        database.close()
