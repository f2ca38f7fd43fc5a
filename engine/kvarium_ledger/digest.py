"""Digests: three lanes that any follower can keep up to date from what a record touched.

A lane is a sum, modulo 2^32 and twice with different constants, over the rows of a set:

    blocks     (block, generation, count, ticket low word, ticket high word, content, filled), all blocks
    tables     (sequence, group, position, block), all table entries
    requests   (request, state, place low word, place high word), all requests in the engine

A row of words w_0 ... w_k gives ``fmix32(sum of w_i * M[lane][i] + S[lane][set])``, all modulo 2^32, with odd
multipliers M and MurmurHash3's 32-bit finaliser; a sum over rows does not depend on their order, so a change of one row
is one subtraction and one addition. A float (ticket, place) enters as the two u32 words of its IEEE 754 bits; NaN always
as 0x7FF80000 00000000. This finds faults, it does not resist an adversary.
"""

from typing import Final

import numpy as np

from kvarium_ledger.records import Digest

MULTIPLIERS: Final[tuple[tuple[int, ...], tuple[int, ...]]] = (
    (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD6E8FEB9, 0xA5CB9243),
    (0xFF51AFD7, 0xC4CEB9FF, 0xB492B66F, 0x9AE16A3B, 0xC949C7DF, 0x8648DBDB, 0xD2B74407),
)
"""Odd u32 multipliers: a row a lane, one for each word of a row."""

SALTS: Final[dict[str, tuple[int, int]]] = {
    "blocks": (0x243F6A88, 0x85A308D3),
    "tables": (0x13198A2E, 0x03707344),
    "requests": (0xA4093822, 0x299F31D0),
}
"""What is added before the finaliser, a value a lane: rows of different sets do not cancel."""

_U32 = np.uint32
_M = np.array(MULTIPLIERS, dtype=_U32).T[:, :, np.newaxis]
_S = {kind: np.array(pair, dtype=_U32)[:, np.newaxis] for kind, pair in SALTS.items()}


def _fmix32(h: np.ndarray) -> np.ndarray:
    h ^= h >> _U32(16)
    h *= _U32(0x85EBCA6B)
    h ^= h >> _U32(13)
    h *= _U32(0xC2B2AE35)
    h ^= h >> _U32(16)
    return h


def row_sums(kind: str, *words: np.ndarray) -> tuple[int, int]:
    """The sum of the rows' values in both lanes of the set ``kind``; each of ``words`` is ``[rows] u32``."""
    h = np.empty((2, len(words[0])), dtype=_U32)
    h[:] = _S[kind]
    for i, word in enumerate(words):
        h += word * _M[i]
    sums = _fmix32(h).sum(axis=1, dtype=np.uint64).tolist()
    return sums[0] & 0xFFFFFFFF, sums[1] & 0xFFFFFFFF


_CANONICAL_NAN = 0x7FF8000000000000


def float_words(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The low and high u32 words of ``[rows] f64``, with one NaN for all NaNs."""
    bits = np.ascontiguousarray(values, dtype="<f8").view("<u8")
    bits = np.where(np.isnan(values), np.uint64(_CANONICAL_NAN), bits)
    return bits.astype(_U32), (bits >> np.uint64(32)).astype(_U32)


class Lanes:
    """The six running sums of a follower.

    >>> lanes = Lanes()
    >>> lanes.add("tables", row_sums("tables", *(np.array([1], np.uint32),) * 4))
    """

    __slots__ = ("sums",)

    def __init__(self) -> None:
        self.sums: dict[str, list[int]] = {"blocks": [0, 0], "tables": [0, 0], "requests": [0, 0]}

    def add(self, kind: str, pair: tuple[int, int]) -> None:
        """Rows came in."""
        lane = self.sums[kind]
        lane[0] = (lane[0] + pair[0]) & 0xFFFFFFFF
        lane[1] = (lane[1] + pair[1]) & 0xFFFFFFFF

    def subtract(self, kind: str, pair: tuple[int, int]) -> None:
        """Rows went away."""
        self.add(kind, (-pair[0], -pair[1]))

    def clear(self, kind: str) -> None:
        """No rows."""
        self.sums[kind] = [0, 0]

    def digest(self) -> Digest:
        """The lanes as a record carries them."""
        return Digest(
            **{
                kind: pair[0].to_bytes(4, "little") + pair[1].to_bytes(4, "little")
                for kind, pair in self.sums.items()
            }
        )

    def load(self, digest: Digest) -> None:
        """Take the lanes of a record."""
        for kind in self.sums:
            raw: bytes = getattr(digest, kind)
            self.sums[kind] = [int.from_bytes(raw[:4], "little"), int.from_bytes(raw[4:8], "little")]


def differing(found: Digest, told: Digest) -> list[str]:
    """The names of the lanes in which two digests differ."""
    return [kind for kind in SALTS if getattr(found, kind) != getattr(told, kind)]
