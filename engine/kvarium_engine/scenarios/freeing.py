"""What becomes of blocks that nobody holds.

freed-tail-first   a table's blocks enter the free queue tail first, at its end, and are hits until they are taken
lru-eviction       allocation takes from the head: what was not used for longest loses its content first
"""

from collections.abc import Generator

from kvarium_engine.scenarios.scenario import Scenario, one_act
from kvarium_engine.scenarios.stage import Stage
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.operations import Cause, Operation

_SIZE = 16
_TABLE = [22, 8, 31, 14]


def _freed_tail_first(stage: Stage) -> Generator[None]:
    seen = stage.seen
    yield from stage.arrange([5, *_TABLE])
    stage.caption(1, table=_TABLE)
    # Block 5 holds the beginning as well: by that another request will find block 8 without holding block 22.
    beginning = stage.prompt(_SIZE, "The lamp")
    yield from stage.until_ended(stage.submit(beginning, 1, "before"))
    first = stage.submit(beginning, 49, "first")
    yield
    sequence = stage.sequence(first)
    yield from stage.until(
        lambda: len(seen.table(sequence)) == 4 and seen.filled(_TABLE[3]) > 0, "its table has four blocks"
    )
    stage.expect("its block table", _TABLE, seen.table(sequence))
    said = seen.sampled(sequence)
    other = stage.submit([*beginning, *said[:_SIZE], *stage.prompt(4, "And")], 40, "other")
    yield
    stage.expect("the other one's second block", 8, stage.table(other)[1])
    stage.expect("ref counts of the first one's table", [1, 2, 1, 1], [seen.count(each) for each in _TABLE])
    stage.caption(2, table=_TABLE, block=8)
    before = seen.step
    yield from stage.until_ended(first)
    freed = [each for each in seen.happened(Operation.free, since=before) if each.cause is Cause.finished]
    stage.expect("blocks that are freed, in their order", [14, 31, 22], [each.block for each in freed])
    stage.expect("the end of the free queue", [14, 31, 22], seen.queue()[-3:])
    stage.expect("the count of block 8", 1, seen.count(8))
    stage.caption(3, freed=[each.block for each in freed], block=8)
    before = seen.step
    again = stage.submit([*beginning, *said[:48], *stage.prompt(4, "Then")], 4, "again")
    yield
    admitted = [each.hit for _, each in seen.decided(Admitted, since=before)]
    stage.expect("tokens found again", [64], admitted)
    reused = stage.blocks_of(Operation.reuse, since=before)
    stage.expect("freed blocks that are hit", [31, 14], reused)
    stage.expect("blocks that lost their content", 0, len(seen.happened(Operation.evict)))
    stage.caption(4, reused=reused, hit=admitted)
    yield from stage.until_ended(other, again)


def _lru_eviction(stage: Stage) -> Generator[None]:
    seen = stage.seen
    prompts = [stage.prompt(48, beginning) for beginning in ("Adam", "Berta", "Carl")]
    tables: list[list[int]] = []
    for name, prompt in zip("abc", prompts, strict=True):
        request = stage.submit(prompt, 2, name)
        yield
        tables.append(stage.table(request)[:3])
        yield from stage.until_ended(request)
    a, b, c = tables
    stage.caption(1, blocks=stage.engine.config.num_blocks, a=a, b=b, c=c)
    before = seen.step
    again = stage.submit([*prompts[0], *stage.prompt(1, "?")], 2, "a-again")
    yield from stage.until_ended(again)
    stage.expect("a's blocks are hit in the free queue", a, stage.blocks_of(Operation.reuse, since=before))
    kept = [each for each in seen.queue() if each in a + b + c]
    stage.expect("the order in which contents would go", [*b[::-1], *c[::-1], *a[::-1]], kept)
    stage.caption(2, order=kept)
    before = seen.step
    large = stage.submit(stage.prompt(16 * 7, "Dora"), 1, "d")
    yield from stage.until_ended(large)
    evicted = stage.blocks_of(Operation.evict, since=before)
    stage.expect("blocks that lose their content, in their order", [*b[::-1], *c[::-1][:2]], evicted)
    stage.caption(3, evicted=evicted)
    before = seen.step
    found = [
        stage.submit([*prompt, *stage.prompt(1, "!")], 1, f"{name}-last")
        for name, prompt in zip("ab", prompts, strict=False)
    ]
    yield from stage.until_ended(*found)
    hits = [each.hit for _, each in seen.decided(Admitted, since=before)]
    stage.expect("tokens that are found of a and of b", [48, 0], hits)
    stage.caption(4, a=hits[0] if hits else "?", b=hits[-1] if hits else "?")


FREED_TAIL_FIRST: Scenario = one_act("freed-tail-first", _freed_tail_first, 32, 128, max_num_seqs=32)
LRU_EVICTION: Scenario = one_act("lru-eviction", _lru_eviction, 12, 128)
