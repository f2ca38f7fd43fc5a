"""Why prefixes missed in a mix of requests: every answer is held against what the engine's own prefix cache knew in that moment."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from kvarium.why.questions import MissedAt
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.operations import NONE
from tests.backend.asking import ask, record
from tests.backend.running_server import RunningServer, running
from tests.engine.mirrored import Mirrored, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("why") / "recording.db") as found:
        yield found


class Oracle:
    """What the engine's own prefix cache knew in each admission that missed: was the content known, and what came nearest."""

    def __init__(self, engine: Mirrored) -> None:
        self.size = 4 * engine.pool.block_size
        self.misses: list[tuple[bool, bool, int]] = []
        """Of each miss: had a block held it, had one with other keys, and the tokens that agree with the nearest of the same keys."""
        self._texts: dict[int, tuple[bytes, bytes]] = {NONE: (b"", b"")}
        cache = engine.pool.cache
        assert cache is not None
        self._wrap(cache)

    def _wrap(self, cache: PrefixCache) -> None:
        intern, intern_n, missed_hash = cache.intern, cache.intern_n, cache.missed_hash

        def one(parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> tuple[int, bool]:
            found = intern(parent, tokens, keys)
            self._note(parent, [found[0]], tokens, keys)
            return found

        def many(parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS) -> tuple[list[int], int]:
            found = intern_n(parent, tokens, keys)
            self._note(parent, found[0], tokens, keys)
            return found

        def missed(tokens: bytes, contents: Sequence[int], keys: ExtraKeys = NO_KEYS) -> bytes:
            self._miss(tokens, len(contents), keys)
            return missed_hash(tokens, contents, keys)

        cache.intern, cache.intern_n, cache.missed_hash = one, many, missed  # type: ignore[method-assign]

    def _note(self, parent: int, contents: list[int], tokens: bytes, keys: ExtraKeys) -> None:
        for place, content in enumerate(contents):
            before, raw = self._texts[parent]
            part = tokens[place * self.size : (place + 1) * self.size]
            self._texts[content] = (before + part, keys.raw if parent == NONE else raw)
            parent = content

    def _miss(self, tokens: bytes, hits: int, keys: ExtraKeys) -> None:
        end = (hits + 1) * self.size
        there = [each for each in self._texts.values() if len(each[0]) == end]
        own = [text for text, raw in there if raw == keys.raw]
        others = [text for text, raw in there if raw != keys.raw]
        before = tokens[: end - self.size]
        agree = [
            next(at for at in range(0, end, 4) if text[at : at + 4] != tokens[at : at + 4]) // 4
            for text in own
            if text.startswith(before) and text != tokens[:end]
        ]
        self.misses.append((tokens[:end] in own, tokens[:end] in others, max(agree, default=0)))


def test_every_miss_of_a_mix_is_what_the_engine_itself_knew(
    server: RunningServer, rng: random.Random
) -> None:
    engine = Mirrored(num_blocks=18, block_size=4, budget=48, seqs=8)
    oracle = Oracle(engine)
    keys = (ExtraKeys(), ExtraKeys(), ExtraKeys(cache_salt="pepper"), ExtraKeys(lora_name="sql"))
    for _ in range(24):
        prompt = tokens(rng.randrange(3), rng.randrange(1, 25)) + tokens(
            rng.randrange(3, 6), rng.randrange(9)
        )
        engine.submit(prompt, max_tokens=rng.randrange(1, 24), n=rng.choice((1, 1, 3)), keys=rng.choice(keys))
        engine.step(rng.randrange(1, 4))
    engine.run()
    session = record(server, engine)
    told = iter(oracle.misses)
    reasons: Counter[str] = Counter()
    for step in engine.steps():
        for decision in step.decisions:
            if not isinstance(decision, Admitted):
                continue
            found = ask(server, session, MissedAt(request=f"r{decision.request}", step=step.step))
            assert (found.tokens, found.hit, found.at.op) == (decision.tokens, decision.hit, decision.op)
            reasons[found.reason] += 1
            if decision.missed is None:
                assert found.reason in ("short", "cap")
                continue
            was_held, has_other, agree = next(told)
            where = f"r{decision.request} at step {step.step}"
            assert (found.reason == "evicted") == was_held, where
            if was_held:
                assert found.evicted is not None and found.evicted.at.step <= step.step, where
                continue
            assert (found.other_key is not None) == has_other, where
            if agree > decision.hit or found.nearest is not None:
                assert found.nearest is not None and found.nearest.agree == agree, where
            assert found.not_recorded == [], where
    assert next(told, None) is None
    assert {"evicted", "short"} <= reasons.keys()
