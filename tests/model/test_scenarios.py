"""Scenarios on real models: the same numbers, and keys that are read back through a block table."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvarium_engine.scenarios.catalogue import SCENARIOS
from tests.model.tiny import made, small_llama


def run(*arguments: str) -> tuple[int, Any, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kvarium_engine.scenarios", "--json", *arguments],
        env={**os.environ, "KVARIUM_ENGINE_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in transformers' layout, without a tokenizer."""
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    made(small_llama(), attention="sdpa").save_pretrained(folder)
    return folder


def test_keys_are_read_back_whole_through_a_block_table(folder: Path) -> None:
    status, told, errors = run("block-table", "--model", str(folder))
    assert status == 0, errors or told
    (outcome,) = told["scenarios"]
    found = {each["what"]: each["found"] for each in outcome["numbers"]}
    assert found["the block table"] == [41, 7, 19]
    assert found["keys that differ, token by token through both tables"] == 0
    assert found["blocks that both have"] == 0


def test_one_that_is_longer_than_the_model_says_so(folder: Path) -> None:
    status, _, errors = run("lazy-allocation", "--model", str(folder))
    assert status == 2
    assert errors.splitlines()[-1] == (
        f"kvarium scenario: scenario lazy-allocation has sequences of 1,040 tokens; {folder} takes 512"
    )


@pytest.mark.timeout(3600)
def test_all_of_them_on_smollm2(smollm2: Path, size: str) -> None:
    """In the small form the one that reads keys; in the full one all."""
    status, told, errors = run("block-table" if size == "small" else "--all", "--model", str(smollm2))
    wrong = [number for one in told["scenarios"] for number in one["numbers"] if not number["ok"]]
    assert status == 0, (wrong, errors)
    assert size == "small" or [one["name"] for one in told["scenarios"]] == list(SCENARIOS)
