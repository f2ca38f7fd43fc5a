"""The engine's process with a model: what it refuses, what it tells, and what it does by itself."""

import json
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvarium_engine import process
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.options import Options, resolve
from kvarium_engine.runners import make_runner
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_ledger.records import Step, Text
from tests.engine.stub_backend import TOKEN, StubBackend
from tests.model.tiny import made, small_llama


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in transformers' layout, without a tokenizer."""
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    made(small_llama(), attention="sdpa").save_pretrained(folder)
    return folder


@pytest.fixture
def backend() -> Iterator[StubBackend]:
    stub = StubBackend()
    yield stub
    stub.stop()


def options(folder: Path, **more: object) -> Options:
    return Options(**{"model": str(folder), **more})  # type: ignore[arg-type]


def changed(folder: Path, target: Path, **changes: object) -> Path:
    """The model with another config."""
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).symlink_to(path)
    (target / "config.json").unlink()
    config = json.loads((folder / "config.json").read_text()) | changes
    (target / "config.json").write_text(json.dumps(config))
    return target


def test_the_pool_is_sized_by_blocks_or_by_bytes(folder: Path) -> None:
    # 2 (K and V) × 2 layers × 2 KV heads × 8 numbers of 4 bytes = 256 bytes a token
    assert choose_model(str(folder)).kv_bytes_per_token == 256
    sized = resolve(options(folder, kv_cache_memory_bytes=100_000, block_size=16))
    assert sized.config.num_blocks == 100_000 // 4096
    assert sized.config.scheduler.max_model_len == 24 * 16
    assert resolve(options(folder, num_blocks=64)).config.scheduler.max_model_len == 512
    assert resolve(options(folder, dtype="bfloat16", kv_cache_memory_bytes=100_000)).config.num_blocks == 48


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kv_cache_memory_bytes": 4095}, "4,095 bytes have no room for one block"),
        ({"kv_cache_memory_bytes": 5000, "num_blocks": 3}, "both size the pool: give one"),
        ({"max_model_len": 513}, "--max-model-len 513 is more than the 512 positions of tiny-llama"),
        ({"mix": True}, "--mix has no text"),
        ({"step_ms": 1.0}, "--step-ms is the null runner's"),
        ({"runner": "null"}, "--runner null runs no model"),
        ({"dtype": "int4"}, "--dtype is auto, float32, bfloat16, float16, not 'int4'"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_line(
    folder: Path, given: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        resolve(options(folder, **given))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": "two"}, "num_hidden_layers is 'two'"),
        ({"num_key_value_heads": 3}, "4 heads can't share 3 KV heads"),
        ({"vocab_size": None}, "it has no vocab_size"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused_before_torch_is_loaded(
    folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=r"config\.json is not the config of a decoder") as raised:
        resolve(options(changed(folder, tmp_path / "changed", **changes)))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "no-such-kind"}, "no-such-kind"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "linear_attention"),
        ({"hidden_size": 64}, "has weights of another size for"),
        ({"num_hidden_layers": 3}, "has no weights for model.layers.2."),
        ({"num_hidden_layers": 1}, "has weights that its config has no place for: model.layers.1."),
        ({"hidden_act": "foo"}, "KeyError: 'foo'"),
        ({"hidden_act": 5}, "hidden_act"),
        ({"rope_parameters": "abc"}, "can't be loaded"),
    ],
)
def test_a_model_that_can_not_be_run_right_is_refused(
    folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    asked = options(changed(folder, tmp_path / "changed", **changes))
    with pytest.raises(UsageError) as raised:
        make_runner(asked, resolve(asked), lambda line: None)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_weights_that_are_not_whole_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    for count, name in enumerate((b"", b"\0\0\0\0", whole[: len(whole) // 2])):
        damaged = changed(folder, tmp_path / str(count))
        (damaged / "model.safetensors").unlink()
        (damaged / "model.safetensors").write_bytes(name)
        asked = options(damaged)
        with pytest.raises(UsageError, match="can't be loaded: ") as raised:
            make_runner(asked, resolve(asked), lambda line: None)
        assert "\n" not in str(raised.value)


def test_a_renamed_weight_is_not_made_up(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    renamed = changed(folder, tmp_path / "renamed")
    (renamed / "model.safetensors").unlink()
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.1.self_attn.qx_proj.weight"] = weights.pop("model.layers.1.self_attn.q_proj.weight")
    save_file(weights, renamed / "model.safetensors", metadata={"format": "pt"})
    asked = options(renamed)
    with pytest.raises(UsageError, match=r"has no weights for model\.layers\.1\.self_attn\.q_proj\.weight"):
        make_runner(asked, resolve(asked), lambda line: None)


def test_a_prompt_of_token_ids_runs_on_a_model_without_a_tokenizer(
    folder: Path, backend: StubBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    run = process.Process(options(folder, connect=backend.url, token=TOKEN, num_blocks=32, duration=20.0))
    hello_config = run.link and run.link._hello.config
    assert hello_config is not None
    assert (hello_config["dtype"], hello_config["workload"]) == ("float32", "none")
    assert hello_config["chat_template"] is False
    run.engine.scheduler.submit(
        array("I", range(2, 40)), SamplingParams(8, temperature=0, ignore_eos=True), name="mine"
    )
    run.options.steps = 9
    run.run()
    steps = [record for record in backend.records if isinstance(record, Step)]
    sampled = sum(len(record.sampled) for record in backend.records if isinstance(record, Text)) // 4
    assert sum(len(step.sampled) for step in steps) // 4 == sampled == 8
    assert "tiny-llama is ready after" in capfd.readouterr().err
