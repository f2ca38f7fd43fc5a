"""Block hashes: vLLM's chain ``sha256_cbor``, so that hashes agree with those of a real vLLM.

    root = sha256(cbor(seed))                              seed: the string of PYTHONHASHSEED
    h_0  = sha256(cbor([root,    [ids of block 0], extra]))
    h_i  = sha256(cbor([h_i - 1, [ids of block i], extra]))

``extra`` is null, or the list of extra keys (a LoRA's name, a cache salt, ...). The CBOR is canonical (RFC 8949, 4.2.1)
and only of the shapes that occur here, so that no package is needed for forty lines; a recorded event of a real vLLM is
the test. In an event vLLM shows the low 64 bits of a hash (:func:`short`).
"""

import hashlib
from collections.abc import Iterable, Sequence

Extra = Sequence["Extra"] | str | int | bytes | bool | None
"""What may stand in ``extra``."""

HASH_BYTES = 32


def _head(major: int, value: int) -> bytes:
    major <<= 5
    if value < 24:
        return bytes((major | value,))
    if value < 1 << 8:
        return bytes((major | 24, value))
    if value < 1 << 16:
        return bytes((major | 25,)) + value.to_bytes(2, "big")
    if value < 1 << 32:
        return bytes((major | 26,)) + value.to_bytes(4, "big")
    return bytes((major | 27,)) + value.to_bytes(8, "big")


def cbor(value: Extra) -> bytes:
    """Canonical CBOR of a list, text, bytes, an integer of up to 64 bits, a truth value or None (null)."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        raw = value.encode()
        return _head(3, len(raw)) + raw
    return _head(4, len(value)) + b"".join(map(cbor, value))


def texts_of(raw: bytes) -> list[list[str]]:
    """The lists of texts that canonical CBOR (:func:`cbor`) stands for, as of extra keys; of nothing, none."""
    at = 0

    def head() -> int:
        nonlocal at
        low = raw[at] & 31
        size = 0 if low < 24 else 1 << (low - 24)
        at += 1 + size
        return int.from_bytes(raw[at - size : at]) if size else low

    def text() -> str:
        nonlocal at
        size = head()
        at += size
        return raw[at - size : at].decode()

    return [[text() for _ in range(head())] for _ in range(head())] if raw else []


def root_hash(seed: str) -> bytes:
    """The parent of every first block, 32 bytes; ``seed`` is what a vLLM has in PYTHONHASHSEED."""
    return hashlib.sha256(cbor(seed)).digest()


_SMALL = [_head(0, value) for value in range(1 << 16)]
"""The CBOR of the token ids of common vocabularies."""


def block_hash(parent: bytes, tokens: Iterable[int], extra: Extra = None) -> bytes:
    """The hash of a block (32 bytes) of its ``parent``'s hash, its token ids and its extra keys."""
    heads = [_SMALL[token] if token < 1 << 16 else _head(0, token) for token in tokens]
    body = b"\x83" + _head(2, len(parent)) + parent + _head(4, len(heads)) + b"".join(heads) + cbor(extra)
    return hashlib.sha256(body).digest()


def short(block: bytes) -> int:
    """The low 64 bits of a hash, as a KV event shows it."""
    return int.from_bytes(block[-8:], "big")
