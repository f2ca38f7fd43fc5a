"""Tokens as text: the pieces of the vocabulary, joined."""

import re
from collections.abc import Collection, Mapping

_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")


def text_of(tokens: Collection[int], pieces: Mapping[int, str]) -> str | None:
    """What tokens read as; parts of characters are decoded together, as UTF-8.

    None: the piece of one of them is not told, so that what is left would read as if it were not there; or none is text.
    """
    if any(token not in pieces for token in tokens):
        return None
    found = "".join(pieces[token] for token in tokens)
    return _BYTES.sub(_decoded, found) or None


def _decoded(run: "re.Match[str]") -> str:
    return bytes.fromhex(run[0].replace("<0x", "").replace(">", "")).decode(errors="replace")
