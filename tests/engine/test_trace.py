"""Traces in Mooncake's format: equal hash ids are equal tokens; a bad line is named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.workload.mooncake import HASH_BLOCK, Trace, TraceRequest, read_trace, size_of
from kvarium_ledger.decisions import Admitted, Finished, Submitted
from tests.engine.mirrored import Mirrored

GOOD = {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [4, 9]}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def request(timestamp: float, input_length: int, output_length: int, *hash_ids: int) -> TraceRequest:
    return TraceRequest(timestamp, input_length, output_length, list(hash_ids))


def test_equal_hash_ids_give_equal_tokens_and_others_do_not() -> None:
    one, two = request(0, 1000, 1, 7, 8).prompt(), request(9, 1024, 1, 7, 9).prompt()
    assert len(one) == 1000
    assert len(two) == 1024
    assert one[:HASH_BLOCK] == two[:HASH_BLOCK]
    assert one[HASH_BLOCK : HASH_BLOCK + 16] != two[HASH_BLOCK : HASH_BLOCK + 16]


def test_a_shared_hash_id_is_32_hits_at_16_tokens_a_block() -> None:
    trace = Trace([request(0, 700, 2, 1, 2), request(0, 900, 2, 1, 3)], speed=0)
    engine = Mirrored(num_blocks=200)
    trace.feed(engine.engine)
    assert trace.done
    engine.run()
    assert [a.hit for a in engine.decisions(Admitted)] == [0, 512]
    assert [s.max_tokens for s in engine.decisions(Submitted)] == [2, 2]
    assert {f.reason for f in engine.decisions(Finished)} == {"length"}


def test_at_speed_0_a_bounded_number_waits() -> None:
    trace = Trace([request(i, 20, 5, i) for i in range(50)], speed=0, backlog=6)
    engine = Mirrored(seqs=2)
    submitted = []
    while not (trace.done and engine.engine.idle):
        trace.feed(engine.engine)
        submitted.append(len(engine.roster.waiting))
        engine.step()
    assert max(submitted) == 6
    assert len(engine.decisions(Finished)) == 50
    engine.assert_nothing_leaks()


def test_a_paced_trace_comes_at_its_time_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("kvarium_engine.workload.mooncake.time.monotonic", lambda: now)
    trace = Trace([request(5000 + 1000 * i, 20, 1, i) for i in range(4)], speed=2.0)
    engine = Mirrored()
    trace.feed(engine.engine)
    assert len(engine.roster.requests) == 1
    assert trace.pause(engine.engine) == pytest.approx(0.5)
    now += 1.01
    trace.feed(engine.engine)
    assert len(engine.roster.requests) == 3
    assert trace.pause(engine.engine) == pytest.approx(0.49)


def test_the_pool_has_to_hold_the_longest_request() -> None:
    size = size_of([request(0, 600, 3, 4, 9), request(0, 40, 1000, 1)], 16)
    assert (size.tokens, size.blocks) == (1040, 65)


BAD = [
    ({**GOOD, "input_length": "many"}, "line 2: Expected `int`, got `str` - at `$.input_length`", "many"),
    ({**GOOD, "input_length": 0}, "line 2: input_length is 0", "at least 1"),
    ({**GOOD, "output_length": -4}, "line 2: output_length is -4", "at least 1"),
    ({**GOOD, "timestamp": -1}, "line 2: timestamp is -1", "not be negative"),
    ({**GOOD, "hash_ids": [4]}, "line 2: hash_ids has 1 ids", "input_length 600 fills 2 blocks of 512"),
    ({**GOOD, "hash_ids": 4}, "line 2: Expected `array`", '"hash_ids": 4'),
    ({"timestamp": 3}, "line 2: Object missing required field `input_length`", '{"timestamp": 3}'),
    ("not json", "line 2: not JSON", "not json"),
    ('{"timestamp": 0, "input_len', "line 2: not JSON", "truncated"),
    ("[1, 2]", "line 2: Expected `object`, got `array`", "[1, 2]"),
]


@pytest.mark.parametrize(("line", "message", "value"), BAD)
def test_a_bad_line_is_told_with_its_number_and_its_value(
    tmp_path: Path, line: Any, message: str, value: str
) -> None:
    path = write(tmp_path / "trace.jsonl", GOOD, line)
    with pytest.raises(UsageError) as raised:
        read_trace(path)
    assert message in str(raised.value)
    assert value in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_time_stamps_do_not_go_back(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {**GOOD, "timestamp": 7}, {**GOOD, "timestamp": 6})
    with pytest.raises(UsageError, match=r"line 2: timestamp 6\.0 is before the one above it, 7\.0"):
        read_trace(path)


def test_an_absent_and_an_empty_trace_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.jsonl can't be read: No such file"):
        read_trace(tmp_path / "nothing.jsonl")
    with pytest.raises(UsageError, match="holds no request"):
        read_trace(write(tmp_path / "empty", ""))


def test_a_pipe_is_no_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe is not a regular file"):
        read_trace(tmp_path / "pipe")


def test_mooncakes_real_trace_is_read_whole(shared_data: Callable[[str], Path]) -> None:
    requests = read_trace(shared_data("mooncake_conversation.jsonl"))
    assert len(requests) == 12_031
    assert sum(len(r.hash_ids) for r in requests) == 288_500
    assert len({i for r in requests for i in r.hash_ids}) == 182_790


def test_the_first_requests_of_mooncakes_trace_run_and_the_mirror_agrees(
    shared_data: Callable[[str], Path],
) -> None:
    requests = [
        TraceRequest(r.timestamp, r.input_length, min(r.output_length, 40), r.hash_ids)
        for r in read_trace(shared_data("mooncake_conversation.jsonl"))[:12]
    ]
    size = size_of(requests, 16)
    engine = Mirrored(num_blocks=size.blocks * 2, length=size.tokens, audit_interval=50)
    trace = Trace(requests, speed=0)
    while not (trace.done and engine.engine.idle):
        trace.feed(engine.engine)
        engine.step()
    assert len(engine.decisions(Finished)) == 12
    assert sum(a.hit for a in engine.decisions(Admitted)) >= 512 * 8, "the first block of most is the same"
    engine.assert_nothing_leaks()
