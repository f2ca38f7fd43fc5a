"""``--load-format dummy``: a model of real sizes from its config alone."""

import json
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kvarium_engine import process
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.loader import check_config, load_model, random_model
from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.options import Options, resolve
from kvarium_engine.runners import make_runner
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_ledger.records import Step
from tests.engine.stub_backend import TOKEN, StubBackend
from tests.model.architectures import EXACT, REFUSED
from tests.model.paged import Paged, all_logits, generate, random_prompt
from tests.model.tiny import made, small_llama


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a config and nothing beside it."""
    folder = tmp_path / "config-only"
    small_llama(initializer_range=0.02, dtype="bfloat16").save_pretrained(folder)
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    return folder


@pytest.fixture
def backend() -> Iterator[StubBackend]:
    stub = StubBackend()
    yield stub
    stub.stop()


def options(model: Path, **more: object) -> Options:
    given = {"model": str(model), "load_format": "dummy", "num_blocks": 32, **more}
    return Options(**given)  # type: ignore[arg-type]


def runner_of(model: Path, **more: object) -> tuple[TorchRunner, list[str]]:
    said: list[str] = []
    asked = options(model, **more)
    runner, _ = make_runner(asked, resolve(asked), said.append)
    assert isinstance(runner, TorchRunner)
    return runner, said


def test_an_engine_runs_from_a_config_alone(folder: Path, backend: StubBackend) -> None:
    run = process.Process(options(folder, connect=backend.url, token=TOKEN, steps=8, duration=60.0))
    assert run.link is not None
    told = run.link.hello
    assert (told.model, told.config["load_format"], told.config["dtype"]) == (
        "config-only",
        "dummy",
        "bfloat16",
    )
    params = SamplingParams(8, temperature=0, ignore_eos=True)
    run.engine.scheduler.submit(array("I", range(2, 40)), params, name="mine")
    run.run()
    steps = [record for record in backend.records if isinstance(record, Step)]
    assert sum(len(step.sampled) for step in steps) // 4 == 8


def test_its_logits_are_numbers_and_its_seed_makes_them_again(folder: Path) -> None:
    asked = random_prompt(1, 40)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    runner, said = runner_of(folder, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert any("of bfloat16 on cpu" in line and "made at random in" in line for line in said)
    assert runner.dtype == "bfloat16"
    logits = all_logits(runner, asked)
    assert logits.isfinite().all()
    assert logits.std() > 0.001
    assert torch.equal(all_logits(runner_of(folder, seed=5)[0], asked), logits)
    assert not torch.equal(all_logits(runner_of(folder, seed=6)[0], asked), logits)


def test_a_config_is_a_folder_or_a_file_of_any_name(folder: Path) -> None:
    file = (folder / "config.json").rename(folder / "llama-tiny.json")
    choice = choose_model(str(file), load_format="dummy")
    assert (choice.name, choice.config, choice.dtype) == ("llama-tiny", file, "bfloat16")
    assert runner_of(file, dtype="float32")[0].dtype == "float32"


def test_weights_that_are_there_are_not_read(tmp_path: Path) -> None:
    made(small_llama(initializer_range=0.02), attention="sdpa").save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    assert runner_of(tmp_path)[0].dtype == "float32"


@pytest.mark.parametrize("name", EXACT)
def test_every_architecture_gives_the_tokens_of_transformers(name: str, tmp_path: Path) -> None:
    EXACT[name]().save_pretrained(tmp_path)
    model = random_model(tmp_path / "config.json", "float32", torch.device("cpu"), seed=1)
    asked = random_prompt(2, 40)
    tokens = Paged(model).greedy([asked], 20)
    model.set_attn_implementation("eager")
    assert tokens == [generate(model, asked, 20)]


@pytest.mark.parametrize("name", ["deepseek_v3", "falcon", "doge", "openai-gpt"])
def test_what_can_not_be_right_is_refused_here_too(name: str, tmp_path: Path) -> None:
    config, message = REFUSED[name]
    config().save_pretrained(tmp_path)
    with pytest.raises(UsageError) as raised:
        random_model(tmp_path / "config.json", device=torch.device("cpu"))
    assert message in str(raised.value)


def test_logits_that_are_no_numbers_are_told_as_such(tmp_path: Path) -> None:
    small_llama(initializer_range=0.02, rms_norm_eps=float("nan")).save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="llama can't be run: its own logits are NaN"):
        random_model(tmp_path / "config.json", device=torch.device("cpu"))


@pytest.mark.parametrize("token", [-1, 10**8])
def test_an_end_token_that_can_not_be_sampled_is_told_at_the_start(tmp_path: Path, token: int) -> None:
    small_llama(initializer_range=0.02, eos_token_id=token).save_pretrained(tmp_path)
    _, lines = runner_of(tmp_path)
    assert [line for line in lines if f"never samples its end token {token}: it has the tokens 0 to" in line]


@pytest.mark.parametrize(
    "sizes",
    [{"hidden_size": 1 << 16, "intermediate_size": 1 << 18, "num_hidden_layers": 80}, {"vocab_size": 10**12}],
)
def test_what_does_not_fit_is_refused_with_the_numbers_before_it_is_made(
    tmp_path: Path, sizes: dict[str, int]
) -> None:
    small_llama(**sizes).save_pretrained(tmp_path)
    for refuse in (random_model, check_config):
        with pytest.raises(
            UsageError, match=r"its weights take [\d,.]+ GiB, .* GiB are free on cpu"
        ) as raised:
            refuse(tmp_path / "config.json")
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("short", "fits"), [(1, False), (0, True)])
def test_weights_and_pool_must_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int, fits: bool
) -> None:
    model = made(small_llama(initializer_range=0.02), attention="sdpa")
    model.save_pretrained(tmp_path)
    needed = sum(each.numel() * 4 for each in model.parameters()) + (1 << 20)
    monkeypatch.setattr("kvarium_engine.model.loader.free_memory", lambda: needed - short)
    for load in (load_model, random_model):
        place = tmp_path if load is load_model else tmp_path / "config.json"
        if fits:
            load(place, "float32", torch.device("cpu"), pool_bytes=1 << 20)
        else:
            with pytest.raises(UsageError, match="are free on cpu"):
                load(place, "float32", torch.device("cpu"), pool_bytes=1 << 20)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"load_format": "gguf"}, "--load-format is auto or dummy, not 'gguf'"),
        ({"load_format": "auto"}, "--load-format dummy runs it with random ones"),
        ({"model": None}, "--load-format is a model's: give one with --model"),
    ],
)
def test_wrong_options_are_told_in_one_line(folder: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        resolve(Options(**{"model": str(folder), "load_format": "dummy", **given}))  # type: ignore[arg-type]
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_config_that_is_none_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(UsageError, match=r"config\.json is not the config of a decoder"):
        resolve(options(tmp_path))
