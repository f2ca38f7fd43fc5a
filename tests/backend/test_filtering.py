"""The language of filters: what is printed is read as the same, and both languages read it alike."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kvarium.filtering.printing import print_filter
from kvarium_ledger.filtering.explaining import explain
from kvarium_ledger.filtering.moments import begins, read_moment
from kvarium_ledger.filtering.reading import UnreadableFilterError, read_filter
from kvarium_ledger.filtering.terms import (
    NAMES,
    Clock,
    Filter,
    Moment,
    Name,
    Nobody,
    Numbers,
    Request,
    Term,
    Times,
)
from tests.vectors.filters import EVENTS, PATH, events, vectors

number = st.integers(0, 10**15 - 1)
text = st.text(min_size=1, max_size=12) | st.text('r17.,-": \\none\t', min_size=1, max_size=8)


def ranges(end: st.SearchStrategy[int]) -> st.SearchStrategy[Numbers]:
    ordered = st.tuples(end, end).map(lambda pair: Numbers(min(pair), max(pair)))
    return ordered | end.map(lambda value: Numbers(value, None)) | end.map(lambda value: Numbers(None, value))


@st.composite
def moments(draw: st.DrawFn) -> Moment | Clock:
    decimals = draw(st.integers(0, 9))
    of = draw(st.sampled_from((10**9, 60 * 10**9, 3600 * 10**9)))
    unit = of // 10**decimals
    if draw(st.booleans()):
        return Moment(draw(st.integers(0, 10**6 * 10**9 // unit)) * unit, unit)
    day = draw(st.none() | st.dates().map(lambda day: day.isoformat()))
    unit = draw(st.sampled_from((60 * 10**9, 10**9, 10**7 if day is not None else 10**9)))
    return Clock(day, draw(st.integers(0, 86_400 * 10**9 // unit - 1)) * unit, unit)


@st.composite
def times(draw: st.DrawFn) -> Times:
    moment = draw(moments())
    return Times(*draw(st.sampled_from(((moment, moment), (moment, None), (None, moment)))))


owners = (
    st.builds(Request, number)
    | st.builds(Request, number, number)
    | st.builds(Name, text)
    | st.just(Nobody(True))
)
values = {
    **{field: st.sampled_from(names) for field, names in NAMES.items()},
    "block": ranges(number) | st.builds(lambda block, life: Numbers(block, block, life), number, number),
    **dict.fromkeys(("seq", "content", "step", "record"), ranges(number)),
    "owner": owners,
    "time": times(),
    "word": text,
}


@st.composite
def terms(draw: st.DrawFn) -> Term:
    field = draw(st.sampled_from(sorted(values)))
    most = 1 if field == "word" else 3
    found = draw(st.lists(values[field], min_size=1, max_size=most))
    return Term(field, draw(st.booleans()), tuple(found))  # type: ignore[arg-type]


@given(st.lists(terms(), max_size=4).map(tuple))
def test_what_is_printed_is_read_as_the_same(filter: Filter) -> None:
    assert read_filter(print_filter(filter)) == filter


@given(st.text(max_size=30) | st.text('op:evict block42#3..,-" \\r1s', max_size=30))
def test_any_text_is_read_or_told_what_is_wrong_with_it_and_where(typed: str) -> None:
    fault = None
    try:
        read = read_filter(typed)
    except UnreadableFilterError as error:
        fault = error.fault
    if fault is None:
        assert read_filter(print_filter(read)) == read
    else:
        assert 0 <= fault.at <= fault.end <= len(typed)
        assert fault.said in typed
        assert f"at character {fault.at + 1}" in explain(fault)


def test_the_stored_vectors_are_what_is_read_now() -> None:
    assert PATH.read_text() == vectors(), "run: python -m tests.vectors.filters"


def test_the_stored_vectors_are_what_is_found_now() -> None:
    assert EVENTS.read_text() == events(), "run: python -m tests.vectors.filters"
    assert all(json.loads(EVENTS.read_text()).values())


def test_a_clock_without_a_day_is_the_first_one_that_ends_after_the_session_began() -> None:
    noon = 1_796_040_000 * 10**6 + 12 * 3600 * 10**6 - 1_796_040_000 % 86_400 * 10**6
    clock = read_moment("12:00:30")
    assert clock is not None
    assert begins(clock, noon) == 30 * 10**9
    minute = read_moment("12:00")
    assert minute is not None
    assert begins(minute, noon + 30 * 10**6) == -30 * 10**9
    earlier = read_moment("11:59")
    assert earlier is not None
    assert begins(earlier, noon) == (24 * 3600 - 60) * 10**9
    assert begins(earlier, noon, zone=-3600 * 10**9) == 59 * 60 * 10**9
