"""The engine's process with a model: what it refuses, what it tells, and what it does by itself."""

import json
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from kvarium_engine import process
from kvarium_engine.capacity_command import Asked, capacity_of
from kvarium_engine.commands import register
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.cuda_graphs import Recording
from kvarium_engine.model.geometry import Geometry, read_config
from kvarium_engine.model.kv_cache import KVCache
from kvarium_engine.model.loader import load_model
from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.model.weights import parameters_of
from kvarium_engine.options import Options, resolve
from kvarium_engine.runners import make_runner
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_ledger.records import Step, Text
from tests.engine.stub_backend import TOKEN, StubBackend
from tests.model.rerun import Rerun
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
    for fp8 in ("fp8", "fp8_e4m3"):
        quarter = options(folder, kv_cache_dtype=fp8, kv_cache_memory_bytes=102_400)
        assert resolve(quarter).config.num_blocks == 100, "a block in FP8 takes 1,024 bytes, not 4,096"


@pytest.mark.parametrize(
    ("given", "blocks"), [("1MiB", 256), ("4M", 1024), ("1.5 MiB", 384), ("0.25G", 65_536), ("100000", 24)]
)
def test_the_pool_is_sized_by_bytes_as_people_write_them(
    folder: Path, given: str, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Options] = []

    def run(options: Options) -> int:
        ran.append(options)
        return 0

    monkeypatch.setattr(process, "run", run)
    app = typer.Typer()
    register(app)
    done = CliRunner().invoke(app, ["--model", str(folder), "--kv-cache-memory-bytes", given])
    assert done.exit_code == 0, done.output
    assert [resolve(options).config.num_blocks for options in ran] == [blocks]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kv_cache_memory_bytes": 4095}, "4,095 bytes have no room for one block"),
        ({"kv_cache_memory_bytes": 5000, "num_blocks": 3}, "both size the pool: give one"),
        ({"gpu_memory_utilization": 0.5, "num_blocks": 3}, "both size the pool: give one"),
        ({"max_model_len": 513}, "--max-model-len 513 is more than the 512 positions of tiny-llama"),
        ({"mix": True}, "--mix has no text"),
        ({"step_ms": 1.0}, "--step-ms is the null runner's"),
        ({"runner": "null"}, "--runner null runs no model"),
        ({"dtype": "int4"}, "--dtype is auto, float32, bfloat16, float16, not 'int4'"),
        ({"kv_cache_dtype": "fp8_e5m2"}, "--kv-cache-dtype is auto, fp8, fp8_e4m3, not 'fp8_e5m2'"),
        ({"attention_backend": "flash"}, "--attention-backend is auto, triton, torch, not 'flash'"),
        (
            {"attention_backend": "triton", "block_size": 2},
            "takes blocks of 8 to 256 tokens, not --block-size 2",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_line(
    folder: Path, given: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvarium_engine.options.card_there", lambda: True)
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "its generation_config.json can't be read: "),
        ("[]", "its generation_config.json can't be read: TypeError"),
        ('{"eos_token_id": [1, "</s>"]}', "eos_token_id of its generation_config.json is [1, '</s>']"),
    ],
)
def test_a_broken_generation_config_is_not_passed_over(
    folder: Path, tmp_path: Path, text: str, message: str
) -> None:
    damaged = changed(folder, tmp_path / "damaged")
    (damaged / "generation_config.json").unlink(missing_ok=True)
    (damaged / "generation_config.json").write_text(text)
    with pytest.raises(UsageError) as raised:
        make_runner(options(damaged), resolve(options(damaged)), lambda line: None)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_prompt_of_token_ids_runs_on_a_model_without_a_tokenizer(
    folder: Path, backend: StubBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    run = process.Process(options(folder, connect=backend.url, token=TOKEN, num_blocks=32, duration=20.0))
    hello_config = run.link and run.link.hello.config
    assert hello_config is not None
    assert (hello_config["dtype"], hello_config["workload"]) == ("float32", "none")
    assert hello_config["chat_template"] is False
    run.engine.scheduler.submit(
        array("I", range(2, 40)), SamplingParams(8, temperature=0, ignore_eos=True), name="mine"
    )
    run.options.steps = 8
    run.run()
    runner = run.engine.runner
    assert isinstance(runner, TorchRunner)
    pool = runner.cache.pool
    told = {name: value for name, value in hello_config.items() if name.startswith("memory_") and value}
    assert told == {
        "memory_backend": "paged",
        "memory_weights_bytes": WEIGHTS,
        "memory_kv_cache_bytes": pool.numel() * pool.element_size(),
    }, "the rest is not known of a CPU"
    steps = [record for record in backend.records if isinstance(record, Step)]
    sampled = sum(len(record.sampled) for record in backend.records if isinstance(record, Text)) // 4
    assert sum(len(step.sampled) for step in steps) // 4 == sampled == 8
    assert "tiny-llama is ready after" in capfd.readouterr().err


# -- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"num_blocks": 77, "max_model_len": 200},
        {"kv_cache_memory_bytes": 1_000_000, "block_size": 8},
        {"dtype": "bfloat16", "num_blocks": 5},
        {"kv_cache_dtype": "fp8", "kv_cache_memory_bytes": 1_000_000, "attention_backend": "triton"},
    ],
)
def test_the_report_and_the_handshake_tell_what_kvarium_capacity_tells(
    folder: Path,
    backend: StubBackend,
    capfd: pytest.CaptureFixture[str],
    given: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = {name: value for name, value in given.items() if name != "attention_backend"}
    summed = capacity_of(Asked(str(folder), **sizes))  # type: ignore[arg-type]
    # The rest of 1 GiB is not needed to see that the sizes are the same.
    monkeypatch.setattr("kvarium_engine.model.torch_runner.KVCache", SmallCache)
    run = process.Process(options(folder, connect=backend.url, token=TOKEN, **given))
    told = capfd.readouterr().err.replace("kvarium engine: ", "").splitlines()
    assert told[2:4] == summed.pool.lines()
    assert told[1].startswith(f"model weights: {summed.weights / (1 << 30):.2f} GiB of {summed.model.dtype}")
    assert run.link is not None
    hello, facts = run.link.hello, summed.facts()
    assert hello.num_blocks == facts["num_gpu_blocks"]
    assert hello.config["num_gpu_blocks_override"] == given.get("num_blocks")
    assert hello.config["gpu_memory_utilization"] is None
    assert hello.config["attention_backend"] == given.get("attention_backend", "torch")
    for name in (
        "num_gpu_blocks",
        "kv_cache_bytes_per_token",
        "maximum_concurrency",
        "max_model_len",
        "kv_cache_dtype",
    ):
        assert hello.config[name] == facts[name], name


class SmallCache(KVCache):
    """A cache of a few blocks, whatever is asked for."""

    def __init__(self, geometry: Geometry, num_blocks: int, *more: object) -> None:
        super().__init__(geometry, min(num_blocks, 8), *more)  # type: ignore[arg-type]


def test_the_weights_are_as_large_as_their_headers_say(folder: Path) -> None:
    parameters = sum(parameter.numel() for parameter in load_model(folder).parameters())
    summed = capacity_of(Asked(str(folder)))
    assert (summed.weights, summed.weights_from) == (4 * parameters, "from the safetensors headers")
    config, geometry = read_config(folder / "config.json")
    assert parameters_of(config, geometry) == parameters


class Card:
    """A card of 10 MB, of which the process takes 1 MB beside its tensors and 2 MB more in the largest step."""

    device = "cuda: a card"
    total = 10_000_000

    def __init__(self, taken_by_others: int = 0) -> None:
        self.others = taken_by_others
        self.seen: list[int] = []

    def free(self) -> int:
        self.seen.append(1)
        return self.total - self.others - (1_000_000 if len(self.seen) > 1 else 0)

    def held(self) -> int:
        return 0

    def peak(self) -> int:
        return 2_000_000 + WEIGHTS + SCRATCH_BLOCKS * 4096

    def reset_peak(self) -> None:
        pass


WEIGHTS = 4 * 24_800
SCRATCH_BLOCKS = 512 // 16


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card()
    monkeypatch.setattr("kvarium_engine.options.card_there", lambda: True)
    monkeypatch.setattr("kvarium_engine.model.cuda_memory.memory_of", lambda device: card)
    return card


def test_a_card_is_filled_up_to_its_share_after_a_profiling_run(
    folder: Path,
    backend: StubBackend,
    card: Card,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[tuple[int, int]] = []
    execute = TorchRunner.execute

    def seen(runner: TorchRunner, plan: StepPlan) -> list[int]:
        steps.append((plan.tokens, len(plan.prefills)))
        return execute(runner, plan)

    monkeypatch.setattr(TorchRunner, "execute", seen)
    asked = options(
        folder,
        connect=backend.url,
        token=TOKEN,
        gpu_memory_utilization=0.5,
        max_num_batched_tokens=700,
        max_num_seqs=8,
    )
    run = process.Process(asked)
    assert steps == [(700, 2), (700, 8)], "512 tokens of one sequence and the rest of another; then eight"
    memory = 5_000_000 - 3_000_000 - WEIGHTS
    assert run.resolved.config.num_blocks == memory // 4096
    assert run.link is not None
    told = run.link.hello.config
    assert (told["num_gpu_blocks"], told["gpu_memory_utilization"]) == (memory // 4096, 0.5)
    assert told["maximum_concurrency"] == round(memory // 4096 / 32, 2)
    shares = {name: told[f"memory_{name}_bytes"] for name in ("total", "weights", "kv_cache", "activations")}
    assert shares == {
        "total": card.total,
        "weights": WEIGHTS,
        "kv_cache": memory // 4096 * 4096,
        "activations": 2_000_000,
    }
    assert told["memory_free_bytes"] == 9_000_000 - 2_000_000, (
        "the largest step takes its part of what is free"
    )
    err = capfd.readouterr().err
    assert "memory of cuda: a card: 0.5 of 0.01 GiB are 0.00: weights 0.00, largest step 0.00" in err
    gib = 1 << 30
    summed = capacity_of(
        Asked(
            str(folder),
            gpu_memory=card.total / gib,
            gpu_memory_utilization=0.5,
            activations_gib=3_000_000 / gib,
        )
    )
    assert summed.pool == run.resolved.capacity


def test_what_sizes_the_pool_otherwise_needs_no_profiling_run(folder: Path, card: Card) -> None:
    for given in ({"num_blocks": 9}, {"kv_cache_memory_bytes": 9 * 4096}):
        asked = options(folder, **given)
        _, resolved = make_runner(asked, resolve(asked), lambda line: None)
        assert (resolved.config.num_blocks, resolved.gpu_memory_utilization) == (9, None)
        assert resolved.memory is not None
        assert (resolved.memory.kv_cache, resolved.memory.weights) == (9 * 4096, WEIGHTS)
        assert resolved.memory.activations is None, "no largest step was run"


def test_a_card_without_room_is_told_with_the_numbers(folder: Path, card: Card) -> None:
    for given, others, message in (
        ({"gpu_memory_utilization": 0.3}, 0, "nothing remains for keys and values: 0.3 of 0.01 GiB"),
        ({}, 2_000_000, "were free at the start: give 0.8 or less"),
    ):
        card.others = others
        card.seen.clear()
        asked = options(folder, **given)
        with pytest.raises(UsageError) as raised:
            make_runner(asked, resolve(asked), lambda line: None)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_step_that_the_card_has_no_memory_for_is_told_with_what_to_lower(
    folder: Path, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(runner: TorchRunner, plan: StepPlan) -> list[int]:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(TorchRunner, "execute", none_left)
    asked = options(folder)
    with pytest.raises(UsageError) as raised:
        make_runner(asked, resolve(asked), lambda line: None)
    assert str(raised.value).startswith(
        "the largest step (2,048 tokens, 256 sequences) does not fit beside 0.00 GiB"
    )


def test_a_share_of_a_card_is_refused_where_torch_sees_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvarium_engine.options.card_there", lambda: True)
    monkeypatch.setattr("kvarium_engine.model.cuda_memory.memory_of", lambda device: None)
    asked = options(folder, gpu_memory_utilization=0.5)
    with pytest.raises(UsageError, match="there is no CUDA device here"):
        make_runner(asked, resolve(asked), lambda line: None)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Rerun:
    recorder = Rerun()
    monkeypatch.setattr("kvarium_engine.model.torch_runner.CudaRecorder", lambda device: recorder)
    return recorder


def test_on_a_card_decodes_are_recorded_for_the_profile_and_for_the_pool(
    folder: Path, card: Card, recorder: Rerun
) -> None:
    asked = options(folder, attention_backend="triton", max_num_batched_tokens=8, max_num_seqs=4)
    said: list[str] = []
    runner, resolved = make_runner(asked, resolve(asked), said.append)
    assert resolved.capture_sizes == (1, 2, 4)
    assert recorder.sizes == [4, 4, 2, 4, 2, 1], "the largest, the two largest; then all"
    (told,) = (line for line in said if line.startswith("CUDA graphs: "))
    assert "decodes of 3 sizes up to 4 recorded in" in told
    assert told.endswith("0.00 GiB; 0.00 GiB were set aside for them")
    assert isinstance(runner, TorchRunner) and runner.graphs is not None
    runner.close()
    assert runner.graphs is None


def test_no_graphs_are_recorded_where_none_are_wanted_or_torch_attends(
    folder: Path, card: Card, recorder: Rerun
) -> None:
    for given in ({"attention_backend": "triton", "enforce_eager": True}, {"attention_backend": "torch"}):
        asked = options(folder, num_blocks=9, **given)
        runner, resolved = make_runner(asked, resolve(asked), lambda line: None)
        assert isinstance(runner, TorchRunner) and runner.graphs is None
        assert resolved.capture_sizes == ()
    assert recorder.sizes == []


def test_a_model_that_can_not_be_recorded_runs_eagerly_and_says_why(
    folder: Path, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(Rerun):
        def record(self, run: Callable[[], torch.Tensor]) -> Recording:
            raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr("kvarium_engine.model.torch_runner.CudaRecorder", Refusing)
    asked = options(folder, attention_backend="triton", num_blocks=9, cudagraph_capture_sizes="2")
    said: list[str] = []
    runner, resolved = make_runner(asked, resolve(asked), said.append)
    assert isinstance(runner, TorchRunner) and runner.graphs is None
    assert resolved.capture_sizes == ()
    assert (
        "decodes run without CUDA graphs: a decode of 2 can't be recorded: operation not permitted when stream is capturing"
        in said
    )


def test_graphs_that_the_card_has_no_memory_for_are_told_with_what_to_lower(
    folder: Path, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Rerun):
        def record(self, run: Callable[[], torch.Tensor]) -> Recording:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr("kvarium_engine.model.torch_runner.CudaRecorder", Full)
    asked = options(folder, attention_backend="triton", num_blocks=9, cudagraph_capture_sizes="2")
    with pytest.raises(
        UsageError, match="CUDA graphs of decodes up to 2 do not fit on cuda: a card beside the pool"
    ):
        make_runner(asked, resolve(asked), lambda line: None)
