"""By priority: who goes first, who is preempted for whom and resumed before whom, and that nobody waits for ever."""

import pytest

from kvarium_engine.scheduling.config import PRIORITY_AGING, SchedulerConfig
from kvarium_ledger.decisions import Admitted, Preempted
from kvarium_ledger.fold import Fold
from tests.engine.mirrored import Mirrored


def admitted(engine: Mirrored) -> list[int]:
    return [decision.request for decision in engine.decisions(Admitted)]


def waiting_order(fold: Fold) -> list[int]:
    """Who waits, in order, as a reader of the ledger says it."""
    rows = [
        (fold.state.facts[request].precedence, row.place, request)
        for request, row in fold.state.requests.items()
        if row.state != "running"
    ]
    return [request for _, _, request in sorted(rows)]


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_the_urgent_ones_go_first_and_of_equals_who_came_first(policy: str) -> None:
    engine = Mirrored(policy=policy, seqs=1)
    requests = [engine.submit(4, max_tokens=1, priority=p) for p in (5, 0, 5, -3, 0)]
    engine.run()
    order = [3, 1, 4, 0, 2] if policy == "priority" else [0, 1, 2, 3, 4]
    assert admitted(engine) == [requests[i].id for i in order]


def test_what_a_request_is_ordered_by() -> None:
    by_priority = SchedulerConfig(policy="priority", priority_aging=100)
    assert by_priority.precedence(5, 99) == 599
    assert by_priority.precedence(0, 600) == 600
    assert by_priority.precedence(-2, 7) == -193
    assert SchedulerConfig(policy="priority", priority_aging=0).precedence(5, 99) == 5
    assert SchedulerConfig(policy="fcfs").precedence(5, 99) == 0


def patience(aging: int, level: int, most: int) -> int | None:
    """After how many steps one of ``level`` begins to run behind an endless stream of urgent ones."""
    engine = Mirrored(num_blocks=8, policy="priority", seqs=2, priority_aging=aging)
    for _ in range(4):
        engine.submit(8, max_tokens=4)
    engine.step()
    patient = engine.submit(8, max_tokens=4, priority=level)
    for step in range(most):
        engine.submit(8, max_tokens=4)  # two are served in the time in which four come
        engine.step()
        if patient.state == "running":
            assert len(engine.roster.waiting) > 10, "urgent ones still wait"
            return step
    return None


def test_a_patient_request_runs_in_the_end_though_urgent_ones_never_cease() -> None:
    assert patience(0, 3, 400) is None, "as in vLLM: it starves"
    steps = patience(20, 3, 400)
    assert steps is not None
    # Those that came before step 60 are served first, one in two steps.
    assert 60 <= steps <= 2 * 60 + 20
    assert patience(20, 1, 400) < steps  # type: ignore[operator]


def test_by_default_nobody_starves() -> None:
    assert SchedulerConfig(policy="priority").priority_aging == PRIORITY_AGING > 0
    assert patience(PRIORITY_AGING, 1, 4 * PRIORITY_AGING) is not None


def test_who_has_waited_long_enough_is_not_preempted_for_one_that_came_later() -> None:
    def victim(steps: int) -> int:
        engine = Mirrored(num_blocks=7, policy="priority", priority_aging=10)
        low = engine.submit(20, max_tokens=80, priority=2)
        engine.step(steps)
        engine.submit(40, max_tokens=60, priority=0)
        engine.step_until_preempted()
        found = engine.decisions(Preempted)[0].request
        assert found in (low.id, low.id + 1)
        engine.run()
        engine.assert_nothing_leaks()
        return found - low.id

    assert victim(5) == 0, "the less urgent one, which came 5 steps earlier"
    assert victim(25) == 1, "25 steps make up for two levels"


@pytest.mark.parametrize("aging", [0, 10])
def test_the_least_urgent_is_preempted_and_resumed_after_the_urgent_and_before_its_juniors(
    aging: int,
) -> None:
    engine = Mirrored(num_blocks=10, policy="priority", priority_aging=aging, seqs=3)
    first = engine.submit(30, max_tokens=50, priority=0)
    low = engine.submit(30, max_tokens=50, priority=5)
    middle = engine.submit(30, max_tokens=50, priority=1)
    engine.step(2)
    junior = engine.submit(30, max_tokens=2, priority=5)
    engine.step_until_preempted()
    [preempted] = engine.decisions(Preempted)
    assert preempted.request == low.id
    assert preempted.victim_of in (first.id, middle.id)
    urgent = engine.submit(30, max_tokens=2, priority=1)
    assert engine.roster.waiting.requests() == [urgent, low, junior]
    engine.step()
    assert waiting_order(engine.fold) == [request.id for request in engine.roster.waiting.requests()]
    engine.run()
    order = admitted(engine)
    assert order[:3] == [first.id, middle.id, low.id]
    assert order[3:] == [urgent.id, low.id, junior.id]
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("aging", [0, 7])
def test_a_reader_knows_the_order_of_those_that_wait_also_from_a_keyframe(aging: int) -> None:
    engine = Mirrored(num_blocks=9, policy="priority", priority_aging=aging, seqs=4)
    seen = 0
    for number in range(90):
        if number % 2 == 0:
            engine.submit(10 + number % 23, max_tokens=20, priority=(number * 7) % 5)
        engine.step()
        order = [request.id for request in engine.roster.waiting.requests()]
        assert waiting_order(engine.fold) == order
        if number % 10 == 0:
            for keyframe in (engine.fold.keyframe(), engine.engine.snapshot()):
                fresh = Fold(9, 16)
                fresh.load(keyframe)
                assert waiting_order(fresh) == order
        seen = max(seen, len(order))
    assert seen > 10
    assert len(engine.decisions(Preempted)) > 3


@pytest.mark.parametrize("aging", [-1, 1_000_001])
def test_an_aging_out_of_bounds_is_refused(aging: int) -> None:
    with pytest.raises(
        ValueError, match=rf"priority_aging must be from 0 \(off\) to 1000000 steps, not {aging}"
    ):
        SchedulerConfig(priority_aging=aging)
