"""The whole engine with the Triton kernels, interpreted: its tokens are those with torch's, whatever happens to the blocks."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from transformers import PreTrainedModel

from kvarium_engine.kernels import triton_decode, triton_prefill
from kvarium_engine.kernels.backend import Backend
from kvarium_engine.kernels.fp8 import FP8, movable
from kvarium_engine.model.llama2c import BOS, load_llama2c
from tests.model.architectures import EXACT
from tests.model.paged import Paged, random_prompt
from tests.model.tiny import made

pytestmark = pytest.mark.timeout(1800)
"""In full size a test interprets some thousand programs of 10 ms, of a processor that others use too."""

Run = tuple[list[list[list[int]]], Counter[tuple[str, str]]]


def run(model: PreTrainedModel, backend: Backend, kv_dtype: torch.dtype | None, size: str) -> Run:
    """Answers, and the operations on blocks, where prompts come in chunks and share blocks, fork, copy and preempt one another."""
    blocks, max_tokens = (20, 16) if size == "full" else (9, 6)
    paged = Paged(model, num_blocks=blocks, block_size=8, budget=20, kv_dtype=kv_dtype, backend=backend)
    # What was never written is no number in any dtype.
    movable(paged.runner.cache.pool).fill_(0x7F if kv_dtype == FP8 else torch.nan)
    common = random_prompt(1, 19)
    first = paged.answers(paged.ask(common, 2))
    more = [
        paged.ask(common + random_prompt(2, 14), max_tokens),
        paged.ask(common + random_prompt(3, 3), max_tokens, n=2),
        paged.ask(random_prompt(4, 1), max_tokens, beam_width=2),
    ]
    if size == "full":
        more += [
            paged.ask(random_prompt(5, 37), max_tokens, n=3, temperature=1.0, seed=6),
            paged.ask(random_prompt(7, 60), max_tokens),
        ]
    answers = first + paged.answers(*more)
    paged.assert_nothing_leaks()
    return answers, paged.operations()


def check(model: PreTrainedModel, kv_dtype: torch.dtype | None, size: str) -> None:
    expected, operations = run(model, "torch", kv_dtype, size)
    found, same_operations = run(model, "triton", kv_dtype, size)
    assert found == expected
    assert same_operations == operations
    assert operations["share", "prefix_hit"] + operations["reuse", "prefix_hit"] > 0
    for operation in (("share", "fork"), ("copy", "write"), ("free", "preempted"), ("evict", "allocate")):
        assert operations[operation] > 0, f"nothing was seen of {operation}: {operations}"


def few(kind: str, size: str) -> PreTrainedModel:
    """A small model, and where the size is small with as little of it as its kind needs: each program takes 10 ms."""
    config = EXACT[kind]()
    if size == "small":
        config.num_hidden_layers = 2 if kind == "gemma2" else 1
        if kind != "llama":
            config.num_attention_heads = 2
            config.num_key_value_heads = 1
    return made(config)


@pytest.mark.parametrize(
    ("kind", "kv_dtype"),
    [
        ("gemma2", None),
        ("llama", FP8),
        pytest.param("gpt2", None, marks=pytest.mark.slow),
        pytest.param("mistral", FP8, marks=pytest.mark.slow),
    ],
)
def test_tokens_are_those_of_torch_through_chunks_hits_forks_copies_and_preemptions(
    kind: str, kv_dtype: torch.dtype | None, size: str
) -> None:
    check(few(kind, size), kv_dtype, size)


@pytest.mark.parametrize("kv_dtype", [None, FP8], ids=["kept as they are", "kept in FP8"])
def test_a_trained_models_tokens_are_those_of_torch(
    shared_data: Callable[[str], Path], kv_dtype: torch.dtype | None, size: str
) -> None:
    model = load_llama2c(shared_data("stories260K.bin"))
    if size == "full" and kv_dtype is None:
        check(
            model, kv_dtype, "small"
        )  # of five layers with four heads each: the large one is the small models'
    asked, length = [BOS, 403, 407, 261], 60 if size == "full" else 4
    told = Paged(model, num_blocks=32, kv_dtype=kv_dtype, backend="triton").greedy([asked], length)
    assert told == Paged(model, num_blocks=32, kv_dtype=kv_dtype).greedy([asked], length)


def test_all_attention_is_tritons_and_no_context_is_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a context was gathered")

    calls: Counter[str] = Counter()

    def count(file: ModuleType, name: str) -> None:
        kernel = getattr(file, name)

        def counted(*given: object) -> object:
            calls[name] += 1
            return kernel(*given)

        monkeypatch.setattr(file, name, counted)

    count(triton_decode, "decode_attention")
    count(triton_prefill, "prefill_attention")
    model = few("llama", "small")
    prompts = [random_prompt(9, 10), random_prompt(10, 3)]
    expected = Paged(model).greedy(prompts, 3)
    monkeypatch.setattr("kvarium_engine.model.batch.decode_context", refuse)
    monkeypatch.setattr("kvarium_engine.model.attention.attend_by_slots", refuse)
    assert Paged(model, backend="triton").greedy(prompts, 3) == expected
    # One layer; a step with both prompts, two with both decodes.
    assert calls == {"prefill_attention": 1, "decode_attention": 2}
