"""The scheduler: who gets tokens and blocks. The mirror agrees with every step."""

import itertools

import pytest

from kvarium_ledger.decisions import (
    Admitted,
    Finished,
    Scheduled,
    SequenceCreated,
    SequenceDropped,
    Waiting,
)
from kvarium_ledger.hashes import block_hash, root_hash
from tests.engine.mirrored import Mirrored, ScriptedRunner, table, tokens

# -- lazy allocation ----------------------------------------------------------------------------------------------


def test_a_prompt_of_40_tokens_gets_3_blocks_at_admission() -> None:
    engine = Mirrored()
    request = engine.submit(40)
    engine.step()
    assert table(request) == [0, 1, 2]
    assert engine.operations(engine.last) == {
        ("allocate", "prefill"): 3,
        ("fill", "prefill"): 3,
        ("cache", "full"): 2,
    }
    assert list(engine.pool.state.filled[:3]) == [16, 16, 8]


def test_40_and_1000_tokens_take_65_blocks_62_of_them_one_by_one_each_16_tokens() -> None:
    engine = Mirrored(num_blocks=65, audit_interval=100)
    request = engine.submit(40, max_tokens=1000)
    allocations = []
    while not engine.engine.idle:
        engine.step()
        allocations.append(len(engine.blocks("allocate")))
    assert sum(allocations) == 65
    assert allocations[0] == 3
    assert allocations.count(1) == 62
    assert set(allocations) == {0, 1, 3}
    steps = [step for step, count in enumerate(allocations) if count == 1]
    assert {after - before for before, after in itertools.pairwise(steps)} == {16}
    assert len(request.live[0].tokens) == 1040
    assert engine.decisions(Finished)[0].reason == "length"
    engine.assert_nothing_leaks()


def test_no_block_is_taken_for_a_token_that_is_not_yet_made() -> None:
    engine = Mirrored()
    request = engine.submit(16, max_tokens=3)
    engine.step()
    assert len(table(request)) == 1, "the prompt fills its block, and the sampled token has no slot yet"
    engine.step()
    assert len(table(request)) == 2


def test_a_chunked_prompt_gets_the_blocks_of_its_chunks() -> None:
    engine = Mirrored(budget=32, seqs=4)
    request = engine.submit(70, max_tokens=2)
    sizes = [len(table(request)) for _ in range(3) if engine.step()]
    assert sizes == [2, 4, 5]
    chunks = [(s.start, s.tokens) for s in engine.decisions(Scheduled)]
    assert chunks == [(0, 32), (32, 32), (64, 6)]
    assert [len(sealed.sampled) for sealed in engine.sealed[1:]] == [0, 0, 1]


def test_decodes_go_on_while_a_long_prompt_is_prefilled_in_chunks() -> None:
    engine = Mirrored(budget=32, seqs=4)
    first = engine.submit(8, max_tokens=50)
    engine.step()
    engine.submit(300, max_tokens=2)
    lengths = []
    for _ in range(5):
        lengths.append(first.live[0].length)
        assert engine.step().tokens == 32
    assert lengths == [9, 10, 11, 12, 13]


def test_the_budget_is_never_exceeded() -> None:
    engine = Mirrored(budget=40, seqs=40)
    for _ in range(30):
        engine.submit(7, max_tokens=9, n=2)
    while not engine.engine.idle:
        assert engine.step().tokens <= 40


# -- the prefix cache ---------------------------------------------------------------------------------------------


def test_a_second_request_of_the_same_step_already_shares_the_prefix() -> None:
    engine = Mirrored()
    first = engine.submit(tokens(1, 40))
    second = engine.submit(tokens(1, 40))
    engine.step()
    assert table(first)[:2] == table(second)[:2]
    assert table(first)[2] != table(second)[2]
    assert engine.operations(engine.last)["share", "prefix_hit"] == 2
    assert [a.hit for a in engine.decisions(Admitted)] == [0, 32]


def test_a_freed_prefix_is_reused_out_of_the_middle_of_the_queue() -> None:
    engine = Mirrored()
    engine.submit(tokens(1, 48), max_tokens=1)
    engine.run()
    again = engine.submit(tokens(1, 64), max_tokens=1)
    engine.step()
    assert engine.blocks("reuse") == [0, 1, 2]
    assert engine.decisions(Admitted)[-1].hit == 48
    assert again.prompt_tokens == 64


def test_a_hit_is_at_most_all_tokens_but_one() -> None:
    engine = Mirrored()
    engine.submit(tokens(1, 48), max_tokens=1)
    engine.run()
    engine.submit(tokens(1, 48), max_tokens=1)
    engine.step()
    admitted = engine.decisions(Admitted)[-1]
    assert (admitted.tokens, admitted.hit, admitted.cap_applied, admitted.missed) == (48, 32, True, None)
    assert [(s.start, s.tokens) for s in engine.decisions(Scheduled)][-1] == (32, 16)


def test_the_hash_of_the_first_block_that_was_missed_is_vllms() -> None:
    engine = Mirrored()
    engine.submit(tokens(1, 40), max_tokens=1)
    engine.run()
    prompt = tokens(1, 32)
    prompt.extend(tokens(2, 30))
    engine.submit(prompt, max_tokens=1)
    engine.step()
    value = root_hash("0")
    for start in (0, 16, 32):
        value = block_hash(value, prompt[start : start + 16])
    admitted = engine.decisions(Admitted)[-1]
    assert (admitted.hit, admitted.missed) == (32, value)


def test_nothing_is_missed_when_the_rest_is_shorter_than_a_block() -> None:
    engine = Mirrored()
    engine.submit(10, max_tokens=1)
    engine.step()
    assert engine.decisions(Admitted)[0].missed is None


def test_sampled_tokens_become_prefixes_too() -> None:
    engine = Mirrored()
    request = engine.submit(tokens(1, 10), max_tokens=30)
    engine.run()
    follow_up = request.live[0].tokens[:]
    follow_up.extend(tokens(2, 5))
    engine.submit(follow_up, max_tokens=1)
    engine.step()
    assert engine.decisions(Admitted)[-1].hit == 32


def test_without_the_prefix_cache_nothing_is_labelled_or_hit() -> None:
    engine = Mirrored(caching=False)
    for _ in range(3):
        engine.submit(tokens(1, 40), max_tokens=20)
    engine.run()
    assert {kind for kind, _ in engine.operations()} == {"allocate", "fill", "free"}
    assert all(a.hit == 0 and a.missed is None for a in engine.decisions(Admitted))


# -- several samples ----------------------------------------------------------------------------------------------


def test_the_prompt_is_prefilled_once_and_all_of_its_blocks_are_shared_by_both_samples() -> None:
    engine = Mirrored()
    request = engine.submit(40, n=2)
    engine.step()
    assert engine.last.tokens == 40
    assert table(request, 0) == table(request, 1) == [0, 1, 2]
    assert list(engine.pool.state.count[:3]) == [2, 2, 2]
    assert [(c.sequence, c.index, c.parent) for c in engine.decisions(SequenceCreated)] == [
        (0, 0, None),
        (1, 1, 0),
    ]
    assert list(engine.last.sampled) == [0, 1]
    assert engine.operations(engine.last)["share", "fork"] == 3


def test_the_first_writer_copies_only_the_last_block_and_the_other_writes_in_place() -> None:
    runner = ScriptedRunner()
    engine = Mirrored(runner=runner)
    request = engine.submit(40, n=2)
    engine.step(2)
    assert table(request, 0) == [0, 1, 3]
    assert table(request, 1) == [0, 1, 2]
    assert runner.copies == [(2, 3)]
    assert list(engine.pool.state.count[:4]) == [2, 2, 1, 1]
    assert list(engine.pool.state.filled[:4]) == [16, 16, 9, 9]
    assert [(part.kind.name, list(part.blocks)) for part in engine.last.slices] == [
        ("share", [2]),
        ("copy", [3]),
        ("fill", [3]),
        ("release", [2]),
        ("fill", [2]),
    ]


def test_of_four_samples_three_copy_under_one_pin() -> None:
    engine = Mirrored()
    request = engine.submit(20, n=4)
    engine.step(2)
    assert engine.operations(engine.last)["copy", "write"] == 3
    assert engine.operations(engine.last)["share", "copy_launch"] == 1
    assert len({table(request, index)[1] for index in range(4)}) == 4
    assert table(request, 3)[1] == 1, "the last one writes in place"


def test_samples_of_a_prompt_of_whole_blocks_copy_nothing() -> None:
    engine = Mirrored()
    request = engine.submit(32, n=3, max_tokens=40)
    engine.step(2)
    assert ("copy", "write") not in engine.operations()
    assert len({table(request, index)[2] for index in range(3)}) == 3


def test_a_sample_that_ends_early_is_dropped_and_the_others_go_on() -> None:
    runner = ScriptedRunner({(1, 42): 2})
    engine = Mirrored(runner=runner)
    request = engine.submit(40, n=3, max_tokens=10, ignore_eos=False)
    engine.step(3)
    assert [d.sequence for d in engine.decisions(SequenceDropped)] == [1]
    assert [sequence.index for sequence in request.live] == [0, 2]
    assert engine.operations(engine.last)["release", "dropped"] == 2
    assert engine.operations(engine.last)["free", "dropped"] == 1
    engine.run()
    assert [f.reason for f in engine.decisions(Finished)] == ["length"]
    engine.assert_nothing_leaks()


def test_samples_that_end_together_finish_their_request_and_none_is_dropped() -> None:
    engine = Mirrored()
    engine.submit(20, n=3, max_tokens=5)
    engine.run()
    assert not engine.decisions(SequenceDropped)
    assert len(engine.decisions(Finished)) == 1
    engine.assert_nothing_leaks()


def test_a_request_stops_at_the_end_token_unless_it_ignores_it() -> None:
    engine = Mirrored(runner=ScriptedRunner({(0, 12): 2}))
    stops = engine.submit(10, max_tokens=20, ignore_eos=False)
    goes_on = engine.submit(10, max_tokens=20)
    engine.run()
    assert (stops.live[0].length, goes_on.live[0].length) == (13, 30)
    assert [f.reason for f in engine.decisions(Finished)] == ["stop", "length"]


# -- waiting ------------------------------------------------------------------------------------------------------


def test_requests_are_admitted_in_the_order_in_which_they_came() -> None:
    engine = Mirrored(seqs=2)
    for _ in range(5):
        engine.submit(8, max_tokens=4)
    engine.run()
    assert [a.request for a in engine.decisions(Admitted)] == [0, 1, 2, 3, 4]


def test_by_priority_the_lower_number_goes_first_and_then_the_earlier() -> None:
    engine = Mirrored(seqs=1, policy="priority")
    for priority in (2, 0, 1, 0):
        engine.submit(8, max_tokens=2, priority=priority)
    engine.run()
    assert [a.request for a in engine.decisions(Admitted)] == [1, 3, 2, 0]


def test_why_a_request_waits_is_told_when_the_reason_changes_and_only_then() -> None:
    engine = Mirrored(num_blocks=8, seqs=3)
    engine.submit(80, max_tokens=20)
    engine.submit(60, max_tokens=2)
    engine.submit(8, max_tokens=2)
    engine.step(6)
    reasons = [(w.request, w.reason, w.needs, w.free, w.behind) for w in engine.decisions(Waiting)]
    assert reasons == [(1, "blocks", 4, 3, None), (2, "behind", None, None, 1)]


def test_a_request_waits_for_the_budget_or_for_a_place_among_the_running() -> None:
    engine = Mirrored(budget=32, seqs=2)
    engine.submit(64, max_tokens=9)
    engine.submit(8, max_tokens=9)
    engine.step()
    assert [(w.request, w.reason) for w in engine.decisions(Waiting)] == [(1, "budget")]
    engine.submit(8, max_tokens=9)
    engine.step(3)
    assert [(w.request, w.reason) for w in engine.decisions(Waiting)][1:] == [
        (2, "behind"),
        (2, "max_num_seqs"),
    ]


def test_a_request_of_n_samples_takes_n_places_among_the_running() -> None:
    engine = Mirrored(seqs=4)
    engine.submit(8, n=3, max_tokens=3)
    engine.submit(8, n=2, max_tokens=3)
    engine.submit(8, n=1, max_tokens=3)
    engine.step()
    assert [request.id for request in engine.roster.running] == [0]
    engine.run()
    assert [a.request for a in engine.decisions(Admitted)] == [0, 1, 2]


def test_what_is_remembered_of_a_blocked_request_changes_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ledger(remembering: bool) -> list[object]:
        engine = Mirrored(num_blocks=30, block_size=4, budget=40, seqs=12, length=100, audit_interval=50)
        if not remembering:
            monkeypatch.setattr(engine.engine.scheduler, "_still_blocked", lambda *_: False)
        for step in range(250):
            if step % 2 == 0 and len(engine.roster.waiting) < 4:
                prompt = tokens(step * seed % 3, 4 * (step % 9) + 1)
                prompt.extend(tokens(step, 1 + step % 11))
                engine.submit(prompt, n=1 + step % 3, max_tokens=1 + step % 17)
            engine.step()
        return [(record.operations, record.decisions) for record in engine.steps()]

    assert ledger(remembering=True) == ledger(remembering=False)
