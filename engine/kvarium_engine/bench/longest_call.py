"""The longest call of the free queue: what a single step may wait for, in a queue as long as the pool.

Random blocks are hit, each in the middle of the queue, and freed again, so that nothing is ever taken from the head::

    remove a block      its entry is stale: sooner or later something has to be cleared out
    append it again     another entry at the tail

Of an amortized cost the mean tells nothing, so every call is timed, in CPU time of its thread: what another process took of
the machine meanwhile is not the queue's.
"""

import random
import time
from typing import Any, NamedTuple

from kvarium_engine.bench.ledger_cost import collected
from kvarium_engine.memory.free_queue import FreeQueue


class Hits(NamedTuple):
    """``hits`` on a free queue of so many ``blocks``, each of which is freed again."""

    blocks: int
    hits: int


def longest_call(size: Hits, seed: int = 0) -> dict[str, Any]:
    """The longest call (ms), and the mean of all (µs), the clock's own time included."""
    queue = FreeQueue([0.0] * size.blocks)
    draw, now = random.Random(seed), time.thread_time_ns
    longest = spent = 0
    with collected():
        for _ in range(size.hits):
            block = draw.randrange(size.blocks)
            began = now()
            queue.remove(block)
            removed = now()
            queue.append(block)
            ended = now()
            longest = max(longest, removed - began, ended - removed)
            spent += ended - began
    assert len(queue.walk()) == size.blocks, "a block was lost"
    return {
        "blocks": size.blocks,
        "calls": 2 * size.hits,
        "longest_ms": round(longest / 1e6, 3),
        "mean_us": round(spent / 2 / size.hits / 1e3, 3),
    }
