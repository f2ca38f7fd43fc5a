"""A model by its id on the hub: what is fetched, from where it is taken without a network, and what can't be."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from kvarium_engine.errors import UsageError
from kvarium_engine.model import hub as hub_module
from kvarium_engine.model.hub import is_on_hub, wanted_files
from tests.model.stub_hub import COMMIT, StubHub
from tests.model.tiny import made, small_llama

ID = "tiny-things/llama-1.5"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[StubHub]:
    """A hub with a tiny model, and beside what is needed files that are not."""
    folder = tmp_path / "served"
    made(small_llama(), attention="sdpa").save_pretrained(folder)
    words = {f"w{number}": number for number in range(96)} | {"?": 96}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(folder)
    for name in ("README.md", "model.fp16.safetensors", "onnx/model.onnx", "pytorch_model.bin"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"not wanted")
    stub = StubHub()
    stub.models[ID] = folder
    yield stub
    stub.stop()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def kvarium(
    hub: StubHub | None, home: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own: huggingface_hub reads its settings when it is imported."""
    settings = {
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "0",
        "HF_ENDPOINT": hub.url if hub is not None else "http://127.0.0.1:9",
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "kvarium.cli", *arguments],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
    )


ENGINE = ("engine", "--model", ID, "--steps", "1", "--duration", "0.2", "--num-gpu-blocks-override", "16")


def test_an_engine_fetches_what_it_needs_once_and_then_runs_without_a_network(
    hub: StubHub, home: Path
) -> None:
    first = kvarium(hub, home, *ENGINE)
    assert first.returncode == 0, first.stderr
    assert f"{ID}: fetching 0 MB" in first.stderr
    assert f"{ID} is ready after" in first.stderr
    assert "has no tokenizer" not in first.stderr
    assert hub.fetched[0] == "config.json"
    assert sorted(hub.fetched) == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ], "each once, and nothing else"
    (snapshot,) = home.glob("hub/models--tiny-things--llama-1.5/snapshots/*")
    assert snapshot.name == COMMIT
    hub.fetched.clear()
    again = kvarium(None, home, *ENGINE)
    assert again.returncode == 0, again.stderr
    assert f"{ID} is ready after" in again.stderr
    assert "fetching" not in again.stderr
    for where, settings in ((hub, {}), (hub, {"HF_HUB_OFFLINE": "1"})):
        summed = kvarium(where, home, "capacity", ID, "--json", **settings)
        assert json.loads(summed.stdout)["weights_from"] == "from the safetensors headers"
    assert hub.fetched == []


@pytest.mark.parametrize(
    "bench",
    [
        "sharing",
        "block-size",
        pytest.param("cache", marks=pytest.mark.slow),
        pytest.param("waste", marks=pytest.mark.slow),
    ],
)
def test_a_bench_fetches_what_it_needs(hub: StubHub, home: Path, bench: str) -> None:
    done = kvarium(hub, home, "bench", bench, "--model", ID, "--size", "small", "--json")
    assert sorted(hub.fetched)[-3:] == ["model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == ID


def test_capacity_fetches_the_config_alone(hub: StubHub, home: Path) -> None:
    done = kvarium(hub, home, "capacity", ID, "--json", "--kv-cache-dtype", "fp8")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["model"], facts["kv_cache_bytes_per_token"]) == (ID, 64)
    assert facts["weights_from"] == "estimated from the config"
    assert hub.fetched == ["config.json"]
    offline = kvarium(None, home, *ENGINE)
    assert offline.returncode == 2
    assert f"of {ID} only the config is in the cache" in offline.stderr


def test_weights_in_several_files(hub: StubHub, home: Path) -> None:
    folder = hub.models[ID]
    (folder / "model.safetensors").unlink()
    made(small_llama(), attention="sdpa").save_pretrained(folder, max_shard_size="40KB")
    shards = sorted(path.name for path in folder.glob("model-*-of-*.safetensors"))
    assert len(shards) > 1
    done = kvarium(hub, home, *ENGINE)
    assert done.returncode == 0, done.stderr
    assert [name for name in hub.fetched if name.startswith("model")] == [
        *shards,
        "model.safetensors.index.json",
    ]


@pytest.mark.parametrize("command", [("capacity",), ("engine", "--model")])
def test_what_can_not_be_fetched_is_told_in_one_line(
    hub: StubHub, home: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    hub.models |= {"some/gated": hub.models[ID], "some/nothing": empty}
    hub.gated.add("some/gated")
    nowhere = {"HF_HUB_OFFLINE": "1"}
    for model, where, settings, message in (
        ("some/gated", hub, {}, f"the model some/gated is gated: accept its terms at {hub.url}/some/gated"),
        ("no/such", hub, {}, "no model 'no/such': there is no such folder, and the hub has none"),
        ("some/nothing", hub, {}, "the model some/nothing of the hub has no config.json"),
        (ID, None, {}, f"the model {ID} is not here and can't be fetched from http://127.0.0.1:9/{ID} (Conn"),
        (ID, hub, nowhere, "it is not in the cache of the hub, which HF_HUB_OFFLINE forbids to ask"),
    ):
        done = kvarium(where, home, *command, model, **settings)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stdout == ""


# -- without a process ------------------------------------------------------------------------------------------------


def test_what_is_an_id_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for model in ("org/name", "meta-llama/Llama-3.1-8B", "a/b_c.d-e"):
        assert is_on_hub(model)
    for model in (
        "smollm2-135m",
        "./org/name",
        "/org/name",
        "~/name",
        "org/name/more",
        "org/",
        "../name",
        "",
    ):
        assert not is_on_hub(model)
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert not is_on_hub("org/name"), "a folder that is there comes first"


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["pytorch_model.bin", "flax_model.msgpack"], ["pytorch_model.bin"]),
        (
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"],
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"],
        ),
    ],
)  # fmt: skip
def test_the_first_kind_of_weights_is_wanted(names: list[str], wanted: list[str]) -> None:
    assert wanted_files("m", [*names, "tokenizer.json", "README.md", "original/tokenizer.model"]) == [
        "config.json",
        "tokenizer.json",
        *wanted,
    ]


def test_a_model_without_weights_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="has no weights in transformers' layout"):
        wanted_files("some/gguf", ["model-q4.gguf", "config.json", "model-00001-of-00002.safetensors"])


def test_without_room_nothing_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"org/name needs 1,000,000,000 MB, and .* MB are free"):
        hub_module._check_room("org/name", tmp_path, 10**15)
