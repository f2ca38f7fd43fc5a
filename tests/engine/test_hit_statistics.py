"""The hit rate is counted as vLLM counts it: in tokens, once a request, and the retries after a preemption apart."""

from dataclasses import asdict

import pytest

from kvarium_ledger.decisions import Admitted, Preempted, Waiting
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.records import Step
from tests.engine.mirrored import Mirrored, tokens


def derived(engine: Mirrored) -> HitStatistics:
    """The same, as a reader of the records derives it."""
    found = HitStatistics()
    for record in engine.records:
        for decision in record.decisions if isinstance(record, Step) else ():
            if isinstance(decision, Admitted):
                found.count(decision)
    return found


def test_tokens_asked_and_tokens_found() -> None:
    engine = Mirrored()
    for own, hit in ((8, 0), (8, 32), (40, 32)):
        prompt = tokens(1, 32)
        prompt.extend(tokens(own, own))
        engine.submit(prompt, max_tokens=2)
        engine.run()
        assert engine.decisions(Admitted)[-1].hit == hit
    found = engine.roster.hit_statistics
    assert (found.requests, found.queries, found.hits) == (3, 40 + 40 + 72, 64)
    assert found.rate == pytest.approx(64 / 152)
    assert found == derived(engine)


def test_a_request_that_is_looked_up_again_and_again_while_it_waits_counts_once() -> None:
    engine = Mirrored(num_blocks=9)
    engine.submit(tokens(1, 40), max_tokens=60)
    engine.step()
    blocked = engine.submit(tokens(1, 130), max_tokens=1)
    looked_up = 0
    lookup = engine.pool.cache.lookup

    def counted(*args):  # type: ignore[no-untyped-def]
        nonlocal looked_up
        looked_up += 1
        return lookup(*args)

    engine.pool.cache.lookup = counted  # type: ignore[method-assign]
    for _ in range(20):
        engine.step()
        engine.pool.queue._blocks -= 1  # as if a block had come back: it is worth another look
    assert blocked.state == "waiting"
    assert looked_up == 20
    assert [d.reason for d in engine.decisions(Waiting)] == ["blocks"]
    assert engine.roster.hit_statistics.requests == 1
    engine.run()
    found = engine.roster.hit_statistics
    assert (found.requests, found.queries, found.hits) == (2, 170, 32)
    assert found == derived(engine)


def test_what_a_preempted_request_finds_again_does_not_lift_the_rate() -> None:
    engine = Mirrored(num_blocks=7)
    for i in range(3):
        engine.submit(tokens(i, 30), max_tokens=40)
    engine.run()
    retries = len(engine.decisions(Preempted))
    assert retries > 1
    found = engine.roster.hit_statistics
    assert (found.requests, found.queries, found.hits) == (3, 90, 0)
    assert found.preempted_requests == retries
    assert 0 < found.preempted_hits < found.preempted_queries
    assert found == derived(engine)


def test_without_a_cache_nothing_is_asked_of_it() -> None:
    engine = Mirrored(caching=False)
    engine.submit(40, max_tokens=1)
    engine.run()
    assert not any(asdict(engine.roster.hit_statistics).values())
    assert engine.roster.hit_statistics.rate == 0
