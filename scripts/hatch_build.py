"""Hatch build hook: the wheel carries the built front end, built here when it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontendBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Run ``npm ci`` and ``npm run build`` unless ``backend/kvarium/static`` has been built already.

    An editable install and an sdist build nothing. ``KVARIUM_SKIP_FRONTEND=1`` makes a wheel without pages.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the front end before the wheel's files are collected."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        if (root / "backend" / "kvarium" / "static" / "index.html").is_file():
            return
        if os.environ.get("KVARIUM_SKIP_FRONTEND") == "1":
            self.app.display_warning("the front end is left out (KVARIUM_SKIP_FRONTEND=1)")
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "backend/kvarium/static is missing and npm is not installed: install Node 20 or newer, "
                "or set KVARIUM_SKIP_FRONTEND=1 for a wheel without pages"
            )
        frontend = root / "frontend"
        if not (frontend / "node_modules").is_dir():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=frontend, check=True)
        subprocess.run([npm, "run", "build"], cwd=frontend, check=True)
