"""What one step computes: the scheduler's orders to a runner."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kvarium_engine.memory.block_norms import BlockNorms
from kvarium_engine.scheduling.beam import Candidates
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.vocabulary import Vocabulary
from kvarium_ledger.step_text import TokenLogprobs


class Prefill(NamedTuple):
    """``tokens`` tokens of ``sequence`` from position ``start``; then ``samples`` tokens are sampled of its last logits.

    ``samples`` is 0 for a chunk that is not the last, 1 for the last one, and ``n`` for a prompt that is about to fork (of a
    beam search 1: its beams come of the candidates).
    """

    sequence: Sequence
    start: int
    tokens: int
    samples: int


@dataclass(slots=True)
class StepPlan:
    """One step.

    ``copies`` are (source, target) blocks, copied in all layers *before* anything is written. ``decodes`` compute one
    token each, the last known one, and sample the next. Slots are those of the sequences' block tables. The runner leaves
    in ``logprobs`` what it was asked for, numbered by the tokens that it returns, and in ``candidates``, by the sequence's id,
    what each beam may go on with: as many as :func:`~kvarium_engine.scheduling.beam.candidates_of` says. The token that it
    returns for a beam means nothing.
    """

    step: int
    decodes: list[Sequence] = field(default_factory=list)
    prefills: list[Prefill] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)
    tokens: int = 0
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    candidates: dict[int, Candidates] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Nothing is to be computed."""
        return not self.decodes and not self.prefills


class Runner(Protocol):
    """Computes steps. ``execute`` returns the sampled tokens: one a decode, then each prefill's ``samples``."""

    name: str
    """``null`` or ``torch``, as the handshake tells it."""
    model: str
    device: str
    eos_tokens: frozenset[int]
    """Each of these tokens ends a sequence; empty: none does."""
    kv_bytes_per_block: int
    """Bytes of keys and values in one block, of all layers; 0: there are none."""
    vocab_size: int
    """Token ids are below this."""
    vocabulary: Vocabulary | None
    """What its tokens mean; None: they have no text."""
    has_logits: bool
    """Are there logits, so that log probabilities can be told?"""

    def execute(self, plan: StepPlan) -> list[int]:
        """Run the step. An exception of any kind means that the forward failed: its requests end with an error."""
        ...

    def norms(self, block: int, first: int, last: int) -> BlockNorms | None:
        """Between two steps: the norms of what a block's slots from ``first`` to before ``last`` hold; None: no keys, no values."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
