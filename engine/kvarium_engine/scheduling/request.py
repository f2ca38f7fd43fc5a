"""A request: a prompt, what is asked of it, and its sequences.

submitted ──▶ waiting ──admitted──▶ running ──▶ finished
                ▲                     │
                └───── preempted ◀────┘        aborted, refused: from anywhere

n = 3:  sequence 0 prefills the prompt alone, then the request forks:

        [prompt 0 … P) ─┬─ r5.0  ──▶ own tokens
                        ├─ r5.1  ──▶ own tokens         one block table each; the prompt's blocks are shared
                        └─ r5.2  ──▶ own tokens
"""

from array import array
from enum import Enum

from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.decisions import State


class Stage(Enum):
    """How far a request's prefill is."""

    prompt = "prompt"
    """Nothing was sampled yet: sequence 0 computes the prompt, then ``n`` tokens are sampled."""
    prefix = "prefix"
    """Resumed with several sequences: the first of them computes the prompt, and then the request forks again."""
    own = "own"
    """Each sequence computes its own tokens."""


class Request:
    """A request in the engine.

    ``id`` is dense (u32), ``name`` the user's string. ``state`` and ``place`` (its ticket in the waiting or in the
    running queue) are None before it is submitted and after its end. ``live`` are its sequences that go on, in the
    order of their index; before the first admission there is none. ``keys`` are the extra keys of its blocks' hashes.
    ``precedence``: who has the smallest is served first, and preempted last. ``max_tokens`` is the bound in force;
    ``watched`` the length of a sequence from which each new token may end it. ``reserved_blocks``: what a contiguous cache
    sets aside for each of its sequences; 0: blocks are taken when they are needed.
    """

    __slots__ = (
        "first",
        "id",
        "keys",
        "live",
        "max_tokens",
        "name",
        "params",
        "place",
        "precedence",
        "priority",
        "prompt",
        "prompt_tokens",
        "reason",
        "reserved_blocks",
        "stage",
        "started",
        "state",
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
        self.started = False
        self.stage = Stage.prompt
        self.state: State | None = None
        self.place: float | None = None
        self.reason: str | None = None
        """Why it waits, as last logged."""

    @property
    def width(self) -> int:
        """How many sequences it runs with."""
        return len(self.live) if self.started else self.params.n

    @property
    def most_tokens(self) -> int:
        """How many tokens of a sequence need a slot: the last one that is sampled needs none."""
        return self.prompt_tokens + self.max_tokens - 1

    def worst_case_blocks(self, block_size: int) -> int:
        """Blocks that it needs when nothing is shared: those of ``n`` whole sequences.

        A request that asks for as many tokens as possible (``max_tokens`` None) is only asked to begin, unless it reserves.
        """
        if self.reserved_blocks:
            return self.params.n * self.reserved_blocks
        tokens = self.prompt_tokens if self.params.max_tokens is None else self.most_tokens
        return self.params.n * blocks_for(tokens, block_size)

    def recompute(self) -> int:
        """Tokens that are lost by a preemption: a shared prompt counts once."""
        computed = [sequence.computed for sequence in self.live]
        if self.stage is Stage.own and len(computed) > 1:
            return sum(computed) - (len(computed) - 1) * self.prompt_tokens
        return sum(computed)

    def __repr__(self) -> str:
        return f"request {self.id} ({self.name}, {self.state}, {self.live})"
