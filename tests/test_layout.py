"""What must work without torch does, also where torch is installed; the import contracts hold the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The parts of kvarium_engine that run a model. Everything else is there for the null runner too.
NEEDS_TORCH = ("kvarium_engine.kernels", "kvarium_engine.model")

IMPORT_ALL = """
import importlib, pkgutil, sys
name, *left_out = sys.argv[1:]
for heavy in ("torch", "triton", "transformers", "gguf", "safetensors"):
    sys.modules[heavy] = None  # importing it raises
if name != "kvarium_engine":
    sys.modules["kvarium_engine"] = None
package = importlib.import_module(name)
found = [name] + [module.name for module in pkgutil.walk_packages(package.__path__, name + ".", onerror=None)]
for module in found:
    if not any(module == prefix or module.startswith(prefix + ".") for prefix in left_out):
        if not module.endswith(".__main__"):
            importlib.import_module(module)
print(len(found))
"""


@pytest.mark.parametrize("package", ["kvarium_ledger", "kvarium_engine", "kvarium"])
def test_package_imports_without_torch(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL, package, *NEEDS_TORCH],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
