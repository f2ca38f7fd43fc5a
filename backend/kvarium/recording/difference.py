"""What a follower lacks of a state that has another one of the session: the blocks that changed between the two.

    follower   ▐▐▐▐▐▐▐▐▐▐▐▐ as of record 41,002        12 MB of a million blocks, that it has already
    changed       · ·· ·  ·                             those that any record from there to the state touched, in order
    ⇒          ▐▐▐▐▐▐▐▐▐▐▐▐ as of record 44,310         tables, requests and digest are told whole

Most of what a seek sends are blocks, and of those most are as they were a while before. The digest is that of the whole state: who
lays the changes over something else than the state as of ``since`` finds out.
"""

from typing import NamedTuple

import msgspec

from kvarium.recording.fast_forward import Beside
from kvarium.recording.narrow_blocks import Changes
from kvarium_ledger import codec


class Difference(NamedTuple):
    """The state at ``record``; of its blocks what ``changes`` after the record ``since``."""

    record: int
    since: int
    changes: Changes
    beside: Beside

    @property
    def step(self) -> int:
        """The last step (-1: none yet)."""
        return self.beside.frame.step

    def sealed(self) -> list[bytes | memoryview]:
        """The frame of a keyframe with ``since``, in pieces, without contents (but ``next_content``)."""
        keyframe = msgspec.structs.replace(
            self.beside.keyframe(self.record),
            since=self.since,
            changed=self.changes.blocks.astype("<u4", copy=False).tobytes(),
        )
        columns = {name: column.data for name, column in self.changes.columns().items()}
        return codec.seal_in_pieces(keyframe, {"blocks": columns})
