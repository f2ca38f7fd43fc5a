"""The audit: a change that forgot its operation is caught, in a count, a table entry and a link of the queue."""

from collections.abc import Callable

import pytest

from kvarium_engine.audit import default_interval
from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Step
from tests.engine.mirrored import Mirrored, table


def busy() -> Mirrored:
    """An engine in the middle of its work: running, forked, cached, free and queued out of order."""
    engine = Mirrored(num_blocks=32, audit_interval=4)
    for _ in range(2):
        engine.submit(40, max_tokens=3)
    engine.run()
    engine.submit(40, n=2, max_tokens=50)
    engine.submit(20, max_tokens=50)
    engine.step(5)
    while engine.engine.steps % 4:
        engine.step()
    return engine


def count_of_a_used_block(engine: Mirrored) -> None:
    engine.pool.state.count[table(engine.roster.running[0])[0]] += 1


def count_of_a_free_block(engine: Mirrored) -> None:
    engine.pool.state.count[engine.pool.queue.walk()[-1]] = 1


def table_entry(engine: Mirrored) -> None:
    engine.roster.running[1].live[0].table[0] = engine.pool.queue.walk()[-1]


def table_entry_that_is_left_out(engine: Mirrored) -> None:
    engine.roster.running[0].live[1].table.pop(0)


def entry(engine: Mirrored, number: int) -> int:
    """Where the entry of the ``number``-th queued block is."""
    queue = engine.pool.queue
    return queue._order.index(queue.walk()[number], queue._head)


def an_entry_of_another_block(engine: Mirrored) -> None:
    order = engine.pool.queue._order
    order[entry(engine, 4)] = order[entry(engine, 5)]


def a_place_of_another_entry(engine: Mirrored) -> None:
    places = engine.pool.queue._places
    places[entry(engine, 6)] = places[entry(engine, 2)]


def a_block_cut_out_of_the_queue(engine: Mirrored) -> None:
    queue, at = engine.pool.queue, entry(engine, 5)
    del queue._order[at], queue._places[at]
    queue.size -= 1


def two_blocks_that_changed_entries(engine: Mirrored) -> None:
    order, one, other = engine.pool.queue._order, entry(engine, 2), entry(engine, 6)
    order[one], order[other] = order[other], order[one]


def length_of_the_queue(engine: Mirrored) -> None:
    engine.pool.queue.size += 1


def content_of_a_block(engine: Mirrored) -> None:
    engine.pool.state.content[table(engine.roster.running[0])[0]] += 1


def fill_of_a_block(engine: Mirrored) -> None:
    engine.pool.state.filled[engine.pool.queue.walk()[-1]] ^= 1


def state_of_a_request(engine: Mirrored) -> None:
    engine.roster.running[1].state = "waiting"


def place_of_a_request(engine: Mirrored) -> None:
    engine.roster.running[1].place = 99.0


TAMPERS = [
    count_of_a_used_block,
    count_of_a_free_block,
    table_entry,
    table_entry_that_is_left_out,
    an_entry_of_another_block,
    a_place_of_another_entry,
    a_block_cut_out_of_the_queue,
    two_blocks_that_changed_entries,
    length_of_the_queue,
    content_of_a_block,
    fill_of_a_block,
    state_of_a_request,
    place_of_a_request,
]


@pytest.mark.parametrize("tamper", TAMPERS, ids=lambda tamper: tamper.__name__)
def test_a_change_behind_the_ledgers_back_is_caught_by_the_next_audit(
    tamper: Callable[[Mirrored], None], caplog: pytest.LogCaptureFixture
) -> None:
    engine = busy()
    assert not engine.violations
    tamper(engine)
    for _ in range(4):
        engine.engine.step_without_work()
        engine.mirror()
    assert engine.violations, "nobody noticed"
    assert {violation.kind for violation in engine.violations} == {"audit"}
    [audited] = [step for step in engine.steps()[-4:] if step.audit is not None]
    assert engine.violations[0].record == audited.record


@pytest.mark.parametrize("tamper", TAMPERS, ids=lambda tamper: tamper.__name__)
def test_a_change_behind_the_ledgers_back_is_caught_by_a_keyframe(
    tamper: Callable[[Mirrored], None], caplog: pytest.LogCaptureFixture
) -> None:
    engine = busy()
    tamper(engine)
    engine.engine.keyframe()
    assert "audit" in {violation.kind for violation in engine.mirror()}


def test_a_lost_entry_is_told_in_the_log_with_the_counts(caplog: pytest.LogCaptureFixture) -> None:
    engine = busy()
    queued = engine.pool.num_free
    an_entry_of_another_block(engine)
    engine.engine.auditor.digest()
    assert f"the free queue is broken: {queued - 1} blocks are reached, {queued} are counted" in caplog.text


def test_an_audit_comes_every_so_many_steps_and_agrees() -> None:
    engine = Mirrored(audit_interval=4)
    engine.submit(20, max_tokens=12)
    engine.run()
    assert [step.step for step in engine.steps() if step.audit is not None] == [3, 7, 11]
    assert all(step.audit == step.digest for step in engine.steps() if step.audit is not None)


def test_audits_of_a_large_pool_are_rare() -> None:
    assert default_interval(512) == 64
    assert default_interval(1_000_000) == 125_000


def test_a_session_begins_with_a_keyframe_of_defaults() -> None:
    first = Mirrored(num_blocks=100_000).records[0]
    assert (first.record, first.step, first.op, first.audited) == (0, -1, 0, True)
    assert first.blocks.ticket == b""
    assert first.blocks.count == b""


def test_a_mirror_that_begins_at_a_later_keyframe_follows_as_well() -> None:
    engine = busy()
    engine.engine.keyframe()
    engine.submit(40, n=3, max_tokens=9)
    engine.step(3)
    engine.run()
    at = max(i for i, record in enumerate(engine.records) if not isinstance(record, Step) and i)
    keyframes = [i for i, record in enumerate(engine.records) if type(record).__name__ == "Keyframe"]
    fold = Fold(32, 16)
    for record in engine.records[keyframes[-1] :]:
        assert fold.apply(record) == []
    assert fold.lanes.digest() == engine.fold.lanes.digest()
    assert at


def test_a_keyframe_tells_of_each_request_what_the_ledger_does() -> None:
    engine = Mirrored(num_blocks=64, policy="priority", priority_aging=100)
    engine.submit(40, priority=2)
    engine.submit(40, beam_width=3, n=2, priority=-1, keys=ExtraKeys("sql", "pepper"))
    engine.step(3)
    engine.submit(40, keys=ExtraKeys("law"))
    engine.step()
    rows = engine.engine.snapshot().requests
    assert rows == engine.fold.keyframe(0).requests
    assert [(row.beam_width, row.lora_name) for row in rows] == [(None, None), (3, "sql"), (None, "law")]


def test_a_keyframe_in_between_seals_what_was_done_since_the_last_step() -> None:
    engine = busy()
    engine.engine.scheduler.abort(engine.roster.running[0])
    steps = engine.engine.steps
    engine.engine.keyframe()
    assert engine.mirror() == []
    assert engine.engine.steps == steps + 1
    engine.engine.keyframe()
    assert engine.mirror() == []
    assert engine.engine.steps == steps + 1
