"""How the frames of a chunk are laid out before they are compressed: the same columns of all its records end to end.

    frames     step 7  text 7  step 8  text 8 …                   as the engine wrote them
                  │       └───────────────────────────────────┐
                  ▼ what is no text                           ▼ text: who does not want it does not decompress it
    skeletons  step 7 without its columns, step 8 …           text 7 without its columns, …
    cuts       where each column stood, and how long it was
    columns    block of 7, block of 8, … │ ticket of 7, …     tokens of 7, tokens of 8, …
                  └ each as differences or not, then its first bytes, its second bytes, …

Values of one kind that stand together compress far better than records one after the other, and differences and bytes of one
significance better still. Nothing of it knows what a record means: a column is a *bin* whose place was found in the frame, and
what is restored is the frame byte for byte, which a CRC-32 of each part's frames shows. A frame that does not decode, and a
field of a later version of the ledger, stays where it is in its skeleton.

The bytes of a chunk: four u32 (frames; stored bytes of the first part; CRC-32 of the first and of the second part's frames), then
the two parts, each zstd.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import zstandard

PLAIN: Final = 0
"""The layout of a chunk whose frames are compressed as they are: one zstd of ``kvarium_ledger.codec.pack(frames)``."""

COLUMNS: Final = 1
"""The layout that this module makes."""

_LEVEL: Final = 3
_HEAD: Final = struct.Struct("<4I")
_LEAST: Final = 64
"""A shorter column stays where it is: to cut it out would cost more than it saves."""


class _Transform(NamedTuple):
    width: int
    differences: bool


_BYTES = _Transform(1, False)
PLANES_U32 = _Transform(4, False)
_U32_DIFFERENCES = _Transform(4, True)
_F64_DIFFERENCES = _Transform(8, True)

# The columns of layout 1, in their order; what stands here can never change, only be followed by a layout of its own.
_STEP: Final[dict[str, _Transform]] = {
    "operations.kind": _BYTES,
    "operations.block": PLANES_U32,
    "operations.cause": _BYTES,
    "operations.sequence": _U32_DIFFERENCES,
    "operations.position": _U32_DIFFERENCES,
    "operations.group": _BYTES,
    "operations.pin": _BYTES,
    "operations.ticket": _F64_DIFFERENCES,
    "operations.filled_before": _U32_DIFFERENCES,
    "operations.filled_after": _U32_DIFFERENCES,
    "operations.source": _U32_DIFFERENCES,
    "operations.content": _U32_DIFFERENCES,
    "operations.hits": PLANES_U32,
    "sampled": _U32_DIFFERENCES,
    "contents.content": _U32_DIFFERENCES,
    "contents.parent": _U32_DIFFERENCES,
    "contents.hash": _BYTES,
}
# Token ids of prompts, contents and answers stand together: most of a prompt is told again as its blocks' contents.
_TEXT: Final[dict[str, _Transform]] = {
    "content": _U32_DIFFERENCES,
    "tokens": PLANES_U32,
    "logprobs.sampled": _U32_DIFFERENCES,
    "logprobs.logprob": PLANES_U32,
    "logprobs.rank": PLANES_U32,
    "logprobs.count": PLANES_U32,
    "logprobs.top_token": PLANES_U32,
    "logprobs.top_logprob": PLANES_U32,
}

_View = memoryview | None


class _Operations(msgspec.Struct, frozen=True):
    kind: _View = None
    block: _View = None
    cause: _View = None
    sequence: _View = None
    position: _View = None
    group: _View = None
    pin: _View = None
    ticket: _View = None
    filled_before: _View = None
    filled_after: _View = None
    source: _View = None
    content: _View = None
    hits: _View = None


class _Contents(msgspec.Struct, frozen=True):
    content: _View = None
    parent: _View = None
    hash: _View = None


class _Step(msgspec.Struct, frozen=True):
    operations: _Operations = _Operations()
    sampled: _View = None
    contents: _Contents = _Contents()

    def views(self) -> list[_View]:
        """In the order of ``_STEP``."""
        return [
            *msgspec.structs.astuple(self.operations),
            self.sampled,
            *msgspec.structs.astuple(self.contents),
        ]


class _Prompt(msgspec.Struct, frozen=True):
    tokens: _View = None


class _Logprobs(msgspec.Struct, frozen=True):
    sampled: _View = None
    logprob: _View = None
    rank: _View = None
    count: _View = None
    top_token: _View = None
    top_logprob: _View = None


class _Text(msgspec.Struct, frozen=True):
    content: _View = None
    tokens: _View = None
    prompts: list[_Prompt] = []
    sampled: _View = None
    logprobs: _Logprobs = _Logprobs()


_steps = msgspec.msgpack.Decoder(_Step)
_texts = msgspec.msgpack.Decoder(_Text)


class BadLayoutError(ValueError):
    """Bytes that are no chunk of this layout."""


# -- columns of bytes ---------------------------------------------------------------------------------------------------


def forward(raw: bytes, transform: _Transform) -> bytes:
    """A column, little-endian, as as many bytes that compress better; what is no whole value stands unchanged at the end."""
    width = transform.width
    if width == 1:
        return raw
    whole = len(raw) // width * width
    values = np.frombuffer(raw, dtype=f"<u{width}", count=whole // width)
    if transform.differences:
        signed = np.diff(values, prepend=values.dtype.type(0)).view(f"<i{width}")
        values = ((signed << 1) ^ (signed >> (8 * width - 1))).view(f"<u{width}")
    return values.view("u1").reshape(-1, width).T.tobytes() + raw[whole:]


def backward(raw: bytes, transform: _Transform) -> bytes:
    """What :func:`forward` got."""
    width = transform.width
    if width == 1:
        return raw
    whole = len(raw) // width * width
    planes = np.frombuffer(raw, dtype="u1", count=whole).reshape(width, -1)
    values = planes[0].astype(f"<u{width}")
    for place in range(1, width):
        # Most upper bytes are 0.
        if planes[place].any():
            values |= planes[place].astype(values.dtype) << values.dtype.type(8 * place)
    if transform.differences:
        one = values.dtype.type(1)
        values = np.cumsum((values >> one) ^ (~(values & one) + one), dtype=values.dtype)
    return values.tobytes() + raw[whole:]


# -- a part ---------------------------------------------------------------------------------------------------------------


class _Part:
    """Frames of one kind, taken apart."""

    def __init__(self, transforms: dict[str, _Transform]) -> None:
        self._transforms = transforms
        self._frames: list[bytes] = []
        self._skeletons: list[bytes] = []
        self._lengths: list[int] = []
        self._cuts: list[int] = []
        self._places: list[int] = []
        self._sizes: list[int] = []
        self._of: list[int] = []
        self._columns: list[list[memoryview]] = [[] for _ in transforms]

    def add(self, frame: bytes, views: list[tuple[int, memoryview]]) -> None:
        """A frame and the columns in it, each with its number."""
        start = np.frombuffer(frame, dtype="u1").__array_interface__["data"][0]
        found = sorted(
            (np.frombuffer(view, dtype="u1").__array_interface__["data"][0] - start, number, view)
            for number, view in views
            if len(view) >= _LEAST
        )
        pieces, at, length = [], 0, 0
        for place, number, view in found:
            pieces.append(frame[at:place])
            length += place - at
            at = place + len(view)
            self._places.append(length)
            self._sizes.append(len(view))
            self._of.append(number)
            self._columns[number].append(view)
        pieces.append(frame[at:])
        self._frames.append(frame)
        self._skeletons += pieces
        self._lengths.append(length + len(frame) - at)
        self._cuts.append(len(found))

    def seal(self, before: bytes = b"") -> tuple[bytes, int]:
        """The part, compressed, ``before`` before all, and the CRC-32 of its frames."""
        columns = [
            forward(b"".join(column), transform)
            for column, transform in zip(self._columns, self._transforms.values(), strict=True)
        ]
        parts = [
            before,
            np.array([len(self._frames), len(self._of), *map(len, columns)], dtype="<u4").tobytes(),
            *(
                forward(np.array(numbers, dtype="<u4").tobytes(), PLANES_U32)
                for numbers in (self._lengths, self._cuts, self._places, self._sizes)
            ),
            bytes(self._of),
            *columns,
            *self._skeletons,
        ]
        compressed = zstandard.ZstdCompressor(level=_LEVEL).compress(b"".join(parts))
        return compressed, zlib.crc32(b"".join(self._frames))


def _step_views(frame: bytes) -> list[_View]:
    try:
        return _steps.decode(memoryview(frame)[:-4]).views()
    except msgspec.MsgspecError:
        return []


def _text_views(frame: bytes) -> list[tuple[int, _View]]:
    try:
        text = _texts.decode(memoryview(frame)[:-4])
    except msgspec.MsgspecError:
        return []
    tokens = (*(prompt.tokens for prompt in text.prompts), text.tokens, text.sampled)
    return [
        (0, text.content),
        *((1, view) for view in tokens),
        *enumerate(msgspec.structs.astuple(text.logprobs), start=2),
    ]


class Laid(NamedTuple):
    """A chunk's bytes, and the columns of u32 that name the blocks that its operations touch (None: not known)."""

    data: bytes
    blocks: list[memoryview] | None


def lay(frames: Sequence[bytes], types: Sequence[str]) -> Laid:
    """Lay out and compress the frames of a chunk; ``types`` are their records'."""
    rest, text = _Part(_STEP), _Part(_TEXT)
    blocks: list[memoryview] | None = []
    for frame, kind in zip(frames, types, strict=True):
        if kind == "text":
            text.add(frame, [(number, view) for number, view in _text_views(frame) if view is not None])
            continue
        views = _step_views(frame) if kind == "step" else []
        rest.add(frame, [(number, view) for number, view in enumerate(views) if view is not None])
        if kind == "step" and blocks is not None:
            touched = [view for view in (views[1], views[10]) if view is not None] if views else []
            blocks = blocks + touched if views and not any(len(view) % 4 for view in touched) else None
    is_text = np.array([kind == "text" for kind in types], dtype="u1").tobytes()
    first, first_sum = rest.seal(is_text)
    second, second_sum = text.seal()
    head = _HEAD.pack(len(frames), len(first), first_sum, second_sum)
    return Laid(head + first + second, blocks)


# -- and back -------------------------------------------------------------------------------------------------------------


def text_bytes(data: bytes) -> int:
    """Stored bytes of the text among a chunk's bytes."""
    return len(data) - _HEAD.size - int(_head(data)[1])


def _head(data: bytes) -> tuple[Any, ...]:
    if len(data) < _HEAD.size:
        raise BadLayoutError(f"{len(data)} bytes are no chunk")
    head = _HEAD.unpack_from(data)
    if _HEAD.size + head[1] > len(data):
        raise BadLayoutError(f"its first part should have {head[1]} bytes, it has {len(data)} in all")
    return head


def restore(data: bytes, size: int, with_text: bool = True) -> list[bytes]:
    """The frames of a chunk, in order; without text those only that are none.

    ``size`` is what :func:`kvarium_ledger.codec.pack` makes of all frames: no part takes more memory than about twice that.
    Raises :class:`BadLayoutError`.
    """
    count, first, *sums = _head(data)
    if count * 9 > size:
        raise BadLayoutError(f"{count} frames do not fit into {size} bytes")
    raw = _decompress(data[_HEAD.size : _HEAD.size + first], size)
    if len(raw) < count:
        raise BadLayoutError("it is cut off")
    is_text = np.frombuffer(raw, dtype="u1", count=count)
    if bool((is_text > 1).any()):
        raise BadLayoutError("a frame is neither text nor none")
    texts = int(is_text.sum())
    found = _frames_of(raw[count:], _STEP, count - texts, sums[0])
    if not with_text:
        return found
    raw = _decompress(data[_HEAD.size + first :], size)
    text = _frames_of(raw, _TEXT, texts, sums[1])
    total = 4 * count + sum(map(len, found)) + sum(map(len, text))
    if total != size:
        raise BadLayoutError(f"its frames have {total} bytes, they should have {size}")
    rest, told = iter(found), iter(text)
    return [next(told if of_text else rest) for of_text in is_text.tolist()]


def _decompress(data: bytes, size: int) -> bytes:
    most = 2 * size + 1024
    told = zstandard.frame_content_size(data)
    if not 0 <= told <= most:
        raise BadLayoutError(f"a part has {told} bytes, at most {most} belong to it")
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=most, allow_extra_data=False)


def _frames_of(raw: bytes, transforms: dict[str, _Transform], count: int, checksum: int) -> list[bytes]:
    place = 0

    def take(length: int) -> bytes:
        nonlocal place
        place += length
        if place > len(raw):
            raise BadLayoutError("it is cut off")
        return raw[place - length : place]

    def numbers(length: int) -> np.ndarray:
        return np.frombuffer(backward(take(4 * length), PLANES_U32), dtype="<u4").astype(np.int64)

    frames, cuts, *sizes_of_columns = np.frombuffer(take(4 * (2 + len(transforms))), dtype="<u4").tolist()
    if frames != count:
        raise BadLayoutError(f"a part has {frames} frames, {count} belong to it")
    lengths, cuts_of, places, sizes = numbers(frames), numbers(frames), numbers(cuts), numbers(cuts)
    of = np.frombuffer(take(cuts), dtype="u1")
    columns = [
        backward(take(length), transform)
        for length, transform in zip(sizes_of_columns, transforms.values(), strict=True)
    ]
    told = np.bincount(of, weights=sizes, minlength=len(columns))
    wrong = int(cuts_of.sum()) != cuts or int(lengths.sum()) != len(raw) - place
    if wrong or len(told) != len(columns) or told.tolist() != sizes_of_columns:
        raise BadLayoutError("its frames and their columns do not fit together")
    found: list[bytes] = []
    at = [0] * len(columns)
    pieces = zip(places.tolist(), sizes.tolist(), of.tolist(), strict=True)
    for length, cut_count in zip(lengths.tolist(), cuts_of.tolist(), strict=True):
        parts, end, before = [], place + length, 0
        for _ in range(cut_count):
            cut, size, number = next(pieces)
            if not before <= cut <= length:
                raise BadLayoutError("a column stands outside its frame")
            parts.append(raw[place : place + cut - before])
            place += cut - before
            before = cut
            parts.append(columns[number][at[number] : at[number] + size])
            at[number] += size
        parts.append(raw[place:end])
        place = end
        found.append(b"".join(parts))
    if zlib.crc32(b"".join(found)) != checksum:
        raise BadLayoutError("its frames are not those that were written")
    return found
