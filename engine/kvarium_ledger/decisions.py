"""What the scheduler decided, in order, each with the operation before which it holds.

A decision that changes a request carries its state and its place in the queue before and after, so that it can be
applied and undone; ``None`` as a state means that the request is not (or no longer) in the engine. Places are tickets,
as in the free queue: they grow at the tail of a queue and shrink at its head, so that a mirror needs no links. Waiting
requests (states ``waiting`` and ``preempted``) and running ones are two queues with tickets of their own.

The engine logs facts. Reasons that need history (a prefix never seen, evicted at step s) are derived by readers.
"""

from typing import Final, Literal

import msgspec

State = Literal["waiting", "running", "preempted"]
"""The states of a request that is in the engine."""

STATE_CODES: Final[dict[str, int]] = {"waiting": 0, "running": 1, "preempted": 2}
"""The words that stand for states in a digest."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """The part common to all: ``op``, the index in the session of the operation before which the decision holds."""

    op: int


class Change(Decision, frozen=True, kw_only=True):
    """A decision that moves a request: its state and its place in the queue, before and after."""

    request: int
    state_before: State | None = None
    place_before: float | None = None
    state_after: State | None = None
    place_after: float | None = None


class Submitted(Change, frozen=True, kw_only=True, tag="submitted"):
    """A request came in and waits. ``name`` is the user's id for it; lengths are in tokens.

    Of waiting requests the one of the smallest ``precedence`` is next, and of equals the one of the smallest place: first
    come, first served all have 0; by priority it follows from priority and time of arrival. The victim of a preemption is
    the running one of the greatest.

    ``n`` samples, or the ``n`` best of a beam search of ``beam_width`` beams. ``lora_name`` and ``cache_salt`` are
    the extra keys of its blocks' hashes: with other ones the same tokens are another prefix.
    """

    name: str
    prompt_tokens: int
    max_tokens: int
    n: int = 1
    priority: int = 0
    precedence: int = 0
    beam_width: int | None = None
    lora_name: str | None = None
    cache_salt: str | None = None


class Admitted(Change, frozen=True, kw_only=True, tag="admitted"):
    """A waiting or preempted request begins to run.

    ``tokens`` had to be there, ``hit`` of them were found in the prefix cache; ``cap_applied`` says that the hit was
    cut to leave one token to compute; ``missed`` is the hash of the first full block that was not found.
    """

    tokens: int
    hit: int = 0
    cap_applied: bool = False
    missed: bytes | None = None


class SequenceCreated(Decision, frozen=True, kw_only=True, tag="sequence_created"):
    """A decode sequence begins: the ``index``-th of its request, forked from ``parent`` (``None``: the first)."""

    request: int
    sequence: int
    index: int
    parent: int | None = None


class SequenceDropped(Decision, frozen=True, kw_only=True, tag="sequence_dropped"):
    """A sequence ends before its request does: a beam without children (no ``reason``), a sample that met its end.

    ``stop_reason`` is as in :class:`Finished`.
    """

    request: int
    sequence: int
    reason: Literal["stop", "length"] | None = None
    stop_reason: int | str | None = None


class Hypothesis(Decision, frozen=True, kw_only=True, tag="hypothesis"):
    """A beam search has found a whole answer: the ``tokens`` that ``sequence`` had sampled, and ``token`` after them.

    ``token`` is that by which it ended, and enters no sequence; None: text is not recorded. ``score`` is the sum of its
    tokens' log probabilities, divided by their number to the power of the length penalty. The answers of a request are the
    ``n`` of the highest score; of equal ones the earlier.
    """

    request: int
    sequence: int
    tokens: int
    score: float
    reason: Literal["stop", "length"]
    token: int | None = None


class Scheduled(Decision, frozen=True, kw_only=True, tag="scheduled"):
    """A chunk of a prefill is computed in this step: ``tokens`` of ``sequence``, from position ``start``.

    A decode of one token is its ``fill``.
    """

    request: int
    sequence: int
    start: int
    tokens: int


class Waiting(Decision, frozen=True, kw_only=True, tag="waiting"):
    """Why a request still waits; logged when the reason changes.

    ``reason``: ``blocks`` (it needs ``needs``, ``free`` are free), ``budget`` (the step's tokens are used up),
    ``max_num_seqs`` (as many run as may), ``behind`` (another request, ``behind``, stands before it and waits) or
    ``fragmentation`` (a contiguous cache: ``free`` blocks would do, but the ``largest`` run of free ones does not).
    """

    request: int
    reason: Literal["blocks", "budget", "max_num_seqs", "behind", "fragmentation"]
    needs: int | None = None
    free: int | None = None
    largest: int | None = None
    behind: int | None = None


class Preempted(Change, frozen=True, kw_only=True, tag="preempted"):
    """A running request loses its blocks and waits again: ``victim_of`` needed them.

    ``blocks`` went back to the free queue (or lost a count); ``tokens`` must be computed again.
    """

    victim_of: int
    blocks: int
    tokens: int


class Finished(Change, frozen=True, kw_only=True, tag="finished"):
    """A request is done: it met a stop, its length, the capacity of the pool, or an error in the forward.

    The reason is that of all its sequences that were left. ``stop_reason`` is the stop id or the stop string that was
    met, as vLLM tells it; None with ``stop``: the model's own end of a sequence.
    """

    reason: Literal["stop", "length", "capacity", "error"]
    message: str | None = None
    stop_reason: int | str | None = None


class Aborted(Change, frozen=True, kw_only=True, tag="aborted"):
    """A request was ended from outside; ``asked_by`` says by whom."""

    asked_by: str = ""


class Refused(Change, frozen=True, kw_only=True, tag="refused"):
    """A request can never fit, so it ends at once: it ``needs`` more blocks (or tokens) than the engine ``has``."""

    message: str
    needs: int
    has: int
    unit: Literal["blocks", "tokens"] = "blocks"


AnyDecision = (
    Submitted
    | Admitted
    | SequenceCreated
    | SequenceDropped
    | Hypothesis
    | Scheduled
    | Waiting
    | Preempted
    | Finished
    | Aborted
    | Refused
)
"""Any of the decisions; the field ``kind`` tells which."""
