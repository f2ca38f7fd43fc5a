"""Who computes, and who has to wait.

preemption        the pool is used up: the last one that began gives its blocks back, keeps its tokens, and comes back
chunked-prefill   a long prompt takes what decodes leave of the budget, step by step; they never wait for it
"""

from collections.abc import Generator

from kvarium_engine.scenarios.scenario import Scenario, one_act
from kvarium_engine.scenarios.stage import Stage
from kvarium_ledger.decisions import Admitted, Preempted, Scheduled, Waiting
from kvarium_ledger.operations import Operation


def _preemption(stage: Stage) -> Generator[None]:
    seen = stage.seen
    first = stage.submit(stage.prompt(64, "The first"), 40, "first")
    second = stage.submit(stage.prompt(64, "The second"), 40, "second")
    yield
    stage.caption(1, blocks=stage.engine.config.num_blocks)
    yield from stage.until(lambda: bool(seen.decided(Preempted)), "one is preempted")
    before = seen.step
    preempted = [each for _, each in seen.decided(Preempted)]
    sequence = stage.sequence(second)
    kept = len(seen.sampled(sequence))
    stage.expect(
        "who is preempted, and for whom",
        [(second, first)],
        [(each.request, each.victim_of) for each in preempted],
    )
    stage.expect("blocks that go back", [5], [each.blocks for each in preempted])
    stage.expect("tokens to compute again", [80], [each.tokens for each in preempted])
    freed = seen.happened(Operation.free, sequence=sequence, since=before - 1)
    stage.expect("blocks freed", 5, len(freed))
    stage.expect("tokens that it has sampled, and keeps", 17, kept)
    stage.caption(2, blocks=5, tokens=preempted[0].tokens, kept=kept)
    yield from stage.until(
        lambda: any(each.request == second for _, each in seen.decided(Admitted, since=before)),
        "it comes back",
    )
    waited = [each.reason for _, each in seen.decided(Waiting, since=before - 1) if each.request == second]
    stage.expect("why it waited", ["blocks"], sorted(set(waited)))
    back = [each for _, each in seen.decided(Admitted, since=before)]
    stage.expect("tokens of its own that it finds in the cache", [48], [each.hit for each in back])
    stage.expect("tokens that it needs", [81], [each.tokens for each in back])
    stage.caption(3, hit=back[0].hit, again=back[0].tokens - back[0].hit)
    yield from stage.until_ended(first, second)
    stage.expect(
        "tokens that each has sampled", [40, 40], [len(seen.sampled(each)) for each in (0, sequence)]
    )
    stage.expect("preemptions in all", 1, len(seen.decided(Preempted)))
    stage.caption(4, tokens=40)


_BUDGET, _DECODES, _LONG = 64, 4, 500


def _chunked_prefill(stage: Stage) -> Generator[None]:
    seen = stage.seen
    short = [stage.submit(stage.prompt(8, f"Number {each}"), 24, f"short-{each}") for each in range(_DECODES)]
    yield
    yield
    stage.caption(1, decodes=_DECODES)
    before = seen.step
    long = stage.submit(stage.prompt(_LONG, "A long one"), 4, "long")
    yield
    first = [each.tokens for _, each in seen.decided(Scheduled, since=before)]
    stage.caption(2, tokens=_LONG, budget=_BUDGET, decodes=_DECODES, chunk=first)
    yield from stage.until(lambda: bool(seen.sampled(stage.sequence(long))), "its first token is there")
    chunks = [each.tokens for _, each in seen.decided(Scheduled, since=before)]
    steps = [each for each in seen.steps if before < each.step <= seen.step]
    stage.expect("its chunks", [60] * 8 + [20], chunks)
    stage.expect("tokens of each of those steps", [64] * 8 + [24], [each.tokens for each in steps])
    decoded = [len(each.sampled) // 4 for each in steps]
    stage.expect("tokens sampled in each of them", [4] * 8 + [5], decoded)
    stage.caption(3, steps=len(chunks), decodes=_DECODES)
    yield from stage.until_ended(long, *short)


PREEMPTION: Scenario = one_act("preemption", _preemption, 10, 128)
CHUNKED_PREFILL: Scenario = one_act(
    "chunked-prefill", _chunked_prefill, 64, 508, max_num_batched_tokens=_BUDGET, max_num_seqs=8
)
