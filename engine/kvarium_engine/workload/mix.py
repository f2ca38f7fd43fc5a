"""The seeded mix: requests that make a paged engine do all that it can do, endlessly.

    chat       a system prompt that many share, then words of one's own          prefix hits on blocks in use
    follow-up  a chat that has just ended goes on: its text, and some more       hits on freed blocks (reuse)
    samples    n = 2 … 5 samples of one prompt                                   forks, copy-on-write, releases
    search     a beam search, 2 … 4 beams of one prompt (paged memory only)      forks and drops in mid-generation
    document   a long text; some are asked about again                           long prefills, evictions
    oversize   one that can never fit                                            a refusal

Some requests are aborted, the waiting queue is kept long enough that blocks run out and requests are preempted, and
the load breathes, so that the pool fills and empties. All of it depends on the seed and on the steps, never on
the clock, so a seed gives the same ledger.
"""

import heapq
import random
from array import array
from collections import deque

from kvarium_engine.engine import Engine
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import MOST_TOKENS, SamplingParams

BREATH = 900
"""Steps of one breath: the load is high for two thirds of it."""

_PREFIXES = 6
_RECENT_DOCUMENTS = 4
_LARGE = 100_000
"""From so many blocks on, documents are longer, so that all blocks are used, and evicted, within some ten thousand steps."""

_MOST_ARRIVALS = 5
"""Requests that come before one step, at most."""


class Mix:
    """Submits and aborts requests for a pool of ``num_blocks``, by ``seed``."""

    done = False

    def __init__(self, num_blocks: int, block_size: int, max_num_seqs: int, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._seed = seed * 1_000_003
        self._size = block_size
        self._blocks = num_blocks
        self._most_n = min(5, max_num_seqs)
        self._document_blocks = min(max(num_blocks // 32, 1), 72 if num_blocks < _LARGE else 120)
        self._longest_chat = max(num_blocks * block_size // 12, 4 * block_size)
        self._count = 0
        self._documents = 0
        self._aborts: list[tuple[int, int, Request]] = []
        self._chats: deque[Request] = deque()
        self._ended: deque[Request] = deque(maxlen=8)

    def feed(self, engine: Engine) -> None:
        """Submit and abort what is due before the next step."""
        roster, step = engine.scheduler.roster, engine.steps
        while self._aborts and self._aborts[0][0] <= step:
            request = heapq.heappop(self._aborts)[2]
            if request.state is not None:
                engine.scheduler.abort(request, asked_by="mix")
        high = step % BREATH < BREATH * 2 // 3
        for _ in range(_MOST_ARRIVALS if high else 1):
            if len(roster.waiting) >= (_MOST_ARRIVALS if high else 1):
                return
            if not high and roster.running and 2 * engine.pool.num_free < self._blocks:
                return
            self._submit(engine, step)

    def pause(self, engine: Engine) -> float:
        """An idle engine is fed at once."""
        return 0.0

    def _submit(self, engine: Engine, step: int) -> None:
        draw, size = self._random, self._size
        self._count += 1
        kind = draw.random()
        n, width, chat = 1, None, kind < 0.42
        priority = draw.choice((0, 0, 0, 1, 2))
        followed = self._ended_chat() if kind < 0.30 else None
        if kind > 0.997 and self._most_n > 1:
            prompt = self._tokens("words", self._count, size)
            n, output = self._most_n, min(self._blocks * size, MOST_TOKENS)
        elif followed is not None:
            prompt = followed.live[0].tokens[:]
            prompt.extend(self._tokens("words", self._count, draw.randrange(4, max(size, 5))))
            output = draw.randrange(size // 2 + 2, 3 * size + 2)
        elif kind < 0.42:
            prompt = self._system_prompt()
            prompt.extend(self._tokens("words", self._count, draw.randrange(size // 2 + 1, 5 * size + 2)))
            output = draw.randrange(size // 2 + 2, 3 * size + 2)
        elif kind < 0.85:
            prompt = self._system_prompt()
            prompt.extend(self._tokens("words", self._count, draw.randrange(1, 2 * size + 1)))
            n = min(draw.choice((2, 3, 4, 5, 5)), self._most_n)
            output = draw.randrange(2, max(size, 3))
            if kind > 0.83 and n > 1 and engine.config.memory_backend == "paged":
                width, n = min(n, 4), n - 1
        else:
            number = self._documents - draw.randrange(_RECENT_DOCUMENTS)
            if draw.random() < 0.7 or number < 0:
                self._documents += 1
                number = self._documents
            blocks = self._document_blocks * (1 + number % 3) // 3 + 1
            prompt = self._tokens("document", number, blocks * size)
            prompt.extend(self._tokens("words", self._count, draw.randrange(1, size + 1)))
            output = draw.randrange(4, 2 * size + 5)
        request = engine.scheduler.submit(
            prompt,
            SamplingParams(max_tokens=output, n=n, beam_width=width),
            name=f"mix-{self._count}",
            priority=priority,
        )
        if chat and request.state is not None:
            self._chats.append(request)
        if draw.random() < 0.05:
            heapq.heappush(self._aborts, (step + draw.randrange(1, 40), self._count, request))

    def _ended_chat(self) -> Request | None:
        """The chat that ended last, if it is not too long to go on; each goes on once."""
        going_on: deque[Request] = deque()
        for request in self._chats:
            (going_on if request.state is not None else self._ended).append(request)
        self._chats = going_on
        while self._ended:
            request = self._ended.pop()
            if request.live and request.live[0].length < self._longest_chat:
                return request
        return None

    def _tokens(self, kind: str, number: int, count: int) -> "array[int]":
        salt = {"system": 0, "document": 1, "words": 2}[kind]
        return seeded_tokens(self._seed + 4 * number + salt, count)

    def _system_prompt(self) -> "array[int]":
        """One of a few prefixes, the first ones more often; their lengths differ, and are seldom whole blocks."""
        number = int(_PREFIXES * self._random.random() ** 1.7)
        return self._tokens("system", number, (2 + number) * self._size + 5 * number % self._size)
