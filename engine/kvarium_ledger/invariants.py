"""What is true of every lawful state, checked over the whole of it."""

from collections.abc import Iterator

import numpy as np

from kvarium_ledger.operations import NONE
from kvarium_ledger.state import State


def _some(blocks: np.ndarray) -> str:
    shown = ", ".join(str(block) for block in blocks[:5])
    return f"block{'s' if len(blocks) > 1 else ''} {shown}" + (", …" if len(blocks) > 5 else "")


def broken_invariants(state: State, block_size: int) -> Iterator[str]:
    """A sentence for each invariant of this list that does not hold.

    count = table entries + pins; count 0 exactly when in the queue; no two blocks of the queue with one ticket;
    content only in full blocks; no hits without content; a table's request is in the engine.
    """
    blocks = state.blocks
    holders = np.zeros(blocks.num_blocks, dtype=np.int64)
    entries = [block for table in state.tables.values() for block in table.values()]
    if entries:
        holders += np.bincount(np.array(entries), minlength=blocks.num_blocks)
    for block, pins in state.pins.items():
        holders[block] += pins.total()
    wrong = np.flatnonzero(holders != blocks.np_count)
    if len(wrong):
        block = int(wrong[0])
        yield (
            f"count is not entries + pins in {_some(wrong)}: block {block} has count {blocks.count[block]} "
            f"and {holders[block]} holders"
        )
    queued = ~np.isnan(blocks.np_ticket)
    wrong = np.flatnonzero(queued != (blocks.np_count == 0))
    if len(wrong):
        yield f"in the queue and in use at once, or neither: {_some(wrong)}"
    tickets = np.sort(blocks.np_ticket[queued])
    doubled = tickets[1:][tickets[1:] == tickets[:-1]]
    if len(doubled):
        yield f"two blocks of the free queue have ticket {doubled[0]}"
    labelled = blocks.np_content != NONE
    wrong = np.flatnonzero(labelled & (blocks.np_filled != block_size))
    if len(wrong):
        yield f"content in a block that is not full: {_some(wrong)}"
    wrong = np.flatnonzero(~labelled & (blocks.np_hits != 0))
    if len(wrong):
        yield f"hits without content: {_some(wrong)}"
    wrong = np.flatnonzero(blocks.np_filled > block_size)
    if len(wrong):
        yield f"filled past the block size of {block_size}: {_some(wrong)}"
    for sequence, _group in state.tables:
        row = state.sequences.get(sequence)
        if row is None or row.dropped or row.request not in state.requests:
            yield f"sequence {sequence} has a block table, but its request is not in the engine"
            break
