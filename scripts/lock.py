"""Write ``requirements/constraints.txt``: every version that is tested together, without hashes or addresses.

``make lock`` runs this. pip resolves all extras of ``pyproject.toml`` in a dry run, and the report's names and
versions become the constraints. torch is left out (``requirements/torch.txt``), and so are the packages that
torch's own build pins (triton, nvidia-*, cuda-*).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("torch", "triton", "nvidia-", "cuda-", "pip", "setuptools", "kvarium")

HEADER = """\
# Versions that are tested together: written by `make lock`, read by scripts/setup.sh and scripts/install.sh.
# No hashes and no addresses, so that any index or mirror serves. torch: see torch.txt.
"""


def left_out(name: str) -> bool:
    """Tell whether a package must not be pinned here."""
    return any(name == entry or (entry.endswith("-") and name.startswith(entry)) for entry in LEFT_OUT)


def main() -> None:
    """Resolve and write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += extra
    with tempfile.TemporaryDirectory() as folder:
        requirements, report = Path(folder) / "wanted.txt", Path(folder) / "report.json"
        requirements.write_text("\n".join(wanted) + "\n")
        venv.create(Path(folder) / "pip", with_pip=True)
        pip = (str(Path(folder) / "pip" / "bin" / "python"), "-m", "pip")
        subprocess.run(
            [
                *(*pip, "install", "--no-input", "--disable-pip-version-check"),
                *("--dry-run", "--ignore-installed", "--quiet", "--quiet", "--report", str(report)),
                *("-r", str(requirements), "-c", str(ROOT / "requirements" / "torch.txt")),
            ],
            check=True,
        )
        installed = json.loads(report.read_text())["install"]
    pins = {
        item["metadata"]["name"].lower().replace("_", "-"): item["metadata"]["version"] for item in installed
    }
    lines = [f"{name}=={version}" for name, version in sorted(pins.items()) if not left_out(name)]
    (ROOT / "requirements" / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n")
    print(f"requirements/constraints.txt: {len(lines)} versions")


if __name__ == "__main__":
    main()
