"""docker-compose.yml is accepted by the oldest tool in use (Debian's docker-compose 1.29) and says what it should."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from starlette.datastructures import Headers

from kvarium.security import Security

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def compose() -> list[str]:
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    if (
        shutil.which("docker")
        and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    ):
        return ["docker", "compose"]
    pytest.skip("no docker-compose and no docker compose plug-in on this machine")


@pytest.mark.install
@pytest.mark.parametrize(
    ("profile", "services"),
    [(None, {"server"}), ("cpu", {"server", "engine-cpu"}), ("gpu", {"server", "engine-gpu"})],
)
def test_compose_accepts_the_file(compose: list[str], profile: str | None, services: set[str]) -> None:
    chosen = ["--profile", profile] if profile else []
    environment = {**os.environ, "KVARIUM_ENGINE_TOKEN": "a-token"}
    done = subprocess.run(
        [*compose, *chosen, "config"], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    for service in services:
        assert re.search(rf"^  {service}:$", done.stdout, re.MULTILINE)
    assert "KVARIUM_ENGINE_TOKEN: a-token" in done.stdout


def test_the_server_answers_to_the_name_that_the_engine_calls_it() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    (address,) = re.findall(r"KVARIUM_BACKEND: (\S+)", text)
    bound = re.findall(r'"--host", "([^"]+)"', text)[0]
    parts = urlsplit(address)
    security = Security(FastAPI(), bound, re.findall(r'"--allowed-host", "([^"]+)"', text))
    assert security.refusal(Headers({"host": parts.netloc})) is None
    # The port that the engine's health check looks for.
    assert f":{parts.port:04X} 01 " in text
    assert f'"--port", "{parts.port}"' in text


def test_the_engine_has_a_model_and_keeps_it(compose: list[str]) -> None:
    told = {}
    for cache in ("", "/some/folder"):
        environment = {**os.environ, "KVARIUM_MODEL": "a-model", "KVARIUM_CACHE": cache}
        done = subprocess.run(
            [*compose, "--profile", "cpu", "config"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert "KVARIUM_MODEL: a-model" in done.stdout
        told[cache] = done.stdout
    assert re.search(r"models:/cache|target: /cache", told[""])
    assert "/some/folder" in told["/some/folder"]


def test_dockerfiles_run_the_tested_script() -> None:
    for name in ("server", "engine"):
        text = (ROOT / "docker" / f"{name}.Dockerfile").read_text()
        assert re.search(r"^RUN .*scripts/install\.sh", text, re.MULTILINE)
        assert not re.search(r"^RUN .*pip install", text, re.MULTILINE)
    assert "install docker/engine.sh /opt/kvarium/bin/kvarium-engine" in text


def test_lock_names_no_address() -> None:
    lock: dict[str, Any] = json.loads((ROOT / "frontend" / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert "://" not in (ROOT / "requirements" / "constraints.txt").read_text()
