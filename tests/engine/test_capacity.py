"""`kvarium capacity`, and the sum that it shares with the start-up report: it is that of real servers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvarium_engine.capacity import GIB, Capacity
from kvarium_engine.capacity_command import Asked, CapacitySum, capacity_of
from kvarium_engine.errors import UsageError
from kvarium_engine.model.geometry import geometry_of
from kvarium_engine.model.weights import parameters_of, weight_bytes
from kvarium_engine.options import Options, resolve

KVARIUM = [sys.executable, "-W", "error", "-m", "kvarium.cli"]

LLAMA_8B = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
LLAMA_13B = {
    "model_type": "llama",
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "torch_dtype": "float16",
}
QWEN3_30B = {
    "model_type": "qwen3_moe",
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
SMOLLM2 = {
    "model_type": "llama",
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
GPT2 = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_head": 12,
    "n_embd": 768,
    "vocab_size": 50257,
    "n_positions": 1024,
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path / "llama-8b", LLAMA_8B)


def written(folder: Path, config: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def asked(model: Path, **more: Any) -> CapacitySum:
    return capacity_of(Asked(str(model), **more))


# -- the numbers of real servers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "per_token", "gib", "blocks", "tokens", "length", "concurrency"),
    [
        (QWEN3_30B, 98_304, "42.54", 29_041, 464_656, 8192, "56.72x"),
        (LLAMA_8B, 131_072, "19.24", 9_849, 157_584, 4096, "38.47x"),
    ],
)
def test_the_sum_is_that_of_a_real_servers_log(
    config: dict[str, Any],
    per_token: int,
    gib: str,
    blocks: int,
    tokens: int,
    length: int,
    concurrency: str,
    tmp_path: Path,
) -> None:
    # The log rounds to a hundredth of a GiB: the memory is what rounds to it and ends in the block that it names.
    memory = blocks * 16 * per_token + 1000
    assert f"{memory / GIB:.2f}" == gib
    found = asked(written(tmp_path / "m", config), kv_cache_memory_bytes=memory, max_model_len=length)
    facts = found.facts()
    assert facts["kv_cache_bytes_per_token"] == per_token
    assert (facts["num_gpu_blocks"], facts["kv_cache_tokens"]) == (blocks, tokens)
    assert f"{facts['maximum_concurrency']:.2f}x" == concurrency
    assert found.pool.lines() == [
        f"KV cache: {gib} GiB, {blocks:,} blocks of 16 = {tokens:,} tokens ({per_token:,} bytes a token)",
        f"maximum concurrency for {length:,} tokens per request: {concurrency}",
    ]


@pytest.mark.parametrize(("config", "gib", "blocks"), [(QWEN3_30B, 42.54, 29_041), (LLAMA_8B, 19.24, 9_849)])
def test_the_memory_as_the_log_rounds_it_encloses_its_blocks(
    config: dict[str, Any], gib: float, blocks: int, tmp_path: Path
) -> None:
    folder = written(tmp_path / "m", config)
    low, high = (
        asked(folder, kv_cache_memory_bytes=int((gib + rest) * GIB)).pool.num_blocks
        for rest in (-0.005, 0.005)
    )
    assert low <= blocks <= high < low + 8


def test_llama_8b_takes_128_kib_a_token_and_2_mib_a_copy_on_write(config: Path) -> None:
    pool = asked(config, max_model_len=8192, kv_cache_memory_bytes=8 * GIB).pool
    assert pool.bytes_per_token == 2 * 32 * 8 * 128 * 2 == 128 << 10
    assert pool.bytes_per_block == 2 << 20
    assert pool.contiguous_bytes == GIB
    assert pool.contiguous_requests == 8
    idle = pool.contiguous_requests * (8192 - 1000) * pool.bytes_per_token
    assert round(idle / GIB) == 7


def test_llama_13b_reserves_some_1_7_gb_for_2048_tokens(tmp_path: Path) -> None:
    facts = asked(written(tmp_path / "m", LLAMA_13B), max_model_len=2048).facts()
    assert facts["contiguous_bytes_per_request"] == 2 * 40 * 40 * 128 * 2048 * 2 == 1_677_721_600


def test_a_request_counts_whole_blocks_as_vllm_counts_them() -> None:
    assert Capacity(100, 16, 1024, 17).maximum_concurrency == 50.0
    assert Capacity(100, 16, 1024, 16).maximum_concurrency == 100.0
    assert Capacity(3, 16, 1024, 64).maximum_concurrency == 0.75


@pytest.mark.parametrize("block_size", [1, 2, 4, 8, 16, 32, 64, 128, 256])
def test_every_block_size_holds_as_many_tokens_but_for_the_last_block(block_size: int, config: Path) -> None:
    memory = 10**9
    pool = asked(config, block_size=block_size, kv_cache_memory_bytes=memory).pool
    assert 0 <= memory - pool.bytes < pool.bytes_per_block == block_size * (128 << 10)
    assert pool.maximum_concurrency == pytest.approx(pool.tokens / pool.max_model_len)


def test_keys_and_values_in_fp8_take_half(config: Path) -> None:
    plain, small = asked(config), asked(config, kv_cache_dtype="fp8_e4m3")
    assert small.facts() == asked(config, kv_cache_dtype="fp8").facts()
    assert small.facts()["kv_cache_dtype"] == "fp8_e4m3"
    assert 2 * small.pool.bytes_per_token == plain.pool.bytes_per_token
    assert small.pool.num_blocks == 2 * plain.pool.num_blocks
    assert small.weights == plain.weights


def test_without_a_size_it_is_what_an_engine_without_a_card_takes(config: Path) -> None:
    facts = asked(config).facts()
    assert (facts["kv_cache_bytes"], facts["num_gpu_blocks"]) == (GIB, 512)
    assert (facts["max_model_len"], facts["maximum_concurrency"]) == (8192, 1.0)
    assert asked(config, num_blocks=7).pool.num_blocks == 7


# -- the model --------------------------------------------------------------------------------------------------------


def test_a_model_is_a_folder_or_its_config_alone(config: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine.json"
    other.write_text((config / "config.json").read_text())
    names = {asked(path).model.name for path in (config, config / "config.json")}
    assert names == {"llama-8b"}
    assert asked(other).model.name == "mine"
    assert asked(other).pool == asked(config).pool


def test_of_a_model_that_takes_more_than_text_the_text_model_counts(config: Path, tmp_path: Path) -> None:
    wrapped = {"model_type": "sees", "vision_config": {"hidden_size": 7}, "text_config": LLAMA_8B}
    found, plain = asked(written(tmp_path / "sees", wrapped)), asked(config)
    assert (found.pool, found.weights) == (plain.pool, plain.weights)


def test_it_needs_no_torch_and_loads_none(config: Path) -> None:
    program = (
        "import sys; from kvarium_engine.capacity_command import Asked, capacity_of; capacity_of(Asked(sys.argv[1])).table(); "
        "print([name for name in ('torch', 'transformers', 'safetensors') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(config)], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("config", "parameters"),
    [(LLAMA_8B, 8_030_261_248), (SMOLLM2, 134_515_008), (LLAMA_13B, 13_015_864_320)],
)
def test_the_estimate_is_exact_for_llama(config: dict[str, Any], parameters: int) -> None:
    assert parameters_of(config, geometry_of(config)) == parameters


@pytest.mark.parametrize(("config", "billions"), [(QWEN3_30B, 30.53), (GPT2, 0.1244)])
def test_the_estimate_is_close_for_others(config: dict[str, Any], billions: float) -> None:
    assert parameters_of(config, geometry_of(config)) / 1e9 == pytest.approx(billions, rel=0.002)


def safetensors(path: Path, **tensors: tuple[str, list[int], int]) -> None:
    """A file with a header, and no numbers behind it but zeros."""
    header, place = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, length) in tensors.items():
        header[name.replace("__", ".")] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [place, place + length],
        }  # type: ignore[dict-item]
        place += length
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(place))


def test_weights_are_read_from_the_headers_in_the_dtype_they_are_loaded_in(tmp_path: Path) -> None:
    folder = written(tmp_path / "m", SMOLLM2)
    geometry = geometry_of(SMOLLM2)
    safetensors(folder / "model.safetensors", a=("BF16", [3, 4], 24), lm_head__weight=("BF16", [3, 4], 24))
    assert weight_bytes(SMOLLM2, geometry, folder, "bfloat16") == (24, "from the safetensors headers")
    assert weight_bytes(SMOLLM2, geometry, folder, "float32")[0] == 48, "the output is the embedding"
    assert weight_bytes(SMOLLM2 | {"tie_word_embeddings": False}, geometry, folder, "bfloat16")[0] == 48
    safetensors(folder / "model.safetensors", a=("U8", [3, 4], 12), b=("F32", [2], 8))
    assert weight_bytes(SMOLLM2, geometry, folder, "bfloat16")[0] == 12 + 4, "what is quantized stays so"


def test_weights_in_several_files_are_those_of_the_index(tmp_path: Path) -> None:
    folder = written(tmp_path / "m", SMOLLM2)
    for name in ("one", "two", "consolidated"):
        safetensors(folder / f"{name}.safetensors", a=("F16", [5], 10))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    assert asked(folder, dtype="float16").weights == 20
    index.write_text("[]")
    with pytest.raises(UsageError, match="is no index of safetensors"):
        asked(folder)


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 9, (4).to_bytes(8, "little") + b"[{]}"])
def test_a_broken_file_of_weights_is_one_line(content: bytes, tmp_path: Path) -> None:
    folder = written(tmp_path / "m", SMOLLM2)
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(UsageError, match="is no safetensors file") as told:
        asked(folder)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kv_lora_rank": 512}, "it keeps a compressed latent"),
        (
            {"layer_types": ["full_attention", "linear_attention"]},
            "it has layers of another kind: linear_attention",
        ),
        ({"is_encoder_decoder": True}, "it is no decoder alone"),
    ],
)
def test_a_model_that_keeps_something_else_is_refused(
    changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"the sum does not hold for .*: {why}"):
        asked(written(tmp_path / "m", LLAMA_8B | changes))
    assert asked(written(tmp_path / "sliding", LLAMA_8B | {"layer_types": ["sliding_attention"] * 32}))


# -- the command ------------------------------------------------------------------------------------------------------


def kvarium(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*KVARIUM, "capacity", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_table_spells_the_sum_out_and_json_says_the_same(config: Path) -> None:
    given = (config, "--gpu-memory", 80, "--activations-gib", 1.5, "--max-model-len", 8192)
    run = kvarium(*given)
    assert (run.returncode, run.stderr) == (0, "")
    for line in (
        "= 2 (K, V) × 32 layers × 8 KV heads × head_dim 128 × 2 bytes (bfloat16)",
        "a block of 16    2,097,152 bytes (2 MiB): what one copy-on-write copies",
        "weights          14.96 GiB of bfloat16 (estimated from the config)",
        "keys and values  55.54 GiB (what the card has left: 0.9 of 80.00 GiB are 72.00: weights 14.96, largest step 1.50, other 0.00)",
        "blocks           28,437\n",
        "tokens           454,992\n",
        "max_model_len    8,192 of 131,072 positions",
        "paged            maximum concurrency for 8,192 tokens per request: 55.54x",
        "contiguous       1 GiB reserved for each request, used or not: 55 fit",
    ):
        assert line in run.stdout
    facts = json.loads(kvarium(*given, "--json").stdout)
    assert facts == asked(config, gpu_memory=80, activations_gib=1.5, max_model_len=8192).facts()
    assert (facts["num_gpu_blocks"], facts["gpu_memory_utilization"]) == (28_437, 0.9)
    assert (facts["maximum_concurrency"], facts["contiguous_requests"]) == (55.54, 55)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int4"}, "--dtype is auto, float32, bfloat16, float16, not 'int4'"),
        ({"kv_cache_dtype": "fp4"}, "--kv-cache-dtype is auto, fp8, fp8_e4m3, not 'fp4'"),
        ({"block_size": 12}, "--block-size must be a power of two from 1 to 256, not 12"),
        ({"max_model_len": 0}, "--max-model-len must be at least 1, not 0"),
        ({"max_model_len": 200_000}, "--max-model-len 200000 is more than the 131072 positions of llama-8b"),
        ({"gpu_memory": float("nan")}, "--gpu-memory must be a number of GiB, from 0 to 1,048,576, not nan"),
        ({"gpu_memory": 9, "weights_gib": -1}, "--weights-gib must be a number of GiB, from 0"),
        ({"gpu_memory": 0}, "nothing remains for keys and values"),
        (
            {"gpu_memory": 12},
            "nothing remains for keys and values: 0.9 of 12.00 GiB are 10.80: weights 14.96",
        ),
        ({"gpu_memory_utilization": 0.5}, "--gpu-memory-utilization is of a card: give its memory with"),
        ({"activations_gib": 1}, "--activations-gib is of a card: give its memory with --gpu-memory GIB"),
        ({"gpu_memory": 9, "gpu_memory_utilization": 1.5}, "must be above 0 and at most 1, not 1.5"),
        ({"gpu_memory": 9, "num_blocks": 9}, "--gpu-memory and --num-gpu-blocks-override both size the pool"),
        (
            {"kv_cache_memory_bytes": 9, "num_blocks": 9},
            "--num-gpu-blocks-override and --kv-cache-memory-bytes both size the pool: give one",
        ),
        ({"kv_cache_memory_bytes": 99}, "99 bytes have no room for one block"),
    ],
)
def test_what_can_not_be_summed_is_one_clear_line(
    options: dict[str, Any], message: str, config: Path
) -> None:
    with pytest.raises(UsageError) as told:
        asked(config, **options)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_the_command_ends_with_2_and_one_line(config: Path, tmp_path: Path) -> None:
    run = kvarium(config, "--gpu-memory", 12)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("kvarium capacity: nothing remains for keys and values")
    run = kvarium(tmp_path / "absent")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert "known is smollm2-135m" in run.stderr


@pytest.mark.parametrize(("given", "gib"), [("4G", 4), ("1.5GiB", 1.5), ("512MiB", 0.5), (str(GIB), 1)])
def test_the_memory_is_given_as_people_write_it(given: str, gib: float, config: Path) -> None:
    run = kvarium(config, "--kv-cache-memory-bytes", given, "--json")
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)
    assert facts["kv_cache_bytes"] == gib * GIB
    assert (facts["num_gpu_blocks"], facts["sized_by"]) == (gib * 512, "--kv-cache-memory-bytes")


@pytest.mark.parametrize("given", ["4X", "-4G", "all"])
def test_a_memory_that_is_no_size_is_refused_with_examples(given: str, config: Path) -> None:
    run = kvarium(config, f"--kv-cache-memory-bytes={given}")
    assert (run.returncode, run.stdout) == (2, "")
    assert f"{given!r} is no size, as 512MiB, 4G" in " ".join(run.stderr.split())


# -- the engine's options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, -1.0, 1.01, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="--gpu-memory-utilization must be above 0 and at most 1, not"):
        resolve(Options(gpu_memory_utilization=share))


def test_a_share_is_a_models_and_a_cards(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--gpu-memory-utilization is a model's: give one with --model"):
        resolve(Options(gpu_memory_utilization=0.5))
    monkeypatch.setattr("kvarium_engine.options.card_there", lambda: False)
    with pytest.raises(
        UsageError, match="there is no CUDA device here: --kv-cache-memory-bytes sizes the pool"
    ):
        resolve(Options(gpu_memory_utilization=0.5, model=str(config)))


def test_the_null_runners_pool_has_a_concurrency_and_no_bytes() -> None:
    pool = resolve(Options(num_blocks=64, max_model_len=100)).capacity
    assert (pool.bytes, pool.maximum_concurrency) == (0, 64 / 7)
