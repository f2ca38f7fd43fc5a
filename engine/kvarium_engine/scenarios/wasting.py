"""What memory is lost to, by how it is given out.

contiguous-or-paged   a reserved run is held for tokens that come later, or never, and leaves holes; a block does not
block-size            small blocks waste little and find more of a prefix; large ones make short tables
"""

from collections.abc import Generator
from itertools import pairwise

from kvarium_engine.scenarios.scenario import Act, Scenario
from kvarium_engine.scenarios.stage import Stage
from kvarium_ledger.decisions import Admitted, Waiting
from kvarium_ledger.operations import Cause, Operation

_NAME = "contiguous-or-paged"
_SIZE, _PROMPT, _ANSWER, _LONGEST = 16, 40, 10, 2048


def _unused(stage: Stage, request: int) -> int:
    """Slots of a request's blocks that nothing is written to."""
    table = stage.table(request)
    return len(table) * stage.seen.block_size - sum(stage.seen.filled(block) for block in table)


def _reserved(stage: Stage) -> Generator[None]:
    seen = stage.seen
    asked = [stage.submit(stage.prompt(_PROMPT, f"Number {each}"), _ANSWER, f"r-{each}") for each in range(3)]
    yield
    first = asked[0]
    sequence = stage.sequence(first)
    reserved = [
        each for each in seen.happened(Operation.allocate, sequence=sequence) if each.cause is Cause.reserve
    ]
    stage.expect("blocks that are reserved for 40 tokens", 128, len(reserved))
    stage.expect("slots that are not used", 2008, _unused(stage, first))
    waits = [
        (each.reason, each.needs, each.free) for _, each in seen.decided(Waiting) if each.request == asked[2]
    ]
    stage.expect("why the third one waits: what it needs, and what is free", [("blocks", 128, 0)], waits)
    stage.caption(1, tokens=_PROMPT, longest=_LONGEST, blocks=len(reserved), unused=_unused(stage, first))
    # The last token that is sampled is written nowhere.
    yield from stage.until(
        lambda: len(seen.sampled(sequence)) == _ANSWER - 1, "all but the last token are there"
    )
    written = _PROMPT + _ANSWER - 1
    yield
    fills = sum(1 for each in seen.happened(Operation.fill, sequence=sequence) if each.step > 0)
    stage.expect("slots that later tokens used", _ANSWER - 1, fills)
    stage.expect("slots that were held, and never used", 1999, _LONGEST - written)
    stage.caption(2, later=fills, never=_LONGEST - written)
    yield from stage.until_ended(*asked)


def _holes(stage: Stage) -> Generator[None]:
    """Three of ten blocks each, the first and the third end, and a fourth one of 16 comes."""
    seen = stage.seen
    a = stage.submit(stage.prompt(140, "Adam"), 20, "a")
    b = stage.submit(stage.prompt(120, "Berta"), 40, "b")
    c = stage.submit(stage.prompt(140, "Carl"), 20, "c")
    yield from stage.until_ended(a, c)
    before = seen.step
    d = stage.submit(stage.prompt(200, "Dora"), 56, "d")
    yield
    waits = [each for _, each in seen.decided(Waiting, since=before) if each.request == d]
    if stage.engine.config.reservation is not None:
        stage.expect(
            "why the fourth one waits: blocks that it needs, that are free, and the largest run",
            [("fragmentation", 16, 22, 12)],
            [(each.reason, each.needs, each.free, each.largest) for each in waits],
        )
        stage.caption(
            3, needs=16, free=waits[0].free if waits else "?", largest=waits[0].largest if waits else "?"
        )
    else:
        admitted = [each.request for _, each in seen.decided(Admitted, since=before)]
        stage.expect("the fourth one is admitted at once", [d], admitted)
        blocks = stage.table(d)
        stage.expect("blocks that its 200 tokens take", 13, len(blocks))
        beside = [after - before for before, after in pairwise(blocks)]
        stage.expect("they stand side by side", False, set(beside) == {1})
        stage.expect("slots that are not used", 8, _unused(stage, d))
        stage.caption(5, blocks=len(blocks), table=blocks[:4])
    yield from stage.until_ended(b, d)


def _paged(stage: Stage) -> Generator[None]:
    request = stage.submit(stage.prompt(_PROMPT, "A small one"), _ANSWER, "small")
    yield
    stage.expect("blocks of 40 tokens", 3, len(stage.table(request)))
    stage.expect("slots that are not used", 8, _unused(stage, request))
    stage.caption(4, tokens=_PROMPT, unused=_unused(stage, request))
    yield from stage.until_ended(request)
    yield from _holes(stage)


CONTIGUOUS_OR_PAGED = Scenario(
    _NAME,
    (
        Act(
            _reserved,
            256,
            _LONGEST,
            name="reserved",
            options={"memory_backend": "contiguous", "reserve": "max", "max_model_len": _LONGEST},
        ),
        Act(_holes, 32, 256, name="holes", options={"memory_backend": "contiguous", "reserve": "exact"}),
        Act(_paged, 32, 256, name="paged"),
    ),
)

_SLOTS, _SHARED, _OWN, _SAID = 1024, 110, 20, 81
_SIZES = {8: (27, 6, 104), 16: (14, 14, 96), 64: (4, 46, 64), 256: (1, 46, 0)}
"""Of a block size: the entries of a table with 210 tokens, its unused slots, and how much of 110 shared tokens is found."""


def _of_size(stage: Stage) -> Generator[None]:
    seen, size = stage.seen, stage.seen.block_size
    entries, unused, found = _SIZES[size]
    system = stage.prompt(_SHARED, "You are the keeper of a lighthouse")
    first = stage.submit(system + stage.prompt(_OWN, "When"), _SAID, "first")
    yield
    before = seen.step
    second = stage.submit(system + stage.prompt(_OWN, "How much"), 2, "second")
    yield
    hits = [each.hit for _, each in seen.decided(Admitted, since=before)]
    stage.expect(f"shared tokens that blocks of {size} find", [found], hits)
    sequence = stage.sequence(first)
    yield from stage.until_ended(second)
    yield from stage.until_ended(first)
    taken = len(seen.happened(Operation.allocate, sequence=sequence))
    tokens = _SHARED + _OWN + _SAID - 1
    stage.expect(f"entries of its table in blocks of {size}", entries, taken)
    stage.expect(f"slots that are not used in blocks of {size}", unused, taken * size - tokens)
    stage.caption(
        1 + list(_SIZES).index(size),
        tokens=tokens,
        entries=taken,
        unused=taken * size - tokens,
        shared=_SHARED,
        hit=hits[0] if hits else "?",
    )


BLOCK_SIZE = Scenario(
    "block-size",
    tuple(Act(_of_size, _SLOTS // size, 256, block_size=size, name=f"blocks of {size}") for size in _SIZES),
)
