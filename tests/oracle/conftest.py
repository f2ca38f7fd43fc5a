"""Tests that need vLLM: not collected without it, and said in one line."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import warnings
from pathlib import Path

import pytest

ABSENT = "oracle: vLLM is not in this environment (scripts/oracle.sh makes one with it and runs these tests)"

PRESENT = importlib.util.find_spec("vllm") is not None

if PRESENT:
    # Warnings are errors in the tests; what vLLM and torch warn of while they are imported is not ours.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("vllm.v1.core.sched.scheduler")
    logging.getLogger("vllm").setLevel(logging.ERROR)


class _Absent(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(ABSENT)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class _NotCollected(pytest.File):
    """A file that can't be imported without vLLM; the first of them says so, as a skipped test."""

    def collect(self) -> list[pytest.Item]:
        if self.path.name != "test_hashes.py":
            return []
        absent: pytest.Item = _Absent.from_parent(self, name="oracle")
        return [absent]


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if PRESENT:
        return None
    not_collected: pytest.Collector = _NotCollected.from_parent(parent, path=module_path)
    return not_collected
