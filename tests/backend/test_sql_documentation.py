"""docs/sql.md: it tells every table and column, and its queries run and give what a count in Python gives."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kvarium.recording.reader import Reader
from kvarium.sql.query import Limits, Query
from kvarium.sql.schema import ENUMS, TABLES
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Admitted, Preempted, SequenceCreated, Submitted, Waiting
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Step
from tests.backend.hand_engine import decoded
from tests.backend.running_server import running

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
QUESTIONS = re.findall(
    r"### ([^\n]+\?)\n(?:[^\n]+\n)*\n```sql\n(.*?)```\n\n```text\n(.*?)\n", PAGE, re.DOTALL
)

Event = tuple[int, int, Operation, int, Cause, int, int | None]
"""op, step, kind, block, cause, sequence, content"""


@pytest.fixture(scope="module")
def steps(mixed_reader: Reader) -> list[Step]:
    records = (decoded(frame.bytes) for frame in mixed_reader.frames(1) if frame.head.type == "step")
    return [record for record in records if isinstance(record, Step)]


@pytest.fixture(scope="module")
def events(steps: list[Step]) -> list[Event]:
    found: list[Event] = []
    for step in steps:
        columns = OperationColumns.decode(step.operations)
        content = iter(columns.content.tolist())
        for place, code in enumerate(columns.kind.tolist()):
            kind = Operation(code)
            told = next(content) if kind in (Operation.evict, Operation.cache) else None
            whom = int(columns.sequence[place])
            block, cause = int(columns.block[place]), Cause(int(columns.cause[place]))
            found.append((step.op + place, step.step, kind, block, cause, whom, told))
    return found


@pytest.fixture(scope="module")
def request_of(steps: list[Step]) -> dict[int, int]:
    return {
        decision.sequence: decision.request
        for step in steps
        for decision in step.decisions
        if isinstance(decision, SequenceCreated)
    }


def answer(mixed_reader: Reader, sql: str) -> list[dict[str, Any]]:
    with Query(mixed_reader, 1, sql, Limits(), lambda done, total: None) as query:
        result = query.run()
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows()]


def asked(mixed_reader: Reader, words: str) -> list[dict[str, Any]]:
    """The answer to the one question in the page that has these words, all rows of it."""
    (sql,) = (sql for question, sql, _ in QUESTIONS if words in question)
    return answer(mixed_reader, re.sub(r"\bLIMIT \d+\s*$", "", sql))


@pytest.mark.parametrize("name", TABLES)
def test_the_page_tells_every_column_of_a_table_in_order(name: str) -> None:
    section = PAGE.partition(f"\n### {name}\n")[2].partition("\n#")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    told = [column for cell in cells for column in re.findall(r"`(\w+)`", cell)]
    assert told == TABLES[name].names


def test_the_page_tells_the_operations_and_pins() -> None:
    for name in ("operation", "pin"):
        assert ", ".join(f"`{value}`" for value in ENUMS[name]) in PAGE


@pytest.mark.parametrize(("question", "sql", "header"), QUESTIONS, ids=[found[0] for found in QUESTIONS])
def test_a_question_is_answered_with_the_columns_that_the_page_shows(
    mixed_reader: Reader, question: str, sql: str, header: str
) -> None:
    rows = answer(mixed_reader, sql)
    assert rows
    assert list(rows[0]) == header.split()


def test_the_screen_is_told_what_the_page_says(recorded: tuple[Path, str]) -> None:
    with running(recorded[0], read_only=True) as server:
        told = server.get("/sql")
        assert server.http.get("/api/sql", headers={"Origin": "http://evil.example"}).status_code == 403
    assert [(found["title"], found["sql"] + "\n") for found in told["questions"]] == [
        (title, sql) for title, sql, _ in QUESTIONS
    ]
    columns = {
        table["name"]: [(column["name"], column["type"]) for column in table["columns"]]
        for table in told["tables"]
    }
    assert columns == {
        name: [(column.name, column.type) for column in table.columns] for name, table in TABLES.items()
    }
    assert all(column["about"] for table in told["tables"] for column in table["columns"])
    assert told["limits"] == {"seconds": 30, "memory_bytes": 1 << 30, "rows": 100_000}


def test_each_question_is_read_from_the_page() -> None:
    assert len(QUESTIONS) == PAGE.partition("## Worked questions")[2].count("\n### ") == 13


def test_evictions_by_request(mixed_reader: Reader, events: list[Event], request_of: dict[int, int]) -> None:
    counted = Counter(request_of[whom] for _, _, kind, _, _, whom, _ in events if kind is Operation.evict)
    rows = asked(mixed_reader, "most evictions")
    assert {row["request"]: row["evictions"] for row in rows} == counted
    assert rows[0]["evictions"] == max(counted.values())


def test_evicted_and_wanted_again(mixed_reader: Reader, events: list[Event]) -> None:
    expected = []
    for op, step, kind, block, _, _, content in events:
        if kind is not Operation.evict:
            continue
        again = [
            later[1]
            for later in events[op + 1 :]
            if later[2] is Operation.cache and later[6] == content and later[1] <= step + 100
        ]
        if again:
            expected.append((content, block, step, again[0]))
        if step > 40:
            break
    rows = asked(mixed_reader, "wanted again")
    found = [(row["content"], row["block"], row["evicted"], row["wanted"]) for row in rows]
    last = expected[-1][2]
    assert len(expected) > 20
    assert sorted(row for row in found if row[2] < last) == sorted(row for row in expected if row[2] < last)
    assert {row["of_all"] for row in rows} == {len(rows)}


def test_hits_by_content(mixed_reader: Reader, events: list[Event], request_of: dict[int, int]) -> None:
    holds: dict[int, int | None] = {}
    hits: Counter[int | None] = Counter()
    whose: dict[int | None, set[int]] = {}
    for _, _, kind, block, cause, whom, content in events:
        if kind in (Operation.evict, Operation.cache):
            holds[block] = content if kind is Operation.cache else None
        elif cause is Cause.prefix_hit:
            hits[holds[block]] += 1
            whose.setdefault(holds[block], set()).add(request_of[whom])
    rows = asked(mixed_reader, "hit most")
    assert {row["content"]: row["hits"] for row in rows} == hits
    assert {row["content"]: row["requests"] for row in rows} == {
        content: len(who) for content, who in whose.items()
    }


def test_the_hit_rate(mixed_reader: Reader, steps: list[Step]) -> None:
    prompts: dict[int, int] = {}
    hits: dict[int, int] = {}
    for step in steps:
        for decision in step.decisions:
            if isinstance(decision, Submitted):
                prompts[decision.request] = decision.prompt_tokens
            elif isinstance(decision, Admitted):
                hits.setdefault(decision.request, decision.hit)
    rate = sum(hits.values()) / sum(prompts[request] for request in hits)
    expected = {
        "hit_rate": round(rate, 3),
        "hit": sum(hit > 0 for hit in hits.values()),
        "requests": len(hits),
    }
    assert asked(mixed_reader, "came from the prefix cache") == [expected]


def test_preemptions_and_waits(mixed_reader: Reader, steps: list[Step]) -> None:
    decisions = [decision for step in steps for decision in step.decisions]
    preempted = [decision for decision in decisions if isinstance(decision, Preempted)]
    tokens: Counter[int] = Counter()
    for decision in preempted:
        tokens[decision.victim_of] += decision.tokens
    assert {row["victim_of"]: row["tokens"] for row in asked(mixed_reader, "preempted")} == tokens
    reasons = Counter(decision.reason for decision in decisions if isinstance(decision, Waiting))
    assert {row["reason"]: row["times"] for row in asked(mixed_reader, "requests wait")} == reasons


def test_how_the_blocks_of_prompts_came_about(mixed_reader: Reader, events: list[Event]) -> None:
    outcomes: Counter[str] = Counter()
    copies: Counter[int | None] = Counter()
    filled: dict[int, Cause] = {}
    for _, _, kind, block, cause, _, content in events:
        if cause is Cause.prefix_hit:
            outcomes["hit"] += 1
        elif kind is Operation.fill:
            filled[block] = cause
        elif kind is Operation.evict:
            copies[content] -= 1
        elif kind is Operation.cache:
            if filled[block] is Cause.prefill:
                held = copies.get(content)
                outcomes["never seen" if held is None else "not shared" if held else "evicted"] += 1
            copies[content] += 1
    rows = asked(mixed_reader, "hit rate low")
    assert {row["outcome"]: row["blocks"] for row in rows} == outcomes
    assert {"hit", "never seen", "evicted"} <= set(outcomes)


def test_requests_that_thrash(mixed_reader: Reader, steps: list[Step]) -> None:
    preempted = [each for step in steps for each in step.decisions if isinstance(each, Preempted)]
    times = Counter(each.request for each in preempted)
    rows = asked(mixed_reader, "requests thrash")
    assert {row["request"]: row["times"] for row in rows} == times
    assert rows[0]["times"] == max(times.values()) > 1


def test_who_holds_blocks_at_the_end(mixed_reader: Reader) -> None:
    hello, _ = mixed_reader.hello(1)
    fold = Fold(hello.num_blocks, hello.block_size)
    for frame in mixed_reader.frames(1):
        assert fold.apply(decoded(frame.bytes)) == []
    holding: dict[str, set[int]] = {}
    held: dict[str, set[tuple[int, int]]] = {}
    for (sequence, _), table in fold.state.tables.items():
        request = fold.state.sequences[sequence].request
        state = fold.state.requests[request].state
        holding.setdefault(state, set()).add(request)
        held.setdefault(state, set()).update((request, block) for block in table.values())
    rows = {row["state"]: row for row in asked(mixed_reader, "anything leaking")}
    assert sum(row["requests"] for row in rows.values()) == len(fold.state.facts)
    assert {state: row["holding"] for state, row in rows.items() if row["holding"]} == {
        state: len(requests) for state, requests in holding.items()
    }
    assert {state: row["blocks"] for state, row in rows.items() if row["blocks"]} == {
        state: len(pairs) for state, pairs in held.items()
    }


def test_a_life_of_a_block(mixed_reader: Reader, events: list[Event]) -> None:
    births = [
        op
        for op, _, kind, block, *_ in events
        if block == 15 and kind in (Operation.allocate, Operation.copy)
    ]
    expected = [
        (op, kind.name) for op, _, kind, block, *_ in events if block == 15 and births[0] <= op < births[1]
    ]
    rows = asked(mixed_reader, "one block in one life")
    assert [(row["op"], row["kind"]) for row in rows] == expected
