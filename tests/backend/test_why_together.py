"""Evictions that are explained together are explained as each is by itself."""

import contextlib
from collections.abc import Iterator

import pytest

from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.why.answers import answer
from kvarium.why.evictions import all_evictions, why_evicted_each
from kvarium.why.past import Past
from kvarium.why.questions import Evicted, LeaksAt, MemoryAt, PreemptedAt, WaitsAt, link_of, question_of


@pytest.fixture
def past(mixed_reader: Reader) -> Iterator[Past]:
    with contextlib.closing(Seeker(mixed_reader)) as seeker:
        yield Past(mixed_reader, seeker, 1)


def test_evictions_explained_in_one_pass_are_those_explained_one_by_one(past: Past) -> None:
    found = all_evictions(past)
    some = [op for _, op, _ in found[:: max(1, len(found) // 5)]]
    assert len(some) >= 5
    together = why_evicted_each(past, some, lambda done, total: None)
    assert sorted(together) == sorted(some)
    for op in some:
        assert together[op] == answer(past, Evicted(op=op))
    again = {op for _, op, wanted in found if wanted}
    assert {op for op, each in together.items() if any(one.life for one in each.wanted)} >= again & set(some)


@pytest.mark.parametrize(
    ("question", "link"),
    [
        (Evicted(op=9920), "why/evicted?op=9920"),
        (Evicted(block=42, generation=3, step=7), "why/evicted?block=42&generation=3&step=7"),
        (PreemptedAt(request="a b&c", step=90), "why/preempted?of=a%20b%26c&step=90"),
        (WaitsAt(request="r17"), "why/waits?of=r17"),
        (MemoryAt(), "why/memory"),
        (LeaksAt(baseline=0, step=90), "why/leaks?step=90"),
    ],
)
def test_a_link_is_written_in_one_way_and_read_back(question: MemoryAt, link: str) -> None:
    assert link_of(question) == link
    assert question_of(link) == question
    assert question_of("blocks/7/operations") is question_of("why/memory?step=many") is None
