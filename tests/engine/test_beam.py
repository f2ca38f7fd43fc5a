"""Beam search without a model: the rules, what it does to blocks, and that preemption, aborts and failures change nothing."""

import random
from typing import Any

import pytest

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.beam import BeamSearch, Candidates, Continuation
from kvarium_engine.scheduling.request import Request, Stage
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.decisions import (
    Admitted,
    Finished,
    Hypothesis,
    Preempted,
    Refused,
    Scheduled,
    SequenceCreated,
    SequenceDropped,
    Submitted,
)
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import Operation
from tests.engine.mirrored import Mirrored, ScriptedRunner, tokens

EOS = 2


# -- the rules -------------------------------------------------------------------------------------------------------------


def search(width: int = 2, max_tokens: int = 10, **how: Any) -> BeamSearch:
    params = SamplingParams(beam_width=width, max_tokens=max_tokens, **how)
    return BeamSearch(params, frozenset({EOS}), max_tokens)


def begun(**how: Any) -> BeamSearch:
    """A search with two beams, of the scores -1 and -2."""
    found = search(**how)
    step = found.step([Candidates([10, 11, 12], [-1.0, -2.0, -3.0])])
    assert [(beam.parent, beam.token, beam.score) for beam in step.beams] == [(0, 10, -1.0), (0, 11, -2.0)]
    return found


def test_the_best_continuations_of_all_beams_live_on_and_of_equal_ones_the_earlier() -> None:
    step = begun().step([Candidates([20, 21], [-2.0, -4.0]), Candidates([30, 31], [-1.0, -1.0])])
    assert step.beams == [Continuation(0, 20, -3.0), Continuation(1, 30, -3.0)]
    assert not step.found
    assert not step.over


def test_an_end_among_the_best_is_an_answer_and_the_next_best_take_its_place() -> None:
    step = begun().step([Candidates([EOS, 21], [-0.5, -4.0]), Candidates([30, 31], [-1.0, -1.5])])
    assert [(found.parent, found.token, found.score, found.reason) for found in step.found] == [
        (0, EOS, -0.75, "stop")
    ]
    assert [(beam.parent, beam.token) for beam in step.beams] == [(1, 30), (1, 31)]


def test_an_end_that_is_not_among_the_best_is_nothing() -> None:
    step = begun().step([Candidates([20, 21], [-0.1, -0.2]), Candidates([EOS, 31], [-0.1, -0.2])])
    assert not step.found
    assert [(beam.parent, beam.token) for beam in step.beams] == [(0, 20), (0, 21)]


def test_at_the_greatest_length_the_best_are_the_answers() -> None:
    step = begun(max_tokens=2).step([Candidates([20, EOS], [-0.5, -1.0]), Candidates([30, 31], [-3.0, -4.0])])
    assert [(found.token, found.reason) for found in step.found] == [(20, "length"), (EOS, "stop")]
    assert not step.beams
    assert step.over


@pytest.mark.parametrize(
    ("early_stopping", "length_penalty", "over"),
    [
        (True, 1.0, True),  # two answers are enough
        (False, 1.0, True),  # -8 / 2 is not above the worst answer, -1.6
        ("never", 1.0, False),  # but -8 / 10 is
        ("never", 0.0, True),  # -8 is not above -3.2: sums only fall
        (False, 0.0, True),
    ],
)
def test_when_a_search_with_enough_answers_is_over(
    early_stopping: Any, length_penalty: float, over: bool
) -> None:
    step = begun(early_stopping=early_stopping, length_penalty=length_penalty).step(
        [Candidates([EOS, 21], [-2.0, -9.0]), Candidates([EOS, 31], [-1.2, -6.0])]
    )
    assert len(step.found) == 2
    assert step.over == over


def test_a_beam_that_could_still_be_better_keeps_the_search_open() -> None:
    ended = begun(length_penalty=2.0)
    step = ended.step([Candidates([EOS, 21], [-1.9, -2.2]), Candidates([EOS, 31], [-1.0, -6.0])])
    assert [found.score for found in step.found] == pytest.approx([-2.9 / 4, -3.0 / 4])
    assert step.over, "-3.2 / 4 is below -3 / 4"
    step = ended.step([Candidates([40, 41], [-0.1, -9.0]), Candidates([50, 51], [-0.1, -9.0])])
    assert not step.over, "-3.3 / 9 is above it"


def test_tokens_that_are_barred_are_no_continuations() -> None:
    barred = float("-inf")
    step = begun().step([Candidates([20, 21], [-1.0, barred]), Candidates([30, 31], [barred, barred])])
    assert step.beams == [Continuation(0, 20, -2.0)]


# -- blocks ----------------------------------------------------------------------------------------------------------------


class Beams(ScriptedRunner):
    """Gives the candidates of a script: ``beams[(step of the search, beam)]``, each a list of (token, log probability)."""

    def __init__(self, beams: dict[tuple[int, int], list[tuple[int, float]]]) -> None:
        super().__init__()
        self.beams = beams

    def _candidates(self, sequence: Sequence) -> Candidates:
        request = sequence.request
        place = sequence.length - request.prompt_tokens, request.live.index(sequence)
        told = self.beams.get(place, [(100 + place[1], -1.0), (200 + place[1], -50.0)])
        return Candidates([token for token, _ in told], [value for _, value in told])


FOUR = {(0, 0): [(10 + token, -0.1 * token) for token in range(8)]}
GONE = [(60, float("-inf"))]


def four_beams(
    second: dict[tuple[int, int], list[tuple[int, float]]], prompt: int = 20
) -> tuple[Mirrored, Request]:
    """Four beams of one prompt, about to take their second token."""
    engine = Mirrored(runner=Beams(FOUR | second))
    request = engine.submit(tokens(1, prompt), max_tokens=6, beam_width=4)
    engine.step()
    return engine, request


def test_after_candidates_0_and_3_of_four_are_dropped_the_roots_count_is_2() -> None:
    engine, request = four_beams({(1, 0): GONE, (1, 1): [(61, -1.0)], (1, 2): [(62, -1.0)], (1, 3): GONE})
    root, second = request.live[0].table
    assert all(sequence.table == [root, second] for sequence in request.live)
    assert [engine.pool.state.count[block] for block in (root, second)] == [4, 4]
    zero, one, two, three = request.live
    engine.step()
    assert engine.pool.state.count[root] == 2
    assert request.live == [one, two]
    assert [decision.sequence for decision in engine.decisions(SequenceDropped)] == [zero.id, three.id]
    assert all(decision.reason is None for decision in engine.decisions(SequenceDropped))
    engine.run()
    engine.assert_nothing_leaks()


def test_beams_without_children_are_dropped_then_others_fork_and_the_first_child_keeps_the_sequence() -> None:
    engine, request = four_beams(
        {(1, 0): GONE, (1, 1): [(61, -1.0), (71, -1.6)], (1, 2): [(62, -1.1), (72, -1.2)], (1, 3): GONE}
    )
    zero, one, two, _ = request.live
    root = zero.table[0]
    engine.step()
    # Scores: 1 → 61 is -1.1, 2 → 62 is -1.3, 2 → 72 is -1.4, 1 → 71 is -1.7.
    assert [sequence.tokens[-2:].tolist() for sequence in request.live] == [
        [11, 61],
        [12, 62],
        [12, 72],
        [11, 71],
    ]
    assert request.live[:2] == [one, two]
    created = engine.decisions(SequenceCreated)[-2:]
    assert [(c.index, c.parent) for c in created] == [(4, two.id), (5, one.id)]
    held, counts = 4, []
    for part in engine.last.slices:
        if root in part.blocks and part.kind in (Operation.release, Operation.share):
            held += 1 if part.kind is Operation.share else -1
            counts.append((part.cause.name, held))
    assert counts == [("dropped", 3), ("dropped", 2), ("fork", 3), ("fork", 4)]
    assert engine.pool.state.count[root] == 4
    # The next step copies at the first write: of two beams on one partly filled block one copies, one writes in place.
    engine.step()
    assert engine.operations(engine.last)["copy", "write"] == 2
    tails = [sequence.table[-1] for sequence in request.live]
    assert len(set(tails)) == 4
    engine.run()
    engine.assert_nothing_leaks()
    engine.undo_all()


def test_the_prompt_is_computed_once_and_its_full_blocks_are_never_copied() -> None:
    engine = Mirrored(num_blocks=64)
    request = engine.submit(40, max_tokens=30, beam_width=6)
    engine.step()
    assert engine.blocks("allocate") == request.live[0].table[:3]
    full = request.live[0].table[:2]
    while not engine.engine.idle:
        assert all(sequence.table[:2] == full for sequence in request.live)
        assert len(request.live) == 6
        engine.step()
    engine.assert_nothing_leaks()


# -- decisions ---------------------------------------------------------------------------------------------------------------


def test_a_search_tells_its_width_its_answers_and_ends_once() -> None:
    engine = Mirrored(runner=NullRunner(0, eos_every=5))
    request = engine.submit(20, max_tokens=12, beam_width=4, n=2, ignore_eos=False)
    engine.run()
    [submitted] = engine.decisions(Submitted)
    assert (submitted.beam_width, submitted.n) == (4, 2)
    found = engine.decisions(Hypothesis)
    best = sorted(found, key=lambda each: -each.score)[:2]
    assert [each.score for each in best] == [answer.score for answer in request.answers[:2]]
    for each, answer in zip(best, request.answers, strict=False):
        assert (each.tokens + 1, each.token, each.reason) == (
            len(answer.tokens),
            answer.tokens[-1],
            answer.reason,
        )
    [finished] = engine.decisions(Finished)
    assert finished.reason == request.answers[0].reason
    assert {answer.reason for answer in request.answers} == {"stop", "length"}


def test_a_search_whose_tokens_are_all_barred_ends_without_an_answer() -> None:
    engine = Mirrored(runner=Beams({(0, 0): GONE}))
    request = engine.submit(20, max_tokens=6, beam_width=2)
    engine.run()
    assert not request.answers
    assert [finished.reason for finished in engine.decisions(Finished)] == ["length"]
    engine.assert_nothing_leaks()


def test_the_stop_id_of_the_best_answer_is_told_and_a_text_that_is_not_recorded_is_not() -> None:
    engine = Mirrored(runner=Beams({(0, 0): [(77, -0.1), (10, -3.0), (11, -4.0)]}))
    engine.submit(20, max_tokens=3, beam_width=2, stop_token_ids=(77,), early_stopping=True)
    engine.run()
    [finished] = engine.decisions(Finished)
    assert (finished.reason, finished.stop_reason) == ("stop", 77)
    told = Encoder(engine.pool.num_blocks)
    frames = b"".join(frame for sealed in engine.sealed for _, frame in told.encode(sealed))
    assert b"token\x4d" in frames
    assert b"stop_reason" in frames
    silent = Encoder(engine.pool.num_blocks, record_text="none")
    frames = b"".join(frame for sealed in engine.sealed for _, frame in silent.encode(sealed))
    assert b"hypothesis" in frames
    assert b"token\x4d" not in frames
    assert b"stop_reason" not in frames


def test_a_search_whose_unshared_worst_case_can_not_fit_is_refused_with_the_numbers() -> None:
    engine = Mirrored(num_blocks=11)
    request = engine.submit(40, max_tokens=9, beam_width=4)
    engine.engine.step_without_work()
    assert engine.mirror() == []
    [refused] = engine.decisions(Refused)
    assert (
        refused.message
        == "each of its 4 beams may need 3 blocks, together 12 (counted as if nothing were shared); the pool has 11"
    )
    assert (refused.needs, refused.has, request.state) == (12, 11, None)


def test_the_width_counts_from_admission() -> None:
    engine = Mirrored(seqs=6)
    first = engine.submit(40, max_tokens=9, beam_width=4)
    second = engine.submit(40, max_tokens=9, beam_width=3)
    engine.step()
    assert (first.state, second.state, second.reason) == ("running", "waiting", "max_num_seqs")
    assert engine.roster.width == 4
    engine.run()
    engine.assert_nothing_leaks()


# -- preemption --------------------------------------------------------------------------------------------------------------


def test_a_resumed_search_prefills_what_its_beams_have_in_common_once_and_forks_again() -> None:
    # The beams part at their third token.
    script = {
        (0, 0): [(10, -0.1), (11, -9.0)],
        (1, 0): [(20, -0.1), (21, -9.0)],
        (2, 0): [(30, -1.0), (31, -1.1)],
    }
    script |= {(place, 0): [(40 + place, -0.1), (50 + place, -99.0)] for place in range(3, 40)}
    script |= {(place, 1): [(60 + place, -0.1), (70 + place, -99.0)] for place in (1, *range(3, 40))}
    engine = Mirrored(num_blocks=9, caching=False, runner=Beams(script))
    first = engine.submit(60, max_tokens=80)
    beams = engine.submit(37, max_tokens=20, beam_width=2)
    engine.step_until_preempted()
    [preempted] = engine.decisions(Preempted)
    assert preempted.request == beams.id
    assert beams.stage is Stage.prefix
    assert beams.prefix_tokens == 39
    own = [sequence.length - 39 for sequence in beams.live]
    assert preempted.tokens == 39 + sum(own) - 2
    engine.engine.scheduler.abort(first)
    before, ids = len(engine.decisions(Scheduled)), [sequence.id for sequence in beams.live]
    engine.step()
    assert engine.decisions(Admitted)[-1].tokens == 39
    assert engine.operations(engine.last)["share", "fork"] == 3
    engine.step()
    chunks = [(s.sequence, s.start, s.tokens) for s in engine.decisions(Scheduled)[before:]]
    assert chunks == [
        (ids[0], 0, 39),
        *((sequence, 39, tokens) for sequence, tokens in zip(ids, own, strict=True)),
    ]
    engine.run()
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("caching", [True, False])
def test_beams_go_on_together_however_small_the_budget_is(caching: bool) -> None:
    def said(blocks: int, budget: int) -> list[list[int]]:
        engine = Mirrored(blocks, 4, budget, seqs=5, caching=caching, runner=Beams(FOUR))
        first = engine.submit(tokens(1, 20), max_tokens=70)
        beams = engine.submit(tokens(2, 9), max_tokens=24, beam_width=4)
        waits = 0
        while not engine.engine.idle:
            resumed = beams.stage is Stage.own and engine.decisions(Preempted)
            ids = {sequence.id for sequence in beams.live}
            engine.step()
            ids |= {sequence.id for sequence in beams.live}
            computed = len(ids & set(engine.last.sampled))
            assert computed in (0, 4), "all of them, or none"
            waits += bool(resumed and first.state is None and beams.state == "running" and computed == 0)
        assert (waits > 0) == (blocks < 60), "the chunks of a resumption took several steps"
        engine.assert_nothing_leaks()
        return [answer.tokens.tolist() for answer in beams.answers]

    assert said(32, 5) == said(60, 64)


def outcome(blocks: int, seed: int, **how: Any) -> tuple[list[Any], int, bool]:
    """What requests of all kinds say, several at once, in a pool of so many blocks.

    With it: the blocks that the largest of them may need, and whether anyone was preempted.
    """
    engine = Mirrored(num_blocks=blocks, runner=NullRunner(seed, eos_every=23), **how)
    draw = random.Random(seed)
    requests = []
    for number in range(12):
        prompt, most = tokens(number % 3, draw.randrange(3, 12)), draw.randrange(12, 30)
        kind = draw.randrange(3)
        more: dict[str, Any] = (
            {"beam_width": draw.randrange(2, 5)} if kind == 0 else {"n": draw.randrange(2, 5)}
        )
        if kind == 0:
            more |= {
                "length_penalty": draw.choice((0.0, 1.0, 2.0)),
                "early_stopping": draw.choice((False, True, "never")),
            }
        requests.append(
            engine.submit(prompt, max_tokens=most, ignore_eos=False, priority=draw.randrange(3), **more)
        )
    assert all(request.state is not None for request in requests), "none is refused"
    engine.run(4000)
    assert {finished.reason for finished in engine.decisions(Finished)} <= {"stop", "length"}
    engine.assert_nothing_leaks()
    engine.undo_all()
    said = [
        (request.id, [(answer.score, answer.tokens.tolist(), answer.reason) for answer in request.answers])
        for request in requests
    ]
    plain = {request.id for request in requests if request.params.beam_width is None}
    lines = {
        c.sequence: (c.request, c.index) for c in engine.decisions(SequenceCreated) if c.request in plain
    }
    samples: dict[tuple[int, int], list[int]] = {place: [] for place in lines.values()}
    for sealed in engine.sealed:
        if isinstance(sealed, SealedStep):
            for sequence, token in zip(sealed.sampled, sealed.sampled_tokens, strict=True):
                if sequence in lines:
                    samples[lines[sequence]].append(token)
    largest = max(request.worst_case_blocks(engine.pool.block_size) for request in requests)
    return [said, sorted(samples.items())], largest, bool(engine.decisions(Preempted))


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("size", [1, 4, 16])
def test_in_a_pool_that_barely_fits_them_all_end_and_say_what_they_say_in_a_large_one(
    size: int, caching: bool, policy: str, seed: int
) -> None:
    how: dict[str, Any] = {"block_size": size, "seqs": 16, "policy": policy, "caching": caching}
    preempted = 0
    for each in range(seed, seed + 2):
        plenty, largest, was_preempted = outcome(12 * 4 * blocks_for(42, size), each, **how)
        assert not was_preempted
        tight, _, was_preempted = outcome(largest, each, budget=24, **how)
        assert tight == plenty
        preempted += was_preempted
    assert preempted, "the pools were small enough"


# -- ends from outside ---------------------------------------------------------------------------------------------------------


def crowd(runner: NullRunner) -> tuple[Mirrored, list[Request]]:
    """Two searches and three samples, in a pool that is too small for them."""
    engine = Mirrored(num_blocks=28, block_size=4, budget=32, runner=runner)
    asked: list[dict[str, Any]] = [{"beam_width": 4}, {"n": 3}, {"beam_width": 3, "early_stopping": "never"}]
    requests = [
        engine.submit(tokens(1, 6 + i), max_tokens=20, ignore_eos=False, **how) for i, how in enumerate(asked)
    ]
    return engine, requests


@pytest.mark.parametrize("which", [0, 2])
def test_a_search_that_is_aborted_at_any_moment_leaves_nothing(which: int) -> None:
    steps = 0
    while True:
        engine, requests = crowd(NullRunner(3, eos_every=9))
        for _ in range(steps):
            engine.step()
        if requests[which].state is None:
            break
        engine.engine.scheduler.abort(requests[which], "the test")
        engine.run()
        engine.assert_nothing_leaks()
        engine.undo_all()
        steps += 1
    assert engine.decisions(Preempted)
    assert steps > 10


def test_a_forward_that_fails_at_any_moment_ends_its_searches_and_leaves_nothing() -> None:
    for steps in range(26):
        runner = ScriptedRunner()
        engine, _ = crowd(runner)
        for _ in range(steps):
            engine.step()
        runner.fail_with = RuntimeError("the card is on fire")
        engine.step()
        if not engine.engine.idle:
            assert "error" in {finished.reason for finished in engine.decisions(Finished)}
        engine.run()
        engine.assert_nothing_leaks()
        engine.undo_all()
