"""Models by name and by folder, without torch: what is found, what is told of all else, and the commands."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.model import store

KVARIUM = [sys.executable, "-W", "error", "-m", "kvarium.cli"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("KVARIUM_CACHE", str(folder))
    return folder


def model_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


# -- by name and by folder --------------------------------------------------------------------------------------------


def test_the_cache_is_where_it_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.models_folder() == cache / "models"
    monkeypatch.setenv("KVARIUM_CACHE", "~/elsewhere")
    assert store.cache_folder() == Path.home() / "elsewhere"
    monkeypatch.setenv("KVARIUM_CACHE", "")
    assert store.cache_folder().name == "kvarium"


def test_a_known_model_is_found_once_it_is_fetched(cache: Path) -> None:
    with pytest.raises(UsageError, match="not here yet: `kvarium models fetch smollm2-135m`"):
        store.find("smollm2-135m")
    folder = model_folder(store.KNOWN["smollm2-135m"].folder)
    assert store.find("smollm2-135m") == folder


def test_a_name_is_not_taken_for_a_folder_beside_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = model_folder(tmp_path / "smollm2-135m")
    with pytest.raises(UsageError, match="not here yet"):
        store.find("smollm2-135m")
    assert store.find("./smollm2-135m") == folder


@pytest.mark.parametrize(
    "weights", ["model.safetensors", "model-00001-of-00002.safetensors", "pytorch_model.bin"]
)
def test_any_folder_in_the_layout_of_transformers_is_a_model(tmp_path: Path, weights: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"has a config\.json and no weights"):
        store.find(str(tmp_path))
    (tmp_path / weights).touch()
    assert store.find(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("model", ["gpt-7", "HuggingFaceTB/SmolLM2-135M", "/nowhere/at/all", "", " "])
def test_what_is_unknown_is_told_with_what_is_known(cache: Path, model: str) -> None:
    with pytest.raises(UsageError) as told:
        store.find(model)
    assert repr(model) in str(told.value)
    assert "known is smollm2-135m" in str(told.value)
    assert "any folder in transformers' layout" in str(told.value)


@pytest.mark.parametrize("model", ["a\0b", "x" * 5000])
def test_what_is_no_path_is_one_line_too(model: str) -> None:
    with pytest.raises(UsageError):
        store.find(model)


@pytest.mark.parametrize("model", ["x" * 300, "x" * 5000, "a/" + "x" * 5000, "/a" * 2000])
def test_a_name_longer_than_any_is_one_short_line(cache: Path, model: str) -> None:
    for look in (store.find, store.find_config):
        with pytest.raises(UsageError, match="no model '") as raised:
            look(model)
        assert len(str(raised.value)) < 500


def test_a_file_and_a_folder_without_a_model_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.touch()
    with pytest.raises(UsageError, match="is a file: name its folder"):
        store.find(str(file))
    with pytest.raises(UsageError, match=r"there is no config\.json in it"):
        store.find(str(tmp_path))


# -- the command ------------------------------------------------------------------------------------------------------


def models(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KVARIUM, "models", *arguments], capture_output=True, text=True, check=False)


def test_the_command_lists_and_removes(cache: Path) -> None:
    listed = models("ls")
    assert listed.returncode == 0, listed.stderr
    assert "smollm2-135m  not fetched" in listed.stdout
    model_folder(store.KNOWN["smollm2-135m"].folder)
    (told,) = json.loads(models("ls", "--json").stdout)["models"]
    assert told["name"] == "smollm2-135m"
    assert told["fetched"] is True
    assert told["bytes"] == 9
    assert Path(told["where"]).is_dir()
    assert models("rm", "smollm2-135m").stdout == "smollm2-135m is removed\n"
    again = models("rm", "smollm2-135m")
    assert again.returncode == 2
    assert again.stderr.startswith("kvarium models: smollm2-135m is not fetched")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fetch", "gpt-7"], "no model is known as 'gpt-7': known is smollm2-135m"),
        (["rm", "gpt-7"], "no model is known as 'gpt-7'"),
    ],
)
def test_a_wrong_name_is_one_line(cache: Path, arguments: list[str], told: str) -> None:
    done = models(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("kvarium models: ")
    assert told in line


def test_an_id_of_the_hub_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs huggingface_hub, not installed here: pip install 'kvarium"):
        store.find_config("org/name")
