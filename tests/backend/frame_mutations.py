"""``python -m tests.backend.frame_mutations FRAMES SEED COUNT``: what becomes of records with something in them changed.

    a lawful run of frames ──one of them is mutated, its checksum made right──▶ codec, fold, mirror, intake

What may be changed is read off the records' own types (:func:`shapes`), so that new fields and columns are changed, too.
Each mutated frame is refused with a :class:`FrameError` of one line, or let in; then the fold and the mirror report what is
wrong with it and go on, and a recorder's chunk holds its bytes. Runs in a process of its own with a limit of memory and a
clock; prints JSON: how often what happened, and what went wrong (nothing).
"""

import copy
import random
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from kvarium.heads import read_head
from kvarium.mirror import Mirror, MirrorSetup
from kvarium.recording.chunks import Batch, SealedChunk
from kvarium_ledger import codec, decisions, records
from kvarium_ledger.codec import FrameError
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Keyframe, Record
from tests.backend.hand_engine import BLOCKS, SIZE
from tests.backend.trials import Trials, one_line, print_told

_MEMORY = 2 << 30
_SECONDS = 20
STRANGE: list[Any] = [
    *(
        None,
        True,
        -1,
        0,
        1,
        255,
        256,
        2**31,
        2**32 - 1,
        2**32,
        2**53 - 1,
        2**53,
        2**63 - 1,
        2**64 - 1,
        -(2**63),
    ),
    *(
        0.5,
        -1.5,
        1e300,
        float("nan"),
        float("inf"),
        "",
        "x",
        "\0",
        "waiting",
        b"",
        b"\0",
        b"\xff" * 8,
        b"\0" * 4096,
    ),
    *(
        [],
        [None],
        {},
        {"type": "step"},
        {"kind": "token"},
        msgspec.msgpack.Ext(5, b"x"),
        msgspec.msgpack.Ext(-1, b"abc"),
    ),
]


def shapes() -> dict[str, list[str]]:
    """The fields of every record and of what stands in records, by the name of its type, as they are encoded."""
    types = [
        value
        for module in (records, decisions)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    ]
    return {each.__name__: [field.encode_name for field in msgspec.structs.fields(each)] for each in types}


SHAPES = shapes()
FIELDS = sorted({field for fields in SHAPES.values() for field in fields} | {"type", "kind"})


def maps(value: Any) -> Iterator[dict[str, Any]]:
    """Every map in a decoded record."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from maps(each)
    elif isinstance(value, list):
        for each in value:
            yield from maps(each)


def columns(value: Any) -> list[tuple[dict[str, Any], str]]:
    """Where columns stand in a decoded record."""
    return [(found, name) for found in maps(value) for name in found if isinstance(found[name], bytes)]


# -- ways to change a record ----------------------------------------------------------------------------------------

Tree = dict[str, Any]


def strange_value(tree: Tree, rng: random.Random) -> None:
    found = rng.choice(list(maps(tree)))
    if found:
        found[rng.choice(list(found))] = copy.deepcopy(rng.choice(STRANGE))


def foreign_field(tree: Tree, rng: random.Random) -> None:
    """A field of any type, in a map that may not know it: a strange value, or that of another place."""
    every = list(maps(tree))
    value = rng.choice(STRANGE)
    other = rng.choice(every)
    if other and rng.random() < 0.5:
        value = other[rng.choice(list(other))]
    rng.choice(every)[rng.choice(FIELDS)] = copy.deepcopy(value)


def missing_field(tree: Tree, rng: random.Random) -> None:
    found = rng.choice(list(maps(tree)))
    if found:
        del found[rng.choice(list(found))]


def swapped_fields(tree: Tree, rng: random.Random) -> None:
    found = rng.choice(list(maps(tree)))
    if len(found) > 1:
        one, two = rng.sample(list(found), 2)
        found[one], found[two] = copy.deepcopy(found[two]), found[one]


def changed_column(tree: Tree, rng: random.Random) -> None:
    every = columns(tree)
    if not every:
        return
    found, name = rng.choice(every)
    data = bytearray(found[name])
    width = rng.choice((1, 4, 8))
    new = rng.choice((0, 1, 7, 200, 2**31, 2**32 - 2, 2**32 - 1)).to_bytes(8, "little")[:width]
    if data and rng.random() < 0.7:
        at = rng.randrange(max(1, len(data) // width)) * width
        data[at : at + width] = new
    else:
        data = rng.choice((data + new, data[:-width], data * 1000, data[::-1]))
    found[name] = bytes(data)


def unknown_operation(tree: Tree, rng: random.Random) -> None:
    kind = tree.get("operations", {}).get("kind")
    if kind:
        tree["operations"]["kind"] = bytes([rng.choice((0, 10, 200, 255))]) + kind[1:]


def list_changed(tree: Tree, rng: random.Random) -> None:
    lists = [value for found in maps(tree) for value in found.values() if isinstance(value, list) and value]
    if lists:
        found = rng.choice(lists)
        rng.choice(
            (
                lambda: rng.shuffle(found),
                found.clear,
                lambda: found.extend(found * 50),
                lambda: found.append(rng.choice(STRANGE)),
            )
        )()


TREES: tuple[Callable[[Tree, random.Random], None], ...] = (
    *(strange_value, foreign_field, missing_field, swapped_fields),
    *(changed_column, unknown_operation, list_changed),
)


def flipped_bits(body: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 4, 30))):
        body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)


def overwritten(body: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(body))
    body[at : at + 8] = rng.choice(
        (rng.randbytes(8), b"\xdf\xff\xff\xff\xff", b"\xdd\x7f\xff\xff\xff", b"\xc6\x0f\xff\xff\xff")
    )


def truncated(body: bytearray, rng: random.Random) -> None:
    del body[rng.randrange(len(body)) :]


def nested(body: bytearray, rng: random.Random) -> None:
    """A field that nobody knows and that is as deep as a frame may be large."""
    if 0x80 <= body[0] < 0x8F:
        body[0] += 1
    deep = rng.choice((b"\x91", b"\x81\xa1a")) * rng.choice((100, 3_000, 200_000))
    body += b"\xa1z" + deep + b"\xc0"


BODIES = (flipped_bits, flipped_bits, overwritten, truncated, nested)


def mutate(frame: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A frame with something changed and its checksum made right; what was done."""
    body = bytearray(frame[:-4])
    if rng.random() < 0.4:
        how = rng.choice(BODIES)
        how(body, rng)
        name = how.__name__
    else:
        tree = msgspec.msgpack.decode(body)
        change = rng.choice(TREES)
        change(tree, rng)
        body = bytearray(msgspec.msgpack.encode(tree))
        name = change.__name__
    return name, bytes(body) + zlib.crc32(body).to_bytes(4, "little")


# -- who gets it ----------------------------------------------------------------------------------------------------


def opened(frame: bytes) -> str:
    try:
        codec.open_frame(frame)
    except FrameError as error:
        one_line(str(error))
        return "refused"
    return "let in"


def recorded(frame: bytes) -> str:
    """As a server takes it in: what it refuses ends the link with the reason, the rest is stored as it is."""
    try:
        head = read_head(frame)
    except FrameError as error:
        one_line(str(error))
        return "refused"
    if head.record is None:
        return "no record"
    batch = Batch(1, 0.0)
    batch.add(frame, head)
    chunk = SealedChunk(batch)
    numbers = [value for name, value in chunk.row.items() if name != "data" and value is not None]
    assert all(-(2**63) <= value < 2**63 for value in numbers), chunk.row
    return "stored"


def folded(at: Keyframe | None, frame: bytes, next_frames: list[bytes]) -> str:
    """The fold of a viewer that can go back, which may begin with it; it goes on after it, and back where it can."""
    fold = Fold(BLOCKS, SIZE)
    if at is not None:
        fold.load(at)
    try:
        record = codec.open_frame(frame)
        if not isinstance(record, Record):
            return "no record"
        found = fold.apply(record)  # type: ignore[arg-type]
        for violation in found:
            assert violation.record == record.record
            assert "\n" not in violation.message
        for each in next_frames:
            following: AnyRecord = codec.open_frame(each)  # type: ignore[assignment]
            fold.apply(following)
    except FrameError as error:
        one_line(str(error))
        return "refused"
    return "violation" if found else "lawful"


def mirrored(at: Keyframe | None, frame: bytes, next_frames: list[bytes]) -> str:
    """The server's mirror, with its index."""
    keyframe = None if at is None else codec.seal(at)
    mirror = Mirror(MirrorSetup(1, BLOCKS, SIZE, -1 if at is None else at.record, keyframe))
    for each in (frame, *next_frames):
        try:
            mirror.take(each)
        except FrameError as error:
            one_line(str(error))
            return "refused"
    if mirror.loaded:
        mirror.keyframe()
    rows = mirror.rows()
    if rows is not None:
        msgspec.msgpack.encode(rows)
    return "fault" if mirror.fault else "followed"


def keyframes(frames: list[bytes]) -> list[Keyframe | None]:
    """The state before each frame."""
    fold = Fold(BLOCKS, SIZE)
    states: list[Keyframe | None] = []
    for frame in frames:
        states.append(fold.keyframe() if fold.loaded else None)
        assert fold.apply(codec.open_frame(frame)) == []  # type: ignore[arg-type]
    return states


def main(file: str, seed: int, count: int) -> dict[str, Any]:
    """Try ``count`` mutations of the frames that are packed in ``file``."""
    trials = Trials(seed, _MEMORY, _SECONDS)
    frames = list(codec.unpack(Path(file).read_bytes()))
    states = keyframes(frames)
    kinds = {codec.peek(frame)[0] for frame in frames}
    places = {
        kind: [i for i, frame in enumerate(frames) if codec.peek(frame)[0] == kind] for kind in sorted(kinds)
    }
    for rng in trials.each(count):
        often = rng.random() < 0.5
        at = rng.choice(places[rng.choice(list(places))]) if often else rng.randrange(len(frames))
        what, frame = mutate(frames[at], rng)
        following = frames[at + 1 : at + 4]
        consumers: dict[str, Callable[[], str]] = {
            "codec": partial(opened, frame),
            "recorder": partial(recorded, frame),
            "fold": partial(folded, states[at], frame, following),
            "mirror": partial(mirrored, states[at], frame, following),
        }
        for name, consume in consumers.items():
            with trials.attempt(f"{what} of record {at} in the {name}"):
                trials.done[f"{name}: {consume()}"] += 1
    return trials.told()


if __name__ == "__main__":
    print_told(main)
