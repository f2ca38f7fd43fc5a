"""Predicates: read to what they say, and explained at the character where they can't be read."""

import random

import pytest

from kvarium_ledger.filtering.explaining import caret, explain
from kvarium_ledger.filtering.predicates import CONDITIONS, Bound, read_predicate, subject_of
from kvarium_ledger.filtering.reading import UnreadableFilterError
from kvarium_ledger.filtering.terms import Fault, Name, Numbers, Request

EVICT, R17 = ("op", False, ("evict",)), ("owner", False, (Request(17),))


def read(text: str) -> list[tuple[str, list[tuple[str, bool, tuple[object, ...]]]]]:
    return [
        (subject_of(each), [(condition.field, condition.not_, condition.values) for condition in each])
        for each in read_predicate(text).alternatives
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("op:evict owner:r17", [("event", [EVICT, R17])]),
        ("op:evict and request:17", [("event", [EVICT, R17])]),
        ("OP:Evict", [("event", [EVICT])]),
        ("sequence:3..", [("event", [("seq", False, (Numbers(3, None),))])]),
        ("block:42#3", [("event", [("block", False, (Numbers(42, 42, 3),))])]),
        ('owner:"a b)"', [("event", [("owner", False, (Name("a b)"),))])]),
        ("hash:0xAB,cd", [("event", [("hash", False, ("ab", "cd"))])]),
        ('text:"Once upon"', [("event", [("text", False, ("Once upon",))])]),
        ("usage>90%", [("step", [("usage", False, (Bound(">", 0.9),))])]),
        ("usage > 0.9 free<=8", [("step", [("usage", False, (Bound(">", 0.9),)), ("free", False, (Bound("<=", 8),))])]),
        ("waiting>=250ms -owner:r17", [("request", [("waiting", False, (Bound(">=", 250_000_000),)), (*R17[:1], True, R17[2])])]),
        ("violation or op:evict", [("step", [("violation", False, ())]), ("event", [EVICT])]),
        ("not (op:evict or owner:r17)", [("event", [("op", True, ("evict",)), (*R17[:1], True, R17[2])])]),
        ("-(op:evict owner:r17)", [("event", [("op", True, ("evict",))]), ("event", [("owner", True, (Request(17),))])]),
        ("--op:evict", [("event", [EVICT])]),
        ("(op:evict or step:3) owner:r17", [("event", [EVICT, R17]), ("event", [("step", False, (Numbers(3, 3),)), R17])]),
    ],
)  # fmt: skip
def test_a_predicate_is_read_to_its_alternatives_and_what_each_speaks_of(text: str, said: object) -> None:
    assert read(text) == said


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("", 0, "a condition is missing"),
        ("op:evict or ", 12, "a condition is missing"),
        ("or op:evict", 0, "a condition is missing"),
        ("op:evict -", 9, "a condition is missing"),
        ("op:evict ()", 10, "a condition is missing"),
        ("op:", 0, "a value is missing"),
        ("usage>", 0, "a value is missing"),
        ("step:3 (op:evict", 7, "this parenthesis has no other"),
        ("op:evict)", 8, "this parenthesis has no other"),
        ("op:evcit", 3, "there is no operation 'evcit'; did you mean evict?"),
        ("opp:evict", 0, "there is no field 'opp'; a predicate knows op, decision"),
        ("fee<3", 0, "did you mean free?"),
        ("owner:r1 evict", 9, "'evict' is no condition; did you mean op:evict?"),
        ("preempted", 0, "preempted is compared: preempted>2"),
        ("r17", 0, "did you mean owner:r17?"),
        ("42#3", 0, "did you mean block:42#3?"),
        ('"Once"', 0, 'did you mean text:"Once"?'),
        ("usage:0.9", 0, "usage is compared: usage>0.9"),
        ("usage>1.5", 6, "'1.5' is no share (0.9, 90%)"),
        ("hit_rate<x%", 9, "'x%' is no share (0.9, 90%)"),
        ("free<2.5", 5, "'2.5' is no whole number"),
        ("waiting>2", 8, "'2' is no time with its unit (250ms, 2s, 3m)"),
        ("waiting>14:03:10", 8, "is no time with its unit"),
        ("hash:xyz", 5, "'xyz' is no beginning of a hash"),
        ("block:1..9#3", 6, "only a single block has a generation (42#3)"),
        ("step:9..3", 5, "ends before it begins"),
        ('text:"Once', 5, "this quote is not closed"),
        ('text:a"b', 6, "a quote stands around the whole of a value"),
        ("op:evict decision:admitted", 9, "'decision:admitted' and op:evict never hold of one event"),
        ("op:evict waiting>2s", 9, "'waiting>2s' and op:evict never hold of one event"),
        ("preempted>2 block:3", 12, "'block:3' and preempted>2 never hold of one event"),
        (" ".join(["(op:evict or op:copy)"] * 7), 0, "too many alternatives"),
        ("usage>=0%", 0, "'usage>=0%' always holds"),
        ("op:evict usage <= 100%", 9, "'usage <= 100%' always holds"),
        ("free>=0", 0, "'free>=0' always holds"),
        ("(" * 1500, 32, "its parentheses stand too deep in each other"),
        ("(" * 240 + "op:evict" + ")" * 240, 32, "its parentheses stand too deep in each other"),
        ("-(" * 400 + "op:evict" + ")" * 400, 65, "its parentheses stand too deep in each other"),
        ("op:evict " * 250, 2000, "longer than any may be"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_explained_at_its_character(text: str, at: int, why: str) -> None:
    with pytest.raises(UnreadableFilterError) as caught:
        read_predicate(text)
    fault = caught.value.fault
    told = explain(fault, "predicate", CONDITIONS)
    assert told.startswith(f"the predicate can't be read at character {at + 1}: ")
    assert why in told
    assert fault.at == at
    shown, mark = caret(text, fault).split("\n")
    assert mark.index("^") == at + 2
    assert shown[2:] == text


def test_parentheses_in_each_other_and_beside_each_other_are_read() -> None:
    assert read("(" * 32 + "op:evict" + ")" * 32) == [("event", [EVICT])]
    assert read("-(" * 32 + "op:evict" + ")" * 32) == [("event", [EVICT])]
    assert read("(op:evict) " * 100) == [("event", [EVICT] * 100)]


def fault_of(text: str) -> Fault | None:
    try:
        read_predicate(text)
    except UnreadableFilterError as error:
        return error.fault
    return None


def test_whatever_is_typed_is_read_or_explained(rng: random.Random) -> None:
    parts = [
        "op:evict",
        "or",
        "not",
        "-",
        "(",
        ")",
        '"',
        "usage>",
        "0.9",
        ":",
        ",",
        "block:4#",
        "text:",
        " ",
        "é",
        "\n",
        "%",
    ]
    for _ in range(2000):
        text = "".join(rng.choice(parts) + rng.choice(["", " "]) for _ in range(rng.randint(0, 8)))
        fault = fault_of(text)
        if fault is not None:
            assert 0 <= fault.at <= fault.end <= len(text) + 1
            assert fault.at <= len(text)
            assert explain(fault, "predicate", CONDITIONS)
