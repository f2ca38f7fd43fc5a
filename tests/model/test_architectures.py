"""Architectures: each gives on a paged cache the tokens that transformers' own ``generate`` gives, or it is refused."""

import random
from functools import cache
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from kvarium_engine.errors import UsageError
from kvarium_engine.model import self_check
from kvarium_engine.model.attention import NAME, WINDOW_OF_CONFIG
from kvarium_engine.model.choice import choose_model
from kvarium_engine.model.dry_run import dry_run
from kvarium_engine.model.loader import check_config, load_model
from kvarium_engine.model.self_check import check_model
from tests.model.architectures import EXACT, POSITIONS, REFUSED, VARIANTS, VOCABULARY, WINDOW, WINDOWS
from tests.model.paged import Paged, generate
from tests.model.tiny import made, small_llama

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TOKENS = 40

each = pytest.mark.parametrize("name", EXACT)


def prompt(seed: int, count: int) -> tuple[int, ...]:
    return tuple(random.Random(seed * 1009 + i).randrange(2, VOCABULARY) for i in range(count))


PROMPTS = [prompt(seed, count) for seed, count in enumerate((1, WINDOW, 31, 80))]


@cache
def paged(name: str) -> PreTrainedModel:
    return made(EXACT[name]())


@cache
def plain(name: str) -> PreTrainedModel:
    return made(EXACT[name](), attention="eager")


@cache
def expected(name: str, asked: tuple[int, ...], tokens: int = TOKENS) -> list[int]:
    """What transformers makes of a prompt."""
    return generate(plain(name), asked, tokens)


def engine_of(name: str, block_size: int = 16, budget: int = 2048) -> Paged:
    return Paged(paged(name), num_blocks=max(8, 1024 // block_size), block_size=block_size, budget=budget)


@each
def test_these_models_say_something(name: str) -> None:
    """A model that repeats one token would hide what goes wrong."""
    answers = [expected(name, asked) for asked in PROMPTS]
    assert all(len(set(answer)) >= TOKENS // 4 for answer in answers)
    assert len({tuple(answer[-8:]) for answer in answers}) == len(answers)


@each
def test_alone_up_to_the_last_position(name: str) -> None:
    for asked in (PROMPTS[0], PROMPTS[2]):
        assert engine_of(name).greedy([asked], TOKENS) == [expected(name, asked)]
    tokens = POSITIONS - len(PROMPTS[3])
    assert engine_of(name).greedy([PROMPTS[3]], tokens) == [expected(name, PROMPTS[3], tokens)]


@each
def test_side_by_side_in_chunks_that_end_within_a_window(name: str) -> None:
    for budget in (7, 24):
        engine = engine_of(name, block_size=8, budget=budget)
        assert engine.greedy(PROMPTS, TOKENS) == [expected(name, asked) for asked in PROMPTS]
        engine.assert_nothing_leaks()


@each
def test_block_sizes(name: str, size: str) -> None:
    for block_size in BLOCK_SIZES if size == "full" else (1, 64):
        engine = engine_of(name, block_size=block_size)
        assert engine.greedy(PROMPTS, TOKENS) == [expected(name, asked) for asked in PROMPTS], block_size
        engine.assert_nothing_leaks()


@each
def test_a_prefix_hit(name: str) -> None:
    common = prompt(50, 48)
    first, second = common + prompt(51, 9), common + prompt(52, 20)
    engine = engine_of(name)
    assert engine.greedy([first], TOKENS) == [expected(name, first)]
    assert engine.greedy([second], TOKENS) == [expected(name, second)]
    assert engine.operations()["reuse", "prefix_hit"] == 3
    assert engine.greedy([first, second], TOKENS) == [expected(name, first), expected(name, second)]


@each
def test_three_samples_of_one_prompt_copy_on_write(name: str) -> None:
    asked = prompt(60, 41)
    engine = engine_of(name)
    (answers,) = engine.answers(engine.ask(asked, TOKENS, n=3))
    assert answers == [expected(name, asked)] * 3
    assert engine.operations()["copy", "write"] == 2
    engine.assert_nothing_leaks()


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "mixtral"])
def test_after_preemptions(name: str) -> None:
    prompts = [prompt(70 + i, 20 + i) for i in range(4)]
    engine = Paged(paged(name), num_blocks=11)
    assert engine.greedy(prompts, TOKENS) == [expected(name, asked) for asked in prompts]
    assert engine.operations()["free", "preempted"] > 0


@pytest.mark.parametrize("name", WINDOWS)
def test_the_windows_of_these_models_matter(name: str) -> None:
    config = EXACT[name]()
    config.sliding_window = POSITIONS
    assert generate(made(config, attention="eager"), PROMPTS[3], TOKENS) != expected(name, PROMPTS[3])


@pytest.mark.parametrize("cap", ["attn_logit_softcapping", "final_logit_softcapping"])
def test_the_caps_of_gemma2_matter(cap: str) -> None:
    config = EXACT["gemma2"]()
    setattr(config, cap, None)
    with torch.inference_mode():
        ids = torch.tensor([PROMPTS[3]])
        without = made(config, attention="eager")(ids).logits
        assert (without - plain("gemma2")(ids).logits).abs().max() > 0.1


# -- what is loaded -----------------------------------------------------------------------------------------------


@each
def test_from_its_folder(name: str, tmp_path: Path) -> None:
    """The config as it is stored tells the sizes, and the self-check lets the model pass."""
    plain(name).save_pretrained(tmp_path)
    assert choose_model(str(tmp_path)).geometry.max_position_embeddings == POSITIONS
    model = load_model(tmp_path, device=torch.device("cpu"))
    assert Paged(model).greedy([PROMPTS[2]], TOKENS) == [expected(name, PROMPTS[2])]


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_from_their_folder_in_chunks(name: str, tmp_path: Path) -> None:
    own = made(VARIANTS[name](), attention="eager")
    own.save_pretrained(tmp_path)
    assert choose_model(str(tmp_path)).geometry.max_position_embeddings == POSITIONS
    engine = Paged(load_model(tmp_path, device=torch.device("cpu")), block_size=8, budget=24)
    assert engine.greedy(PROMPTS, TOKENS) == [generate(own, asked, TOKENS) for asked in PROMPTS]


def test_a_window_that_only_the_mask_knows_is_taken_from_the_config_if_that_is_right(tmp_path: Path) -> None:
    """And marked in the attention; an attention that is told its window stays as it is."""
    made(VARIANTS["phimoe, whose window only the mask knows"](), attention="eager").save_pretrained(tmp_path)
    marks = [WINDOW_OF_CONFIG in vars(layer.self_attn) for layer in loaded(tmp_path).model.layers]
    assert marks == [True, True]
    model = made(EXACT["mistral"]())
    check_model(model)
    assert not any(WINDOW_OF_CONFIG in vars(module) for module in model.modules())


def test_a_window_of_the_config_that_does_not_help_is_not_taken() -> None:
    model = a_model(Foreign, sliding_window=WINDOW)
    with pytest.raises(UsageError, match="its logits there differ"):
        check_model(model)
    assert not any(WINDOW_OF_CONFIG in vars(module) for module in model.modules())


def loaded(folder: Path) -> PreTrainedModel:
    return load_model(folder, device=torch.device("cpu"))


@pytest.mark.parametrize("exact_bytes", [self_check.EXACT_BYTES, 0])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@each
def test_rounding_is_no_difference(
    name: str, dtype: str, exact_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_check, "EXACT_BYTES", exact_bytes)
    check_model(made(EXACT[name]()).to(getattr(torch, dtype)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_right_is_refused_by_name(name: str, tmp_path: Path) -> None:
    config, message = REFUSED[name]
    made(config(), attention="eager").save_pretrained(tmp_path)
    with pytest.raises(UsageError) as raised:
        load_model(tmp_path, device=torch.device("cpu"))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["gpt_oss", "doge"])
def test_attention_that_is_not_done_is_refused_before_the_weights_are_read(name: str, tmp_path: Path) -> None:
    """By the config alone: its forward is tried without numbers."""
    config, message = REFUSED[name]
    config().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UsageError) as raised:
        load_model(tmp_path, device=torch.device("cpu"))
    assert message in str(raised.value)
    with pytest.raises(UsageError) as raised:
        check_config(tmp_path / "config.json")
    assert message in str(raised.value)


@pytest.mark.parametrize("name", [*EXACT, *VARIANTS])
def test_a_forward_without_numbers_refuses_none_of_these_and_leaves_their_config(name: str) -> None:
    config = {**EXACT, **VARIANTS}[name]()
    config._attn_implementation = NAME
    before = config.to_dict()
    dry_run(config)
    assert config.to_dict() == before
    assert config._attn_implementation == NAME


# -- the self-check -----------------------------------------------------------------------------------------------


class Foreign(LlamaForCausalLM):
    """A Llama that keeps a state of its own from token to token, as recurrent layers do."""

    def forward(self, *args: object, **kwargs: object) -> CausalLMOutputWithPast:
        out = super().forward(*args, **kwargs)
        out.logits = out.logits.cumsum(dim=1)
        return out


class WithoutRows(LlamaForCausalLM):
    """A Llama that can't be told which logits are wanted, as older models."""

    def forward(  # type: ignore[override]
        self, input_ids: torch.Tensor, position_ids: torch.Tensor | None = None, **kwargs: object
    ) -> CausalLMOutputWithPast:
        return super().forward(input_ids=input_ids, position_ids=position_ids, **kwargs)


class OwnPositions(LlamaForCausalLM):
    """A Llama that counts positions by itself."""

    def forward(self, *args: object, **kwargs: object) -> CausalLMOutputWithPast:
        kwargs["position_ids"] = None
        return super().forward(*args, **kwargs)


def a_model(kind: type[LlamaForCausalLM], attention: str = NAME, **changes: object) -> PreTrainedModel:
    torch.manual_seed(0)
    config = small_llama(**changes)
    config._attn_implementation = attention
    return kind(config).eval()


@pytest.mark.parametrize("kind", [Foreign, OwnPositions])
def test_a_model_that_no_list_knows_is_refused_by_its_logits(kind: type[LlamaForCausalLM]) -> None:
    with pytest.raises(UsageError, match="llama can't be run on a paged cache: its logits there differ"):
        check_model(a_model(kind))


def test_a_window_that_only_the_mask_knows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide: for the check it is narrowed, in the config and in the layers."""
    config = EXACT["mistral"]()
    config.sliding_window = 200
    model = made(config)
    check_model(model)
    attention = type(model.model.layers[0].self_attn)
    whole = attention.forward

    def without(self: torch.nn.Module, *args: object, **kwargs: object) -> object:
        config, self.config = self.config, small_llama(attn_implementation=self.config._attn_implementation)
        try:
            return whole(self, *args, **kwargs)
        finally:
            self.config = config

    monkeypatch.setattr(attention, "forward", without)
    with pytest.raises(UsageError, match="mistral can't be run on a paged cache: its logits there differ"):
        check_model(model)


def test_a_layer_that_goes_round_the_interface_is_named() -> None:
    model = made(small_llama())
    model.model.layers[1].self_attn.forward = lambda hidden_states, **kwargs: (hidden_states, None)
    with pytest.raises(UsageError, match="layer 1 of 2 keeps no keys and values"):
        check_model(model)


def test_a_model_that_makes_all_logits_has_the_wanted_ones_picked() -> None:
    model = a_model(WithoutRows)
    check_model(model)
    own = a_model(LlamaForCausalLM, "eager")
    engine = Paged(model, budget=24)
    assert engine.greedy(PROMPTS, TOKENS) == [generate(own, asked, TOKENS) for asked in PROMPTS]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_check_leaves_no_trace(dtype: torch.dtype) -> None:
    model = made(EXACT["gemma2"]()).to(dtype)
    model.generation_config.update(
        max_new_tokens=1, eos_token_id=list(range(97)), stop_strings="x", num_beams=3
    )
    generation = model.generation_config.to_dict()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config = model.config.to_dict()
    torch.manual_seed(7)
    random.seed(7)
    before = torch.get_rng_state(), random.getstate()
    check_model(model)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert model.config.to_dict() == config
    assert model.generation_config.to_dict() == generation
    assert model.dtype == dtype
    assert model.config._attn_implementation == NAME
    assert [layer.self_attn.sliding_window for layer in model.model.layers] == [WINDOW, None, WINDOW]
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_a_difference_of_one_logit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = self_check.forward

    def nearly(*args: object) -> torch.Tensor:
        logits = whole(*args)  # type: ignore[arg-type]
        logits[-1, 5] += 0.02 * logits.abs().max()
        return logits

    monkeypatch.setattr(self_check, "forward", nearly)
    with pytest.raises(
        UsageError, match=r"differ from its own by 0\.\d+ %, rounding in float32 explains 0\.1 %"
    ):
        check_model(made(small_llama()))
