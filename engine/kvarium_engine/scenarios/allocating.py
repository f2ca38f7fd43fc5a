"""When blocks are taken: lazily, and at one place after another through a table.

lazy-allocation   40 tokens: 16 + 16 + 8, three blocks; then one more each 16 tokens, up to 65
block-table       token i is in slot i mod 16 of block table[i div 16], wherever that block is
"""

from collections.abc import Generator
from itertools import pairwise

from kvarium_engine.scenarios.scenario import Scenario, one_act
from kvarium_engine.scenarios.stage import Stage
from kvarium_ledger.operations import Operation

_PROMPT, _ANSWER, _SIZE = 40, 1000, 16


def _lazy_allocation(stage: Stage) -> Generator[None]:
    seen = stage.seen
    request = stage.submit(stage.prompt(_PROMPT, "A story"), _ANSWER, "lazy")
    yield
    first = stage.table(request)
    sequence = stage.sequence(request)
    stage.expect("blocks at admission", 3, len(first))
    stage.expect("slots filled in each of them", [16, 16, 8], [seen.filled(block) for block in first])
    stage.caption(1, tokens=_PROMPT, fills=" + ".join(str(seen.filled(block)) for block in first))
    yield from stage.until(lambda: len(stage.table(request)) > len(first), "a fourth block was taken")
    stage.expect("decodes until a fourth block is taken", 9, seen.step)
    stage.caption(2, block=stage.table(request)[-1])
    yield from stage.until_ended(request)
    allocated = seen.happened(Operation.allocate, sequence=sequence)
    later = [each.step for each in allocated if each.step > 0]
    apart = {after - before for before, after in pairwise(later)}
    stage.expect("tokens sampled", _ANSWER, len(seen.sampled(sequence)))
    stage.expect("blocks in all", 65, len(allocated))
    stage.expect("blocks taken later, one at a time", 62, len(set(later)))
    stage.expect("tokens between two of them", [_SIZE], sorted(apart))
    stage.caption(3, tokens=_PROMPT, answer=_ANSWER, blocks=len(allocated), later=len(later))


_TABLE = [41, 7, 19]


def _block_table(stage: Stage) -> Generator[None]:
    seen = stage.seen
    yield from stage.arrange(_TABLE)
    stage.caption(1, blocks=stage.engine.config.num_blocks, table=_TABLE)
    prompt = stage.prompt(_PROMPT, "A table")
    request = stage.submit(prompt, 4, "scattered")
    yield
    table = stage.table(request)
    stage.expect("the block table", _TABLE, table)
    stage.expect("slots filled in its blocks", [16, 16, 8], [seen.filled(block) for block in table])
    whole = [token for block in table for token in seen.content(block) or []]
    stage.expect("full blocks, read back through the table", prompt[: len(whole)], whole)
    stage.expect("tokens in them", 32, len(whole))
    stage.caption(2, table=table, block=table[20 // _SIZE], slot=20 % _SIZE)
    if stage.has_tensors:
        # The same tokens at other places: with a salt of its own it finds nothing of the first one's.
        twin = stage.submit(prompt, 4, "elsewhere", cache_salt="elsewhere")
        yield
        other = stage.table(twin)
        stage.expect("blocks that both have", 0, len(set(other) & set(table)))
        stage.expect(
            "keys that differ, token by token through both tables", 0, _differing(stage, table, other)
        )
        yield from stage.until_ended(twin)
    yield from stage.until_ended(request)


def _differing(stage: Stage, table: list[int], other: list[int]) -> int:
    """Tokens of which the norm of a key or value differs between two tables, read from the device slot by slot."""
    differing = 0
    for position in range(_PROMPT):
        place, slot = divmod(position, _SIZE)
        one = stage.engine.runner.norms(table[place], slot, slot + 1)
        two = stage.engine.runner.norms(other[place], slot, slot + 1)
        assert one is not None, "a runner with logits has keys"
        assert two is not None, "a runner with logits has keys"
        pairs = zip([*one.key, *one.value], [*two.key, *two.value], strict=True)
        differing += any(abs(a - b) > 1e-3 * max(abs(a), 1.0) for a, b in pairs)
    return differing


LAZY_ALLOCATION: Scenario = one_act("lazy-allocation", _lazy_allocation, 72, _PROMPT + _ANSWER)
BLOCK_TABLE: Scenario = one_act("block-table", _block_table, 48, 64, max_num_seqs=48)
