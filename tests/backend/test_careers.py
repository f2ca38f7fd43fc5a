"""Careers of requests: as the Python fold has them step by step, however many steps are asked for."""

import random
from pathlib import Path
from typing import Any

import pytest

from kvarium.recording.careers import COLUMNS, MAX_ROWS, read_careers
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Step
from tests.backend.running_server import running
from tests.backend.test_block_operations import BLOCKS

Told = dict[str, Any]
States = dict[int, dict[int, str]]
"""By step: the states of the requests in the engine after it."""


@pytest.fixture(scope="module")
def states(mixed_reader: Reader) -> States:
    fold = Fold(BLOCKS, 16)
    found: States = {}
    for frame in mixed_reader.frames(1):
        record: Any = codec.open_frame(frame.bytes)
        assert fold.apply(record) == []
        if isinstance(record, Step):
            found[record.step] = {request: row.state for request, row in fold.state.requests.items()}
    return found


def test_the_rows_are_what_the_fold_has_in_each_step(
    mixed_reader: Reader, states: States, rng: random.Random
) -> None:
    end = max(states)
    preempted = 0
    for _ in range(8):
        first = rng.randint(0, end)
        last = rng.randint(first, end)
        at = rng.randint(first, last)
        told = read_careers(mixed_reader, 1, first, last, at, 0, MAX_ROWS, None)
        assert told["through"] == end
        assert told["total"] == len(told["requests"])
        rows = {row["request"]: row for row in told["requests"]}
        for step in range(first, last + 1):
            there = {
                request
                for request, row in rows.items()
                if row["submitted_step"] <= step and (row["ended_step"] is None or step < row["ended_step"])
            }
            assert there == set(states[step]), step
            for request in there:
                row = rows[request]
                if row["admitted_step"] is None or step < row["admitted_step"]:
                    assert states[step][request] == "waiting"
                elif row["preemptions"] == 0:
                    assert states[step][request] == "running"
                preempted += states[step][request] == "preempted"
    assert preempted > 0


def test_those_that_are_there_come_first_then_the_later_ones_then_those_that_ended(
    mixed_reader: Reader, states: States, rng: random.Random
) -> None:
    end = max(states)
    at = rng.randint(end // 4, 3 * end // 4)
    rows = read_careers(mixed_reader, 1, 0, end, at, 0, MAX_ROWS, None)["requests"]
    groups: list[list[int]] = [[], [], []]
    for row in rows:
        is_over = row["ended_step"] is not None and row["ended_step"] < at
        groups[1 if row["submitted_step"] > at else 2 if is_over else 0].append(row["request"])
    assert set(groups[0]) >= set(states[at])
    order = [row["request"] for row in rows]
    assert order == sorted(groups[0]) + sorted(groups[1]) + sorted(groups[2], reverse=True)
    some = read_careers(mixed_reader, 1, 0, end, at, 3, 4, None)
    assert [row["request"] for row in some["requests"]] == order[3:7]
    assert some["total"] == len(order)
    wanted = order[-1]
    marked = read_careers(mixed_reader, 1, 0, end, at, 0, 2, wanted)
    assert [row["request"] for row in marked["requests"]] == [wanted, *order[:2]]
    again = read_careers(mixed_reader, 1, 0, end, at, 0, 2, order[1])
    assert [row["request"] for row in again["requests"]] == order[:2]


def test_the_server_tells_them_of_any_number_of_steps(mixed: Path, states: States) -> None:
    with running(mixed, read_only=True) as server:
        (session,) = [row["id"] for row in server.get("/sessions")["sessions"]]
        place = f"/sessions/{session}/careers"
        told = server.get(place, first=0, last=(1 << 53) - 1, at=0, limit=3)
        assert [list(row) for row in told["requests"]] == [list(COLUMNS)] * 3
        assert told["total"] > 3
        assert told["through"] == max(states)
        assert server.get(place, first=1 << 50, last=1 << 51, at=0)["requests"] == []
        for query in (
            {"first": -1, "last": 5, "at": 0},
            {"first": 0, "last": 5, "at": 0, "limit": MAX_ROWS + 1},
            {"first": 0, "last": 5},
            {"first": 6, "last": 5, "at": 6},
        ):
            assert server.http.get(f"/api{place}", params=query).status_code == 422, query
