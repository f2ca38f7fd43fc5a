"""Recordings that something or someone changed, read by the commands: see ``tests.backend.file_mutations``.

In the full form 10,000 mutated records (``test_mutated_frames``) and 4,000 files: 1,000 here, each given to a query, an export and
the verification, and 3,000 that are imported (``test_inspection``); in the small one 500 records and 560 files.
"""

from pathlib import Path

import pytest

from kvarium.recording import tables
from tests.backend.trials import run_trials
from tests.vectors.recording import stored


@pytest.mark.timeout(4000)
def test_verify_sql_and_export_of_mutated_files_say_what_is_wrong(
    tmp_path: Path, size: str, seed: int
) -> None:
    count = 60 if size == "small" else 1000
    file = stored(tables.FORMAT, tmp_path)
    told = run_trials("tests.backend.file_mutations", file, seed, count, 150 if size == "small" else 1500)
    outcomes = told["done"]
    assert outcomes["verify: refused"] + outcomes["verify: found wrong"] > count // 4, outcomes
    assert outcomes["sql: done"] > count // 10, outcomes
    assert told["max_rss"] < 700 << 20
