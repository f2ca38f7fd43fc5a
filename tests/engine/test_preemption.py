"""Preemption: who loses its blocks, what is recomputed, and that nothing of it shows in the tokens."""

import pytest

from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.request import Stage
from kvarium_ledger.decisions import Admitted, Finished, Preempted, Scheduled, Waiting
from tests.engine.mirrored import Mirrored, ScriptedRunner, kinds, table, tokens


def test_the_last_running_request_is_preempted_whole_and_waits_at_the_head() -> None:
    engine = Mirrored(num_blocks=6)
    first = engine.submit(30, max_tokens=60)
    second = engine.submit(30, max_tokens=20)
    third = engine.submit(30, max_tokens=20)
    late = engine.submit(30, max_tokens=20)
    engine.step_until_preempted()
    [preempted] = engine.decisions(Preempted)
    assert (preempted.request, preempted.victim_of) == (third.id, first.id)
    assert (preempted.blocks, preempted.tokens) == (2, 32)
    assert third.state == "preempted"
    assert engine.roster.waiting.requests() == [third, late]
    assert third.place < late.place
    assert table(third) == []
    assert second.state == "running"
    assert engine.operations(engine.last)["free", "preempted"] == 2
    engine.run()
    assert {f.reason for f in engine.decisions(Finished)} == {"length"}
    engine.assert_nothing_leaks()


def test_nobody_is_admitted_in_the_step_in_which_one_is_preempted() -> None:
    engine = Mirrored(num_blocks=6)
    for _ in range(4):
        engine.submit(30, max_tokens=30)
    engine.step_until_preempted()
    assert "admitted" not in kinds(engine.last.decisions)


def test_a_request_that_lacks_blocks_and_is_the_last_one_itself_gives_its_own_back() -> None:
    engine = Mirrored(num_blocks=5)
    first = engine.submit(20, max_tokens=40)
    second = engine.submit(46, max_tokens=20)
    engine.step_until_preempted()
    [preempted] = engine.decisions(Preempted)
    assert preempted.request == preempted.victim_of == second.id
    assert first.state == "running"
    engine.run()
    engine.assert_nothing_leaks()


def test_by_priority_the_least_urgent_is_the_victim() -> None:
    engine = Mirrored(num_blocks=6, policy="priority")
    engine.submit(30, max_tokens=30, priority=0)
    low = engine.submit(30, max_tokens=30, priority=5)
    engine.submit(30, max_tokens=30, priority=1)
    engine.step_until_preempted()
    assert engine.decisions(Preempted)[0].request == low.id
    engine.run()
    engine.assert_nothing_leaks()


def test_a_victim_that_this_step_had_scheduled_takes_back_the_labels_of_this_step_first() -> None:
    engine = Mirrored(num_blocks=3, policy="priority")
    low = engine.submit(tokens(1, 14), max_tokens=5, priority=9)
    engine.step()
    high = engine.submit(tokens(2, 32), max_tokens=10, priority=0)
    engine.step()
    assert not low.live[0].labelled
    engine.step()
    [preempted] = engine.decisions(Preempted)
    assert (preempted.request, preempted.victim_of, preempted.tokens) == (low.id, high.id, 15)
    assert [(part.kind.name, part.cause.name) for part in engine.last.slices][:4] == [
        ("fill", "decode"),
        ("cache", "full"),
        ("evict", "unscheduled"),
        ("free", "preempted"),
    ]
    assert engine.last.tokens == 1
    assert list(engine.last.sampled) == [high.live[0].id]
    assert len(engine.pool.cache) == 2, "the label of the block that was never computed is gone"
    engine.run()
    engine.assert_nothing_leaks()


def test_the_copies_of_a_victim_that_this_step_had_scheduled_leave_the_launch() -> None:
    runner = ScriptedRunner()
    engine = Mirrored(num_blocks=4, policy="priority", runner=runner)
    low = engine.submit(tokens(1, 5), n=2, max_tokens=5, priority=9)
    high = engine.submit(tokens(2, 32), max_tokens=10, priority=0)
    # The less urgent one stands first among the running, as it would if it had come a step earlier.
    engine.step()
    engine.roster.running.reverse()
    assert engine.roster.running == [low, high]
    engine.step()
    assert engine.decisions(Preempted)[0].request == low.id
    assert engine.operations(engine.last)["copy", "write"] == 1
    assert engine.operations(engine.last)["free", "copy_launch"] == 1, (
        "the pin was the last holder of the source"
    )
    assert runner.copies == []
    assert engine.last.tokens == 1
    engine.run()
    engine.assert_nothing_leaks()


def test_labels_of_a_prefill_that_is_unscheduled_are_taken_back_and_its_budget_returns() -> None:
    engine = Mirrored(num_blocks=7, policy="priority", budget=40, seqs=2)
    low = engine.submit(tokens(1, 96), max_tokens=2, priority=9)
    engine.step()
    high = engine.submit(tokens(2, 8), max_tokens=40, priority=0)
    engine.step_until_preempted()
    assert engine.decisions(Preempted)[0].request == low.id
    assert high.state == "running"
    engine.run()
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("caching", [True, False])
def test_a_resumed_request_recomputes_its_tokens_and_goes_on_with_the_same_ones(caching: bool) -> None:
    def output(blocks: int) -> list[list[int]]:
        engine = Mirrored(num_blocks=blocks, caching=caching, budget=64)
        requests = [engine.submit(tokens(i, 20 + i), max_tokens=50) for i in range(5)]
        engine.run()
        assert bool(engine.decisions(Preempted)) == (blocks < 30)
        engine.assert_nothing_leaks()
        return [list(request.live[0].tokens) for request in requests]

    assert output(12) == output(60)


@pytest.mark.parametrize("prompt", [32, 37])
def test_resumed_samples_prefill_their_prompt_once_fork_again_and_then_their_own_tokens(
    prompt: int,
) -> None:
    engine = Mirrored(num_blocks=12, caching=False)
    first = engine.submit(60, max_tokens=100)
    samples = engine.submit(prompt, n=3, max_tokens=24)
    engine.step_until_preempted()
    [preempted] = engine.decisions(Preempted)
    assert preempted.request == samples.id
    own = [sequence.length - prompt for sequence in samples.live]
    assert preempted.tokens == prompt + sum(own) - 3
    assert samples.stage is Stage.prefix
    ids = [sequence.id for sequence in samples.live]
    engine.engine.scheduler.abort(first)
    before = len(engine.decisions(Scheduled))
    engine.step()
    assert engine.decisions(Admitted)[-1].tokens == prompt
    assert samples.stage is Stage.own
    assert engine.operations(engine.last)["share", "fork"] == 2 * -(-prompt // 16)
    assert [sequence.id for sequence in samples.live] == ids, "they are the same sequences"
    engine.step()
    chunks = [(s.sequence, s.start, s.tokens) for s in engine.decisions(Scheduled)[before:]]
    assert chunks[1:] == [(sequence, prompt, tokens) for sequence, tokens in zip(ids, own, strict=True)]
    engine.run()
    engine.assert_nothing_leaks()


@pytest.mark.parametrize(("prompt", "recomputed"), [(32, [1, 1, 1]), (37, [12, 1, 1])])
def test_resumed_samples_hit_what_is_cached_of_their_own_tokens(prompt: int, recomputed: list[int]) -> None:
    engine = Mirrored(num_blocks=12)
    first = engine.submit(60, max_tokens=100)
    samples = engine.submit(prompt, n=3, max_tokens=24)
    engine.step_until_preempted()
    own = [sequence.table for sequence in samples.live]
    assert own == [[], [], []]
    assert {sequence.length for sequence in samples.live} == {49}
    engine.engine.scheduler.abort(first)
    engine.step()
    assert samples.stage is Stage.own
    assert engine.operations(engine.last)["reuse", "prefix_hit"] == 4, "of the prompt and of the own tokens"
    assert [sequence.length - sequence.computed for sequence in samples.live] == recomputed
    engine.run()
    engine.assert_nothing_leaks()


def test_samples_come_out_the_same_with_and_without_preemption() -> None:
    def output(blocks: int, caching: bool) -> list[list[int]]:
        engine = Mirrored(num_blocks=blocks, caching=caching, budget=64, runner=NullRunner(5, eos_every=60))
        requests = [engine.submit(tokens(i, 18 + i), n=3, max_tokens=40, ignore_eos=False) for i in range(4)]
        every = {}
        while not engine.engine.idle:
            for request in requests:
                every.update({sequence.id: sequence for sequence in request.live})
            engine.step()
        assert bool(engine.decisions(Preempted)) == (blocks < 40)
        engine.assert_nothing_leaks()
        lines = [(s.request.id, s.index, list(s.tokens)) for s in every.values()]
        return sorted(lines)  # type: ignore[return-value]

    plenty = output(120, True)
    assert output(13, True) == plenty
    assert output(13, False) == plenty


def test_the_head_explains_why_it_waits_again_after_a_preemption() -> None:
    engine = Mirrored(num_blocks=6)
    for _ in range(3):
        engine.submit(30, max_tokens=30)
    engine.step_until_preempted()
    victim = engine.decisions(Preempted)[0].request
    engine.step()
    assert engine.decisions(Waiting)[-1].request == victim
    assert engine.decisions(Waiting)[-1].reason == "blocks"
