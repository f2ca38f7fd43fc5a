"""The pool in ``kvarium bench ledger`` and vLLM's, in the same race: they do the same, and both are timed."""

from __future__ import annotations

import pytest

from kvarium_engine.bench.pool_race import BLOCKS_A_CALL, Ours, Race, Theirs, prompts_of, race


@pytest.mark.parametrize("n", BLOCKS_A_CALL)
def test_both_pools_hit_evict_and_free_the_same(n: int, seed: int) -> None:
    size = Race(256, 512, 4)
    ours, theirs = Ours(n, 256 // n // 4, 256), Theirs(n, 256 // n // 4, 256)
    for prompts in prompts_of(n, size, seed):
        for prompt in prompts:
            before = ours.hits, theirs.hits
            ours.run([prompt])
            theirs.run([prompt])
            assert ours.hits - before[0] == theirs.hits - before[1]
            assert ours.table() == theirs.table()
        assert ours.free() == theirs.free()
    assert ours.hits > 10
    found = race(n, size, seed)
    assert found["ratio"]["p50"] == pytest.approx(found["kvarium_per_s"] / found["vllm_per_s"], rel=0.5)
    assert 15 < found["hit_percent"] < 60


def test_a_race_in_which_they_differ_is_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Ours.table
    monkeypatch.setattr(Ours, "table", lambda self: plain(self)[::-1])
    with pytest.raises(AssertionError, match="did not do the same"):
        race(4, Race(64, 64, 1))
