"""Which compilations show the most: every value of every setting soon, then every pair of values.

    write_kv   head_dim 64, dtype float16, kv_dtype same, arch 80      covers 4 values, and 6 pairs of them
    write_kv   head_dim 80, dtype bfloat16, kv_dtype fp8_e4m3, arch 90 covers 4 others, …

What goes wrong does so by one setting, or by two that meet. The next is always the one with the most values not seen before, and of
those the one with the most pairs: greedy, as good as the tables that are made for it within a few, and the same each time.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

_VALUE = 1 << 32
"""What a new value counts beside a new pair."""


def covering(settings: Sequence[Mapping[str, Hashable]], least: int | None = None) -> list[int]:
    """Which of ``settings`` cover, in that order, all values and all pairs of values that any two settings of one have together.

    With ``least``, only so many, or as many as it takes for every value. Returns places in ``settings``.
    """
    bits: dict[Hashable, int] = {}
    values, pairs = [], []
    for each in settings:
        found = sorted(each.items())
        values.append(sum(1 << bits.setdefault(item, len(bits)) for item in found))
        pairs.append(sum(1 << bits.setdefault(item, len(bits)) for item in combinations(found, 2)))
    seen = 0
    chosen: list[int] = []
    # What one adds only gets less: the first whose gain still holds when it is counted again is the best of all.
    heap = [(-_VALUE * (len(settings[place]) + 1), place) for place in range(len(settings))]
    heapq.heapify(heap)
    while heap:
        promised, place = heapq.heappop(heap)
        new_values, new_pairs = values[place] & ~seen, pairs[place] & ~seen
        gain = -(_VALUE * new_values.bit_count() + new_pairs.bit_count())
        if gain > promised:
            if gain:
                heapq.heappush(heap, (gain, place))
            continue
        if least is not None and len(chosen) >= least and not new_values:
            break
        chosen.append(place)
        seen |= values[place] | pairs[place]
    return chosen
