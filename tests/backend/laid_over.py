"""What a follower has who lays over an earlier state what changed since."""

import msgspec
import numpy as np

from kvarium_ledger import block_columns, codec
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.columns import u32
from kvarium_ledger.records import Keyframe
from kvarium_ledger.state import BlockState
from tests.backend.hand_engine import BLOCKS


def laid_over(before: Keyframe, frame: bytes) -> Keyframe:
    """The keyframe that a follower has who lays a difference over the blocks of the keyframe ``before``."""
    told = codec.open_frame(frame)
    assert isinstance(told, Keyframe)
    assert told.since == before.record
    blocks = BlockState.bulk(BLOCKS)
    blocks.load(before.blocks)
    changed = u32(told.changed)
    assert np.array_equal(changed, np.unique(changed))
    for name in BLOCK_COLUMNS:
        values = (
            block_columns.decode(name, getattr(told.blocks, name), len(changed)) if len(changed) else None
        )
        if values is not None:
            getattr(blocks, f"np_{name}")[changed] = values
    return msgspec.structs.replace(told, blocks=blocks.columns(), since=None, changed=b"")
