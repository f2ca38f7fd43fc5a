"""Changes laid over narrow columns give what they give in whole words, to the bit and as narrow as a keyframe's."""

import random

import numpy as np

from kvarium.recording.narrow_blocks import Changes, NarrowBlocks
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.operations import NONE
from kvarium_ledger.state import BlockState

BLOCKS = 40
_WORDS = (0, 1, 255, 256, 65535, 65536, NONE)
_TICKETS = (float("nan"), -3.0, 7.0, 0.5, -0.0, 2.0**31, -(2.0**31))


def changed(state: BlockState, rng: random.Random, kinds: int) -> np.ndarray:
    """Change some blocks; their numbers, ascending. The fewer kinds of values, the narrower they are."""
    blocks = np.array(sorted(rng.sample(range(BLOCKS), rng.choice([0, 1, 5, BLOCKS]))), dtype=np.uint32)
    for block in blocks.tolist():
        for name in BLOCK_COLUMNS:
            values = _TICKETS if name == "ticket" else _WORDS
            getattr(state, name)[block] = rng.choice(values[:kinds])
    return blocks


def test_changes_laid_over_narrow_columns_are_the_state_that_they_lead_to(rng: random.Random) -> None:
    for _ in range(300):
        state = BlockState(BLOCKS)
        changed(state, rng, rng.randint(1, 7))
        told = state.columns()
        changes = []
        for _ in range(rng.randint(0, 4)):
            blocks = changed(state, rng, rng.randint(1, 7))
            changes.append(Changes.of(state, blocks))
        narrow = NarrowBlocks(told, BLOCKS, changes)
        true = state.columns()
        found = narrow.columns()
        for name in BLOCK_COLUMNS:
            assert (found[name].tobytes() if name in found else b"") == getattr(true, name)
        assert narrow.widened().sums() == state.sums()
        assert narrow.content.tolist() == state.content.tolist()


def test_where_all_become_the_default_again_a_column_is_left_out() -> None:
    state = BlockState(BLOCKS)
    everywhere = np.arange(BLOCKS, dtype=np.uint32)
    state.np_content[:], state.np_ticket[:], state.np_hits[:] = 3, 0.5, 70_000
    told = state.columns()
    state.np_content[:], state.np_ticket[:], state.np_hits[:] = NONE, everywhere, 0
    assert NarrowBlocks(told, BLOCKS, [Changes.of(state, everywhere)]).columns() == {}
