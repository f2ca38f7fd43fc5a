"""Answers of many megabytes, sent from where they lie.

    pieces   ▐▐▐▐▐▐▐▐▐▐▐▐▐│▐▐▐▐▐▐│▐▐        columns of a keyframe, frames
    parts    ▐▐▐│▐▐▐│▐▐▐│▐│▐▐▐│▐▐▐│▐▐       at most 512 kB each: the socket takes one, then the next is handed over

A single large body would be copied three times on its way through the event loop, and what the socket does not take at once
moved again with each part that it does.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_PART_BYTES: Final = 512 << 10


class InPieces(Response):
    """An answer whose body is ``pieces``, one behind the other."""

    def __init__(
        self, pieces: Sequence[bytes | memoryview], media_type: str, headers: Mapping[str, str]
    ) -> None:
        self._pieces = [memoryview(piece) for piece in pieces if len(piece)]
        length = sum(piece.nbytes for piece in self._pieces)
        super().__init__(media_type=media_type, headers={**headers, "content-length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            for at in range(0, len(piece), _PART_BYTES):
                part = bytes(piece[at : at + _PART_BYTES])
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
