"""A real trace through the real engine process and the real server, to its end.

The small form takes its first requests, in blocks of 16 tokens; the full one all 12,031, whose 144 million tokens would be seventy
million operations so. In blocks of 256, nearest to the trace's own of 512, with 16,384 tokens a step, they are eight, and no less
is hit, evicted and preempted.
"""

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from tests.backend.server_process import kvarium

LARGE = ("--block-size", "256", "--max-num-batched-tokens", "16384", "--num-gpu-blocks-override", "4096")


@pytest.mark.timeout(2400)
def test_mooncakes_trace_runs_to_its_end_and_the_recording_verifies(
    shared_data: Callable[[str], Path], tmp_path: Path, size: str
) -> None:
    whole = shared_data("mooncake_conversation.jsonl")
    trace, db = tmp_path / "trace.jsonl", tmp_path / "trace.db"
    with whole.open() as lines:
        chosen = list(islice(lines, 60 if size == "small" else None))
    trace.write_text("".join(chosen))
    done = kvarium(
        *("serve", "--port", "0", "--db", str(db), "--exit-with-engine"),
        *("--runner", "null", "--trace", str(trace), "--speed", "0"),
        *(() if size == "small" else LARGE),
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr
    assert "all requests have ended" in done.stdout
    database = open_for_reading(str(db))
    reader = Reader(database)
    number = reader.find("latest")
    requests = reader.requests(number)
    database.close()
    assert len(requests) == len(chosen)
    assert all(request["ended_step"] is not None for request in requests)
    verified = kvarium("verify", "latest", "--db", str(db), "--json", timeout=800)
    assert verified.returncode == 0, verified.stderr
    told = json.loads(verified.stdout)
    assert told["operations"] > (100_000 if size == "small" else 5_000_000)
    assert (told["digest_mismatches"], told["violations"], told["gaps"]) == (0, 0, 0)
