"""Recordings that something or someone changed, read by the commands: see ``tests.backend.file_mutations``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvarium.recording import tables
from tests.vectors.recording import stored


@pytest.mark.timeout(3600)
def test_verify_sql_and_export_of_mutated_files_say_what_is_wrong(
    tmp_path: Path, size: str, seed: int
) -> None:
    count = 60 if size == "small" else 3000
    file = stored(tables.FORMAT, tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.backend.file_mutations", file, str(seed), str(count)],
        capture_output=True,
        text=True,
        check=False,
        timeout=150 if size == "small" else 3500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    outcomes = told["done"]
    assert outcomes["verify: refused"] + outcomes["verify: found wrong"] > count // 4, outcomes
    assert outcomes["sql: done"] > count // 10, outcomes
    assert told["max_rss"] < 700 << 20
