"""Is anything leaking: blocks that are held for nobody, against a baseline.

A count stands for a table entry or a pin. Held for nobody, so that nothing will give it back, is

    an entry   of a request that is not in the engine (any more), or of a sequence that was dropped
    a pin      ``copy_source`` that stands after a step: it ends with the copies' launch, in the same step
    a count    that is more than the block's entries and pins

Other pins (``null_block``, ``transfer``) may stand for as long as a foreign engine likes: they are counted, and no leaks.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from kvarium.errors import OutOfRangeError
from kvarium.why.past import Past
from kvarium.why.places import Life, Who
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Pin


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A block that is held for nobody: by an ``entry``, at ``position`` in the table of ``who``'s sequence, or by a ``pin``,
    or by a ``count`` for which nothing stands.

    ``who`` is None where it is not recorded whose sequence that was. ``old``: it was so at the baseline already.
    """

    life: Life
    how: Literal["entry", "pin", "count"]
    sequence: int | None = None
    position: int | None = None
    who: Who | None = None
    old: bool = False


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, of the state after ``step`` against the one after ``baseline``.

    ``used`` blocks of the ``pool`` are in use, ``used_before`` were; ``leaking`` of them are held for nobody, ``new`` of these
    not yet at the baseline; ``leaks`` tells them, the new ones first, at most 1,000. ``pins`` are those that are no leaks.
    ``violation`` is the first fault that folding up to the step found: an audit of a leaking engine finds one.
    """

    step: int
    record: int
    baseline: int
    pool: int
    used: int
    used_before: int
    leaking: int
    new: int
    pins: int
    leaks: list[Leak]
    violation: str | None


_MOST = 1000


def what_leaks(past: Past, baseline: int = 0, step: int | None = None) -> Leaks:
    """After ``step`` (None: the last one), against the state after ``baseline``. Raises :class:`OutOfRangeError`."""
    now = past.after_step(step, trusting=False)
    if baseline > now.step:
        raise OutOfRangeError(
            f"the baseline, step {baseline}, lies behind step {now.step}: give an earlier one"
        )
    then = past.after_step(baseline, trusting=False)
    before = set(_held_for_nobody(past, then))
    found = [msgspec.structs.replace(leak, old=leak in before) for leak in _held_for_nobody(past, now)]
    found.sort(key=lambda leak: leak.old)
    return Leaks(
        step=now.step,
        record=now.record,
        baseline=then.step,
        pool=past.num_blocks,
        used=_used(now),
        used_before=_used(then),
        leaking=len({leak.life for leak in found}),
        new=len({leak.life for leak in found} - {leak.life for leak in before}),
        pins=sum(pins.total() - pins[Pin.copy_source] for pins in now.state.pins.values()),
        leaks=found[:_MOST],
        violation=None if now.violation is None else now.violation.message,
    )


def _used(fold: Fold) -> int:
    return int((fold.state.blocks.np_count > 0).sum())


def _held_for_nobody(past: Past, fold: Fold) -> Iterator[Leak]:
    state = fold.state

    def life(block: int) -> Life:
        return Life(block=block, generation=state.blocks.generation[block])

    for (sequence, _), table in sorted(state.tables.items()):
        row = state.sequences.get(sequence)
        if row is not None and not row.dropped and row.request in state.requests:
            continue
        who = None if row is None else past.who(row.request, sequence, row.index)
        for position, block in sorted(table.items()):
            yield Leak(life=life(block), how="entry", sequence=sequence, position=position, who=who)
    explained = np.zeros(past.num_blocks, dtype=np.int64)
    for table in state.tables.values():
        np.add.at(explained, list(table.values()), 1)
    for block, pins in sorted(state.pins.items()):
        explained[block] += pins.total()
        if pins[Pin.copy_source]:
            yield Leak(life=life(block), how="pin")
    for block in np.flatnonzero(state.blocks.np_count > explained).tolist():
        yield Leak(life=life(block), how="count")
