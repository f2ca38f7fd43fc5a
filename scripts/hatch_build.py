"""Hatch build hook: the wheel carries the built front end, built here when it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontendBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Run ``npm ci`` and the builds of the page and of the one that is exported, unless both are there already.

    An editable install and an sdist build nothing. ``KVARIUM_SKIP_FRONTEND=1`` makes a wheel without pages.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the front end before the wheel's files are collected."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        pages = root / "backend" / "kvarium"
        if all((pages / built / "index.html").is_file() for built in ("static", "exported")):
            return
        if os.environ.get("KVARIUM_SKIP_FRONTEND") == "1":
            self.app.display_warning("the front end is left out (KVARIUM_SKIP_FRONTEND=1)")
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "backend/kvarium/static or exported is missing and npm is not installed: install Node 20 or newer, "
                "or set KVARIUM_SKIP_FRONTEND=1 for a wheel without pages"
            )
        frontend = root / "frontend"
        if not (frontend / "node_modules").is_dir():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=frontend, check=True)
        for build in ("build", "build:page"):
            subprocess.run([npm, "run", build], cwd=frontend, check=True)
