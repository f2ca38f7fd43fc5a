"""``kvarium bench waste`` with a model: one cache for all four kinds of memory, and tokens a second."""

import json
from pathlib import Path

import pytest

from kvarium_engine.bench import waste
from kvarium_engine.bench.waste import Sizes, measure
from kvarium_engine.model.torch_runner import TorchRunner
from tests.model.tiny import made, small_llama

SIZES = Sizes(96, 4, 96, 24, 10, 20)


def test_a_model_gives_the_throughput_of_each() -> None:
    runner = TorchRunner(made(small_llama()), None, "tiny", SIZES.num_blocks, SIZES.block_size, 0)
    reports: list[float] = []
    facts = measure(SIZES, runner, report=lambda done, now: reports.append(done))
    assert facts["model"] == "tiny"
    assert [system["reserve"] for system in facts["systems"]] == [None, "max", "power-of-two", "exact"]
    paged, largest, *_ = facts["systems"]
    assert all(system["output_tokens_per_s"] > 0 for system in facts["systems"])
    assert len({system["output_tokens"] for system in facts["systems"]}) == 1
    assert largest["most_requests"] == 4
    assert paged["most_requests"] > 2 * largest["most_requests"]
    assert paged["steps"] < largest["steps"]
    assert reports == sorted(reports)


def test_the_command_runs_a_model_from_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tiny-llama"
    made(small_llama(), attention="sdpa").save_pretrained(folder)
    capsys.readouterr()
    monkeypatch.setitem(waste.SIZES, "small", SIZES)
    waste.waste(size="small", model=str(folder), seed=3, as_json=True)
    told = capsys.readouterr()
    facts = json.loads(told.out)
    assert (facts["model"], facts["seed"], facts["requests"]) == ("tiny-llama", 3, 24)
    assert all(system["output_tokens_per_s"] > 0 for system in facts["systems"])
    assert "model weights: " in told.err
