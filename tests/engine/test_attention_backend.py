"""Which kernels run, and what is said where those that are asked for can't."""

import importlib.util

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.kernels import backend
from kvarium_engine.kernels.backend import choose_backend
from kvarium_engine.options import Options, resolve


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Triton, where nothing is interpreted."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert backend.importlib.util.find_spec("triton") == "triton"


def test_by_itself_a_card_runs_tritons_and_a_cpu_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_backend("auto", "cuda") == "triton"
    assert choose_backend("auto", "cpu") == "torch"
    assert choose_backend("auto", "cuda", block_size=4) == "torch"
    assert choose_backend("auto", "cuda", head_dim=512) == "torch"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert (choose_backend("auto", "cuda"), choose_backend("auto", "cpu")) == ("torch", "torch")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv("TRITON_INTERPRET")
    assert choose_backend("auto", "cuda") == "torch"


def test_what_is_asked_for_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_backend("torch", "cuda") == "torch"
    assert choose_backend("torch", "cpu", block_size=1, head_dim=999) == "torch"
    assert choose_backend("triton", "cuda", block_size=8, head_dim=256) == "triton"
    for told in ("1", "true", "ON"):
        monkeypatch.setenv("TRITON_INTERPRET", told)
        assert choose_backend("triton", "cpu") == "triton"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("flash", "cuda"), "--attention-backend is auto, triton, torch, not 'flash'"),
        (("triton", "cpu"), "needs a CUDA device, and this is cpu (with TRITON_INTERPRET=1"),
        (
            ("triton", "cuda", 4),
            "takes blocks of 8 to 256 tokens, not --block-size 4; --attention-backend torch runs here",
        ),
        (("triton", "cuda", 16, 320), "takes heads of at most 256 numbers, and this model's have 320"),
    ],
)
def test_what_can_not_run_is_refused_in_one_line(given: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        choose_backend(*given)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_without_triton_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        UsageError, match=r"triton needs triton, not installed here: pip install 'kvarium\[engine\]'"
    ):
        choose_backend("triton", "cuda")


def test_a_run_without_a_model_has_no_kernels() -> None:
    with pytest.raises(UsageError, match="--attention-backend is a model's: give one with --model"):
        resolve(Options(attention_backend="torch"))
