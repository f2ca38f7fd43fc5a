"""Exports: each holds what the recording holds, in a form that other programs take; and there is never half of one."""

import json
import signal
import subprocess
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from kvarium.exchange import lines, output
from kvarium.recording.reader import Reader
from kvarium.sql.schema import TABLES
from kvarium_ledger.columns import u32
from kvarium_ledger.records import Step, Text
from tests.backend.hand_engine import HandEngine, decoded, record_of
from tests.backend.running_server import RunningServer
from tests.backend.server_process import KVARIUM, environment, kvarium
from tests.backend.sql_answers import ask

Event = dict[str, Any]


def exported(recording: Path, place: Path, kind: str) -> Path:
    """A session's export; the command says where it is, and leaves nothing else beside it."""
    done = kvarium("export", str(recording), "--format", kind, "-o", str(place))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert str(place) in done.stdout
    assert [found for found in place.parent.iterdir() if found.name.startswith(".")] == []
    return place


# -- tables -------------------------------------------------------------------------------------------------------------


def test_parquet_has_the_tables_of_sql(mixed: Path, mixed_reader: Reader, tmp_path: Path) -> None:
    folder = exported(mixed, tmp_path / "it's.parquet", "parquet")
    assert sorted(found.name for found in folder.iterdir()) == sorted(f"{name}.parquet" for name in TABLES)
    with duckdb.connect() as connection:
        for name in TABLES:
            rows = connection.read_parquet(str(folder / f"{name}.parquet")).order("ALL").fetchall()
            kinds = [
                column.name for column in TABLES[name].columns if column.type in ("operation", "cause", "pin")
            ]
            texts = ", ".join(f"{kind}::VARCHAR AS {kind}" for kind in kinds)
            replaced = f"* REPLACE ({texts})" if kinds else "*"
            assert rows == ask(mixed_reader, f"SELECT {replaced} FROM {name} ORDER BY ALL"), name
            assert rows


# -- lines --------------------------------------------------------------------------------------------------------------


def test_jsonl_has_every_decision_and_operation_in_order(
    mixed: Path, mixed_reader: Reader, tmp_path: Path
) -> None:
    text = exported(mixed, tmp_path / "x.jsonl", "jsonl").read_text()
    told = [json.loads(line) for line in text.splitlines()]
    assert (told[0]["type"], told[0]["num_blocks"]) == ("session", 128)
    records = [decoded(frame.bytes) for frame in mixed_reader.frames(1)]
    steps = [record for record in records if isinstance(record, Step)]
    kinds = Counter(line["type"] for line in told)
    assert kinds["step"] == len(steps)
    assert kinds["operation"] == sum(len(step.operations.kind) for step in steps)
    assert kinds["decision"] == sum(len(step.decisions) for step in steps)
    assert kinds["text"] == sum(isinstance(record, Text) for record in records)
    places = [
        (line["op"], line["type"] == "operation")
        for line in told
        if line["type"] in ("decision", "operation")
    ]
    assert places == sorted(places), "a decision holds before its operation"
    names = [name for name in TABLES["block_event"].names if name not in ("record", "time")]
    quoted = ", ".join(f'"{name}"' for name in names)
    rows = ask(mixed_reader, f"SELECT {quoted} FROM block_event ORDER BY op")
    found = [tuple(line.get(name) for name in names) for line in told if line["type"] == "operation"]
    assert found == rows
    decisions = [(step.step, each) for step in steps for each in step.decisions]
    for line, (number, decision) in zip(
        (line for line in told if line["type"] == "decision"), decisions, strict=True
    ):
        fields = {name: getattr(decision, name) for name in decision.__struct_fields__}
        plain = {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in fields.items()
            if value is not None
        }
        assert line == {"type": "decision", "step": number, "kind": decision.__struct_config__.tag} | plain
    sampled = [token for line in told if line["type"] == "text" for token in line.get("sampled", [])]
    assert sampled == [
        token for record in records if isinstance(record, Text) for token in u32(record.sampled).tolist()
    ]


# -- the trace ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace(mixed: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    path = exported(mixed, tmp_path_factory.mktemp("trace") / "x.trace.json", "perfetto")
    found = json.loads(path.read_text())
    assert found["displayTimeUnit"] == "ms"
    events: list[Event] = found["traceEvents"]
    return events


def check_trace(events: list[Event]) -> dict[tuple[int, int], list[tuple[str, float, float]]]:
    """The rules of Chrome's format; the slices of each lane, with begin and end."""
    needed = {
        "B": {"name", "args"},
        "E": set(),
        "i": {"name", "s"},
        "C": {"name", "args"},
        "M": {"name", "args"},
    }
    times = [event["ts"] for event in events if event["ph"] != "M"]
    assert all(before <= after for before, after in pairwise(times))
    open_slices: dict[tuple[int, int], list[Event]] = {}
    slices: dict[tuple[int, int], list[tuple[str, float, float]]] = {}
    for event in events:
        assert {"ph", "pid", "tid", "ts", *needed[event["ph"]]} <= event.keys()
        lane = (event["pid"], event["tid"])
        if event["ph"] == "B":
            assert not open_slices.get(lane), "one phase at a time"
            open_slices.setdefault(lane, []).append(event)
        elif event["ph"] == "E":
            began = open_slices[lane].pop()
            slices.setdefault(lane, []).append((began["name"], began["ts"], event["ts"]))
        elif event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
    assert not any(open_slices.values()), "every slice ends"
    return slices


def test_a_trace_keeps_the_rules_of_its_format(trace: list[Event]) -> None:
    slices = check_trace(trace)
    phases = {name for lane, found in slices.items() if lane[0] == 2 for name, _, _ in found}
    assert phases == {"waiting", "prefill", "decode", "preempted"}
    named = {(event["pid"], event["tid"]) for event in trace if event.get("name") == "thread_name"}
    assert slices.keys() <= named, "every lane has a name"


def test_a_trace_tells_what_the_recording_tells(trace: list[Event], mixed_reader: Reader) -> None:
    slices = check_trace(trace)
    counts = Counter(event["name"] for event in trace if event["ph"] == "i" and event["pid"] == 1)
    marks = Counter(row["kind"] for row in mixed_reader.landmarks(1))
    assert counts == Counter({kind: marks[kind] for kind in ("evict", "copy", "preempted")})
    usage = mixed_reader.steps(1)
    blocks = [event["args"] for event in trace if event["ph"] == "C" and event["name"] == "blocks"]
    columns = zip(usage["active"], usage["shared"], usage["cached"], strict=True)
    assert blocks == [dict(zip(("active", "shared", "cached"), row, strict=True)) for row in columns]
    for row in mixed_reader.requests(1):
        lane = slices[2, row["request"] + 1]
        assert lane[0][:2] == ("waiting", row["submitted_time"] / 1000)
        assert all(before[2] == after[1] for before, after in pairwise(lane)), "without a hole"
        assert sum(name == "preempted" for name, _, _ in lane) == row["preemptions"]
        if row["ended_time"] is not None:
            assert lane[-1][2] == row["ended_time"] / 1000
        if row["first_token_time"] is not None:
            decoding = next(begin for name, begin, _ in lane if name == "decode")
            assert decoding == row["first_token_time"] / 1000


def test_a_live_session_is_exported_as_far_as_it_is(
    server: RunningServer, engine: HandEngine, frames: list[bytes], tmp_path: Path
) -> None:
    engine.send(frames[:120])
    engine.wait_acked(record_of(frames[119]))
    for kind in ("perfetto", "jsonl", "parquet"):
        exported(Path(server.path), tmp_path / kind, kind)
    check_trace(json.loads((tmp_path / "perfetto").read_text())["traceEvents"])
    steps = [line for line in (tmp_path / "jsonl").read_text().splitlines() if '"type":"step"' in line]
    assert len(steps) == sum(isinstance(decoded(frame), Step) for frame in frames[:120])


# -- kvarium's own file, and the place ----------------------------------------------------------------------------------


def test_a_kvarium_file_verifies_and_is_asked_as_the_original(
    mixed: Path, mixed_reader: Reader, tmp_path: Path
) -> None:
    copy = exported(mixed, tmp_path / "copy.db", "kvarium")
    assert kvarium("verify", "--db", str(copy)).returncode == 0
    sql = "SELECT count(*), sum(generation) FROM block_event"
    told = json.loads(kvarium("sql", str(copy), sql, "--json").stdout)
    assert [tuple(row) for row in told["rows"]] == ask(mixed_reader, sql)


def test_nothing_is_overwritten_and_what_can_not_be_written_is_named(mixed: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    done = kvarium("export", str(mixed), "--format", "jsonl", "-o", str(there))
    assert (done.returncode, there.read_text()) == (1, "mine")
    assert "is there already" in done.stderr
    done = kvarium("export", str(mixed), "--format", "jsonl", "-o", str(tmp_path / "no" / "x"))
    assert done.returncode == 1
    assert "can't write" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    for folder in (".", "/"):
        done = kvarium("export", str(mixed), "--format", "jsonl", "-o", folder)
        assert done.returncode == 1
        assert "is a folder that is there, and an export needs a name: say where with --output" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_an_export_that_fails_leaves_nothing(
    mixed_reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(done: int, total: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), output.written(tmp_path / "x.jsonl") as path:
        lines.export_lines(mixed_reader, 1, path, fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "perfetto"])
def test_ctrl_c_leaves_nothing(mixed: Path, tmp_path: Path, kind: str) -> None:
    # Python itself may be interrupted between opening a file and giving it to who closes it: only a warning tells.
    command = [*KVARIUM[:3], "-W", "ignore::ResourceWarning", *KVARIUM[3:], "export"]
    # On a busy machine an export may be done before it hears of it: then again.
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        status, errors = interrupted(folder, [*command, str(mixed), "--format", kind, "-o"])
        if status != 0:
            assert "Traceback" not in errors
            assert list(folder.iterdir()) == []
            return
    pytest.fail("it was never interrupted in time")


def interrupted(folder: Path, command: list[str]) -> tuple[int, str]:
    """An export to ``folder`` / x is interrupted as soon as it writes; its exit status and standard error."""
    # A job in the background has SIGINT ignored: then it would not hear of it.
    process = subprocess.Popen(
        [*command, str(folder / "x")],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=_hear_interrupts,
    )
    deadline = time.monotonic() + 30
    while (
        not list(folder.glob(f"{output.UNFINISHED}*"))
        and process.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
