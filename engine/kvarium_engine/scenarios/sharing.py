"""Blocks that several sequences hold.

two-samples            one prompt, two answers: all its blocks have the count 2; the first write copies the last one alone
beam-search            candidates share what they have in common; one that is dropped gives back a count on all its path
shared-system-prompt   another request with the same beginning finds its blocks, and computes only what is its own
"""

from collections.abc import Generator

from kvarium_engine.scenarios.scenario import Scenario, one_act
from kvarium_engine.scenarios.stage import Stage
from kvarium_ledger.decisions import Admitted, Scheduled, SequenceCreated, SequenceDropped
from kvarium_ledger.operations import Cause, Operation

_PROMPT, _SIZE = 40, 16
_BYTES_A_TOKEN = 2 * 32 * 8 * 128 * 2
"""Of Llama 3.1 8B: keys and values, 32 layers, 8 KV heads of 128 numbers of 2 bytes."""


def _two_samples(stage: Stage) -> Generator[None]:
    seen = stage.seen
    yield from stage.arrange([7, 1, 4, 15])
    arranged = seen.step
    request = stage.submit(stage.prompt(_PROMPT, "Two answers"), 12, "samples", n=2, temperature=1.0, seed=3)
    yield
    one, two = seen.sequences(request)
    table = seen.table(one)
    stage.expect("the first sample's table", [7, 1, 4], table)
    stage.expect("the second sample's table", table, seen.table(two))
    stage.expect("ref counts of the prompt's blocks", [2, 2, 2], [seen.count(block) for block in table])
    stage.caption(1, tokens=_PROMPT, table=table)
    yield
    copies = seen.happened(Operation.copy, since=arranged)
    stage.expect("copies", [(4, 15)], [(each.source, each.block) for each in copies])
    stage.expect("the copied block's count", 1, seen.count(table[-1]))
    stage.expect("the whole blocks' counts", [2, 2], [seen.count(block) for block in table[:-1]])
    stage.expect("bytes copied, were it Llama 3.1 8B", 2 << 20, len(copies) * _SIZE * _BYTES_A_TOKEN)
    written = {each.block for each in seen.happened(Operation.fill) if each.step == seen.step}
    stage.expect("blocks written, each in place", [4, 15], sorted(written))
    stage.caption(2, source=copies[0].source if copies else "?", block=copies[0].block if copies else "?")
    yield from stage.until_ended(request)
    stage.expect("copies in all", 1, len(seen.happened(Operation.copy, since=arranged)))
    stage.caption(3, copies=len(seen.happened(Operation.copy, since=arranged)))


_WIDTH = 4


def _beam_search(stage: Stage) -> Generator[None]:
    seen = stage.seen
    request = stage.submit(stage.prompt(_PROMPT, "Four ways on"), 24, "beams", beam_width=_WIDTH)
    yield
    root = stage.table(request)[0]
    stage.expect("the root's count with four candidates", _WIDTH, seen.count(root))
    stage.caption(1, width=_WIDTH, root=root)
    # Before they go on, two that have no children are dropped: the first time that this happens is looked for.
    gone: list[SequenceDropped] = []
    before: dict[int, list[int]] = {}
    most = 0.0
    while not seen.has_ended(request) and not gone:
        before = {each: seen.table(each) for each in seen.sequences(request)}
        most = max(most, _saved(list(before.values())))
        yield
        dropped = [each for _, each in seen.decided(SequenceDropped, since=seen.step - 1)]
        gone = dropped if len(dropped) == 2 and not seen.has_ended(request) else []
    created = [each for _, each in seen.decided(SequenceCreated, since=seen.step - 1)]
    candidates = list(before)
    places = [candidates.index(each.sequence) for each in gone]
    if not stage.has_tensors:
        stage.expect("candidates that are dropped", [0, 3], places)
    lost = [
        len(seen.happened(Operation.release, Operation.free, sequence=each.sequence, since=seen.step - 1))
        for each in gone
    ]
    stage.expect(
        "counts given back, one a block of each path", [len(before[each.sequence]) for each in gone], lost
    )
    left = [seen.count_before(root, each.op) for each in created[:1]]
    stage.expect("the root's count when two of four are dropped", [2], left)
    stage.expect("the root's count when the others' children have forked", _WIDTH, seen.count(root))
    stage.caption(2, dropped=places, root=root, left=left)
    while not seen.has_ended(request):
        most = max(most, _saved([seen.table(each) for each in seen.sequences(request)]))
        yield
    stage.expect("blocks that sharing saves: 38 % or more at the most", True, most >= 0.38)
    stage.caption(3, saved=f"{most:.0%}")


def _saved(tables: list[list[int]]) -> float:
    """Blocks saved ÷ blocks without sharing."""
    without = sum(map(len, tables))
    return 1 - len({block for table in tables for block in table}) / without if without else 0.0


_SYSTEM, _OWN = 64, 24


def _shared_system_prompt(stage: Stage) -> Generator[None]:
    seen = stage.seen
    system = stage.prompt(_SYSTEM, "You are the keeper of a lighthouse")
    first = stage.submit(system + stage.prompt(20, "When"), 40, "first")
    yield
    shared = stage.table(first)[: _SYSTEM // _SIZE]
    stage.caption(1, tokens=_SYSTEM, blocks=len(shared), table=shared)
    before = seen.step
    second = stage.submit(system + stage.prompt(_OWN, "How much"), 8, "second")
    yield
    admitted = [each for _, each in seen.decided(Admitted, since=before)]
    stage.expect("tokens that the second one finds", [_SYSTEM], [each.hit for each in admitted])
    computed = [each.tokens for _, each in seen.decided(Scheduled, since=before)]
    stage.expect("tokens that it computes", [_OWN], computed)
    stage.expect("the first blocks of its table", shared, stage.table(second)[: len(shared)])
    stage.expect("their ref counts", [2] * 4, [seen.count(block) for block in shared])
    hits = [each for each in seen.happened(Operation.share, since=before) if each.cause is Cause.prefix_hit]
    stage.expect("blocks shared by a prefix hit", 4, len(hits))
    own = len(seen.happened(Operation.allocate, sequence=stage.sequence(second)))
    stage.expect("blocks of its own", 2, own)
    stage.caption(2, hit=_SYSTEM, own=own, computed=_OWN)
    before = seen.step
    third = stage.submit(system, 8, "third")
    yield
    admitted = [each for _, each in seen.decided(Admitted, since=before)]
    stage.expect(
        "tokens found by the system prompt alone, one being left to compute",
        [48],
        [each.hit for each in admitted],
    )
    stage.expect("the cut is told", [True], [each.cap_applied for each in admitted])
    stage.caption(3, tokens=_SYSTEM, hit=admitted[0].hit if admitted else "?")
    yield from stage.until_ended(first, second, third)


TWO_SAMPLES: Scenario = one_act("two-samples", _two_samples, 16, 64, max_num_seqs=16)
BEAM_SEARCH: Scenario = one_act("beam-search", _beam_search, 32, 64, seed=26)
SHARED_SYSTEM_PROMPT: Scenario = one_act("shared-system-prompt", _shared_system_prompt, 32, 128)
