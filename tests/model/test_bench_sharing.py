"""`kvarium bench sharing` as a command, with a small random model that searches."""

import json
import subprocess
import sys
from pathlib import Path

from tests.model.tiny import made, small_llama


def test_the_command_tells_what_samples_and_beams_save(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    made(small_llama(max_position_embeddings=1024), attention="sdpa").save_pretrained(folder)
    command = [sys.executable, "-m", "kvarium.cli", "bench", "sharing", "--size", "small", "--json"]
    done = subprocess.run(
        [*command, "--model", str(folder)], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["model"] == "tiny"
    for profile in told["profiles"]:
        assert all(0 < row["saving_percent"] < 100 for row in profile["parallel"] + profile["beam"])


def test_a_model_that_is_not_there_is_said_in_one_line() -> None:
    command = [sys.executable, "-m", "kvarium.cli", "bench", "sharing", "--model", "nobody-9b"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("kvarium bench sharing: ")
    assert len(done.stderr.splitlines()) == 1
