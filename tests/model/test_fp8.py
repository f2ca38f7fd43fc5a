"""The FP8 (e4m3) cache: how far a number is off, what is too large, and that nothing else changes an answer."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from kvarium_engine.errors import UsageError
from kvarium_engine.kernels.copy_blocks import copy_blocks
from kvarium_engine.kernels.fp8 import FP8, LARGEST, dequantized, quantized
from kvarium_engine.kernels.paged_attention import decode_attention, prefill_attention
from kvarium_engine.kernels.write_kv import write_kv
from kvarium_engine.model.kv_scales import kv_scales
from kvarium_engine.model.loader import load_model
from kvarium_engine.model.tokenizer import load_tokenizer
from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.options import Options, resolve
from kvarium_engine.runners import make_runner
from kvarium_engine.vocabulary import Message
from tests.model.paged import Paged, all_logits, random_prompt
from tests.model.test_smollm2 import QUESTIONS, SYSTEM
from tests.model.tiny import made, small_llama

SCALES = [1.0, 0.02, 3.7]


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return made(small_llama())


# -- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_each_number_is_off_by_a_sixteenth_at_most(scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    size = 2.0 ** torch.empty(100_000).uniform_(-14, 8.8, generator=generator)
    numbers = size * torch.randn(100_000, generator=generator).sign() * scale
    numbers = torch.cat([numbers, torch.tensor([0.0, LARGEST * scale, -LARGEST * scale])])
    found = dequantized(quantized(numbers, scale), scale, torch.float32).double()
    exact = numbers.double()
    # Half a step: 1/16 of the number, and below 2^-6 of the scale the half of 2^-9. And a little for float32.
    bound = torch.maximum(exact.abs() / 16, torch.tensor(scale * 2.0**-10, dtype=torch.float64)) * (1 + 1e-6)
    assert ((found - exact).abs() <= bound).all()
    assert (found - exact).abs().max() > 0.9 * LARGEST * scale / 2 / 16, (
        "the bound is about as tight as it can be"
    )


def test_what_is_an_fp8_number_stays_as_it_is() -> None:
    codes = torch.arange(256, dtype=torch.uint8).view(FP8)
    numbers = codes.float()
    assert numbers[~numbers.isnan()].abs().max() == LARGEST
    assert numbers.isnan().sum() == 2
    again = quantized(numbers, 1.0).float()
    assert torch.equal(again.nan_to_num(500), numbers.nan_to_num(500))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_too_large_is_448_and_nothing_gets_no_number(scale: float, dtype: torch.dtype) -> None:
    numbers = torch.tensor([465.0, -465.0, 1e4, -6e4, torch.inf, -torch.inf]).to(dtype) * scale
    found = quantized(numbers, scale).float()
    assert found.tolist() == [448, -448, 448, -448, 448, -448]
    assert quantized(torch.tensor([torch.nan]), scale).isnan().all(), "a forward that failed shows"


def test_through_a_pool_and_a_copy_of_its_blocks(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    keys, values = torch.randn(2, 40, 2, 8, generator=generator) * 3
    pool = torch.zeros(2, 3, 8, 16, 2, 8, dtype=FP8)  # three layers; the second is written
    places = torch.tensor([5 * 16 + i for i in range(16)] + [2 * 16 + i for i in range(16)] + list(range(8)))
    write_kv(keys, values, pool[0, 1], pool[1, 1], places, (0.5, 2.0))
    copy_blocks(pool, [5, 2], [7, 1])
    for number, (new, scale) in enumerate(((keys, 0.5), (values, 2.0))):
        flat = dequantized(pool[number, 1].flatten(0, 1), scale, torch.float32)
        exact = dequantized(quantized(new, scale), scale, torch.float32)
        assert torch.equal(flat[places], exact)
        assert torch.equal(flat[7 * 16 : 8 * 16], exact[:16])
        assert torch.equal(flat[1 * 16 : 2 * 16], exact[16:32])
    assert not pool[:, [0, 2]].float().any(), "other layers are as they were"


@pytest.mark.parametrize("softcap", [None, 4.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_reads_what_the_bytes_mean(softcap: float | None, dtype: torch.dtype, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scales = (0.25, 0.5)
    numbers = torch.randn(2, 6, 8, 2, 16, generator=generator)
    small = [quantized(part, scale) for part, scale in zip(numbers, scales, strict=True)]
    wide = [dequantized(part, scale, dtype) for part, scale in zip(small, scales, strict=True)]
    context = torch.randperm(48, generator=generator)[:20].view(2, 10)
    rows = torch.randn(2, 8, 16, generator=generator).to(dtype)
    mask = torch.rand(2, 10, generator=generator) < 0.8
    mask[:, 0] = True
    for attend, places in ((decode_attention, context), (prefill_attention, context[0])):
        found = attend(rows, *small, places, mask, 0.25, softcap, scales)
        assert found.dtype == dtype
        assert torch.equal(found, attend(rows, *wide, places, mask, 0.25, softcap))


# -- the engine -------------------------------------------------------------------------------------------------------


def engine(model: PreTrainedModel, **more: int) -> Paged:
    return Paged(model, kv_dtype=FP8, **more)


def test_a_pool_of_fp8_takes_a_quarter_of_float32(model: PreTrainedModel) -> None:
    small, wide = engine(model), Paged(model)
    assert small.runner.cache.pool.nbytes * 4 == wide.runner.cache.pool.nbytes
    assert small.runner.kv_bytes_per_block * 4 == wide.runner.kv_bytes_per_block


def test_chunks_neighbours_and_blocks_change_no_token(model: PreTrainedModel) -> None:
    prompts = [random_prompt(seed, count) for seed, count in enumerate((1, 17, 40, 77))]
    alone = [engine(model).greedy([asked])[0] for asked in prompts]
    assert alone != [Paged(model).greedy([asked])[0] for asked in prompts], "it is FP8"
    assert engine(model).greedy(prompts) == alone
    assert engine(model, block_size=4, num_blocks=512, budget=24).greedy(prompts) == alone


def test_prefix_hits_copies_and_preemptions_change_no_token(model: PreTrainedModel) -> None:
    common = random_prompt(50, 48)
    prompts = [common + random_prompt(51 + i, 9 + 3 * i) for i in range(4)]
    without = [engine(model, caching=False).greedy([asked])[0] for asked in prompts]
    hits = engine(model)
    assert hits.greedy(prompts[:1]) == without[:1]
    assert hits.greedy(prompts[1:]) == without[1:]
    assert hits.operations()["reuse", "prefix_hit"] + hits.operations()["share", "prefix_hit"] >= 9
    copies = engine(model)
    assert copies.answers(copies.ask(prompts[0], n=3)) == [[without[0]] * 3]
    assert copies.operations()["copy", "write"] == 2
    tight = engine(model, num_blocks=24)
    assert tight.greedy(prompts) == without
    assert tight.operations()["free", "preempted"] > 0
    tight.assert_nothing_leaks()


# -- the scales of a checkpoint ---------------------------------------------------------------------------------------


def saved(model: PreTrainedModel, folder: Path, scales: dict[str, float]) -> Path:
    """The model's folder with scales beside its weights."""
    model.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    weights |= {f"model.layers.{name}": torch.tensor(scale) for name, scale in scales.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def runner_of(folder: Path, **more: object) -> tuple[TorchRunner, list[str]]:
    said: list[str] = []
    asked = Options(model=str(folder), num_blocks=16, **more)  # type: ignore[arg-type]
    runner, _ = make_runner(asked, resolve(asked), said.append)
    assert isinstance(runner, TorchRunner)
    return runner, said


TOLD = {
    "0.self_attn.k_scale": 0.5,
    "0.self_attn.v_scale": 0.25,
    "1.self_attn.attn.k_scale": 2.0,
    "1.self_attn.attn.v_scale": 1.5,
}


def test_the_scales_of_a_checkpoint_are_used(model: PreTrainedModel, tmp_path: Path) -> None:
    folder = saved(model, tmp_path / "m", TOLD)
    runner, said = runner_of(folder, kv_cache_dtype="fp8")
    assert runner.cache.pool.dtype == FP8
    assert runner.cache.scales == [(0.5, 0.25), (2.0, 1.5)]
    assert "keys and values are kept as fp8_e4m3; their scales are those of the checkpoint" in said
    asked = random_prompt(1, 40)
    exact = all_logits(TorchRunner(model, None, "test", 16), asked)
    found = all_logits(runner, asked)
    plain = all_logits(TorchRunner(model, None, "test", 16, kv_dtype=FP8), asked)
    assert torch.nn.functional.cosine_similarity(found, exact).mean() > 0.95
    assert not torch.equal(found, plain)


def test_without_fp8_and_without_scales_nothing_changes(model: PreTrainedModel, tmp_path: Path) -> None:
    runner, said = runner_of(saved(model, tmp_path / "told", TOLD))
    assert runner.cache.pool.dtype == torch.float32
    assert not any("scales" in line for line in said)
    runner, said = runner_of(saved(model, tmp_path / "bare", {}), kv_cache_dtype="fp8_e4m3")
    assert runner.cache.scales == [(1.0, 1.0)] * 2
    assert "keys and values are kept as fp8_e4m3; their scales are 1, as the checkpoint tells none" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"1.self_attn.attn.v_scale": None}, "but no v_scale of layer 1"),
        ({"0.self_attn.k_scale": 0.0}, "the k_scale of layer 0 in"),
        ({"0.self_attn.k_scale": float("nan")}, "is nan: it is a number above 0"),
    ],
)
def test_scales_that_make_no_sense_are_refused(
    model: PreTrainedModel, tmp_path: Path, changes: dict[str, float | None], message: str
) -> None:
    told = {name: scale for name, scale in (TOLD | changes).items() if scale is not None}
    folder = saved(model, tmp_path / "m", told)
    with pytest.raises(UsageError) as raised:
        kv_scales(folder, 2)
    assert message in str(raised.value)


# -- the real model ---------------------------------------------------------------------------------------------------


def test_the_real_models_logits_stay_close(smollm2: Path) -> None:
    """Measured: a mean divergence of 0.009, mean cosine 0.998, least cosine 0.96, 85 % of the likeliest tokens equal."""
    model, tokenizer = load_model(smollm2, device=torch.device("cpu")), load_tokenizer(smollm2)
    assert tokenizer is not None
    exact, found = [], []
    for question in QUESTIONS[:3]:
        asked = tokenizer.chat([Message("system", SYSTEM), Message("user", question)])
        exact.append(all_logits(TorchRunner(model, None, "test", 16), asked))
        found.append(all_logits(TorchRunner(model, None, "test", 16, kv_dtype=FP8), asked))
    wide, small = torch.cat(exact), torch.cat(found)
    divergence = torch.nn.functional.kl_div(
        small.log_softmax(-1), wide.log_softmax(-1), reduction="none", log_target=True
    ).sum(-1)
    assert 0.001 < divergence.mean() < 0.03
    cosine = torch.nn.functional.cosine_similarity(small, wide)
    assert cosine.mean() > 0.995
    assert cosine.min() > 0.9
    assert (small.argmax(-1) == wide.argmax(-1)).float().mean() > 0.75
    capital = tokenizer.chat([Message("user", QUESTIONS[0])])
    (answers,) = (small_engine := engine(model)).answers(small_engine.ask(capital, 30, ignore_eos=False))
    assert "".join(map(tokenizer.piece, answers[0])) == "The capital of France is Paris.<|im_end|>"
