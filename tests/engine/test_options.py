"""The engine's options: what is right follows from what is given, and what is wrong is said in one line."""

import math
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from kvarium_engine import process
from kvarium_engine.errors import UsageError
from kvarium_engine.options import BOUNDS, Bound, Options, resolve

LINE = '{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [4, 9]}'
"""A request of a trace: 38 blocks of 16 hold its 603 tokens."""

BAD_OPTIONS = [
    (["--runner", "numpy"], "--runner is null or torch, not 'numpy'"),
    (
        ["--runner", "torch"],
        "--runner torch runs a --model: a name that `kvarium models ls` lists, a folder, or an id of the hub",
    ),
    (["--dtype", "float16"], "--dtype is a model's: give one with --model"),
    (["--gpu-memory-utilization", "0"], "--gpu-memory-utilization must be above 0 and at most 1, not 0.0"),
    (["--demo", "--mix"], "--mix and --demo can't both feed the engine: leave one of them out"),
    (["--num-gpu-blocks-override", "0"], "--num-gpu-blocks-override must be at least 1, not 0"),
    (["--block-size", "12"], "--block-size must be a power of two from 1 to 256, not 12"),
    (["--free-order", "fifo"], "--free-order is lru or unhashed-first, not 'fifo'"),
    (["--scheduling-policy", "fair"], "the scheduling policy is one of fcfs, priority, not 'fair'"),
    (
        ["--priority-aging", "9"],
        "--priority-aging belongs to --scheduling-policy priority: first come, first served has no levels",
    ),
    (
        ["--scheduling-policy", "priority", "--priority-aging", "-1"],
        "--priority-aging must be at least 0, not -1",
    ),
    (
        ["--max-num-batched-tokens", "8", "--max-num-seqs", "256"],
        "max_num_batched_tokens (8) must not be below max_num_seqs (256)",
    ),
    (
        ["--record-text", "some", "--connect", "ws://127.0.0.1:9"],
        "--record-text is none, hash or full, not 'some'",
    ),
    (["--steps", "0"], "--steps must be at least 1, not 0"),
    (["--duration", "-1"], "--duration must be more than 0 seconds, not -1.0"),
    (["--step-ms", "-2"], "--step-ms must be from 0 to 4000, not -2.0"),
    (["--audit-interval", "-1"], "--audit-interval must be at least 0, not -1"),
    (["--max-num-batched-tokens", "0"], "--max-num-batched-tokens must be at least 1, not 0"),
    (["--max-model-len", "0"], "--max-model-len must be at least 1, not 0"),
    (["--speed", "nan"], "--speed must be a number from 0 on, not nan"),
    (["--bogus"], "No such option: --bogus"),
    (
        ["--max-num-seqs", "x"],
        "Invalid value for '--max-num-seqs': Input should be a valid integer, unable to parse string as an integer, not 'x'\n",
    ),
    (["--trace", "absent.jsonl"], "the trace absent.jsonl can't be read: No such file or directory"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_OPTIONS)
def test_a_wrong_option_is_one_clear_line(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "kvarium_engine.process", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kvarium engine: {message}")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.field)
def test_each_integer_option_has_both_its_limits(bound: Bound) -> None:
    for value, limit in (
        (bound.low - 1, f"at least {bound.low}"),
        (bound.high + 1, f"at most {bound.high}"),
        (10**26, f"at most {bound.high}"),
    ):
        with pytest.raises(UsageError) as raised:
            resolve(Options(**{bound.field: value}))  # type: ignore[arg-type]
        assert str(raised.value) == f"{bound.option} must be {limit}, not {value}"
    assert bound.high < 1 << 53


def test_every_integer_option_has_a_limit() -> None:
    whole = {field.name for field in fields(Options) if "int" in str(field.type)}
    assert whole - {bound.field for bound in BOUNDS} == {"block_size"}


@pytest.mark.parametrize(
    ("tokens", "seqs", "found"),
    [
        (None, None, (2048, 256)),
        (None, 4096, (4096, 4096)),
        (100, None, (100, 100)),
        (1000, None, (1000, 256)),
        (100, 7, (100, 7)),
    ],
)
def test_of_tokens_and_sequences_of_a_step_the_one_follows_from_the_other(
    tokens: int | None, seqs: int | None, found: tuple[int, int]
) -> None:
    scheduler = resolve(Options(max_num_batched_tokens=tokens, max_num_seqs=seqs)).config.scheduler
    assert (scheduler.max_num_batched_tokens, scheduler.max_num_seqs) == found


def test_a_pool_beyond_the_memory_is_told_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvarium_engine.pool_size.free_memory", lambda: 1 << 28)
    with pytest.raises(UsageError) as raised:
        resolve(Options(num_blocks=4_000_000))
    assert str(raised.value).startswith(
        "the pool of 4,000,000 blocks needs about 0.6 GiB here, 0.2 GiB are free"
    )
    assert resolve(Options(num_blocks=1_000_000)).config.num_blocks == 1_000_000


@pytest.mark.parametrize("speed", [math.nan, math.inf, -1.0])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(UsageError, match="--speed must be a number from 0 on"):
        resolve(Options(speed=speed))


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("x", "does not begin with ws://"),
        ("", "does not begin with ws://"),
        ("http://127.0.0.1:8642/api/engine", "does not begin with ws://"),
        ("ws://", "names no host"),
        ("ws:///api/engine", "names no host"),
        ("ws://:8642/api/engine", "names no host"),
        ("ws://a:99999/api/engine", "is no address"),
        ("ws://a:b/api/engine", "is no address"),
        ("ws://a:0/api/engine", "is no address"),
        ("ws://a b/api/engine", "is no address"),
        ("ws://a/api#engine", "is no address"),
        ("ws://[::1/api/engine", "is no address"),
        ("ws://" + "a" * 70 + "/api/engine", "is no address"),
    ],
)
def test_what_is_no_address_of_a_backend_is_refused_at_once(
    url: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert process.run(Options(connect=url)) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"kvarium engine: --connect {url!r} ")
    assert what in told
    assert told.count("\n") == 1


def test_a_pool_smaller_than_the_traces_longest_request_is_told_with_the_numbers(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text(LINE)
    with pytest.raises(UsageError) as raised:
        resolve(Options(trace=trace, num_blocks=37))
    assert "the pool has 37 blocks; the longest request" in str(raised.value)
    assert "needs 38 (603 tokens in blocks of 16)" in str(raised.value)
    with pytest.raises(UsageError, match="--max-model-len 600 is less than the longest request"):
        resolve(Options(trace=trace, max_model_len=600))
    assert resolve(Options(trace=trace, num_blocks=38)).config.num_blocks == 38


def test_what_is_not_paced_is_lossless_and_what_a_person_watches_is_not(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text(LINE)
    assert resolve(Options()).step_ms == 20
    assert not resolve(Options()).lossless
    assert resolve(Options(step_ms=0)).lossless
    assert resolve(Options(trace=trace, speed=0)).step_ms == 0
    assert resolve(Options(trace=trace, speed=0)).lossless
    assert not resolve(Options(trace=trace, speed=0, lossless=False)).lossless
    assert resolve(Options(trace=trace, speed=4)).step_ms == 5


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("ws://127.0.0.1:8642/api/engine", True),
        ("ws://localhost:1/api/engine", True),
        ("ws://[::1]:8642/api/engine", True),
        ("ws://10.0.0.5:8642/api/engine", False),
        ("wss://example.org/api/engine", False),
        (None, False),
    ],
)
def test_control_is_allowed_by_default_where_the_backend_is_on_this_machine(
    url: str | None, allowed: bool
) -> None:
    assert resolve(Options(connect=url)).allow_control is allowed
    assert resolve(Options(connect=url, allow_control=not allowed)).allow_control is not allowed
