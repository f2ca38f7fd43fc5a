"""``python -m kvarium_engine.gpu_check`` on a CPU, from a plain folder; and faults in kernels, which it must find."""

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import torch

from kvarium_engine.gpu_check import attention_kernels, engine_tokens, pool_kernels
from kvarium_engine.gpu_check.part import PARTS, FailedError, Setting
from kvarium_engine.gpu_check.worker import outcome
from kvarium_engine.kernels import triton_decode, triton_prefill, triton_write_kv
from tests.conftest import ROOT

NOT_INSTALLED = """
import sys

absent = {"kvarium", "typer", "rich", "fastapi", "uvicorn", "sqlalchemy", "alembic", "duckdb", "zstandard", "platformdirs", "gguf"}
ours = {"kvarium_engine", "kvarium_ledger"}


class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name in absent and asks_for_it():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def asks_for_it():
    frame = sys._getframe()
    while frame is not None and "importlib" in frame.f_code.co_filename or frame.f_code.co_name in ("find_spec", "asks_for_it"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ours


sys.meta_path.insert(0, NotInstalled())
sys.path[:] = [place for place in sys.path if place != %r]
"""
"""What the plain folder's processes begin with: of the server's packages none can be imported by our code, and ours come from there."""


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder with nothing but the two packages."""
    folder = tmp_path / "plain"
    folder.mkdir()
    for package in ("kvarium_engine", "kvarium_ledger"):
        shutil.copytree(
            ROOT / "engine" / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    hook = folder / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(NOT_INSTALLED % str(ROOT / "engine"))
    return folder


def test_from_a_plain_folder_a_cpu_does_what_it_can(plain: Path, shared_data: Callable[[str], Path]) -> None:
    tiny = str(shared_data("stories260K.bin"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kvarium_engine.gpu_check",
            "--json",
            "--tiny-model",
            tiny,
            "--markdown",
            "gpu.md",
        ],
        cwd=plain,
        env={**os.environ, "PYTHONPATH": str(plain / "hook")},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    found, err = json.loads(done.stdout), done.stderr
    assert (done.returncode, found["ok"], found["device"]) == (0, True, "cpu"), err
    states = {told["name"]: told["state"] for told in found["parts"]}
    assert list(states) == [part.name for part in PARTS]
    on_card = {"card_memory", "decode_bandwidth", "continuous_batching"}
    assert {name for name, state in states.items() if state == "skipped"} == on_card
    facts = {told["name"]: told["facts"] for told in found["parts"]}
    assert facts["environment"]["torch"] == torch.__version__
    assert [model["equal"] for model in facts["engine_tokens"]["models"]] == [5, 5, 5]
    assert facts["tiny_model"]["text"].startswith("Once upon a time, there was a little girl named Lily.")
    assert found["figures"]["step_ms"]["4"]["eager"] > 0
    assert found["figures"]["tokens_per_s"]["kvarium"] > 0
    assert (plain / "gpu.md").read_text().startswith("## cpu, ")
    assert "Traceback" not in err


def setting() -> Setting:
    return Setting("cpu", monotonic() + 60)


def test_a_part_that_raises_fails_with_the_error_and_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(setting: Setting) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nand what to do")

    monkeypatch.setattr(pool_kernels, "check_copy_blocks", broken)
    (part,) = (part for part in PARTS if part.name == "copy_blocks")
    told = outcome(part, setting())
    assert (told["state"], told["why"]) == (
        "failed",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    )
    assert "Traceback" in capsys.readouterr().err


# -- faults that must be found -----------------------------------------------------------------------------------------


def without(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A kernel that forgets an argument."""

    def forgetful(*args: Any, **named: Any) -> Any:
        told = inspect.signature(original).bind(*args, **named)
        assert name in told.arguments
        told.arguments[name] = (1.0, 1.0) if name == "scales" else None
        return original(*told.args, **told.kwargs)

    return forgetful


@pytest.mark.parametrize("forgotten", ["sliding_window", "softcap", "scales"])
@pytest.mark.parametrize(
    ("module", "name", "check"),
    [
        (triton_decode, "decode_attention", attention_kernels.check_decode),
        (triton_prefill, "prefill_attention", attention_kernels.check_prefill),
    ],
)
def test_attention_that_forgets_something_is_found(
    module: Any, name: str, check: Callable[[Setting], Any], forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, without(getattr(module, name), forgotten))
    with pytest.raises(FailedError, match="1 of 3 are off from float64"):
        check(setting())


def test_cases_for_which_there_is_no_time_are_left_out_and_counted() -> None:
    facts = attention_kernels.check_decode(Setting("cpu", monotonic()))
    assert (len(facts["cases"]), facts["left_out"]) == (1, 2)


def test_a_write_beside_its_slot_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = triton_write_kv.write_kv

    def padding_is_written(key: Any, value: Any, keys: Any, values: Any, slots: Any, scales: Any) -> None:
        original(key, value, keys, values, slots.clamp_min(0), scales)

    monkeypatch.setattr(triton_write_kv, "write_kv", padding_is_written)
    with pytest.raises(FailedError, match="3 of 3 differ from the torch reference"):
        pool_kernels.check_write_kv(setting())


def test_an_engine_that_makes_other_tokens_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = engine_tokens.Driver.greedy

    def last_differs(driver: Any, prompts: Any, count: int, n: int = 1) -> list[list[int]]:
        answers = greedy(driver, prompts, count, n)
        answers[0][-1] = (answers[0][-1] + 1) % 512
        return answers

    monkeypatch.setattr(engine_tokens.Driver, "greedy", last_differs)
    monkeypatch.setattr(engine_tokens, "GEOMETRIES", engine_tokens.GEOMETRIES[:1])
    with pytest.raises(
        FailedError, match=r"Llama 3\.1 8B in float32 makes other tokens than with transformers"
    ):
        engine_tokens.check_tokens(setting())
