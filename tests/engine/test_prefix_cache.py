"""Contents and hashes: the same chain is the same content, and its hash is vLLM's."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_ledger.hashes import block_hash, cbor, root_hash, short
from kvarium_ledger.operations import NONE


def test_all_25_hashes_of_a_recorded_vllm_event_come_out(shared_data: Callable[[str], Path]) -> None:
    event = json.loads(shared_data("vllm_kv_event_base.json").read_text())
    size, ids = event["block_size"], event["token_ids"]
    value = root_hash(event["hash_seed"])
    found = []
    for start in range(0, len(ids), size):
        value = block_hash(value, ids[start : start + size])
        found.append(short(value))
    assert len(found) == 25
    assert found == [hash_ & (1 << 64) - 1 for hash_ in event["block_hashes"]]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65535, "19ffff"),
        (65536, "1a00010000"),
        (1 << 32, "1b0000000100000000"),
        (-1, "20"),
        (-500, "3901f3"),
        (None, "f6"),
        (True, "f5"),
        (False, "f4"),
        ("42", "623432"),
        ("ü", "62c3bc"),
        (b"\x01\x02", "420102"),
        ([1, [2, 3], ("lora",)], "83018202038164" + b"lora".hex()),
        (list(range(24)), "9818" + "".join(f"{i:02x}" for i in range(24))),
    ],
)
def test_cbor_is_canonical(value: object, encoded: str) -> None:
    assert cbor(value).hex() == encoded  # type: ignore[arg-type]


def test_extra_keys_and_large_ids_change_the_hash_as_cbor_says() -> None:
    root = root_hash("0")
    plain, lora = block_hash(root, [1, 2]), block_hash(root, [1, 2], ["lora"])
    assert plain != lora
    assert block_hash(root, [70_000]) != block_hash(root, [4464])


def interned(cache: PrefixCache, raw: bytes, blocks: list[int]) -> list[int]:
    """Label ``blocks`` with the chain of ``raw``."""
    stride, parent, contents = 4 * cache.block_size, NONE, []
    for i, block in enumerate(blocks):
        parent, _ = cache.intern(parent, raw[i * stride : (i + 1) * stride])
        cache.add(parent, block)
        contents.append(parent)
    return contents


def test_equal_chains_are_one_content_and_equal_blocks_behind_other_parents_are_not() -> None:
    cache = PrefixCache(4)
    first, second = b"a" * 16, b"b" * 16
    a, new = cache.intern(NONE, first)
    assert new
    assert cache.intern(NONE, first) == (a, False)
    b, _ = cache.intern(a, second)
    assert cache.intern(NONE, second)[0] not in (a, b)


def test_a_lookup_ends_at_the_first_block_that_is_not_held() -> None:
    cache = PrefixCache(4)
    raw = seeded_tokens(1, 16).tobytes()
    contents = interned(cache, raw, [5, 6, 7])
    assert cache.lookup(raw, 4) == ([5, 6, 7], contents)
    assert cache.lookup(raw, 2) == ([5, 6], contents[:2])
    cache.discard(contents[1], 6)
    assert cache.lookup(raw, 4) == ([5], contents[:1])


def test_of_two_blocks_with_one_content_the_first_is_hit_and_then_the_other() -> None:
    cache = PrefixCache(4)
    content, _ = cache.intern(NONE, b"a" * 16)
    for block in (8, 3, 5):
        cache.add(content, block)
    assert cache.lookup(b"a" * 16, 1)[0] == [8]
    cache.discard(content, 8)
    assert cache.lookup(b"a" * 16, 1)[0] == [3]
    cache.discard(content, 5)
    cache.discard(content, 3)
    assert cache.lookup(b"a" * 16, 1)[0] == []


def test_the_missed_hash_is_that_of_the_whole_chain() -> None:
    cache = PrefixCache(4, seed="42")
    tokens = seeded_tokens(3, 16)
    contents = interned(cache, tokens.tobytes(), [1, 2, 3])
    value = root_hash("42")
    for i in range(4):
        value = block_hash(value, tokens[4 * i : 4 * i + 4])
        assert cache.missed_hash(tokens.tobytes(), contents[:i]) == value
    assert cache.missed_hash(tokens.tobytes(), contents) == value, "and again, from what it remembers"


def test_a_content_keeps_its_id_after_eviction_until_it_is_forgotten() -> None:
    cache = PrefixCache(4, remember=4)
    content, _ = cache.intern(NONE, b"a" * 16)
    held, _ = cache.intern(NONE, b"h" * 16)
    cache.add(held, 9)
    assert cache.intern(NONE, b"a" * 16) == (content, False)
    for i in range(20):
        cache.intern(NONE, bytes([i]) * 16)
    assert cache.intern(NONE, b"h" * 16) == (held, False), "a block holds it"
    again, new = cache.intern(NONE, b"a" * 16)
    assert new
    assert again > content
    assert cache.held() == [(held, NONE)]


def test_it_remembers_no_more_than_a_few_generations() -> None:
    cache = PrefixCache(4, remember=100)
    for i in range(10_000):
        cache.intern(NONE, i.to_bytes(16, "little"))
    assert len(cache._young) + len(cache._old) <= 300


def test_after_lost_records_only_contents_of_blocks_are_still_known() -> None:
    cache = PrefixCache(4)
    content, _ = cache.intern(NONE, b"a" * 16)
    held, _ = cache.intern(NONE, b"h" * 16)
    cache.add(held, 1)
    cache.forget_unheld()
    assert cache.intern(NONE, b"h" * 16) == (held, False)
    assert cache.intern(NONE, b"a" * 16) == (2, True)
    assert content == 0


def drawn(rng: random.Random) -> bytes:
    """A prompt of up to 8 blocks of 4 tokens, of few different blocks, so that prompts branch off each other."""
    return b"".join(rng.choice((b"a", b"b")) * 16 for _ in range(rng.randint(1, 8)))


def test_contents_that_are_interned_at_once_are_those_that_are_interned_one_by_one(
    rng: random.Random,
) -> None:
    at_once, single = PrefixCache(4), PrefixCache(4)
    holding: list[tuple[int, int]] = []
    for block in range(2_000):
        raw = drawn(rng)
        cut = rng.randrange(0, len(raw), 16)
        parent, contents = NONE, []
        for part in (raw[:cut], raw[cut:]):  # as a prompt that comes in two chunks
            if part:
                found, new = at_once.intern_n(parent, part)
                known = [single.intern(before, part[16 * at : 16 * at + 16]) for at, before in
                         enumerate([parent, *found[:-1]])]  # fmt: skip
                assert found == [content for content, _ in known]
                assert [is_new for _, is_new in known] == [False] * (len(found) - new) + [True] * new
                contents += found
                parent = found[-1]
        for content in contents[: rng.randint(0, len(contents))]:
            at_once.add(content, block)
            single.add(content, block)
            holding.append((content, block))
        rng.shuffle(holding)
        for content, other in holding[30:]:
            at_once.discard(content, other)
            single.discard(content, other)
        del holding[30:]
        raw = drawn(rng)
        assert at_once.lookup(raw, len(raw) // 16) == single.lookup(raw, len(raw) // 16)
        assert at_once.holds(parent, raw[:16]) == single.holds(parent, raw[:16])
        assert at_once.held() == single.held()
        if rng.random() < 0.02:
            at_once.forget_unheld()
            single.forget_unheld()


def test_of_a_run_that_is_forgotten_the_contents_of_blocks_stay(rng: random.Random) -> None:
    cache = PrefixCache(4, remember=60)
    chains: dict[int, tuple[int, bytes]] = {}
    for block in range(3_000):
        raw = rng.randbytes(16 * rng.randint(1, 8))
        contents, new = cache.intern_n(NONE, raw)
        assert new == len(contents), "nothing is alike"
        at = rng.randrange(len(contents))
        cache.add(contents[at], block)
        chains[contents[at]] = (contents[at - 1] if at else NONE, raw[16 * at : 16 * at + 16])
        if len(chains) > 20:
            gone = rng.choice([*chains])
            del chains[gone]
            holder = cache.holders[gone]
            assert isinstance(holder, int)
            cache.discard(gone, holder)
        content = rng.choice([*chains])
        assert cache.intern(*chains[content]) == (content, False)
        assert sorted(chains) == [each for each, _ in cache.held()]
        known = len(cache._young) + len(cache._old) + sum(len(run) // 16 for run in cache._runs.values())
        assert known <= 2 * (60 + 8) + 2 * 21
