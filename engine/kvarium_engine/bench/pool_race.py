"""Pool operations a second: this pool with its ledger on, and vLLM's BlockPool with its events off, in one process, in turn.

Sequences of ``n`` blocks come and go, and every call is about ``n`` blocks::

    look up      which of the n blocks are cached?                                  both
    hit          all of them: one more holder each, those in the queue leave it     both
    allocate     not all of them: n blocks from the head, which lose their labels   both
    fill         their slots are assigned                                           this pool alone: vLLM's keeps no fills
    label        they are full, and hold these tokens                               both
    free         the sequence that has been there longest goes                      both

Contents come again, so that there are hits on blocks in use, hits on freed ones, and evictions; that both give the same blocks
is seen at the end. Operations are counted by blocks and verbs, without the fills. vLLM gets the hashes of its blocks ready
made, as its requests make them and not its pool. This pool gets tokens, and looks them up by themselves; it tells its
ledger everything, which is sealed each few calls, as after a step.
"""

import random
import statistics
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kvarium_engine.bench.ledger_cost import collected, told_spread
from kvarium_engine.bench.vllm_pool import make_vllm_pool, request_of
from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_ledger.ledger import Ledger, StepTimes
from kvarium_ledger.operations import NONE, Cause

BLOCKS_A_CALL = (1, 4, 32)
_SIZE = 16
_SEALED_EVERY = 64
"""Sequences."""
_TIMES = StepTimes(0, 0, 0, 0)


class Race(NamedTuple):
    """How many ``blocks`` each pool has, and how many blocks' worth of sequences come in each of the ``rounds``."""

    blocks: int
    coming: int
    rounds: int


class Prompt(NamedTuple):
    """A sequence's tokens: as they are, as bytes, and as vLLM's request with their hashes."""

    tokens: "array[int]"
    raw: bytes
    request: Any


def prompts_of(
    n: int, race: Race, seed: int, request: Callable[[list[int], int], Any] = request_of
) -> list[list[Prompt]]:
    """Sequences of ``n`` blocks: those that fill the pools, then a round's each; three of four are of some that come again."""
    draw = random.Random(seed)
    known = race.blocks * 3 // 2 // n
    made: dict[int, Prompt] = {}

    def prompt(number: int) -> Prompt:
        if number not in made:
            tokens = seeded_tokens(number, n * _SIZE)
            made[number] = Prompt(tokens, tokens.tobytes(), request(tokens.tolist(), _SIZE))
        return made[number]

    def some(count: int) -> list[Prompt]:
        fresh = known + len(made)
        return [prompt(draw.randrange(known) if draw.random() < 0.75 else fresh + i) for i in range(count)]

    return [some(2 * race.blocks // n), *(some(race.coming // n) for _ in range(race.rounds))]


class Contender:
    """A pool in the race. ``counts``: operations, sequences that were hit, and those of them that had been freed."""

    def __init__(self, n: int, resident: int) -> None:
        self.n = n
        self.resident = resident
        self.running: deque[Any] = deque()
        self.operations = 0
        self.hits = 0
        self.blocks: list[int] = []

    def run(self, prompts: Sequence[Prompt]) -> None:
        """Let sequences come and go."""
        raise NotImplementedError


class Theirs(Contender):
    """vLLM's pool, called as its ``KVCacheManager`` calls it."""

    def __init__(self, n: int, resident: int, blocks: int) -> None:
        super().__init__(n, resident)
        self.pool = make_vllm_pool(blocks, _SIZE)

    def run(self, prompts: Sequence[Prompt]) -> None:
        """Let sequences come and go."""
        pool, n, running, resident = self.pool, self.n, self.running, self.resident
        group = [0]
        for prompt in prompts:
            request = prompt.request
            blocks: list[Any] = []
            for value in request.block_hashes:
                found = pool.get_cached_block(value, group)
                if not found:
                    break
                blocks += found
            if len(blocks) == n:
                pool.touch(blocks)
                self.hits += 1
            else:
                blocks = pool.get_new_blocks(n)
                pool.cache_full_blocks(request, blocks, 0, n, _SIZE, 0)
            running.append(blocks)
            if len(running) > resident:
                pool.free_blocks(reversed(running.popleft()))

    def table(self) -> list[int]:
        """The blocks of the sequence that came last."""
        return [block.block_id - 1 for block in self.running[-1]]

    def free(self) -> list[int]:
        """The free queue."""
        return [block.block_id - 1 for block in self.pool.free_block_queue.get_all_free_blocks()]


class Ours(Contender):
    """This pool, called as the scheduler and its slot writer call it."""

    def __init__(self, n: int, resident: int, blocks: int) -> None:
        super().__init__(n, resident)
        self.ledger = Ledger(lambda sealed: None)
        self.cache = PrefixCache(_SIZE)
        self.pool = BlockPool(blocks, _SIZE, self.ledger, self.cache, "unhashed-first")
        self._came = 0

    def run(self, prompts: Sequence[Prompt]) -> None:
        """Let sequences come and go."""
        pool, cache, ledger, n = self.pool, self.cache, self.ledger, self.n
        running, resident, sequence = self.running, self.resident, self._came
        finished = Cause.finished
        for prompt in prompts:
            sequence += 1
            blocks, _ = cache.lookup(prompt.raw, n)
            if len(blocks) == n:
                pool.hit(blocks, sequence, 0)
                self.hits += 1
            else:
                blocks, _ = pool.prefill(n, sequence, 0, _SIZE, NONE, prompt.tokens.tobytes())
            running.append((blocks, sequence))
            if len(running) > resident:
                gone, number = running.popleft()
                pool.let_go(gone, finished, number)
            if not sequence % _SEALED_EVERY:
                ledger.seal(_TIMES, 0, 0, ledger.op)
        self._came = sequence

    def table(self) -> list[int]:
        """The blocks of the sequence that came last."""
        blocks: list[int] = self.running[-1][0]
        return blocks

    def free(self) -> list[int]:
        """The free queue."""
        return self.pool.queue.walk()


def race(n: int, size: Race, seed: int = 0) -> dict[str, Any]:
    """Both pools with ``n`` blocks a call: operations a second of each, and their ratio in each round."""
    filling, *rounds = prompts_of(n, size, seed)
    resident = size.blocks // n // 4
    ours, theirs = Ours(n, resident, size.blocks), Theirs(n, resident, size.blocks)
    ratios: list[float] = []
    seconds: tuple[list[float], list[float]] = [], []
    with collected():
        for contender in (ours, theirs):
            contender.run(filling)
        hits = ours.hits
        for number, prompts in enumerate(rounds):
            spent = {}
            for contender in (ours, theirs) if number % 2 else (theirs, ours):
                began = time.thread_time_ns()
                contender.run(prompts)
                spent[contender] = (time.thread_time_ns() - began) / 1e9
            ratios.append(spent[theirs] / spent[ours])
            seconds[0].append(spent[ours])
            seconds[1].append(spent[theirs])
    assert (ours.hits, ours.table(), ours.free()) == (theirs.hits, theirs.table(), theirs.free()), (
        "the two pools did not do the same"
    )
    count = len(rounds[0])
    share = (ours.hits - hits) / (count * len(rounds))
    # Looked up and freed are all; hit are some, allocated and labelled the others.
    operations = count * n * (2 + share + 2 * (1 - share))
    return {
        "ratio": told_spread(ratios),
        "kvarium_per_s": round(operations / statistics.median(seconds[0])),
        "vllm_per_s": round(operations / statistics.median(seconds[1])),
        "hit_percent": round(100 * share, 1),
    }
