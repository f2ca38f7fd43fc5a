"""The columns of all blocks as a keyframe carries them: each as narrow as its values allow.

    u32 generation, count, content, filled, hits      1, 2 or 4 bytes a block: u8, u16 or u32
    f64 ticket                                        4 or 8 bytes a block: i32 or f64

How wide a column is follows from its length and the pool's: nothing else says it. Of a million blocks the state takes some 12 MB,
where whole words take 28: it is what a seek sends, and what a keyframe costs on disk. Version 1 of the ledger had whole
words only, which is one of the widths.

A ticket is an i32 where all are whole numbers of that range; the smallest i32 stands for NaN, "not queued".
"""

from typing import Final

import numpy as np

from kvarium_ledger.codec import FrameError
from kvarium_ledger.operations import NONE

BLOCK_COLUMNS: Final = ("generation", "count", "ticket", "content", "filled", "hits")

NOT_QUEUED: Final = -(1 << 31)
"""The ticket, as an i32, of a block that is not queued."""

_WIDTHS: Final[dict[bool, dict[int, np.dtype[np.generic]]]] = {
    True: {4: np.dtype("<i4"), 8: np.dtype("<f8")},
    False: {1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")},
}
"""By whether it is the column of tickets: bytes a block, and what they are."""


def narrowed(name: str, column: np.ndarray) -> np.ndarray | None:
    """A column (``[num_blocks]``; of tickets f64, or i32 as they are told; else any unsigned type) in its narrowest type.

    It may be the column itself. None: all have the default.
    """
    if name == "ticket":
        return _narrowed_tickets(column)
    most = int(column.max())
    if most == (NONE if name == "content" else 0) and (column == most).all():
        return None
    width = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
    return column.astype(_WIDTHS[False][width], copy=False)


def _narrowed_tickets(tickets: np.ndarray) -> np.ndarray | None:
    words = tickets if tickets.dtype.kind == "i" else whole_tickets(tickets)
    if words is None:
        return tickets.astype("<f8", copy=False)
    # The first and the last show it nearly always.
    last = len(words) - 1
    if words[0] == 0 and words[last] == last and np.array_equal(words, np.arange(last + 1, dtype="<i4")):
        return None
    return words


def whole_tickets(tickets: np.ndarray) -> np.ndarray | None:
    """Tickets (f64) as i32, :data:`NOT_QUEUED` for NaN; None where that does not tell each of them exactly."""
    queued = ~np.isnan(tickets)
    words = np.full(len(tickets), NOT_QUEUED, dtype="<i4")
    with np.errstate(invalid="ignore"):
        np.copyto(words, tickets, where=queued, casting="unsafe")
    # As bits: -0.0 is another ticket than 0.0 to a digest.
    exact = words.astype("<f8").view("<u8") == tickets.view("<u8")
    if not (exact | ~queued).all() or (words[queued] == NOT_QUEUED).any():
        return None
    return words


def encode(name: str, column: np.ndarray) -> bytes:
    """A column in its narrowest form, see :func:`narrowed`; empty: all have the default."""
    found = narrowed(name, column)
    return b"" if found is None else found.tobytes()


def told(name: str, raw: bytes, num_blocks: int) -> np.ndarray | None:
    """The values of a column, ``[num_blocks]``, in the type that they were told in; None: all have the default.

    Raises :class:`FrameError` where the bytes are no column of that pool.
    """
    if not raw:
        return None
    dtype = _WIDTHS[name == "ticket"].get(len(raw) // num_blocks)
    if dtype is None or len(raw) % num_blocks:
        widths = ", ".join(str(width * num_blocks) for width in _WIDTHS[name == "ticket"])
        raise FrameError(
            f"keyframe column {name!r} has {len(raw)} bytes, a pool of {num_blocks} has {widths}"
        )
    return np.frombuffer(raw, dtype=dtype)


def default(name: str, num_blocks: int) -> np.ndarray:
    """``[num_blocks]``: a column in which all have the default, in the narrowest type that tells it."""
    if name == "ticket":
        return np.arange(num_blocks, dtype="<i4")
    return np.full(num_blocks, NONE, dtype="<u4") if name == "content" else np.zeros(num_blocks, dtype="u1")


def wide(values: np.ndarray) -> np.ndarray:
    """Values as they were told: tickets of i32 as f64, NaN where the block is not queued; all others are what they are."""
    return np.where(values != NOT_QUEUED, values, np.nan) if values.dtype.kind == "i" else values


def decode(name: str, raw: bytes, num_blocks: int) -> np.ndarray | None:
    """The values of a column, ``[num_blocks]``, unsigned or f64; None: all have the default.

    Raises :class:`FrameError` where the bytes are no column of that pool.
    """
    values = told(name, raw, num_blocks)
    return None if values is None else wide(values)
