"""Tests that need vLLM: not collected without it, and said in one line."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

ABSENT = "oracle: vLLM is not on the path (scripts/oracle.sh runs these tests with it; make test does)"

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


TOLD = pytest.StashKey[list[str]]()


@pytest.fixture
def told(pytestconfig: pytest.Config) -> Callable[..., None]:
    """Call it with a name, counts, and which of them: they are printed at the end of the run."""

    def tell(name: str, counts: Counter[str], *shown: str) -> None:
        figures = ", ".join(f"{counts[what]:,} {what}" for what in shown)
        pytestconfig.stash.setdefault(TOLD, []).append(f"{name}: {figures}")

    return tell


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was compared, also for $KVARIUM_TEST_SUMMARY, whose file tests/conftest.py has begun."""
    lines = terminalreporter.config.stash.get(TOLD, [])
    if not lines:
        return
    terminalreporter.section("compared with vLLM")
    for line in lines:
        terminalreporter.line(line)
    summary = os.environ.get("KVARIUM_TEST_SUMMARY")
    if summary:
        with Path(summary).open("a") as file:
            file.writelines(f"  {line}\n" for line in lines)
