"""What must work without torch does, also where torch is installed, and no package comes in unnoticed; contracts hold the rest."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import longest
from tests.conftest import ROOT

# The parts of kvarium_engine that run a model may import torch; but for these, which are of use without it.
MAY_NEED_TORCH = ("kvarium_engine.kernels.", "kvarium_engine.model.", "kvarium_engine.gpu_check.")
WITHOUT_IT = (
    "null_runner",
    "seeded_tokens",
    "store",
    "fetch",
    "hub",
    "choice",
    "geometry",
    "weights",
    "backend",
    "variants",
    "covering",
    "capture_sizes",
    "profiling",
    "part",
    "supervisor",
    "worker",
    "report",
    "check",
    "command",
)

LEDGER = {"msgspec", "numpy", "websockets"}
ENGINE = LEDGER | {"huggingface_hub", "platformdirs", "rich", "typer"}
ENGINE |= {"gguf", "safetensors", "tokenizers", "torch", "transformers", "triton"}
ENGINE |= {"vllm"}  # by one bench alone, which goes without
"""Whose code the ledger and the engine use (docs/decisions/0001); all else is Python's own."""

IMPORT_ALL = """
import importlib, pkgutil, sys
name, left_out, free = sys.argv[1], tuple(sys.argv[2].split()), sys.argv[3].split()
for heavy in ("torch", "triton", "transformers", "gguf", "safetensors"):
    sys.modules[heavy] = None  # importing it raises
if name != "kvarium_engine":
    sys.modules["kvarium_engine"] = None
package = importlib.import_module(name)
found = [name] + [module.name for module in pkgutil.walk_packages(package.__path__, name + ".", onerror=None)]
for module in found:
    if module.endswith(".__main__") or (module.startswith(left_out) and module.rpartition(".")[2] not in free):
        continue
    importlib.import_module(module)
print(len(found))
"""


@pytest.mark.parametrize("package", ["kvarium_ledger", "kvarium_engine", "kvarium"])
def test_package_imports_without_torch(package: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            IMPORT_ALL,
            package,
            " ".join(MAY_NEED_TORCH),
            " ".join(WITHOUT_IT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.skipif(
    os.environ.get("KVARIUM_EXPECT_LIGHT") != "1", reason="only where the environment must have no torch"
)
def test_the_light_environment_has_no_torch() -> None:
    heavy = ("torch", "triton", "transformers", "gguf", "safetensors")
    assert [name for name in heavy if importlib.util.find_spec(name) is not None] == []


def imported(folder: Path) -> set[str]:
    """The packages that the files of a folder import, wherever in a file, but for Python's own and ours."""
    names: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module))
    ours = {"kvarium", "kvarium_engine", "kvarium_ledger"}
    return {name.split(".")[0] for name in names} - ours - sys.stdlib_module_names


@pytest.mark.parametrize(("package", "allowed"), [("kvarium_ledger", LEDGER), ("kvarium_engine", ENGINE)])
def test_the_packages_that_are_imported_are_those_that_the_decision_names(
    package: str, allowed: set[str]
) -> None:
    assert imported(ROOT / "engine" / package) == allowed


@pytest.mark.parametrize("size", longest.SECONDS)
def test_the_files_that_are_begun_first_are_there(size: str) -> None:
    assert [name for name in longest.SECONDS[size] if not (ROOT / name).is_file()] == []
