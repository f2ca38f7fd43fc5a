"""Tokens as text: the pieces of the vocabulary, joined."""

import re
from collections.abc import Iterable, Mapping

_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")


def text_of(tokens: Iterable[int], pieces: Mapping[int, str]) -> str | None:
    """What tokens read as; parts of characters are decoded together, as UTF-8. None: no piece of them is told, or none is text."""
    found = "".join(pieces.get(token, "") for token in tokens)
    return _BYTES.sub(_decoded, found) or None


def _decoded(run: "re.Match[str]") -> str:
    return bytes.fromhex(run[0].replace("<0x", "").replace(">", "")).decode(errors="replace")
