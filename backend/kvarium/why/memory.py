"""Where does the memory go: by what blocks are, by who holds them, what lies unused in them, and what sharing saves.

pool 512   active 301 │ shared 12 │ cached 140 │ free 59        as the map and the timeline count
requests   r3: 20 blocks by 24 entries, 8 alone, 5 slots unused
saving     entries 350 − blocks 313 = 37 of 350
"""

import msgspec
import numpy as np

from kvarium.why.holders import Holder, holder_of
from kvarium.why.past import Past
from kvarium_ledger.operations import NONE


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """Counts that no table entry stands for: ``pins`` on ``blocks`` blocks."""

    pins: int
    blocks: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, of the state after ``step``; all but ``slots`` and ``unused`` in blocks.

    ``active`` (count 1), ``shared`` (more), ``cached`` (free, with content) and ``free`` (without) make up the ``pool``.
    Of the ``slots`` of blocks in use ``unused`` are not filled, in ``tails`` blocks; ``reserved`` of these are wholly unfilled,
    as a contiguous cache has them. ``requests`` hold ``held`` blocks by ``entries`` table entries: ``saved`` is how many more
    they would need without sharing, and ``saving`` its share of ``entries`` (None: there are none). ``duplicates`` are
    labelled blocks beyond the first of each content.
    """

    step: int
    record: int
    pool: int
    block_size: int
    active: int
    shared: int
    cached: int
    free: int
    slots: int
    unused: int
    tails: int
    reserved: int
    held: int
    entries: int
    saved: int
    saving: float | None
    duplicates: int
    pinned: Pinned
    requests: list[Holder]


def where_memory_goes(past: Past, step: int | None = None) -> Memory:
    """After a step (None: the last one). Raises :class:`OutOfRangeError` for one that is not recorded."""
    fold = past.after_step(step)
    blocks, usage = fold.state.blocks, fold.usage()
    used = np.flatnonzero(blocks.np_count > 0)
    filled = blocks.np_filled[used]
    held = {block for table in fold.state.tables.values() for block in table.values()}
    entries = sum(len(table) for table in fold.state.tables.values())
    labelled = blocks.np_content[blocks.np_content != NONE]
    requests = [holder_of(past, fold, request) for request in sorted(fold.state.requests)]
    return Memory(
        step=fold.step,
        record=fold.record,
        pool=past.num_blocks,
        block_size=past.block_size,
        active=usage.active,
        shared=usage.shared,
        cached=usage.cached,
        free=usage.free,
        slots=len(used) * past.block_size,
        unused=int(past.block_size * len(used) - filled.sum()),
        tails=int((filled < past.block_size).sum()),
        reserved=int((filled == 0).sum()),
        held=len(held),
        entries=entries,
        saved=entries - len(held),
        saving=(entries - len(held)) / entries if entries else None,
        duplicates=len(labelled) - len(np.unique(labelled)),
        pinned=Pinned(
            pins=sum(pins.total() for pins in fold.state.pins.values()),
            blocks=sum(bool(pins.total()) for pins in fold.state.pins.values()),
        ),
        requests=sorted((each for each in requests if each.blocks), key=lambda each: -each.blocks),
    )
