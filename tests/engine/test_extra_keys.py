"""Extra keys: with another LoRA's name or another salt the same tokens are another prefix, and the ledger says why."""

from typing import Any

import pytest

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.steering import Steering
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import Admitted, Submitted
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.messages import Command
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import AnyRecord, Keyframe, Step, Text
from tests.engine.mirrored import Mirrored, tokens

LORA = ExtraKeys(lora_name="sql")
SALT = ExtraKeys(cache_salt="pepper")
BOTH = ExtraKeys(lora_name="sql", cache_salt="pepper")


def derived(records: list[AnyRecord], block_size: int, seed: str = "0") -> dict[int, bytes]:
    """The hash of each content, as a reader of the ledger makes it."""
    hashes: dict[int, bytes] = {NONE: root_hash(seed)}
    parents: dict[int, int] = {}
    for record in records:
        if isinstance(record, Step):
            parents |= zip(
                u32(record.contents.content).tolist(), u32(record.contents.parent).tolist(), strict=True
            )
        elif isinstance(record, Text):
            extra = {number: each.keys for each in record.extra for number in u32(each.content).tolist()}
            blocks = u32(record.tokens).reshape(-1, block_size).tolist()
            for number, ids in zip(u32(record.content).tolist(), blocks, strict=True):
                hashes[number] = block_hash(hashes[parents[number]], ids, extra.get(number))
    del hashes[NONE]
    return hashes


def told(contents: Any) -> dict[int, bytes]:
    """The hashes that ``contents`` tells itself."""
    size = contents.hash_size
    ids = u32(contents.content).tolist()
    assert len(contents.hash) == size * len(ids)
    return {number: contents.hash[place * size : (place + 1) * size] for place, number in enumerate(ids)}


def test_they_stand_in_the_hash_as_vllm_has_them() -> None:
    lora, salt = ("lora", "sql", "sql"), ("cache_salt", "pepper")
    assert (NO_KEYS.first, NO_KEYS.rest) == (None, None)
    assert (LORA.first, LORA.rest) == ((lora,), (lora,))
    assert (SALT.first, SALT.rest) == ((salt,), None), "the chain carries the salt on"
    assert (BOTH.first, BOTH.rest) == ((lora, salt), (lora,))


def test_the_same_tokens_are_hit_only_with_the_same_name_and_salt_and_the_missed_hash_has_them() -> None:
    engine = Mirrored()
    prompt, hits = tokens(1, 50), []
    every = [NO_KEYS, LORA, SALT, BOTH, ExtraKeys(lora_name="other"), ExtraKeys(cache_salt="other")]
    for keys in every + every:
        engine.submit(prompt[:], max_tokens=1, keys=keys)
        engine.run()
        admitted = engine.decisions(Admitted)[-1]
        hits.append(admitted.hit)
        if len(hits) <= len(every):
            assert admitted.missed == block_hash(root_hash("0"), prompt[:16], keys.first)
    assert hits == [0] * len(every) + [48] * len(every)
    told = engine.decisions(Submitted)
    assert [(d.lora_name, d.cache_salt) for d in told[:4]] == [
        (None, None),
        ("sql", None),
        (None, "pepper"),
        ("sql", "pepper"),
    ]


def test_a_reader_derives_every_hash_from_the_ledger() -> None:
    engine = Mirrored(block_size=4, seed=3)
    for keys in (NO_KEYS, LORA, SALT, BOTH):
        engine.submit(tokens(1, 14), max_tokens=9, n=2, keys=keys)
        engine.run()
        longer = tokens(1, 8)
        longer.extend(tokens(2, 8))
        engine.submit(longer, max_tokens=1, keys=keys)
        engine.step()
        missed = engine.decisions(Admitted)[-1].missed
        assert missed is not None
        assert missed in derived(engine.records, 4).values(), (
            "the content that was missed is interned behind it"
        )
    hashes = derived(engine.records, 4)
    assert len(set(hashes.values())) == len(hashes) > 20, "no two contents are one prefix"


def test_resumed_samples_hit_their_own_tokens_under_their_keys() -> None:
    engine = Mirrored(num_blocks=12)
    first = engine.submit(60, max_tokens=100)
    samples = engine.submit(tokens(7, 32), n=3, max_tokens=24, keys=BOTH)
    engine.step_until_preempted()
    assert samples.state == "preempted"
    engine.engine.scheduler.abort(first)
    engine.step()
    assert engine.operations(engine.last)["reuse", "prefix_hit"] == 4, "of the prompt and of the own tokens"
    engine.run()
    engine.assert_nothing_leaks()


def test_without_text_re_keyed_hashes_are_told_and_neither_salt_nor_tokens() -> None:
    whole, bare = Mirrored(block_size=4), Mirrored(block_size=4, record_text="none", num_blocks=64)
    for engine in (whole, bare):
        for keys in (NO_KEYS, BOTH):
            engine.submit(tokens(1, 14), max_tokens=9, keys=keys)
            engine.run()
        engine.engine.keyframe()
        assert engine.mirror() == []
    steps = [record for record in bare.records if isinstance(record, Step)]
    hashes: dict[int, bytes] = {}
    for step in steps:
        hashes |= told(step.contents)
    true = derived(whole.records, 4)
    assert hashes.keys() == true.keys()
    assert len(set(hashes.values())) == len(set(true.values())), "equal where the true ones are"
    for record in bare.records:
        assert not any(value in codec.seal(record) for value in true.values())
    last = bare.records[-1]
    assert isinstance(last, Keyframe)
    assert told(last.contents) == {n: hashes[n] for n in u32(last.contents.content).tolist()}
    assert last.contents.hash_size == 32
    for record in bare.records:
        assert b"pepper" not in codec.seal(record)
    assert any(b"pepper" in codec.seal(record) for record in whole.records)
    assert any(b"sql" in codec.seal(record) for record in bare.records), "a LoRA's name is no text"


def test_hashes_are_told_for_a_content_that_comes_back_after_it_was_evicted() -> None:
    cache = PrefixCache(4, seed="7", hashing=True)
    first, second = tokens(1, 4), tokens(2, 4)
    a, _ = cache.intern(NONE, first.tobytes(), SALT)
    cache.add(a, 0)
    cache.discard(a, 0)
    assert cache.intern(NONE, first.tobytes(), SALT) == (a, False)
    cache.add(a, 1)
    b, _ = cache.intern(a, second.tobytes(), SALT)
    parent = block_hash(root_hash("7"), first, SALT.first)
    assert cache.hash_of(a) == parent
    assert cache.hash_of(b) == block_hash(parent, second, SALT.rest)


def test_the_salt_of_a_submission_is_recorded_by_its_length_only() -> None:
    sealed: list[Sealed] = []
    engine = Engine(EngineConfig(num_blocks=8, tell_hashes=True), NullRunner(), Ledger(sealed.append))
    steering = Steering(engine)
    args = {"prompt_tokens": 20, "max_tokens": 1, "lora_name": "sql", "cache_salt": "pepper"}
    answer = steering.carry_out(Command(id="c", name="submit", args=args))
    assert answer.error is None
    refused = steering.carry_out(
        Command(id="d", name="submit", args={"prompt_tokens": 2, "cache_salt": "pepper\n"})
    )
    assert refused.error is not None
    engine.step()
    encoder = Encoder(8, record_text="none")
    frames = [frame for each in sealed for _, frame in encoder.encode(each)]
    assert not any(b"pepper" in frame for frame in frames)
    assert any(b"cache_salt_length" in frame for frame in frames)


def test_without_text_no_misnamed_argument_and_no_reason_of_a_refusal_tells_a_text() -> None:
    frames: dict[str, bytes] = {}
    for record_text in ("full", "none"):
        sealed: list[Sealed] = []
        steering = Steering(Engine(EngineConfig(num_blocks=8), NullRunner(), Ledger(sealed.append)))
        args: Any = {"prommpt": "pepper", "pepper": 1, "prompt_tokens": 4}
        assert steering.carry_out(Command(id="c", name="submit", args=args)).error is not None
        encoder = Encoder(8, record_text)
        frames[record_text] = b"".join(frame for each in sealed for _, frame in encoder.encode(each))
    assert b"pepper" in frames["full"]
    assert b"pepper" not in frames["none"]
    assert b"refused: the reason may quote text" in frames["none"]


def test_two_sessions_tell_the_same_contents_by_hashes_that_cannot_be_compared() -> None:
    told_hashes: list[set[bytes]] = []
    missed: list[set[bytes]] = []
    for _ in range(2):
        engine = Mirrored(block_size=4, record_text="none", num_blocks=64)
        engine.submit(tokens(1, 14), max_tokens=2)
        engine.run()
        steps = [record for record in engine.records if isinstance(record, Step)]
        told_hashes.append({value for step in steps for value in told(step.contents).values()})
        admitted = [each for step in steps for each in step.decisions if isinstance(each, Admitted)]
        missed.append({each.missed for each in admitted if each.missed is not None})
        assert missed[-1] <= told_hashes[-1], "a missed block is known by the hash it gets when it is cached"
    assert told_hashes[0] and missed[0]
    assert not told_hashes[0] & told_hashes[1]
    assert not missed[0] & missed[1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"lora_name": ""}, "lora_name must be a text of 1 to 200 printable characters: this one has 0"),
        (
            {"cache_salt": "a" * 201},
            "cache_salt must be a text of 1 to 200 printable characters: this one has 201",
        ),
        ({"cache_salt": "a\tb"}, "printable characters: this one has 3, and some are not printable"),
        ({"cache_salt": 7}, "cache_salt must be a text of 1 to 200 printable characters, not 7"),
    ],
)
def test_what_is_no_key_is_refused(args: dict[str, Any], message: str) -> None:
    steering = Steering(Mirrored().engine)
    answer = steering.carry_out(Command(id="c", name="submit", args={"prompt_tokens": 4, **args}))
    assert message in (answer.error or "")


class _WithLogits(NullRunner):
    name, has_logits = "torch", True


def test_a_runner_that_has_a_model_refuses_an_adapter_that_it_has_not() -> None:
    steering = Steering(Mirrored(runner=_WithLogits()).engine)
    args: dict[str, Any] = {"prompt_tokens": 4, "lora_name": "sql"}
    answer = steering.carry_out(Command(id="c", name="submit", args=args))
    assert (
        answer.error
        == "the torch runner loads no LoRA adapters, so there is none named 'sql': leave lora_name out"
    )
    args = {"prompt_tokens": 4, "cache_salt": "pepper"}
    assert steering.carry_out(Command(id="d", name="submit", args=args)).error is None
