"""The wheel, installed by scripts/install.sh into clean environments, as the Dockerfiles do it: without torch and with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = [pytest.mark.install, pytest.mark.timeout(900)]


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**clean, **environment},
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # From the sources alone, so that the build itself has to make the front end.
    sources = folder / "sources"
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    assert listed.returncode == 0, listed.stderr
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, sources / name)
    # Built as anyone would: in isolation. A venv of the base interpreter has pip; this clone's .venv has none.
    venv.create(folder / "pip", with_pip=True)
    built = run(
        folder / "pip/bin/python", "-m", "pip", "wheel", "--no-input", "--no-deps", "-w", folder, sources
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("kvarium-*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that has kvarium and what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    done = run(ROOT / "scripts/install.sh", "--wheel", wheel, folder, PYTHON=sys._base_executable)  # type: ignore[attr-defined]
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


@pytest.fixture(scope="session")
def installed_engine(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the engine extra, and with the engine's start as the image has it."""
    folder = tmp_path_factory.mktemp("engine")
    script = ROOT / "scripts/install.sh"
    done = run(script, "--extra", "engine", "--wheel", wheel, folder, PYTHON=sys._base_executable)  # type: ignore[attr-defined]
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(ROOT / "docker/engine.sh", folder / "bin/kvarium-engine")
    return folder / "bin"


def test_wheel_has_the_packages_and_the_page(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"kvarium", "kvarium_engine", "kvarium_ledger"}
    assert "kvarium/static/index.html" in names
    assert "kvarium/exported/index.html" in names
    assert "kvarium_engine/workload/demo_prompts.toml" in names
    assert "kvarium/recording/migrations/r1_first.py" in names
    assert any(name.startswith("kvarium/static/assets/") and name.endswith(".js") for name in names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not any("node_modules" in name or "__pycache__" in name for name in names)


def test_page_asks_nothing_of_other_hosts(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    page = archive.read("kvarium/static/index.html").decode()
    assert "://" not in page
    styles = [name for name in archive.namelist() if name.endswith(".css")]
    assert not [name for name in styles if b"://" in archive.read(name)]


def test_there_is_no_torch(installed: Path) -> None:
    found = run(installed / "python", "-c", "import torch")
    assert found.returncode != 0
    assert "No module named 'torch'" in found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["view", "--help"],
        ["serve", "--help"],
        ["verify", "--help"],
        ["engine", "--help"],
        ["models", "--help"],
        ["models", "ls"],
    ],
)
def test_command_works_without_torch(installed: Path, arguments: list[str]) -> None:
    done = run(installed / "kvarium", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_installed_packages_agree(installed: Path) -> None:
    done = run(installed / "python", "-m", "pip", "check")
    assert done.returncode == 0, done.stdout


def test_missing_recording_is_said_plainly(installed: Path) -> None:
    done = run(installed / "kvarium", "view", "/nowhere/at-all.kvarium")
    assert done.returncode != 0
    assert "at-all.kvarium" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_model_can_not_be_fetched_without_torch_and_it_says_so(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "kvarium", "models", "fetch", "smollm2-135m", KVARIUM_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert "pip install 'kvarium[engine]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_image_s_engine_runs_a_model_on_a_server_elsewhere(
    installed: Path, installed_engine: Path, tmp_path: Path
) -> None:
    """As docker-compose.yml has it: a server without torch, and an engine that fetches its model and links."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean |= {"KVARIUM_ENGINE_TOKEN": "a-token-for-this-test", "PYTHONUNBUFFERED": "1"}
    serve = [installed / "kvarium", "serve", "--no-engine", "--port", "0", "--db", tmp_path / "runs.db"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, cwd="/", env=clean) as server:
        assert server.stdout is not None
        try:
            address = next(
                found[0] for line in server.stdout if (found := re.findall(r"ws://\S+/api/engine", line))
            )
            engine = run(
                "sh",
                installed_engine / "kvarium-engine",
                PATH=f"{installed_engine}:{os.environ['PATH']}",
                KVARIUM_ENGINE_TOKEN=clean["KVARIUM_ENGINE_TOKEN"],
                KVARIUM_BACKEND=address,
                KVARIUM_MODEL="smollm2-135m",
                KVARIUM_ENGINE_ARGS="--demo --steps 30 --num-gpu-blocks-override 96",
            )
        finally:
            server.terminate()
            server.communicate(timeout=30)
    assert engine.returncode == 0, engine.stdout + engine.stderr
    listed = run(installed / "kvarium", "sessions", "ls", "--db", tmp_path / "runs.db", "--json")
    (session,) = json.loads(listed.stdout)["sessions"]
    assert session["runner"] == "torch"
    assert session["steps"] >= 30
