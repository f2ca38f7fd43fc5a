"""The engine as a process: it connects, runs, obeys, ends cleanly, and says in one line what is wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvarium_engine import process
from kvarium_engine.errors import LinkFailedError
from kvarium_engine.options import BOUNDS, Options
from kvarium_ledger.decisions import Aborted, Finished, Preempted
from kvarium_ledger.records import Control, Gap, Keyframe, Step, Text
from tests.engine.stub_backend import TOKEN, StubBackend

GOOD_LINE = '{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [4, 9]}'


@pytest.fixture
def backend() -> Iterator[StubBackend]:
    stub = StubBackend()
    yield stub
    stub.stop()


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, token: str = TOKEN) -> "subprocess.Popen[str]":
        engine = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "kvarium_engine.process", *arguments],
            env={**os.environ, "KVARIUM_ENGINE_TOKEN": token},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(engine)
        return engine

    yield begin
    for engine in started:
        if engine.poll() is None:
            engine.kill()
        engine.communicate()


def end(engine: "subprocess.Popen[str]", timeout: float = 90) -> tuple[int, str, str]:
    out, err = engine.communicate(timeout=timeout)
    return engine.returncode, out, err


def assert_folded_to_nothing(backend: StubBackend) -> None:
    """All was recorded without a gap, the mirror agrees, and nothing is in use at the end."""
    assert not backend.violations
    assert [record.record for record in backend.records] == list(range(len(backend.records)))
    assert backend.fold is not None
    usage = backend.fold.usage()
    assert (usage.active, usage.shared) == (0, 0)
    assert not backend.fold.state.requests


def test_the_mix_runs_into_a_backend_and_the_summary_says_what_it_did(
    backend: StubBackend, start: Start
) -> None:
    code, out, err = end(start("--connect", backend.url, "--steps", "300", "--step-ms", "0", "--json"))
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["reason"] == "300 steps were made"
    assert (summary["steps"], summary["steps_without_work"]) == (300, 1)
    assert len(backend.of(Step)) == 301
    assert summary["acknowledged"] is True
    assert_folded_to_nothing(backend)
    assert summary["operations"] == backend.fold.op  # type: ignore[union-attr]
    assert sum(summary["by_kind"].values()) == summary["operations"]
    assert 0 < summary["prefix_cache_hits"] < summary["prefix_cache_queries"]
    assert [bye.reason for bye in backend.byes] == ["300 steps were made"]
    hello = backend.hello
    assert hello is not None
    assert (hello.num_blocks, hello.block_size, hello.runner, hello.model) == (512, 16, "null", "none")
    assert hello.config["max_num_seqs"] == 256
    assert hello.allow_control, "the backend is on this machine"
    first = backend.records[0]
    assert isinstance(first, Keyframe)
    assert first.step == -1
    assert backend.of(Text)


def test_without_text_no_token_leaves_the_engine(backend: StubBackend, start: Start) -> None:
    code, _, _ = end(
        start("--connect", backend.url, "--steps", "50", "--step-ms", "0", "--record-text", "none")
    )
    assert code == 0
    assert not backend.of(Text)
    assert_folded_to_nothing(backend)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_aborts_what_runs_seals_the_session_and_says_goodbye(
    backend: StubBackend, start: Start, number: signal.Signals
) -> None:
    engine = start("--connect", backend.url, "--step-ms", "5")
    backend.wait(lambda: len(backend.records) > 40)
    engine.send_signal(number)
    code, out, err = end(engine)
    assert (code, err) == (0, "")
    assert number.name in out
    assert_folded_to_nothing(backend)
    last = backend.of(Step)[-1]
    assert {type(decision) for decision in last.decisions} == {Aborted}
    assert number.name in last.decisions[0].asked_by
    assert len(backend.byes) == 1


def test_a_held_engine_answers_steps_when_asked_and_goes_on_when_released(
    backend: StubBackend, start: Start
) -> None:
    start("--connect", backend.url, "--step-ms", "1", "--no-mix")
    backend.wait(lambda: backend.records)
    assert backend.ask("1", "hold").result["held"] is True
    answer = backend.ask("2", "submit", prompt_tokens=40, max_tokens=4)
    assert answer.result == {"request": 0, "name": "request-0", "refused": False, "prompt_tokens": 40}
    assert not backend.of(Step)
    assert backend.ask("3", "step", steps=2).error is None
    backend.wait(lambda: len(backend.of(Step)) == 2)
    assert backend.ask("4", "abort", request=99).error == "there is no request 99 in the engine"
    assert len(backend.of(Step)) == 2
    assert backend.ask("5", "release").result["held"] is False
    backend.wait(lambda: any(isinstance(d, Finished) for s in backend.of(Step) for d in s.decisions))
    assert len(backend.of(Step)) == 4
    assert [(c.id, c.name, c.error is None) for c in backend.records if isinstance(c, Control)] == [
        ("1", "hold", True),
        ("2", "submit", True),
        ("3", "step", True),
        ("4", "abort", False),
        ("5", "release", True),
    ]
    assert not backend.violations


def test_a_broken_link_comes_back_and_nothing_is_lost(backend: StubBackend, start: Start) -> None:
    engine = start("--connect", backend.url, "--step-ms", "2")
    for _ in range(2):
        seen = len(backend.records)
        backend.wait(lambda seen=seen: len(backend.records) > seen + 30)
        backend.stop()
        backend.start()
    seen = len(backend.records)
    backend.wait(lambda: len(backend.records) > seen + 30)
    assert backend.hellos == 3
    engine.send_signal(signal.SIGINT)
    assert end(engine)[0] == 0
    assert not backend.of(Gap)
    assert_folded_to_nothing(backend)


def test_health_comes_each_second(backend: StubBackend, start: Start) -> None:
    start("--connect", backend.url, "--step-ms", "5")
    # Where the machine is busy, the first second may be too short for a hit.
    backend.wait(lambda: backend.health and backend.health[-1].prefix_cache_hits > 0)
    health = backend.health[-1]
    assert 0 < health.steps_per_s < 220
    assert health.operations_per_s > health.steps_per_s
    assert 0 < health.ledger_ns < health.step_ns
    assert not health.held
    assert 0 < health.prefix_cache_hits < health.prefix_cache_queries


def test_a_trace_ends_by_itself(backend: StubBackend, start: Start, tmp_path: Path) -> None:
    trace = tmp_path / "small.jsonl"
    trace.write_text((GOOD_LINE + "\n") * 5)
    code, out, err = end(start("--connect", backend.url, "--trace", str(trace), "--speed", "0"))
    assert (code, err) == (0, "")
    assert out.startswith("all requests have ended: ")
    assert_folded_to_nothing(backend)
    assert backend.hello is not None
    assert backend.hello.num_blocks == 2 * 38, "room for two of the longest request"
    finished = [d for step in backend.of(Step) for d in step.decisions if isinstance(d, Finished)]
    assert len(finished) == 5


def test_it_runs_without_a_backend_and_records_nothing(start: Start) -> None:
    code, out, err = end(start("--steps", "20", "--step-ms", "0", "--scheduling-policy", "priority"))
    said = "kvarium engine: nothing is recorded without --connect; `kvarium serve` records an engine and shows it\n"
    assert (code, err) == (0, said)
    assert out.startswith("20 steps were made: 20 steps and one that records the end, ")
    assert "  fill " in out


def test_a_duration_ends_it(start: Start) -> None:
    code, out, _ = end(start("--duration", "0.3", "--step-ms", "1"))
    assert (code, out.startswith("0.3 s have passed: ")) == (0, True)


# -- errors -------------------------------------------------------------------------------------------------------


def test_a_refused_token_ends_it_at_once_with_one_line(backend: StubBackend, start: Start) -> None:
    code, out, err = end(start("--connect", backend.url, token="another"))
    assert (code, out) == (2, "")
    line = err.strip().splitlines()[-1]
    assert line.startswith(f"kvarium engine: {backend.url}: the backend refused this engine (HTTP 401)")
    assert "Traceback" not in err


def test_no_backend_is_told_after_some_tries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "CONNECT_S", 0.4)
    handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{free.getsockname()[1]}/api/engine"
        try:
            assert process.run(Options(connect=url)) == 2
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
    told = capsys.readouterr().err
    assert told.startswith(f"kvarium engine: no backend at {url}: tried for 0 s (")
    assert told.endswith("refused)\n")
    for thread in threading.enumerate():
        if thread.name.startswith("kvarium-"):
            thread.join(60)
            assert not thread.is_alive()


def test_the_largest_options_are_run_and_recorded(backend: StubBackend, start: Start) -> None:
    given = [
        text
        for bound in BOUNDS
        if bound.field not in ("steps", "num_blocks", "kv_cache_memory_bytes")
        for text in (bound.option, str(bound.high))
    ]
    code, _, err = end(
        start(
            "--connect",
            backend.url,
            "--steps",
            "20",
            "--step-ms",
            "0",
            "--scheduling-policy",
            "priority",
            *given,
        )
    )
    assert (code, err) == (0, "")
    assert_folded_to_nothing(backend)


def test_who_waits_for_a_backend_says_so_once_and_that_nothing_was_recorded(start: Start) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{free.getsockname()[1]}/api/engine"
        engine = start("--connect", url)
        assert engine.stderr is not None
        assert engine.stderr.readline() == f"kvarium engine: waiting for the backend at {url}, 20 s at most\n"
        engine.send_signal(signal.SIGINT)
        code, _, err = end(engine)
    assert code == 1
    assert err.startswith(f"kvarium engine: nothing was recorded at {url} (")
    assert err.endswith("refused)\n")


@pytest.mark.parametrize("where", ["kvarium_ledger.link.Encoder.encode", "kvarium_ledger.link.Outbox.take"])
def test_a_link_that_fails_ends_the_engine_with_one_line(
    backend: StubBackend, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise OverflowError("int too big")

    monkeypatch.setattr(where, broken)
    handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        assert process.run(Options(connect=backend.url, token=TOKEN, lossless=True)) == 70
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("kvarium engine: a fault of the engine's own (kvarium-")
    assert "OverflowError: int too big" in err


def test_a_link_that_fails_as_soon_as_it_is_there_is_told_as_one_that_failed(
    backend: StubBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's thread wakes when the link is there, and looks at it when it has failed already."""

    def broken(*args: object, **more: object) -> None:
        raise OverflowError("int too big")

    monkeypatch.setattr("kvarium_ledger.link.Outbox.take", broken)
    monkeypatch.setattr(signal, "signal", lambda *args: None)
    run = process.Process(Options(connect=backend.url, token=TOKEN, lossless=True))
    link = run.link
    assert link is not None
    woken = link.connected.wait

    def late(timeout: float) -> bool:
        came = woken(timeout)
        deadline = time.monotonic() + 60
        while came and link.failed is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return came

    monkeypatch.setattr(link.connected, "wait", late)
    with pytest.raises(LinkFailedError, match="OverflowError: int too big"):
        run.run()


def test_a_fault_is_one_line_and_a_traceback_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(process.Mix, "feed", broken)
    monkeypatch.setattr(signal, "signal", lambda *args: None)
    monkeypatch.delenv("KVARIUM_DEBUG", raising=False)
    assert process.run(Options()) == 70
    line = (
        "kvarium engine: a fault of the engine's own (RuntimeError: two lines); KVARIUM_DEBUG=1 shows where\n"
    )
    assert capsys.readouterr().err.splitlines(keepends=True)[1:] == [line]
    monkeypatch.setenv("KVARIUM_DEBUG", "1")
    assert process.run(Options()) == 70
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith(line)


@pytest.mark.parametrize("num_blocks", [1, 2, 3])
def test_steps_without_work_keep_the_pace_too(num_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *args: None)
    run = process.Process(Options(num_blocks=num_blocks, step_ms=10, duration=0.5))
    run.run()
    assert 1 <= run.made <= 51


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((400, 0, 1), "400 steps and one that records the end"),
        ((400, 0, 0), "400 steps"),
        ((1, 0, 0), "1 step"),
        (
            (1234, 2, 1),
            "1,234 steps, 2 that only record what was asked between two and one that records the end",
        ),
    ],
)
def test_the_summary_counts_what_was_made(counts: tuple[int, int, int], text: str) -> None:
    assert process._steps(*counts) == text


def test_preemptions_happen_in_what_a_person_watches() -> None:
    """The default mix on the default pool shows what it is there to show, within a minute at the default pace."""
    run = process.Process(Options(steps=3000, step_ms=0))
    seen: list[type] = []
    run.engine.ledger.sink = lambda sealed: seen.extend(map(type, getattr(sealed, "decisions", ())))
    for _ in range(1500):
        run.workload.feed(run.engine)
        run.engine.step()
    assert seen.count(Preempted) >= 5


def test_a_lossless_engine_whose_backend_is_gone_still_ends_by_a_signal(
    backend: StubBackend, start: Start
) -> None:
    backend.acknowledge = False
    engine = start("--connect", backend.url, "--step-ms", "0", "--lossless")
    backend.wait(lambda: len(backend.records) > 40)
    backend.stop()
    with pytest.raises(subprocess.TimeoutExpired):
        engine.wait(2)
    engine.send_signal(signal.SIGTERM)
    code, out, err = end(engine)
    assert "the backend did not acknowledge all of it in time" in out
    assert code == 1, "the backend committed nothing at all"
    assert f"kvarium engine: nothing was recorded at {backend.url}" in err


def test_a_lossless_run_that_outruns_its_backend_is_recorded_whole(
    backend: StubBackend, start: Start, tmp_path: Path
) -> None:
    trace = tmp_path / "t.jsonl"
    line = '{"timestamp": 0, "input_length": 60000, "output_length": 3, "hash_ids": [%s]}\n'
    trace.write_text("".join(line % ", ".join(map(str, range(200 * i, 200 * i + 118))) for i in range(12)))
    code, out, _ = end(start("--connect", backend.url, "--trace", str(trace), "--speed", "0"), 120)
    assert code == 0
    assert "did not acknowledge" not in out
    assert_folded_to_nothing(backend)


def standing_by(*options: str) -> tuple["subprocess.Popen[str]", Callable[[], str]]:
    """An engine that stands by, its standard error a pipe as a server's; and what it says later on."""
    later, terminal = os.pipe()
    engine = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "kvarium_engine.process",
            "--stand-by",
            str(terminal),
            *options,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(terminal,),
    )
    os.close(terminal)

    def told() -> str:
        with os.fdopen(later) as file:
            return file.read()

    return engine, told


def test_an_engine_that_stands_by_says_so_and_runs_once_it_has_an_address(backend: StubBackend) -> None:
    engine, told = standing_by("--runner", "null", "--steps", "5", "--step-ms", "0", "--lossless")
    with engine:
        assert engine.stderr is not None
        assert engine.stderr.read() == process.READY
        assert engine.poll() is None and not backend.records
        out, _ = engine.communicate(json.dumps([backend.url, TOKEN]) + "\n", timeout=60)
    assert (engine.returncode, told()) == (0, "")
    assert out.startswith("5 steps were made: ")
    assert_folded_to_nothing(backend)


def test_an_engine_that_stands_by_ends_when_nobody_needs_it() -> None:
    engine, told = standing_by("--runner", "null")
    with engine:
        assert engine.stderr is not None
        assert engine.stderr.read() == process.READY
        out, _ = engine.communicate("", timeout=60)
    assert (engine.returncode, out, told()) == (0, "", "")


def test_an_engine_that_can_not_stand_by_says_why_to_its_server() -> None:
    for options, why in (
        (["--speed", "-1"], "--speed must be a number from 0 on, not -1.0"),
        (["--connect", "ws://127.0.0.1:1/api/engine"], "--connect is the server's own"),
    ):
        engine, told = standing_by(*options)
        with engine:
            _, said = engine.communicate("", timeout=60)
        assert engine.returncode == 2 and why in said and process.READY not in said
        assert told() == ""
