"""All scenarios, by name, in the order in which they are best seen."""

import difflib

from kvarium_engine.errors import UsageError
from kvarium_engine.scenarios.allocating import BLOCK_TABLE, LAZY_ALLOCATION
from kvarium_engine.scenarios.freeing import FREED_TAIL_FIRST, LRU_EVICTION
from kvarium_engine.scenarios.scenario import Scenario
from kvarium_engine.scenarios.scheduling import CHUNKED_PREFILL, PREEMPTION
from kvarium_engine.scenarios.sharing import BEAM_SEARCH, SHARED_SYSTEM_PROMPT, TWO_SAMPLES
from kvarium_engine.scenarios.wasting import BLOCK_SIZE, CONTIGUOUS_OR_PAGED

SCENARIOS: dict[str, Scenario] = {
    each.name: each
    for each in (
        LAZY_ALLOCATION,
        BLOCK_TABLE,
        TWO_SAMPLES,
        BEAM_SEARCH,
        SHARED_SYSTEM_PROMPT,
        FREED_TAIL_FIRST,
        LRU_EVICTION,
        PREEMPTION,
        CHUNKED_PREFILL,
        CONTIGUOUS_OR_PAGED,
        BLOCK_SIZE,
    )
}


def scenario_named(name: str) -> Scenario:
    """The scenario of a name. Raises :class:`UsageError`, with the nearest name where one is near."""
    found = SCENARIOS.get(name)
    if found is not None:
        return found
    near = difflib.get_close_matches(name, SCENARIOS, 1)
    if near:
        raise UsageError(f"there is no scenario {name!r}: did you mean {near[0]}?")
    raise UsageError(f"there is no scenario {name!r}: it is one of {', '.join(SCENARIOS)}")
