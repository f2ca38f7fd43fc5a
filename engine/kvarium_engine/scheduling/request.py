"""A request: a prompt, what is asked of it, and its sequences.

submitted ──▶ waiting ──admitted──▶ running ──▶ finished
                ▲                     │
                └───── preempted ◀────┘        aborted, refused: from anywhere

n = 3:  sequence 0 prefills the prompt alone, then the request forks:

        [prompt 0 … P) ─┬─ r5.0  ──▶ own tokens
                        ├─ r5.1  ──▶ own tokens         one block table each; the prompt's blocks are shared
                        └─ r5.2  ──▶ own tokens

A beam search of width 3 begins as one sequence, too; at each step beams without children are dropped, and one that has
several forks: its first child keeps its sequence.

        [prompt 0 … P) ─── r5.0 ─┬─ ──▶ r5.0 ─── ──▶ dropped
                                 ├─ ──▶ r5.1 ─┬─ ──▶ r5.1
                                 └─ ──▶ r5.2  ├─ ──▶ r5.3
                                        dropped └ ──▶ r5.4
"""

from array import array
from bisect import insort
from enum import Enum

import numpy as np

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.scheduling.beam import BeamSearch, KeptHypothesis
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.decisions import State


class Stage(Enum):
    """How far a request's prefill is."""

    prompt = "prompt"
    """Nothing was sampled yet: sequence 0 computes the prompt, then ``n`` tokens are sampled."""
    prefix = "prefix"
    """Resumed with several sequences: the first of them computes what all of them begin with, then it forks again."""
    own = "own"
    """Each sequence computes its own tokens."""


class Request:
    """A request in the engine.

    ``id`` is dense (u32), ``name`` the user's string. ``state`` and ``place`` (its ticket in the waiting or in the
    running queue) are None before it is submitted and after its end. ``live`` are its sequences that go on, in the
    order of their index, beams in that of their scores; before the first admission there is none. ``created`` counts those
    that ever were. ``max_tokens`` is the bound in force; ``watched`` the length of a sequence from which each new token may
    end it. ``prefix_tokens`` are computed by one sequence before it forks: the prompt, or on resumption all that the live
    sequences have in common. ``hypotheses`` are those of a beam search (``search``), the best first. ``keys`` are the extra
    keys of its blocks' hashes. ``reserved_blocks``: what a contiguous cache sets aside for each of its sequences; 0: blocks
    are taken when they are needed. ``precedence``: who has the smallest is served first, and preempted last.
    """

    __slots__ = (
        "created",
        "first",
        "hypotheses",
        "id",
        "keys",
        "live",
        "max_tokens",
        "name",
        "params",
        "place",
        "precedence",
        "preemptions",
        "prefix_tokens",
        "priority",
        "prompt",
        "prompt_tokens",
        "reason",
        "reserved_blocks",
        "search",
        "stage",
        "started",
        "state",
        "waits_since",
        "watched",
    )

    def __init__(
        self,
        id: int,
        name: str,
        prompt: "array[int]",
        params: SamplingParams,
        priority: int,
        max_tokens: int,
        keys: ExtraKeys = NO_KEYS,
        precedence: int = 0,
    ) -> None:
        self.id = id
        self.name = name
        self.prompt = prompt
        self.prompt_tokens = len(prompt)
        self.params = params
        self.priority = priority
        self.keys = keys
        self.precedence = precedence
        self.max_tokens = max_tokens
        stops = params.stop or params.stop_token_ids
        self.watched = self.prompt_tokens + min(params.min_tokens + 1 if stops else max_tokens, max_tokens)
        self.reserved_blocks = 0
        self.live: list[Sequence] = []
        self.first: Sequence | None = None
        """Sequence 0, also when it has ended before the others."""
        self.created = 0
        self.prefix_tokens = self.prompt_tokens
        self.search: BeamSearch | None = None
        self.hypotheses: list[KeptHypothesis] = []
        self.started = False
        self.stage = Stage.prompt
        self.state: State | None = None
        self.place: float | None = None
        self.waits_since = 0
        """When it came in or was preempted last (ns of the session)."""
        self.preemptions = 0
        self.reason: str | None = None
        """Why it waits, as last logged."""

    @property
    def width(self) -> int:
        """How many sequences it runs with; of a beam search, how many it may run with at any time."""
        return len(self.live) if self.started and self.params.beam_width is None else self.params.width

    @property
    def most_tokens(self) -> int:
        """How many tokens of a sequence need a slot: the last one that is sampled needs none."""
        return self.prompt_tokens + self.max_tokens - 1

    def worst_case_blocks(self, block_size: int) -> int:
        """Blocks that it needs at most: the prompt's full ones once, and all others of each of its samples or beams.

        ::

            3 samples of 40 tokens, 60 more each       [ 16 ][ 16 ]  shared, always: a resumed request forks again
                                                            ├─ [ 8 + 8 ][ 16 ][ 16 ][ 12 ]  the block of the prompt's
                                                            ├─ [ 8 + 8 ][ 16 ][ 16 ][ 12 ]  end is copied
            2 + 3 × 5 = 17 blocks                           └─ [ 8 + 8 ][ 16 ][ 16 ][ 12 ]

        So whatever is shared beyond that by luck, or found in the prefix cache, a pool of so many blocks is enough. A request
        that asks for as many tokens as possible (``max_tokens`` None) is only asked to begin, unless it reserves.
        """
        if self.reserved_blocks:
            return self.params.width * self.reserved_blocks
        tokens = self.prompt_tokens if self.params.max_tokens is None else self.most_tokens
        shared = self.prompt_tokens // block_size
        return shared + self.params.width * (blocks_for(tokens, block_size) - shared)

    def common_prefix(self) -> int:
        """How many tokens all live sequences begin with; one of each is left to compute."""
        common = min(sequence.length for sequence in self.live) - 1
        first = np.frombuffer(self.live[0].tokens, dtype=np.uint32)
        for sequence in self.live[1:]:
            other = np.frombuffer(sequence.tokens, dtype=np.uint32)
            differs = first[:common] != other[:common]
            if differs.any():
                common = int(differs.argmax())
        return common

    def recompute(self) -> int:
        """Tokens that are lost by a preemption: what the sequences have in common counts once."""
        computed = [sequence.computed for sequence in self.live]
        if self.stage is Stage.own and len(computed) > 1:
            return sum(computed) - (len(computed) - 1) * min(self.common_prefix(), *computed)
        return sum(computed)

    def add_hypothesis(self, found: KeptHypothesis) -> None:
        """A beam search found a hypothesis; it stands behind those of an equal score."""
        insort(self.hypotheses, found, key=lambda each: -each.score)

    @property
    def told(self) -> "array[int]":
        """The prompt with what was said to it: sequence 0's tokens, or those of a beam search's best answer."""
        if self.hypotheses:
            return self.prompt + self.hypotheses[0].tokens
        if self.params.beam_width is not None and self.live:
            return self.live[0].tokens
        assert self.first is not None, f"request {self.id} has never run"
        return self.first.tokens

    def __repr__(self) -> str:
        return f"request {self.id} ({self.name}, {self.state}, {self.live})"
