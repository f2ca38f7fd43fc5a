"""Tests that need torch: marked ``model`` by where they are, and not collected without it.

Triton's kernels are interpreted here. Nothing else changes by it: where nobody asks for them, an engine takes torch's then.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

# Triton looks when it is imported first.
os.environ["TRITON_INTERPRET"] = "1"

HERE = Path(__file__).resolve().parent


class _NotCollected(pytest.File):
    """A file that can't even be imported, as there is no torch: named as an argument, it is no error."""

    def collect(self) -> list[pytest.Item]:
        return []


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if importlib.util.find_spec("torch") is not None:
        return None
    not_collected: pytest.Collector = _NotCollected.from_parent(parent, path=module_path)
    return not_collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.model)
