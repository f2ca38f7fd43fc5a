"""How requests end: refused, out of blocks, aborted, or by a forward that fails."""

import pytest

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.request import Stage
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    Finished,
    Preempted,
    Refused,
    Submitted,
)
from tests.engine.mirrored import Mirrored, ScriptedRunner, kinds, tokens

# -- what can't be ------------------------------------------------------------------------------------------------


def test_a_request_that_can_never_fit_is_refused_at_once_with_the_numbers() -> None:
    engine = Mirrored(num_blocks=10)
    request = engine.submit(100, max_tokens=62)
    engine.step()
    assert request.state is None
    [refused] = engine.decisions(Refused)
    assert (refused.needs, refused.has, refused.unit) == (11, 10, "blocks")
    assert "11 blocks" in refused.message
    assert "10" in refused.message
    assert kinds(engine.last.decisions) == ["submitted", "refused"]
    engine.assert_nothing_leaks()


def test_the_largest_request_that_fits_is_not_refused() -> None:
    engine = Mirrored(num_blocks=10)
    engine.submit(100, max_tokens=61)
    engine.run()
    assert [f.reason for f in engine.decisions(Finished)] == ["length"]


def test_of_n_samples_the_prompts_full_blocks_are_counted_once() -> None:
    engine = Mirrored(num_blocks=10)
    assert engine.submit(56, max_tokens=40, n=3).state is None
    assert engine.submit(56, max_tokens=40, n=2).state == "waiting"
    engine.step()
    [refused] = engine.decisions(Refused)
    assert (refused.needs, refused.has) == (12, 10)
    assert (
        refused.message
        == "its 3 sequences share 3 blocks and may need 3 more each, together 12; the pool has 10"
    )


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("beam_width", [None, 4])
@pytest.mark.parametrize(("prompt", "output"), [(640, 16), (648, 9), (639, 34), (5, 60)])
def test_a_pool_of_as_many_blocks_as_a_request_may_need_is_enough(
    prompt: int, output: int, beam_width: int | None, caching: bool
) -> None:
    blocks = prompt // 16 + 4 * (blocks_for(prompt + output - 1, 16) - prompt // 16)
    engine = Mirrored(num_blocks=blocks, caching=caching)
    engine.submit(prompt, max_tokens=output, n=4, beam_width=beam_width)
    engine.run()
    assert [f.reason for f in engine.decisions(Finished)] == ["length"]
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("how", [{"n": 4}, {"n": 4, "beam_width": 4}])
def test_without_a_bound_on_tokens_it_needs_room_to_begin_and_the_samples_share_their_prompt(
    how: dict[str, int],
) -> None:
    engine = Mirrored(num_blocks=64, length=2000)
    first, second = (engine.submit(tokens, max_tokens=None, **how) for tokens in (640, 61 * 16 - 8))
    refused = engine.submit(61 * 16 + 8, max_tokens=None, **how)
    assert (first.state, second.state, refused.state) == ("waiting", "waiting", None)
    engine.run()
    [told] = engine.decisions(Refused)
    assert told.message == "it needs 65 blocks to begin; the pool has 64"
    finished = engine.decisions(Finished)
    assert [(each.request, each.reason) for each in finished] == [
        (first.id, "capacity"),
        (second.id, "capacity"),
    ]
    assert first.created >= 4
    assert second.created >= 4
    engine.assert_nothing_leaks()


def test_a_prompt_as_long_as_the_longest_sequence_is_refused_in_tokens() -> None:
    engine = Mirrored(length=100)
    assert engine.submit(100).state is None
    assert engine.submit(99).max_tokens == 1
    engine.step()
    [refused] = engine.decisions(Refused)
    assert (refused.needs, refused.has, refused.unit) == (101, 100, "tokens")


def test_the_bound_on_tokens_is_cut_at_the_longest_sequence() -> None:
    engine = Mirrored(length=20)
    request = engine.submit(12, max_tokens=500)
    engine.run()
    assert engine.decisions(Submitted)[0].max_tokens == 8
    assert request.live[0].length == 20


def test_a_sole_request_that_can_not_grow_ends_with_the_reason() -> None:
    engine = Mirrored(num_blocks=3)
    request = engine.submit(40, max_tokens=None)
    engine.run()
    [finished] = engine.decisions(Finished)
    assert finished.reason == "capacity"
    assert "needs 1 more blocks; 0 of 3 are free" in finished.message
    assert request.live[0].length == 49, "the last token was sampled, but has no slot"
    engine.assert_nothing_leaks()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"n": 0}, "n must be from 1 to 64, not 0"),
        ({"n": 65}, "n must be from 1 to 64, not 65"),
        ({"temperature": -1.0}, "temperature must not be negative, it is -1.0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, not 0.0"),
        ({"top_k": -2}, "top_k must not be negative"),
    ],
)
def test_sampling_parameters_out_of_range_are_refused_with_the_value(
    values: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SamplingParams(**values)  # type: ignore[arg-type]


def test_what_is_no_request_raises_and_leaves_no_trace() -> None:
    engine = Mirrored(seqs=4)
    engine.submit(5, name="one")
    for arguments, message in (
        ({"prompt": tokens(0, 0)}, "at least one token"),
        ({"prompt": 5, "n": 5}, "n = 5 is more than max_num_seqs = 4"),
        ({"prompt": 5, "name": "one"}, "a request named 'one' is in the engine already"),
    ):
        with pytest.raises(ValueError, match=message):
            engine.submit(**arguments)  # type: ignore[arg-type]
    assert list(engine.roster.requests) == [0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_num_seqs": 0}, "max_num_seqs must be at least 1, not 0"),
        ({"max_num_batched_tokens": 10, "max_num_seqs": 11}, r"\(10\) must not be below max_num_seqs \(11\)"),
        ({"policy": "random"}, "not 'random'"),
    ],
)
def test_limits_that_make_no_sense_are_refused_with_the_value(values: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SchedulerConfig(**values)  # type: ignore[arg-type]


# -- ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(8))
def test_a_request_can_be_aborted_at_any_moment(steps: int) -> None:
    engine = Mirrored(budget=16, seqs=8)
    other = engine.submit(20, max_tokens=40)
    request = engine.submit(40, n=3, max_tokens=30)
    for _ in range(steps):
        engine.step()
    before = request.state
    engine.engine.scheduler.abort(request, asked_by="a test")
    assert request.state is None
    engine.step()
    [aborted] = engine.decisions(Aborted)
    assert (aborted.request, aborted.state_before, aborted.asked_by) == (request.id, before, "a test")
    assert not any(sequence.table for sequence in request.live)
    assert other.state == "running"
    engine.run()
    engine.assert_nothing_leaks()


def test_a_forward_that_fails_takes_back_its_labels_and_ends_its_requests_and_no_others() -> None:
    runner = ScriptedRunner()
    engine = Mirrored(budget=64, seqs=4, runner=runner)
    engine.submit(tokens(1, 40), n=2, max_tokens=30)
    engine.step(3)
    engine.submit(tokens(2, 40))
    engine.submit(tokens(2, 40), n=2)
    engine.submit(tokens(3, 400))
    runner.fail_with = RuntimeError("the device is lost")
    engine.step()
    ends = {f.request: (f.reason, f.message) for f in engine.decisions(Finished)}
    assert ends == dict.fromkeys((0, 1), ("error", "RuntimeError: the device is lost"))
    assert engine.operations(engine.last)["evict", "failed_step"] == 2
    engine.submit(tokens(1, 40))
    engine.run()
    assert [a.hit for a in engine.decisions(Admitted) if a.request == 4] == [32], (
        "labels of earlier steps stay"
    )
    assert all(f.reason == "length" for f in engine.decisions(Finished)[2:])
    engine.assert_nothing_leaks()


def test_who_shared_a_label_of_the_failed_step_ends_too() -> None:
    runner = ScriptedRunner()
    engine = Mirrored(runner=runner)
    engine.submit(tokens(1, 40))
    engine.submit(tokens(1, 60))
    runner.fail_with = ValueError("x")
    engine.step()
    assert [f.request for f in engine.decisions(Finished)] == [0, 1]
    assert len(engine.pool.cache) == 0
    engine.assert_nothing_leaks()


def test_a_request_is_found_by_its_name_and_by_its_number() -> None:
    engine = Mirrored()
    named, plain = engine.submit(5, name="x"), engine.submit(5)
    assert engine.roster.find("x") is named
    assert engine.roster.find(1) is engine.roster.find("1") is engine.roster.find("request-1") is plain
    assert engine.roster.find("y") is None
    assert engine.roster.find(7) is None


def test_a_name_that_is_a_number_is_refused_as_it_could_be_another_requests() -> None:
    engine = Mirrored()
    engine.submit(8)
    for name in ("0", "17", "\u0663"):
        with pytest.raises(ValueError, match=f"'{name}' is a request's number: a name has something else"):
            engine.submit(8, name=name)
    assert len(engine.roster.requests) == 1
    assert engine.submit(8, name="17a").name == "17a"


def test_a_request_without_a_name_gets_one_that_nobody_has() -> None:
    engine = Mirrored()
    taken = engine.submit(8, name="request-1", max_tokens=4)
    own = engine.submit(8, max_tokens=2)
    assert own.name == "request-1+"
    assert (engine.roster.find("request-1"), engine.roster.find("request-1+")) == (taken, own)
    engine.run()
    engine.assert_nothing_leaks()


def test_stages_follow_the_prefill() -> None:
    engine = Mirrored(budget=16, seqs=4)
    request = engine.submit(20, n=2, max_tokens=9)
    engine.step()
    assert (request.stage, request.started) == (Stage.prompt, False)
    engine.step()
    assert (request.stage, request.started) == (Stage.own, True)


def test_requests_that_end_in_one_step_free_their_blocks_in_the_order_of_the_running_ones() -> None:
    engine = Mirrored(num_blocks=6, block_size=1, budget=40, seqs=5, length=6, policy="priority")
    prompt = tokens(1, 1) + tokens(2, 1)
    engine.submit(tokens(3, 1), max_tokens=2, priority=1)
    engine.submit(prompt, max_tokens=3, priority=1)
    engine.submit(prompt[:], max_tokens=2, priority=1)
    engine.step()
    engine.submit(tokens(4, 1), max_tokens=1)
    engine.step(2)
    # Request 2 is resumed behind the more urgent 3, with one token to compute: a decode, before 3's prefill.
    assert [each.request for each in engine.decisions(Preempted)] == [2]
    assert [each.request for each in engine.decisions(Admitted)][3:] == [3, 2]
    assert [each.request for each in engine.last.decisions if isinstance(each, Finished)] == [1, 3, 2]
    engine.run()
    engine.assert_nothing_leaks()
