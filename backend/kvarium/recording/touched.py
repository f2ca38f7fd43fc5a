"""Which blocks the operations of a chunk touch: their numbers, ascending, as differences.

    operations    fill 7, fill 7, free 3, copy 7 → 12
    blocks        3 7 12
    differences   3 4 5        u32, first bytes, second bytes, …: zstd with a checksum

It is the set itself and not a filter: an engine touches the same few blocks again and again, so that it takes some 0.05 bytes an
operation, less than a filter with one false answer in a hundred.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import zstandard

from kvarium.errors import DamagedRecordingError
from kvarium.recording.layout import PLANES_U32, backward, forward

_LEVEL: Final = 3
_WIDTH: Final = 4


def encode(columns: Sequence[bytes | memoryview]) -> bytes:
    """The set of the blocks (u32) in ``columns``."""
    blocks = np.unique(np.frombuffer(b"".join(columns), dtype="<u4"))
    raw = forward(np.diff(blocks, prepend=np.uint32(0)).astype("<u4").tobytes(), PLANES_U32)
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(raw)


def _differences(data: object, num_blocks: int, what: str) -> np.ndarray:
    if not isinstance(data, bytes):
        # SQLite keeps in a column whatever it was given.
        raise DamagedRecordingError(f"{what}: they are {data!r:.60}, and no bytes")
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= _WIDTH * num_blocks or size % _WIDTH:
            raise DamagedRecordingError(f"{what}: {size} bytes are no set of at most {num_blocks} blocks")
        raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedRecordingError(f"{what}: {error}") from None
    return np.frombuffer(backward(raw, PLANES_U32), dtype="<u4")


def decode(data: bytes, num_blocks: int, what: str) -> np.ndarray:
    """``[blocks] u32``, ascending. Raises :class:`DamagedRecordingError`; ``what`` names it there."""
    steps = _differences(data, num_blocks, what)
    blocks = np.cumsum(steps, dtype=np.int64)
    if len(blocks) and (bool((steps[1:] == 0).any()) or int(blocks[-1]) >= num_blocks):
        raise DamagedRecordingError(f"{what}: it is no set of blocks below {num_blocks}")
    return blocks.astype(np.uint32)


def holds(data: bytes, block: int, num_blocks: int) -> bool:
    """Is a block in the set? True, too, where the set is damaged: who looks for a block must then look further."""
    try:
        steps = _differences(data, num_blocks, "")
    except DamagedRecordingError:
        return True
    return bool((np.cumsum(steps, dtype=np.uint32) == block).any())


def missing(blocks: np.ndarray, touches: Sequence[np.ndarray]) -> int | None:
    """A block that operations touch (``touches``: ``[n] u32`` each) and that is not in the set ``blocks``; None: there is none."""
    wanted = np.unique(np.concatenate([np.zeros(0, dtype=np.uint32), *touches]))
    absent = wanted[~np.isin(wanted, blocks, assume_unique=True)]
    return int(absent[0]) if len(absent) else None
