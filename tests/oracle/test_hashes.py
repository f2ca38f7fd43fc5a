"""Block hashes are vLLM's, bit for bit: prompts, extra keys, seeds, block sizes, and an event that a real one recorded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from vllm.lora.request import LoRARequest
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_utils import (
    generate_block_hash_extra_keys,
    get_request_block_hasher,
    maybe_convert_block_hash,
)
from vllm.v1.request import Request

from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.hashes import block_hash, root_hash, short
from tests.oracle.vllm_side import HASH_SEED, seed_hashes

SEEDS = ["0", "42", "1", "random", "", "4294967295", "ü", "a" * 300]


def vllm_request(
    ids: list[int], size: int, salt: str | None = None, lora: LoRARequest | None = None
) -> Request:
    return Request(
        request_id="r",
        prompt_token_ids=ids,
        sampling_params=SamplingParams(max_tokens=1),
        pooling_params=None,
        cache_salt=salt,
        lora_request=lora,
        block_hasher=get_request_block_hasher(size, sha256_cbor),
    )


def ours(ids: list[int], size: int, seed: str, extras: list[tuple[object, ...] | None]) -> list[bytes]:
    value, hashes = root_hash(seed), []
    for i, extra in enumerate(extras):
        value = block_hash(value, ids[i * size : (i + 1) * size], extra)  # type: ignore[arg-type]
        hashes.append(value)
    return hashes


def random_ids(rng: random.Random, count: int) -> list[int]:
    most = rng.choice([24, 256, 1 << 16, 200_000, (1 << 31) - 1])
    return [rng.randrange(most) for _ in range(count)]


@pytest.mark.parametrize("seed_text", SEEDS, ids=lambda text: repr(text[:12]))
def test_chains_of_random_prompts_are_equal(seed_text: str, rng: random.Random, size: str) -> None:
    seed_hashes(seed_text)
    for _ in range(40 if size == "small" else 400):
        block_size = rng.choice([1, 2, 4, 8, 16, 32, 256])
        ids = random_ids(rng, rng.randrange(1, 700))
        salt = rng.choice([None, "salt", "ß" * rng.randrange(1, 40)])
        lora = rng.choice([None, LoRARequest(rng.choice(["lora", "other"]), rng.randrange(1, 9), "/path")])
        request = vllm_request(ids, block_size, salt, lora)
        extras = [
            generate_block_hash_extra_keys(request, start, start + block_size, 0)[0]
            for start in range(0, len(ids) - block_size + 1, block_size)
        ]
        assert ours(ids, block_size, seed_text, extras) == request.block_hashes


def test_the_hash_that_a_lookup_missed_is_vllms(rng: random.Random) -> None:
    seed_hashes("7")
    for _ in range(50):
        block_size = rng.choice([1, 4, 16])
        ids = random_ids(rng, block_size * rng.randrange(1, 12))
        hashes = vllm_request(ids, block_size).block_hashes
        cache = PrefixCache(block_size, seed="7")
        raw, contents, parent = b"".join(i.to_bytes(4, "little") for i in ids), [], 0xFFFFFFFF
        for i in range(rng.randrange(len(hashes))):
            parent, _ = cache.intern(parent, raw[4 * i * block_size : 4 * (i + 1) * block_size])
            contents.append(parent)
        assert cache.missed_hash(raw, contents) == hashes[len(contents)]


def test_the_extra_keys_of_a_request_enter_its_hashes_as_vllms(rng: random.Random) -> None:
    seed_hashes("7")
    for _ in range(50):
        size = rng.choice([1, 4, 16])
        ids = random_ids(rng, size * rng.randrange(1, 9))
        name, salt = rng.choice([None, "sql", "ä"]), rng.choice([None, "pepper", "ß" * 30])
        keys = ExtraKeys(name, salt)
        theirs = vllm_request(ids, size, salt, LoRARequest(name, 1, name) if name else None).block_hashes
        assert ours(ids, size, "7", [keys.at(first=i == 0) for i in range(len(theirs))]) == theirs
        raw = b"".join(i.to_bytes(4, "little") for i in ids)
        assert PrefixCache(size, seed="7").missed_hash(raw, [], keys) == theirs[0]
    seed_hashes(HASH_SEED)


def test_the_recorded_event_comes_out_of_this_vllm_and_of_ours(shared_data: Callable[[str], Path]) -> None:
    event = json.loads(shared_data("vllm_kv_event_base.json").read_text())
    ids, block_size, seed_text = event["token_ids"], event["block_size"], str(event["hash_seed"])
    seed_hashes(seed_text)
    theirs = vllm_request(ids, block_size).block_hashes
    mine = ours(ids, block_size, seed_text, [None] * 25)
    assert mine == theirs
    recorded = [value & (1 << 64) - 1 for value in event["block_hashes"]]
    assert [short(value) for value in mine] == recorded
    assert [maybe_convert_block_hash(value) for value in theirs] == recorded
    assert len(recorded) == 25
    seed_hashes(HASH_SEED)
