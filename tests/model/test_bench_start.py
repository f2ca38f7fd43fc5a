"""``kvarium bench start`` in its small form, with the real model: what it tells, in which order things happen, and its refusals."""

import json
from pathlib import Path

import pytest

from kvarium.bench.start import table
from tests.backend.server_process import kvarium


@pytest.mark.timeout(300)
def test_the_small_bench_tells_when_an_engine_is_ready_beside_its_imports(smollm2: Path) -> None:
    done = kvarium("bench", "start", "--size", "small", "--model", str(smollm2), "--json", timeout=280)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (only,) = found["rounds"]
    assert only["import_s"] > 0 and only["model_classes_s"] > 0
    assert 0 < only["listening_s"] < only["ready_s"]
    assert found["difference_s"] == pytest.approx(only["ready_s"] - only["import_s"], abs=0.001)
    assert found["ready_s"] == pytest.approx(only["ready_s"], abs=0.001)
    assert f"{found['ready_s']:.2f} s  until {smollm2} can be asked" in table(found)
    assert "round 1 of 1" in done.stderr


def test_what_is_no_size_or_no_model_is_refused(tmp_path: Path) -> None:
    done = kvarium("bench", "start", "--size", "huge")
    assert (done.returncode, done.stderr) == (1, "kvarium: --size is small or full, not 'huge'\n")
    done = kvarium("bench", "start", "--size", "small", "--model", str(tmp_path / "none"), timeout=120)
    assert done.returncode == 1
    assert "no engine got ready" in done.stderr and "none" in done.stderr
