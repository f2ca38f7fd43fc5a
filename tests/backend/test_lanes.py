"""The lanes of requests: state by state what the Python fold says, wherever one looks."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.lanes import read_lanes
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.decisions import Scheduled
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Gap, Step
from tests.backend.running_server import running
from tests.backend.test_block_operations import BLOCKS, write

LONG = 60.0
LAST = 200
"""So many records are enough to have a gap among them."""
Told = dict[str, Any]
States = dict[int, dict[int, str]]
"""By step: the states of the requests in the engine after it."""


@pytest.fixture(scope="module")
def records(mixed_reader: Reader) -> list[AnyRecord]:
    return [codec.open_frame(frame.bytes) for frame in mixed_reader.frames(1)]  # type: ignore[misc]


@pytest.fixture(scope="module")
def states(records: list[AnyRecord]) -> States:
    fold = Fold(BLOCKS, 16)
    found: States = {}
    for record in records:
        assert fold.apply(record) == []
        if isinstance(record, Step):
            found[record.step] = {request: row.state for request, row in fold.state.requests.items()}
    return found


@pytest.fixture
def seeker(mixed_reader: Reader) -> Iterator[Seeker]:
    found = Seeker(mixed_reader)
    yield found
    found.close()


def states_of(told: Told) -> States:
    """The states after each step, as the stretches tell them."""
    found: States = {}
    for stretch in told["stretches"]:
        now = dict(zip(stretch["start"]["request"], stretch["start"]["state"], strict=True))
        changes = [tuple(stretch["changes"][name]) for name in ("step", "request", "state")]
        rows = list(zip(*changes, strict=True))
        for step in range(stretch["first"], stretch["last"] + 1):
            for at, request, state in rows:
                if at == step and state in ("waiting", "running", "preempted"):
                    now[request] = state
                elif at == step:
                    assert state in ("finished", "aborted", "refused")
                    now.pop(request, None)
            found[step] = dict(now)
    return found


def chunks_of(told: Told) -> list[tuple[int, int, int]]:
    found = []
    for stretch in told["stretches"]:
        found += list(zip(*(stretch["chunks"][name] for name in ("step", "request", "tokens")), strict=True))
    return found


def test_the_states_are_the_fold_s_wherever_one_looks(
    mixed_reader: Reader, seeker: Seeker, records: list[AnyRecord], states: States, rng: random.Random
) -> None:
    chunks = [
        (record.step, decision.request, decision.tokens)
        for record in records
        if isinstance(record, Step)
        for decision in record.decisions
        if isinstance(decision, Scheduled)
    ]
    last = max(states)
    for _ in range(12):
        first = rng.randint(0, last)
        until = min(last, first + rng.randint(0, 120))
        told = read_lanes(mixed_reader, seeker, 1, first, until, LONG)
        assert told["through"] == until
        assert states_of(told) == {step: states[step] for step in range(first, until + 1)}
        assert chunks_of(told) == [each for each in chunks if first <= each[0] <= until]
        assert {request for step in range(first, until + 1) for request in states[step]} <= {
            int(request) for request in told["names"]
        }


def test_what_there_was_no_time_for_is_gone_on_with(
    mixed_reader: Reader, seeker: Seeker, states: States
) -> None:
    found: States = {}
    last = max(states)
    first = at = last - 8
    answers = 0
    while at <= last:
        told = read_lanes(mixed_reader, seeker, 1, at, last, 0.0)
        assert told["through"] >= at
        found |= states_of(told)
        at = told["through"] + 1
        answers += 1
    assert answers > 3
    assert found == {step: states[step] for step in range(first, last + 1)}


def test_nothing_is_told_of_a_gap_and_a_keyframe_behind_it_begins_anew(
    tmp_path: Path, records: list[AnyRecord], states: States
) -> None:
    fold = Fold(BLOCKS, 16)
    frames: list[bytes] = []
    lost: set[int] = set()
    for record in records[:LAST]:
        fold.apply(record)
        if 40 <= record.record < 80:
            if isinstance(record, Step):
                lost.add(record.step)
            continue
        if record.record == 80:
            # The engine's own, behind a gap.
            gap = Gap(record=80, time=fold.time, first=40, last=79, reason="the server was away")
            told = msgspec.structs.replace(fold.keyframe(utc_us=0), record=81)
            frames += [codec.seal(gap), codec.seal(told)]
            lost |= {record.step} if isinstance(record, Step) else set()
            continue
        moved = record if record.record < 40 else msgspec.structs.replace(record, record=record.record + 1)
        frames.append(codec.seal(moved))
    database = open_for_reading(str(write(tmp_path / "gap.db", frames, every=40)))
    reader = Reader(database)
    seeker = Seeker(reader)
    last = fold.step
    states = {step: found for step, found in states.items() if step <= last}
    told = read_lanes(reader, seeker, 1, 0, last, LONG)
    assert told["through"] == last
    assert len(told["stretches"]) == 2
    assert states_of(told) == {step: found for step, found in states.items() if step not in lost}
    # From within the gap on.
    told = read_lanes(reader, seeker, 1, min(lost) + 1, last, LONG)
    assert states_of(told) == {step: found for step, found in states.items() if step > max(lost)}
    seeker.close()
    database.close()


def test_a_part_is_asked_for_by_its_steps(mixed: Path, states: States) -> None:
    with running(mixed, read_only=True) as server:
        (session,) = [row["id"] for row in server.get("/sessions")["sessions"]]
        at = f"/sessions/{session}/lanes"
        assert states_of(server.get(at, first=5, last=9)) == {step: states[step] for step in range(5, 10)}
        last = max(states)
        assert server.get(at, first=last, last=last + 1)["through"] == last
        for query, status, said in (
            ({"first": 9, "last": 5}, 422, "9 to 5 are 0"),
            ({"first": 0, "last": 4096}, 422, "0 to 4096 are 4097"),
            ({"first": last + 1, "last": last + 2}, 404, f"holds steps up to {last}"),
        ):
            answer = server.http.get(f"/api{at}", params=query)
            assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
