"""Print the dependencies that ``pyproject.toml`` declares, one a line: those of the project and of the named extras.

Usage: ``python scripts/requirements.py [EXTRA …]``.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def requirements(extras: list[str]) -> list[str]:
    """Return the project's dependencies and those of the extras, as written."""
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted: list[str] = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return wanted


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
